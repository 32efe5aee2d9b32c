/* A rank that has no memory left for its lanes, whatever it has asked the launcher for, communicates on those that it has. */
#include "check.h"
#include <sys/resource.h>

static rlim_t mapped(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    return (rlim_t)pages * 4096;
}

int main(int argc, char **argv)
{
    enum { MOST = 8 };
    int rank, ranks, sum;
    MPI_Comm comms[MOST];
    struct rlimit before, little;
    start(&argc, &argv);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    getrlimit(RLIMIT_AS, &before);
    little = before;
    little.rlim_cur = mapped() + (1 << 19);
    setrlimit(RLIMIT_AS, &little);
    for (int n = 0; n < MOST; n++) {
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[n]));
        OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comms[n]));
        CHECK(sum == ranks * (ranks - 1) / 2);
    }
    setrlimit(RLIMIT_AS, &before);
    for (int n = 0; n < MOST; n++)
        OK(MPI_Comm_free(&comms[n]));
    OK(MPI_Finalize());
    return result();
}
