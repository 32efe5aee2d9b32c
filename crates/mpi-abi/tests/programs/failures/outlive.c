/* Rank 3, which has a part in a window and a file, dies. Calls that need it fail, and other calls succeed.
 * Freeing the window and closing the file waits for all living ranks. Arguments: whether windows are reached
 * by requests; a folder. */
#include "../check.h"
#include <mpi-ext.h>
#include <signal.h>
#include <unistd.h>

enum { DEAD = 3 };

static int rank;

/* Delays rank 2. */
static void take_time(void)
{
    if (rank == 2)
        usleep(100000);
}

static void use_window(MPI_Win win)
{
    int value = 7, old, code = MPI_SUCCESS;
    MPI_Request request;
    MPI_Group failed;
    OK(MPIX_Win_get_failed(win, &failed));
    OK(MPI_Group_size(failed, &value));
    CHECK(value == 1);
    OK(MPI_Group_free(&failed));
    FAILS(MPIX_ERR_PROC_FAILED, MPI_Put(&value, 1, MPI_INT, DEAD, 0, 1, MPI_INT, win));
    FAILS(MPIX_ERR_PROC_FAILED, MPI_Get(&value, 1, MPI_INT, DEAD, 0, 1, MPI_INT, win));
    FAILS(MPIX_ERR_PROC_FAILED, MPI_Accumulate(&value, 1, MPI_INT, DEAD, 0, 1, MPI_INT, MPI_SUM, win));
    FAILS(MPIX_ERR_PROC_FAILED, MPI_Fetch_and_op(&value, &old, MPI_INT, DEAD, 0, MPI_SUM, win));
    FAILS(MPIX_ERR_PROC_FAILED, MPI_Compare_and_swap(&value, &value, &old, MPI_INT, DEAD, 0, win));
    FAILS(MPIX_ERR_PROC_FAILED, MPI_Rget(&value, 1, MPI_INT, DEAD, 0, 1, MPI_INT, win, &request));
    FAILS(MPIX_ERR_PROC_FAILED, MPI_Win_flush(DEAD, win));
    FAILS(MPIX_ERR_PROC_FAILED, MPI_Win_flush_local(DEAD, win));
    for (int n = 0; n < 4; n++) {
        value = n;
        OK(MPI_Put(&value, 1, MPI_INT, (rank + 1) % DEAD, 1, 1, MPI_INT, win));
        OK(MPI_Win_flush((rank + 1) % DEAD, win));
        OK(MPI_Fetch_and_op(&value, &old, MPI_INT, 0, 2, MPI_SUM, win));
        OK(MPI_Win_flush_local(0, win));
    }
    code = MPI_Win_flush_all(win);
    CHECK(code == MPI_SUCCESS);
}

static void window(const char *how)
{
    int *base;
    MPI_Win win;
    if (strcmp(how, "served") == 0)
        base = malloc(4 * sizeof *base);
    else
        OK(MPI_Alloc_mem(4 * sizeof *base, MPI_INFO_NULL, &base));
    memset(base, 0, 4 * sizeof *base);
    OK(MPI_Win_create(base, 4 * sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    /* These puts make the short routes to all targets known. */
    for (int target = 0; target < 4; target++)
        for (int n = 0; n < 3; n++) {
            OK(MPI_Put(&rank, 1, MPI_INT, target, 3, 1, MPI_INT, win));
            OK(MPI_Win_flush(target, win));
        }
    /* Rank 3 dies once no other rank is inside an earlier call. */
    if (rank == DEAD) {
        for (int n = 0; n < DEAD; n++)
            OK(MPI_Recv(NULL, 0, MPI_INT, n, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        raise(SIGKILL);
    }
    OK(MPI_Send(NULL, 0, MPI_INT, DEAD, 1, MPI_COMM_WORLD));
    FAILS(MPIX_ERR_PROC_FAILED, MPI_Recv(NULL, 0, MPI_INT, DEAD, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    use_window(win);
    take_time();
    if (rank == 2) {
        int late = 99;
        OK(MPI_Put(&late, 1, MPI_INT, 0, 3, 1, MPI_INT, win));
        OK(MPI_Put(&late, 1, MPI_INT, 1, 3, 1, MPI_INT, win));
    }
    OK(MPI_Win_unlock_all(win));
    FAILS(MPIX_ERR_PROC_FAILED, MPI_Win_fence(0, win));
    FAILS(MPIX_ERR_PROC_FAILED, MPI_Win_lock(MPI_LOCK_SHARED, DEAD, 0, win));
    FAILS(MPIX_ERR_PROC_FAILED, MPI_Win_lock_all(0, win));
    OK(MPI_Win_free(&win));
    CHECK(rank == 2 || base[3] == 99);
    if (strcmp(how, "served") == 0)
        free(base);
    else
        OK(MPI_Free_mem(base));
}

static void file(MPI_File fh, const char *path)
{
    int data[2] = {rank, rank}, back[2];
    FILE *plain = fopen(path, "r");
    FAILS(MPIX_ERR_PROC_FAILED, MPI_File_write_all(fh, data, 2, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPIX_ERR_PROC_FAILED, MPI_File_sync(fh));
    take_time();
    OK(MPI_File_write_at(fh, 8 * rank, data, 2, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&fh));
    CHECK(fh == MPI_FILE_NULL);
    /* All have written before any has closed the file, and the first living member has deleted it. */
    for (int from = 0; from < DEAD; from++) {
        CHECK(fread(back, sizeof *back, 2, plain) == 2);
        CHECK(back[0] == from && back[1] == from);
    }
    CHECK(access(path, F_OK) != 0);
    fclose(plain);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    char path[300];
    int pid = (int)getpid();
    MPI_File fh;
    MPI_Comm back;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    OK(MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD));
    snprintf(path, sizeof path, "%s/canele-outlived-%d", argv[2], pid);
    /* The rank that dies is the first member of the file. */
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &back));
    OK(MPI_File_open(back, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh));
    window(argv[1]);
    file(fh, path);
    OK(MPI_Comm_free(&back));
    MPI_Finalize();
    return result();
}
