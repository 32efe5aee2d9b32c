/* Communicators of processes that share a resource, by the processors that each process is restricted to. */
#include "check.h"

static int size, rank;

static int members(MPI_Comm comm)
{
    int n = 0;
    if (comm != MPI_COMM_NULL)
        OK(MPI_Comm_size(comm, &n));
    return n;
}

static MPI_Comm split(int type, const char *key, const char *value)
{
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Info info;
    OK(MPI_Info_create(&info));
    if (key != NULL)
        OK(MPI_Info_set(info, key, value));
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, info, &made));
    OK(MPI_Info_free(&info));
    return made;
}

static int count(int type, const char *key, const char *value)
{
    MPI_Comm made = split(type, key, value);
    int n = members(made);
    if (made != MPI_COMM_NULL)
        OK(MPI_Comm_free(&made));
    return n;
}

/* A process is in a communicator of each kind of resource that it is restricted to, and of no other. */
static void guided(void)
{
    MPI_Info all;
    int kinds, flag, shared = 0;
    OK(MPI_Get_hw_resource_info(&all));
    OK(MPI_Info_get_nkeys(all, &kinds));
    for (int n = 0; n < kinds; n++) {
        char kind[MPI_MAX_INFO_KEY], value[8];
        int len = sizeof value;
        OK(MPI_Info_get_nthkey(all, n, kind));
        OK(MPI_Info_get_string(all, kind, &len, value, &flag));
        CHECK(flag && (strcmp(value, "true") == 0 || strcmp(value, "false") == 0));
        shared |= strcmp(kind, "mpi_shared_memory") == 0;
        CHECK((count(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", kind) > 0) == (strcmp(value, "true") == 0));
    }
    CHECK(shared && kinds > 1);
    OK(MPI_Info_free(&all));
    CHECK(count(MPI_COMM_TYPE_SHARED, NULL, NULL) == size);
    CHECK(count(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "mpi_shared_memory") == size);
    CHECK(count(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_hw_resource_type", "mpi_shared_memory") == size);
    CHECK(count(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "nothing known") == 0);
    CHECK(count(MPI_COMM_TYPE_HW_GUIDED, NULL, NULL) == 0);
    CHECK(count(MPI_COMM_TYPE_HW_GUIDED, "mpi_pset_name", "mpi://WORLD") == 0);
}

static void sets(void)
{
    CHECK(count(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://WORLD") == size);
    CHECK(count(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://self") == 1);
    CHECK(count(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://nothing") == 0);
    /* If processes name different kinds, no process is in any communicator. */
    const char *other = rank == 0 ? "mpi_shared_memory" : "hwloc://PU";
    if (size > 1)
        CHECK(count(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", other) == 0);
    MPI_Comm made = MPI_COMM_NULL;
    int type = rank == 0 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, type, -rank, MPI_INFO_NULL, &made));
    CHECK(members(made) == (rank == 0 ? 0 : size - 1));
    if (made != MPI_COMM_NULL) {
        int at = -1;
        OK(MPI_Comm_rank(made, &at));
        CHECK(at == size - 1 - rank);
        OK(MPI_Comm_free(&made));
    }
}

/* Splits by the smallest resource, if there is one, and the info names it. With an argument each process has
   a core. */
static void unguided(int bound)
{
    MPI_Info info;
    MPI_Comm made = MPI_COMM_NULL;
    char value[64] = "";
    int flag = 0, len = sizeof value;
    OK(MPI_Info_create(&info));
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &made));
    OK(MPI_Info_get_string(info, "mpi_hw_resource_type", &len, value, &flag));
    CHECK((made != MPI_COMM_NULL) == flag);
    CHECK(members(made) < size);
    if (bound)
        CHECK(members(made) == 1 && strncmp(value, "hwloc://", 8) == 0);
    if (made != MPI_COMM_NULL)
        OK(MPI_Comm_free(&made));
    OK(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    guided();
    sets();
    unguided(argc > 1);
    OK(MPI_Finalize());
    return result();
}
