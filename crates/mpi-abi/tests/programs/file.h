/* Common start of programs about files. */
#include "check.h"
#include <stdint.h>
#include <unistd.h>
#include <sys/stat.h>

static int rank, size;
/* A name that no other test has, equal on all ranks. */
static char path[200];

static inline void start_file(int *argc, char ***argv, const char *name)
{
    start(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/canele-%s-%d", folder ? folder : "/tmp", name, (int)getpid());
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
}

/* Opens the file anew, empty. */
static inline MPI_File fresh(int amode)
{
    MPI_File fh;
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | amode, MPI_INFO_NULL, &fh));
    OK(MPI_File_set_size(fh, 0));
    return fh;
}

static inline int count_of(MPI_Status *status, MPI_Datatype datatype)
{
    int count;
    OK(MPI_Get_count(status, datatype, &count));
    return count;
}

static inline MPI_Offset size_of(MPI_File fh)
{
    MPI_Offset found = -1;
    OK(MPI_File_get_size(fh, &found));
    return found;
}

static inline void together(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}
