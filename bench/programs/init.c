/* Start and end of a job: the time of MPI_Init on the slowest rank. The time of the whole job is measured
 * from outside. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    double begin = now();
    MPI_Init(&argc, &argv);
    double took = (now() - begin) * 1e3, longest;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("init 0 %.6g ms\n", longest);
    MPI_Finalize();
    return 0;
}
