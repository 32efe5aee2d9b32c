/* Rank 1 of four aborts others with it, and the remaining ranks go on. Argument: the way to abort. */
#include "../check.h"
#include <mpi-ext.h>
#include <unistd.h>

static int rank;

/* Waits for the end by another rank. */
static void await_end(void)
{
    for (;;)
        pause();
}

static void raise_on(MPI_Comm comm, MPI_Errhandler errhandler)
{
    OK(MPI_Comm_set_errhandler(comm, errhandler));
    MPI_Send(&rank, 1, MPI_INT, 1000, 0, comm);
}

static void raise_on_window(MPI_Comm comm)
{
    MPI_Win win;
    int *memory;
    OK(MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, comm, &memory, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_ABORT));
    if (rank == 1)
        MPI_Put(&rank, 1, MPI_INT, 1000, 0, 1, MPI_INT, win);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    const char *how = argv[1];
    int expected = strcmp(how, "self") == 0 ? 3 : 2, size = 0;
    MPI_Comm half, left = MPI_COMM_WORLD, fewer;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
    /* No rank may be in a call that needs a rank which is about to end. */
    for (int n = 1; rank == 1 && n < 4; n++)
        OK(MPI_Recv(&size, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (rank != 1)
        OK(MPI_Send(&size, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
    if (strcmp(how, "window") == 0 && rank % 2 == 1)
        raise_on_window(half);
    if (rank == 1) {
        if (strcmp(how, "world") == 0)
            MPI_Abort(MPI_COMM_WORLD, 7);
        if (strcmp(how, "part") == 0)
            MPI_Abort(half, 7);
        if (strcmp(how, "self") == 0)
            MPI_Abort(MPI_COMM_SELF, 7);
        if (strcmp(how, "abort") == 0)
            raise_on(half, MPI_ERRORS_ABORT);
        if (strcmp(how, "fatal") == 0)
            raise_on(half, MPI_ERRORS_ARE_FATAL);
        CHECK(!"the rank has ended");
    }
    if (strcmp(how, "world") == 0 || strcmp(how, "fatal") == 0 || (rank == 3 && expected == 2))
        await_end();
    do {
        OK(MPIX_Comm_shrink(left, &fewer));
        left = fewer;
        MPI_Comm_size(left, &size);
    } while (size > expected);
    OK(MPI_Barrier(left));
    CHECK(size == expected);
    MPI_Finalize();
    return result();
}
