/* Rank 1 dies while the others wait for it in a synchronisation of a window, which returns an error. The
   arguments select the synchronisation, and whether the window's memory is reached by requests. */
#include "../check.h"
#include <mpi-ext.h>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

enum { ELEMENTS = 100000 };

static void *die_later(void *nothing)
{
    usleep(100000);
    raise(SIGKILL);
    return nothing;
}

/* All ranks change the same elements of rank 0, many and one; rank 1 dies while it does so. */
static void elements(int rank, int is_served)
{
    double *base = calloc(ELEMENTS, sizeof *base), *memory = base, *ones = calloc(ELEMENTS, sizeof *ones), one = 1, old;
    MPI_Aint bytes = ELEMENTS * sizeof *base;
    MPI_Win win;
    pthread_t thread;
    if (is_served)
        OK(MPI_Win_create(base, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    else
        OK(MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 1)
        pthread_create(&thread, NULL, die_later, NULL);
    for (int left = 20; rank == 1 || left > 0;) {
        OK(MPI_Accumulate(ones, ELEMENTS, MPI_DOUBLE, 0, 0, ELEMENTS, MPI_DOUBLE, MPI_SUM, win));
        for (int i = 0; i < 20; i++)
            OK(MPI_Fetch_and_op(&one, &old, MPI_DOUBLE, 0, i, MPI_SUM, win));
        OK(MPI_Win_flush(0, win));
        MPI_Group failed;
        int dead = 0;
        OK(MPIX_Comm_get_failed(MPI_COMM_WORLD, &failed));
        OK(MPI_Group_size(failed, &dead));
        if (failed != MPI_GROUP_EMPTY)
            OK(MPI_Group_free(&failed));
        left -= dead;
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    free(memory);
    free(ones);
}

/* Waits longer than rank 1 takes to die on a busy machine. */
static void let_it_die(void)
{
    usleep(1000000);
}

int main(int argc, char **argv)
{
    int rank, *base;
    MPI_Win win;
    MPI_Group world, one;
    start(&argc, &argv);
    const char *how = argv[1];
    int is_served = argc > 2 && strcmp(argv[2], "served") == 0, memory[2], value = 5;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(how, "elements") == 0) {
        elements(rank, is_served);
        MPI_Finalize();
        return result();
    }
    if (is_served)
        OK(MPI_Win_create(base = memory, 8, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    else
        OK(MPI_Win_allocate(8, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, 1, (int[]){1}, &one));
    if (rank == 1 && strncmp(how, "lock", 4) == 0)
        OK(MPI_Win_lock(strcmp(how, "lock-shared") == 0 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, win));
    if (strcmp(how, "flush") == 0)
        OK(MPI_Win_lock_all(0, win));
    if (strcmp(how, "unlock") == 0 && rank == 0)
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
    if (strcmp(how, "complete") == 0) {
        MPI_Group others;
        OK(MPI_Group_excl(world, 1, (int[]){1}, &others));
        OK(rank == 1 ? MPI_Win_post(others, 0, win) : MPI_Win_start(one, 0, win));
        OK(MPI_Group_free(&others));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 1) {
        usleep(200000);
        raise(SIGKILL);
    }
    if (strcmp(how, "fence") == 0) {
        FAILS(MPIX_ERR_PROC_FAILED, MPI_Win_fence(0, win));
    } else if (strncmp(how, "lock", 4) == 0) {
        FAILS(MPIX_ERR_PROC_FAILED, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        /* A lock that no rank holds is still free. */
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, win));
        OK(MPI_Win_unlock(2, win));
    } else if (strcmp(how, "start") == 0) {
        FAILS(MPIX_ERR_PROC_FAILED, MPI_Win_start(one, 0, win));
    } else if (strcmp(how, "wait") == 0) {
        OK(MPI_Win_post(one, 0, win));
        FAILS(MPIX_ERR_PROC_FAILED, MPI_Win_wait(win));
    } else if (strcmp(how, "flush") == 0) {
        /* A put may arrive; a put to a dead rank does not. */
        int code = MPI_SUCCESS;
        while (code == MPI_SUCCESS) {
            code = MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
            if (code == MPI_SUCCESS)
                code = MPI_Win_flush(1, win);
        }
        FAILS(MPIX_ERR_PROC_FAILED, code);
        OK(MPI_Put(&value, 1, MPI_INT, 2 - rank, 0, 1, MPI_INT, win));
        OK(MPI_Win_flush(2 - rank, win));
        MPI_Win_unlock_all(win);
    } else if (strcmp(how, "unlock") == 0 && rank == 0) {
        let_it_die();
        int code = MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        int released = MPI_Win_unlock(1, win);
        FAILS(MPIX_ERR_PROC_FAILED, code == MPI_SUCCESS ? released : code);
    } else if (strcmp(how, "complete") == 0) {
        let_it_die();
        int code = MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        int complete = MPI_Win_complete(win);
        FAILS(MPIX_ERR_PROC_FAILED, code == MPI_SUCCESS ? complete : code);
    }
    OK(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL);
    OK(MPI_Group_free(&world));
    OK(MPI_Group_free(&one));
    MPI_Finalize();
    return result();
}
