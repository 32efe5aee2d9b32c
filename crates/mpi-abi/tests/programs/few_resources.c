/* A rank with too few descriptors or too little memory for its lanes communicates on those that it has. */
#include "check.h"
#include <dirent.h>
#include <sys/resource.h>

static int rank, ranks;

static int descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    /* Without the entries `.` and `..`, and the folder's own descriptor. */
    return count - 3;
}

static rlim_t mapped(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    return (rlim_t)pages * 4096;
}

/* Makes more duplicates than there are lanes, and uses each, with a limit of one resource. */
static void duplicate_with(int resource, rlim_t most)
{
    enum { MOST = 8 };
    MPI_Comm comms[MOST];
    struct rlimit before, little;
    getrlimit(resource, &before);
    little = before;
    little.rlim_cur = most;
    setrlimit(resource, &little);
    for (int n = 0; n < MOST; n++) {
        int sum = 0;
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[n]));
        OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comms[n]));
        CHECK(sum == ranks * (ranks - 1) / 2);
    }
    setrlimit(resource, &before);
    for (int n = 0; n < MOST; n++)
        OK(MPI_Comm_free(&comms[n]));
}

/* Argument: the resource. */
int main(int argc, char **argv)
{
    enum { STEPS = 60 };
    start(&argc, &argv);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    /* The links of the first lane are open from here on. */
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (argc > 1 && strcmp(argv[1], "memory") == 0)
        duplicate_with(RLIMIT_AS, mapped() + (1 << 19));
    else
        for (int left = 0; left < STEPS; left += 1 + left / 6)
            duplicate_with(RLIMIT_NOFILE, descriptors() + left);
    OK(MPI_Finalize());
    return result();
}
