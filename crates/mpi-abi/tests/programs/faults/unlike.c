/* Ranks whose collective calls do not match, in the way that the argument selects. */
#include <mpi.h>
#include <string.h>

static int rank, size, numbers[64], results[64], counts[8] = {1, 1, 1, 1, 1, 1, 1, 1}, places[8] = {0, 1, 2, 3, 4, 5, 6, 7};
static MPI_Comm comm;

static int is(const char *how, const char *what)
{
    return strcmp(how, what) == 0;
}

static void halves(MPI_Comm *joined)
{
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 1, joined);
}

static void moves(const char *how)
{
    int odd = rank == 2;
    if (is(how, "calls"))
        odd ? MPI_Allreduce(numbers, results, 4, MPI_INT, MPI_SUM, comm) : MPI_Bcast(numbers, 4, MPI_INT, 0, comm);
    else if (is(how, "roots"))
        MPI_Bcast(numbers, 4, MPI_INT, odd, comm);
    else if (is(how, "operations"))
        MPI_Allreduce(numbers, results, 4, MPI_INT, odd ? MPI_MAX : MPI_SUM, comm);
    else if (is(how, "counts"))
        MPI_Allreduce(numbers, results, odd ? 5 : 4, MPI_INT, MPI_SUM, comm);
    else if (is(how, "datatypes"))
        MPI_Bcast(numbers, 4, odd ? MPI_FLOAT : MPI_INT, 0, comm);
    else if (is(how, "gather"))
        MPI_Gather(numbers, odd ? 2 : 1, MPI_INT, results, 1, MPI_INT, 0, comm);
    else if (is(how, "scatter"))
        MPI_Scatter(numbers, 2, MPI_INT, results, odd ? 1 : 2, MPI_INT, 0, comm);
    else if (is(how, "lists")) {
        counts[1] = odd ? 2 : 1;
        MPI_Reduce_scatter(numbers, results, counts, MPI_INT, MPI_SUM, comm);
    } else if (is(how, "parts")) {
        MPI_Gatherv(numbers, odd ? 2 : 1, MPI_INT, results, counts, places, MPI_INT, 0, comm);
    } else if (is(how, "scattered")) {
        MPI_Scatterv(numbers, counts, places, MPI_INT, results, odd ? 2 : 1, MPI_INT, 1, comm);
    } else if (is(how, "missing")) {
        if (!odd)
            MPI_Barrier(comm);
    }
}

static void forms(const char *how)
{
    int odd = rank == 2, round = 1;
    MPI_Request request = MPI_REQUEST_NULL, other = MPI_REQUEST_NULL;
    MPI_Comm made = MPI_COMM_NULL;
    if (is(how, "immediate")) {
        MPI_Ibcast(numbers, 4, MPI_INT, odd, comm, &request);
    } else if (is(how, "mixed")) {
        if (odd)
            MPI_Bcast(numbers, 4, MPI_INT, 0, comm);
        else
            MPI_Ibcast(numbers, 4, MPI_INT, 0, comm, &request);
    } else if (is(how, "order")) {
        MPI_Iallreduce(numbers, results, odd ? 2 : 1, MPI_INT, MPI_SUM, comm, odd ? &other : &request);
        MPI_Iallreduce(numbers + 8, results + 8, odd ? 1 : 2, MPI_INT, MPI_SUM, comm, odd ? &request : &other);
        MPI_Wait(&other, MPI_STATUS_IGNORE);
    } else if (is(how, "persistent")) {
        MPI_Reduce_init(numbers, results, 1, MPI_INT, MPI_SUM, odd, comm, MPI_INFO_NULL, &request);
    } else if (is(how, "creation")) {
        odd ? MPI_Comm_dup(comm, &made) : MPI_Comm_split(comm, 0, 0, &made);
    } else if (is(how, "duplicate")) {
        odd ? MPI_Ibarrier(comm, &request) : MPI_Comm_idup(comm, &made, &request);
    } else if (is(how, "neighbours")) {
        MPI_Cart_create(comm, 1, &size, &round, 0, &made);
        odd ? MPI_Neighbor_alltoall(numbers, 1, MPI_INT, results, 1, MPI_INT, made)
            : MPI_Neighbor_allgather(numbers, 1, MPI_INT, results, 1, MPI_INT, made);
    } else if (is(how, "between")) {
        halves(&made);
        MPI_Allreduce(numbers, results, rank % 2 ? 3 : 4, MPI_INT, MPI_SUM, made);
    } else if (is(how, "between-lengths")) {
        halves(&made);
        MPI_Allgather(numbers, rank % 2 ? 3 : 4, MPI_INT, results, rank % 2 ? 3 : 2, MPI_INT, made);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    comm = MPI_COMM_WORLD;
    for (int n = 0; n < 2; n++)
        MPI_Barrier(comm);
    moves(argv[1]);
    forms(argv[1]);
    MPI_Finalize();
}
