/* Buffers that overlap: each form of a call fails before it sends anything. */
#include "check.h"

static int rank, size;
static int one[64], counts[8], places[8];
static MPI_Datatype types[8];

static void reductions(void)
{
    MPI_Request request;
    FAILS(MPI_ERR_BUFFER, MPI_Allreduce(one, one, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    FAILS(MPI_ERR_BUFFER, MPI_Iallreduce(one, one, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    FAILS(MPI_ERR_BUFFER,
          MPI_Allreduce_init(one, one, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    FAILS(MPI_ERR_BUFFER, MPI_Scan(one, one, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    FAILS(MPI_ERR_BUFFER, MPI_Exscan(one, one, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    FAILS(MPI_ERR_BUFFER, MPI_Reduce_scatter(one, one, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    FAILS(MPI_ERR_BUFFER, MPI_Reduce_scatter_block(one, one, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    if (rank == 0)
        FAILS(MPI_ERR_BUFFER, MPI_Reduce(one, one, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
    FAILS(MPI_ERR_BUFFER, MPI_Reduce_local(MPI_IN_PLACE, one, 2, MPI_INT, MPI_SUM));
    FAILS(MPI_ERR_BUFFER, MPI_Reduce_local(one, MPI_IN_PLACE, 2, MPI_INT, MPI_SUM));
    FAILS(MPI_ERR_BUFFER, MPI_Reduce_local(one, one, 2, MPI_INT, MPI_SUM));
}

static void movements(void)
{
    int *own = one + rank, at[8];
    for (int i = 0; i < 8; i++)
        at[i] = i * (int)sizeof(int);
    if (rank == 0) {
        FAILS(MPI_ERR_BUFFER, MPI_Gather(one, 1, MPI_INT, one, 1, MPI_INT, 0, MPI_COMM_WORLD));
        FAILS(MPI_ERR_BUFFER, MPI_Scatter(one, 1, MPI_INT, one, 1, MPI_INT, 0, MPI_COMM_WORLD));
        FAILS(MPI_ERR_BUFFER, MPI_Gatherv(one, 1, MPI_INT, one, counts, places, MPI_INT, 0, MPI_COMM_WORLD));
        FAILS(MPI_ERR_BUFFER, MPI_Scatterv(one, counts, places, MPI_INT, one, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
    FAILS(MPI_ERR_BUFFER, MPI_Allgather(own, 1, MPI_INT, one, 1, MPI_INT, MPI_COMM_WORLD));
    FAILS(MPI_ERR_BUFFER, MPI_Allgatherv(own, 1, MPI_INT, one, counts, places, MPI_INT, MPI_COMM_WORLD));
    FAILS(MPI_ERR_BUFFER, MPI_Alltoall(one, 1, MPI_INT, one, 1, MPI_INT, MPI_COMM_WORLD));
    FAILS(MPI_ERR_BUFFER,
          MPI_Alltoallv(one, counts, places, MPI_INT, one, counts, places, MPI_INT, MPI_COMM_WORLD));
    FAILS(MPI_ERR_BUFFER, MPI_Alltoallw(one, counts, at, types, one, counts, at, types, MPI_COMM_WORLD));
}

static void neighbours(void)
{
    MPI_Comm ring;
    int round = 1;
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &round, 0, &ring));
    FAILS(MPI_ERR_BUFFER, MPI_Neighbor_allgather(one, 1, MPI_INT, one, 1, MPI_INT, ring));
    FAILS(MPI_ERR_BUFFER, MPI_Neighbor_alltoall(one, 1, MPI_INT, one, 1, MPI_INT, ring));
    OK(MPI_Comm_free(&ring));
}

/* Absolute addresses: both buffers are MPI_BOTTOM, and the elements lie apart. */
static void absolute(void)
{
    int from = 7, into = 0, once = 1, nowhere = 0;
    MPI_Aint address;
    MPI_Datatype given, taken;
    OK(MPI_Get_address(&from, &address));
    OK(MPI_Type_create_hindexed(1, &once, &address, MPI_INT, &given));
    OK(MPI_Get_address(&into, &address));
    OK(MPI_Type_create_hindexed(1, &once, &address, MPI_INT, &taken));
    OK(MPI_Type_commit(&given));
    OK(MPI_Type_commit(&taken));
    OK(MPI_Alltoallw(MPI_BOTTOM, &once, &nowhere, &given, MPI_BOTTOM, &once, &nowhere, &taken, MPI_COMM_SELF));
    CHECK(into == 7);
    FAILS(MPI_ERR_BUFFER,
          MPI_Alltoallw(MPI_BOTTOM, &once, &nowhere, &given, MPI_BOTTOM, &once, &nowhere, &given, MPI_COMM_SELF));
    OK(MPI_Type_free(&given));
    OK(MPI_Type_free(&taken));
}

/* Equal addresses are no error without data, where an address is not significant, and where the elements lie
   apart. */
static void permitted(void)
{
    OK(MPI_Allreduce(one, one, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    OK(MPI_Alltoall(one, 0, MPI_INT, one, 0, MPI_INT, MPI_COMM_WORLD));
    OK(MPI_Reduce(rank == 0 ? MPI_IN_PLACE : one, one, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
    int behind[8];
    for (int i = 0; i < size; i++)
        behind[i] = 32 + i;
    for (int i = 0; i < size; i++)
        one[i] = 100 * rank + i;
    OK(MPI_Alltoallv(one, counts, places, MPI_INT, one, counts, behind, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < size; i++)
        CHECK(one[32 + i] == 100 * i + rank);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 8; i++) {
        counts[i] = 1;
        places[i] = i;
        types[i] = MPI_INT;
    }
    reductions();
    movements();
    neighbours();
    absolute();
    permitted();
    OK(MPI_Finalize());
    return result();
}
