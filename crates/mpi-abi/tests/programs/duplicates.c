/* Communicators duplicated while the program goes on: within a group, and between two. */
#include "check.h"

static int size, rank;

/* Its members add up their ranks; between two groups each group has the other's sum. */
static void works(MPI_Comm comm, int others)
{
    int mine = -1, sum = -1;
    OK(MPI_Comm_rank(comm, &mine));
    OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == others * (others - 1) / 2);
}

static void within(void)
{
    MPI_Comm two[2];
    MPI_Request requests[2];
    OK(MPI_Comm_idup(MPI_COMM_WORLD, &two[0], &requests[0]));
    OK(MPI_Comm_idup(MPI_COMM_WORLD, &two[1], &requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (int n = 0; n < 2; n++) {
        works(two[n], size);
        OK(MPI_Comm_free(&two[n]));
    }
}

/* One group has a communicator that the other has not, so the first number that is free differs. */
static void between(void)
{
    MPI_Comm half, own = MPI_COMM_NULL, joined, copy;
    MPI_Request request;
    int others = -1;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 == 0, 7, &joined));
    if (rank % 2)
        OK(MPI_Comm_dup(half, &own));
    OK(MPI_Comm_idup(joined, &copy, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Comm_remote_size(copy, &others));
    works(copy, others);
    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_free(&joined));
    if (own != MPI_COMM_NULL)
        OK(MPI_Comm_free(&own));
    OK(MPI_Comm_free(&half));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    within();
    if (size > 1)
        between();
    MPI_Finalize();
    return result();
}
