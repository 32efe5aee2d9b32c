/* A program that defines its own conversions, like a Fortran library: the header then declares none. */
#define MPI_ABI_Fortran_conversions
typedef long MPI_Fint;
#include "check.h"

MPI_Fint MPI_Comm_c2f(MPI_Comm comm);
MPI_Comm MPI_Comm_f2c(MPI_Fint comm);
int MPI_Status_c2f(const MPI_Status *c_status, MPI_Fint *f_status);

MPI_Fint MPI_Comm_c2f(MPI_Comm comm)
{
    return 1000000 + MPI_Comm_toint(comm);
}

MPI_Comm MPI_Comm_f2c(MPI_Fint comm)
{
    return MPI_Comm_fromint((int)(comm - 1000000));
}

int MPI_Status_c2f(const MPI_Status *c_status, MPI_Fint *f_status)
{
    f_status[MPI_F_SOURCE] = c_status->MPI_SOURCE;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    MPI_Status status = {.MPI_SOURCE = 3};
    MPI_Fint f[MPI_F_STATUS_SIZE] = {0};
    start(&argc, &argv);
    CHECK(MPI_Comm_c2f(MPI_COMM_WORLD) == 1000257 && MPI_Comm_f2c(1000257) == MPI_COMM_WORLD);
    OK(MPI_Status_c2f(&status, f));
    CHECK(f[MPI_F_SOURCE] == 3);
    OK(MPI_Finalize());
    return result();
}
