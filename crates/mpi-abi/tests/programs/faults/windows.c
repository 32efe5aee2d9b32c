/* Rank 1 dies while the others wait for it in a synchronisation of a window, which says so; the argument says in which. */
#include "../check.h"
#include <mpi-ext.h>

#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, *base;
    MPI_Win win;
    MPI_Group world, one;
    start(&argc, &argv);
    const char *how = argv[1];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    OK(MPI_Win_allocate(8, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, 1, (int[]){1}, &one));
    if (rank == 1 && strncmp(how, "lock", 4) == 0)
        OK(MPI_Win_lock(strcmp(how, "lock-shared") == 0 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 1) {
        usleep(200000);
        raise(SIGKILL);
    }
    if (strcmp(how, "fence") == 0) {
        FAILS(MPIX_ERR_PROC_FAILED, MPI_Win_fence(0, win));
    } else if (strncmp(how, "lock", 4) == 0) {
        FAILS(MPIX_ERR_PROC_FAILED, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        /* A lock that nobody holds is free as before. */
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, win));
        OK(MPI_Win_unlock(2, win));
    } else if (strcmp(how, "start") == 0) {
        FAILS(MPIX_ERR_PROC_FAILED, MPI_Win_start(one, 0, win));
    } else if (strcmp(how, "wait") == 0) {
        OK(MPI_Win_post(one, 0, win));
        FAILS(MPIX_ERR_PROC_FAILED, MPI_Win_wait(win));
    }
    OK(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL);
    OK(MPI_Group_free(&world));
    OK(MPI_Group_free(&one));
    MPI_Finalize();
    return result();
}
