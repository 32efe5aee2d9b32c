/* The process exits while MPI is in use: functions registered with atexit(3) connect to other ranks and end
   MPI. */
#include "check.h"
#include <unistd.h>

static int rank, ranks;

static void end(void)
{
    int got = -1, left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, right, 0, &got, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(got == left);
    OK(MPI_Finalize());
    int status = result();
    fflush(stdout);
    _exit(status);
}

int main(int argc, char **argv)
{
    CHECK(atexit(end) == 0);
    start(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return 0;
}
