/* Queries of the binary interface and the machine. */
#include "check.h"

static int has(MPI_Info info, const char *key, const char *expected)
{
    char value[64];
    int len = sizeof value, flag = 0;
    OK(MPI_Info_get_string(info, key, &len, value, &flag));
    return flag && (expected == NULL || strcmp(value, expected) == 0);
}

int main(int argc, char **argv)
{
    MPI_Info info, said;
    int major = -1, minor = -1, yes = -1, no = 0, found_yes = 0, found_no = 0, is_set = -1;
    start(&argc, &argv);
    OK(MPI_Abi_get_version(&major, &minor));
    CHECK(major == MPI_ABI_VERSION && minor == MPI_ABI_SUBVERSION);
    OK(MPI_Abi_get_info(&info));
    CHECK(has(info, "mpi_aint_size", "8") && has(info, "mpi_count_size", "8") && has(info, "mpi_offset_size", "8"));
    OK(MPI_Info_free(&info));

    OK(MPI_Abi_get_fortran_info(&info));
    CHECK(info == MPI_INFO_NULL);
    OK(MPI_Info_create(&said));
    OK(MPI_Info_set(said, "mpi_integer_size", "4"));
    OK(MPI_Abi_set_fortran_info(said));
    FAILS(MPI_ERR_ABI, MPI_Abi_set_fortran_info(said));
    OK(MPI_Info_free(&said));
    OK(MPI_Abi_get_fortran_info(&info));
    CHECK(has(info, "mpi_integer_size", "4"));
    OK(MPI_Info_free(&info));

    OK(MPI_Abi_get_fortran_booleans(sizeof yes, &found_yes, &found_no, &is_set));
    CHECK(!is_set);
    OK(MPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no));
    FAILS(MPI_ERR_ABI, MPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no));
    FAILS(MPI_ERR_ARG, MPI_Abi_set_fortran_booleans(3, &yes, &no));
    OK(MPI_Abi_get_fortran_booleans(sizeof yes, &found_yes, &found_no, &is_set));
    CHECK(is_set && found_yes == -1 && found_no == 0);

    OK(MPI_Get_hw_resource_info(&info));
    CHECK(has(info, "mpi_shared_memory", "true") && has(info, "hwloc://PU", NULL));
    OK(MPI_Info_free(&info));
    OK(MPI_Finalize());
    return result();
}
