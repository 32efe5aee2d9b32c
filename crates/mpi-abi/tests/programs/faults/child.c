/* Programs that start other programs, in the middle of messages, keep working. */
#include "../check.h"

#include <sys/wait.h>
#include <unistd.h>

static int size, rank;

static void exchange(int round)
{
    int in = -1, next = (rank + 1) % size, before = (rank + size - 1) % size, mine = rank + round;
    OK(MPI_Sendrecv(&mine, 1, MPI_INT, next, 0, &in, 1, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(in == before + round);
}

static void runs(void)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(127);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int argc, char **argv)
{
    static int long_in[100000], long_out[100000];
    start(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < 10; round++) {
        MPI_Request requests[2];
        int next = (rank + 1) % size, before = (rank + size - 1) % size;
        exchange(round);
        long_out[99999] = rank * 100 + round;
        OK(MPI_Irecv(long_in, 100000, MPI_INT, before, 1, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Isend(long_out, 100000, MPI_INT, next, 1, MPI_COMM_WORLD, &requests[1]));
        runs();
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        CHECK(long_in[99999] == before * 100 + round);
        CHECK(system("exit 3") >> 8 == 3);
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_Finalize());
    return result();
}
