/* Windows and files are revoked while the other ranks wait in each kind of synchronisation or access. These
 * calls end, later ones are refused, and everything is freed. Arguments: whether windows are reached by
 * requests; a folder. */
#include "../check.h"
#include <mpi-ext.h>
#include <unistd.h>

enum { REVOKER = 3 };

static int rank, is_served;

static MPI_Group group_of(int one)
{
    MPI_Group world, group;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, 1, &one, &group));
    OK(MPI_Group_free(&world));
    return group;
}

/* Tells the revoking rank that this rank is ready; the calls before it must succeed. */
static void say_ready(void)
{
    OK(MPI_Send(NULL, 0, MPI_INT, REVOKER, 0, MPI_COMM_WORLD));
}

/* Waits until all ranks are ready and had time to begin their wait. */
static void await_the_others(void)
{
    for (int n = 0; n < REVOKER; n++)
        OK(MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    usleep(10000);
}

static void await_revocation(MPI_Win win)
{
    for (int revoked = 0; !revoked;)
        OK(MPIX_Win_is_revoked(win, &revoked));
}

/* Accesses rank 0, with a flush after each access, until one fails. */
static int access_on(MPI_Win win)
{
    int value = rank, code = MPI_SUCCESS;
    while (code == MPI_SUCCESS) {
        code = MPI_Put(&value, 1, MPI_INT, 0, rank, 1, MPI_INT, win);
        if (code == MPI_SUCCESS)
            code = MPI_Win_flush(0, win);
    }
    return code;
}

/* Checks that every kind of access and synchronisation fails, in any epoch. */
static void all_is_refused(MPI_Win win, MPI_Group one)
{
    int value = 1, old = 0, flag = 0;
    FAILS(MPIX_ERR_REVOKED, MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
    FAILS(MPIX_ERR_REVOKED, MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
    FAILS(MPIX_ERR_REVOKED, MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
    FAILS(MPIX_ERR_REVOKED, MPI_Get_accumulate(&value, 1, MPI_INT, &old, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
    FAILS(MPIX_ERR_REVOKED, MPI_Fetch_and_op(&value, &old, MPI_INT, 0, 0, MPI_SUM, win));
    FAILS(MPIX_ERR_REVOKED, MPI_Compare_and_swap(&value, &value, &old, MPI_INT, 0, 0, win));
    FAILS(MPIX_ERR_REVOKED, MPI_Win_sync(win));
    FAILS(MPIX_ERR_REVOKED, MPI_Win_fence(0, win));
    FAILS(MPIX_ERR_REVOKED, MPI_Win_start(one, 0, win));
    FAILS(MPIX_ERR_REVOKED, MPI_Win_start(one, MPI_MODE_NOCHECK, win));
    FAILS(MPIX_ERR_REVOKED, MPI_Win_post(one, 0, win));
    FAILS(MPIX_ERR_REVOKED, MPI_Win_post(one, MPI_MODE_NOCHECK, win));
    FAILS(MPIX_ERR_REVOKED, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    FAILS(MPIX_ERR_REVOKED, MPI_Win_lock(MPI_LOCK_SHARED, rank, MPI_MODE_NOCHECK, win));
    FAILS(MPIX_ERR_REVOKED, MPI_Win_lock_all(0, win));
    FAILS(MPIX_ERR_REVOKED, MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    OK(MPIX_Win_is_revoked(win, &flag));
    CHECK(flag);
}

/* Waits in the given way while rank 3 revokes the window. */
static void wait_in(const char *how, MPI_Win win, MPI_Group revoker)
{
    int code = MPI_SUCCESS, flag, value = 1, old;
    MPI_Request request;
    if (strcmp(how, "fence") == 0) {
        say_ready();
        FAILS(MPIX_ERR_REVOKED, MPI_Win_fence(0, win));
    } else if (strcmp(how, "fenced") == 0) {
        OK(MPI_Put(&value, 1, MPI_INT, 0, rank, 1, MPI_INT, win));
        say_ready();
        FAILS(MPIX_ERR_REVOKED, MPI_Win_fence(0, win));
    } else if (strcmp(how, "start") == 0) {
        say_ready();
        FAILS(MPIX_ERR_REVOKED, MPI_Win_start(revoker, 0, win));
    } else if (strcmp(how, "wait") == 0) {
        OK(MPI_Win_post(revoker, MPI_MODE_NOCHECK, win));
        say_ready();
        FAILS(MPIX_ERR_REVOKED, MPI_Win_wait(win));
    } else if (strcmp(how, "test") == 0) {
        OK(MPI_Win_post(revoker, MPI_MODE_NOCHECK, win));
        say_ready();
        while (code == MPI_SUCCESS)
            code = MPI_Win_test(win, &flag);
        FAILS(MPIX_ERR_REVOKED, code);
    } else if (strcmp(how, "complete") == 0) {
        OK(MPI_Win_start(revoker, MPI_MODE_NOCHECK, win));
        say_ready();
        await_revocation(win);
        FAILS(MPIX_ERR_REVOKED, MPI_Put(&value, 1, MPI_INT, REVOKER, 0, 1, MPI_INT, win));
        FAILS(MPIX_ERR_REVOKED, MPI_Win_complete(win));
    } else if (strcmp(how, "lock") == 0) {
        say_ready();
        /* For a rank of another host, MPI_Win_unlock waits for the lock. A rank that learns of the revocation
           late may still get it. */
        while (code == MPI_SUCCESS) {
            code = MPI_Win_lock(rank == 1 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, win);
            if (code == MPI_SUCCESS) code = MPI_Win_unlock(0, win);
        }
        FAILS(MPIX_ERR_REVOKED, code);
    } else if (strcmp(how, "lock_all") == 0) {
        say_ready();
        while (code == MPI_SUCCESS) {
            code = MPI_Win_lock_all(0, win);
            if (code == MPI_SUCCESS) code = MPI_Win_unlock_all(win);
        }
        FAILS(MPIX_ERR_REVOKED, code);
    } else if (strcmp(how, "locked") == 0) {
        say_ready();
        FAILS(MPIX_ERR_REVOKED, access_on(win));
        FAILS(MPIX_ERR_REVOKED, MPI_Rput(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win, &request));
        FAILS(MPIX_ERR_REVOKED, MPI_Win_flush(0, win));
        FAILS(MPIX_ERR_REVOKED, MPI_Win_flush_local(0, win));
        FAILS(MPIX_ERR_REVOKED, MPI_Win_flush_all(win));
        FAILS(MPIX_ERR_REVOKED, MPI_Win_flush_local_all(win));
        FAILS(MPIX_ERR_REVOKED, MPI_Win_unlock_all(win));
    } else if (strcmp(how, "alone") == 0) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
        for (int n = 0; n < 3; n++) {
            OK(MPI_Put(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, win));
            OK(MPI_Fetch_and_op(&value, &old, MPI_INT, rank, 0, MPI_SUM, win));
            OK(MPI_Win_unlock(rank, win));
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
        }
        say_ready();
        await_revocation(win);
        FAILS(MPIX_ERR_REVOKED, MPI_Fetch_and_op(&value, &old, MPI_INT, rank, 0, MPI_SUM, win));
        FAILS(MPIX_ERR_REVOKED, MPI_Win_unlock(rank, win));
    } else if (strcmp(how, "open") == 0) {
        /* The epochs stay open, and the window can still be freed. */
        OK(MPI_Win_lock(MPI_LOCK_SHARED, REVOKER, MPI_MODE_NOCHECK, win));
        OK(MPI_Win_post(revoker, MPI_MODE_NOCHECK, win));
        say_ready();
        await_revocation(win);
    }
}

static void window(const char *how)
{
    int *base = calloc(4, sizeof *base), *memory = base;
    MPI_Win win;
    MPI_Group revoker = group_of(REVOKER);
    if (is_served)
        OK(MPI_Win_create(base, 4 * sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    else
        OK(MPI_Win_allocate(4 * sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    if (rank == REVOKER && strncmp(how, "lock", 4) == 0 && strcmp(how, "locked") != 0) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        /* For a rank of another host, the request for the lock may leave only with the next operation. */
        OK(MPI_Win_flush(0, win));
    }
    if (strcmp(how, "locked") == 0)
        OK(MPI_Win_lock_all(0, win));
    if (strcmp(how, "fenced") == 0)
        OK(MPI_Win_fence(0, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == REVOKER) {
        await_the_others();
        OK(MPIX_Win_revoke(win));
        OK(MPIX_Win_revoke(win));
        /* A lock may still be granted until all ranks know of the revocation. */
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (strcmp(how, "locked") == 0)
            FAILS(MPIX_ERR_REVOKED, MPI_Win_unlock_all(win));
        if (strncmp(how, "lock", 4) == 0 && strcmp(how, "locked") != 0)
            FAILS(MPIX_ERR_REVOKED, MPI_Win_unlock(0, win));
    } else {
        wait_in(how, win, revoker);
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    if (strcmp(how, "open") != 0)
        all_is_refused(win, revoker);
    OK(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL);
    OK(MPI_Group_free(&revoker));
    /* The communicator of the window is unchanged. */
    OK(MPI_Barrier(MPI_COMM_WORLD));
    free(memory);
}

/* Accesses the file while rank 3 revokes it. */
static void use(const char *how, MPI_File fh)
{
    int data[4] = {0}, code = MPI_SUCCESS;
    MPI_Request request;
    int begins = strcmp(how, "iwrite_all") == 0 || strcmp(how, "split") == 0 || strcmp(how, "begun") == 0;
    if (!begins)
        say_ready();
    if (strcmp(how, "write_all") == 0) {
        FAILS(MPIX_ERR_REVOKED, MPI_File_write_all(fh, data, 4, MPI_INT, MPI_STATUS_IGNORE));
    } else if (strcmp(how, "read_at_all") == 0) {
        FAILS(MPIX_ERR_REVOKED, MPI_File_read_at_all(fh, rank, data, 4, MPI_INT, MPI_STATUS_IGNORE));
    } else if (strcmp(how, "ordered") == 0) {
        FAILS(MPIX_ERR_REVOKED, MPI_File_write_ordered(fh, data, 4, MPI_INT, MPI_STATUS_IGNORE));
    } else if (strcmp(how, "iwrite_all") == 0) {
        OK(MPI_File_iwrite_all(fh, data, 4, MPI_INT, &request));
        say_ready();
        FAILS(MPIX_ERR_REVOKED, MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(request == MPI_REQUEST_NULL);
    } else if (strcmp(how, "split") == 0) {
        OK(MPI_File_write_all_begin(fh, data, 4, MPI_INT));
        say_ready();
        FAILS(MPIX_ERR_REVOKED, MPI_File_write_all_end(fh, data, MPI_STATUS_IGNORE));
    } else if (strcmp(how, "begun") == 0) {
        static int written[4];
        OK(MPI_File_write_all_begin(fh, written, 4, MPI_INT));
        say_ready();
    } else if (strcmp(how, "alone") == 0) {
        for (; code == MPI_SUCCESS; usleep(100)) {
            int revoked;
            code = MPI_File_write_at(fh, 16 * rank, data, 4, MPI_INT, MPI_STATUS_IGNORE);
            OK(MPIX_File_is_revoked(fh, &revoked));
        }
        FAILS(MPIX_ERR_REVOKED, code);
    } else if (strcmp(how, "sync") == 0) {
        FAILS(MPIX_ERR_REVOKED, MPI_File_sync(fh));
    } else if (strcmp(how, "set_size") == 0) {
        FAILS(MPIX_ERR_REVOKED, MPI_File_set_size(fh, 100));
    } else if (strcmp(how, "set_view") == 0) {
        FAILS(MPIX_ERR_REVOKED, MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    } else if (strcmp(how, "seek_shared") == 0) {
        FAILS(MPIX_ERR_REVOKED, MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    }
}

static void file(const char *how, const char *folder)
{
    char path[300];
    int data[4] = {0}, revoked = 0, pid = (int)getpid();
    MPI_File fh;
    MPI_Request request;
    OK(MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD));
    snprintf(path, sizeof path, "%s/canele-revoked-%d", folder, pid);
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh));
    OK(MPIX_File_is_revoked(fh, &revoked));
    CHECK(!revoked);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == REVOKER) {
        await_the_others();
        OK(MPIX_File_revoke(fh));
    } else {
        use(how, fh);
    }
    while (!revoked)
        OK(MPIX_File_is_revoked(fh, &revoked));
    if (strcmp(how, "begun") != 0 || rank == REVOKER) {
        FAILS(MPIX_ERR_REVOKED, MPI_File_write_at(fh, 0, data, 4, MPI_INT, MPI_STATUS_IGNORE));
        FAILS(MPIX_ERR_REVOKED, MPI_File_read_shared(fh, data, 4, MPI_INT, MPI_STATUS_IGNORE));
        FAILS(MPIX_ERR_REVOKED, MPI_File_iread_at(fh, 0, data, 4, MPI_INT, &request));
        FAILS(MPIX_ERR_REVOKED, MPI_File_read_all(fh, data, 4, MPI_INT, MPI_STATUS_IGNORE));
        FAILS(MPIX_ERR_REVOKED, MPI_File_set_atomicity(fh, 1));
    }
    OK(MPI_File_close(&fh));
    CHECK(fh == MPI_FILE_NULL);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(access(path, F_OK) != 0);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    is_served = strcmp(argv[1], "served") == 0;
    const char *epochs[] = {"fence", "fenced", "start", "wait", "test", "complete", "lock", "lock_all", "locked", "alone", "open"};
    for (size_t n = 0; n < sizeof epochs / sizeof *epochs; n++)
        window(epochs[n]);
    const char *calls[] = {"write_all", "read_at_all", "ordered", "iwrite_all", "split", "begun", "alone", "sync", "set_size", "set_view", "seek_shared"};
    for (size_t n = 0; n < sizeof calls / sizeof *calls; n++)
        file(calls[n], argv[2]);
    MPI_Finalize();
    return result();
}
