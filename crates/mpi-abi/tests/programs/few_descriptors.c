/* A rank that has no descriptors left for its lanes, or for a part of them, communicates on those that it has. */
#include "check.h"
#include <dirent.h>
#include <sys/resource.h>

static int descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    /* Its own name, that of its parent, and the folder. */
    return count - 3;
}

int main(int argc, char **argv)
{
    enum { MOST = 8, STEPS = 60 };
    int rank, ranks, sum;
    struct rlimit before, few;
    start(&argc, &argv);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    getrlimit(RLIMIT_NOFILE, &before);
    for (int left = 0; left < STEPS; left += 1 + left / 6) {
        MPI_Comm comms[MOST];
        few = before;
        few.rlim_cur = descriptors() + left;
        setrlimit(RLIMIT_NOFILE, &few);
        for (int n = 0; n < MOST; n++) {
            OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[n]));
            OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comms[n]));
            CHECK(sum == ranks * (ranks - 1) / 2);
        }
        setrlimit(RLIMIT_NOFILE, &before);
        for (int n = 0; n < MOST; n++)
            OK(MPI_Comm_free(&comms[n]));
    }
    OK(MPI_Finalize());
    return result();
}
