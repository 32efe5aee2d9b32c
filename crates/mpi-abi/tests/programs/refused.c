/* Short sends that find no free cell, because the receiver is busy, go on in order: blocking and
 * non-blocking, and beside posted receives. */
#include "check.h"
#include <unistd.h>

enum { COUNT = 20000, OTHER = 9 };

static int rank;

/* Rank 1 receives all numbers in order, late. */
static void receive_all(int from)
{
    usleep(20000);
    for (int i = from; i < from + COUNT; i++) {
        int got = -1;
        OK(MPI_Recv(&got, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(got == i);
    }
}

static void blocking(void)
{
    if (rank == 1) return receive_all(0);
    for (int i = 0; i < COUNT; i++) OK(MPI_Send(&i, 1, MPI_INT, 1, 1, MPI_COMM_WORLD));
}

static void non_blocking(void)
{
    static int numbers[COUNT];
    static MPI_Request requests[COUNT];
    if (rank == 1) return receive_all(0);
    for (int i = 0; i < COUNT; i++) {
        numbers[i] = i;
        OK(MPI_Isend(&numbers[i], 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[i]));
    }
    OK(MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE));
}

/* Both receives get their answers when all numbers have arrived. */
static void beside_receives(void)
{
    int answers[2] = {-1, -1}, count = COUNT;
    MPI_Request requests[2];
    if (rank == 1) {
        receive_all(COUNT);
        for (int n = 0; n < 2; n++) OK(MPI_Send(&count, 1, MPI_INT, 0, OTHER, MPI_COMM_WORLD));
        return;
    }
    for (int n = 0; n < 2; n++) OK(MPI_Irecv(&answers[n], 1, MPI_INT, 1, OTHER, MPI_COMM_WORLD, &requests[n]));
    for (int i = COUNT; i < 2 * COUNT; i++) OK(MPI_Send(&i, 1, MPI_INT, 1, 1, MPI_COMM_WORLD));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(answers[0] == COUNT && answers[1] == COUNT);
}

/* The arguments of a call on a known route are still checked. */
static void wrong_tags(void)
{
    int number = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 1) return;
    FAILS(MPI_ERR_TAG, MPI_Send(&number, 1, MPI_INT, 1, -5, MPI_COMM_WORLD));
    FAILS(MPI_ERR_TAG, MPI_Isend(&number, 1, MPI_INT, 1, -5, MPI_COMM_WORLD, &request));
    CHECK(request == MPI_REQUEST_NULL);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    /* Ranks above 1 wait for the end. */
    if (rank < 2) {
        blocking();
        non_blocking();
        beside_receives();
        wrong_tags();
    }
    MPI_Finalize();
    return result();
}
