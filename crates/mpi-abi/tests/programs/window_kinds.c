/* Windows without memory, windows with memory attached later, error handlers, and the promises of locks. */
#include "check.h"
#include <stdint.h>

static int rank, size, one_host;

enum { N = 1000 };

static void nothing(void)
{
    MPI_Win win;
    void *base = &win, *part = &win;
    int there = 0, unit = 0;
    MPI_Aint bytes = -1;
    OK(MPI_Win_create(NULL, 0, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &there));
    CHECK(there && base == NULL);
    OK(MPI_Win_free(&win));
    OK(MPI_Win_allocate(rank == 0 ? 0 : 8, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_shared_query(win, 0, &bytes, &unit, &part));
    CHECK(bytes == 0 && unit == 4 && part == NULL);
    OK(MPI_Win_free(&win));
}

/* Parts without bytes lie among the others in a shared window, and their neighbours find them. */
static void between(void)
{
    MPI_Win win;
    char *base = NULL, *part, *end = NULL;
    MPI_Aint bytes = -1;
    int unit;
    OK(MPI_Win_allocate_shared(rank % 2 ? 400 : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    for (int n = 0; n < size; n++) {
        part = NULL;
        OK(MPI_Win_shared_query(win, n, &bytes, &unit, (void **)&part));
        CHECK(bytes == (n % 2 ? 400 : 0) && (part != NULL) == (size > 1));
        CHECK(n == 0 || part == end);
        CHECK(n != rank || part == base);
        end = part + bytes;
    }
    OK(MPI_Win_free(&win));
}

static int told;

static void tell(MPI_Win *win, int *code, ...)
{
    MPI_Group group;
    (void)code;
    told++;
    OK(MPI_Win_get_group(*win, &group));
    OK(MPI_Group_free(&group));
}

/* An error of a request calls the handler of its window. */
static void handlers(void)
{
    MPI_Win win;
    MPI_Errhandler handler, set;
    MPI_Request request;
    int value = 1;
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_create_errhandler(tell, &handler));
    OK(MPI_Win_set_errhandler(win, handler));
    OK(MPI_Win_get_errhandler(win, &set));
    OK(MPI_Win_lock_all(0, win));
    told = 0;
    int code = MPI_Rget(&value, 1, MPI_INT, (rank + 1) % size, 4096, 1, MPI_INT, win, &request);
    if (code == MPI_SUCCESS)
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    FAILS(MPI_ERR_RMA_RANGE, code);
    CHECK(told == 1);
    MPI_Win_unlock_all(win);
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Errhandler_free(&set));
    OK(MPI_Win_free(&win));
}

/* A rank that promises a lock without conflicts gets an error if there is one, on one host. */
static void promises(void)
{
    int *base;
    MPI_Win win;
    if (!one_host || size < 2)
        return;
    OK(MPI_Win_allocate(8, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    if (rank == 0)
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 1)
        FAILS(MPI_ERR_RMA_CONFLICT, MPI_Win_lock(MPI_LOCK_SHARED, 1, MPI_MODE_NOCHECK, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0)
        OK(MPI_Win_unlock(1, win));
    OK(MPI_Win_free(&win));
}

/* A rank gets an exclusive lock though others take shared locks again and again. */
static void writers(void)
{
    int *base, seen = 0, wanted = 1;
    MPI_Win win;
    OK(MPI_Win_allocate(8, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    base[0] = 0;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == size - 1) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        OK(MPI_Put(&wanted, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
        OK(MPI_Win_unlock(0, win));
    } else {
        while (!seen) {
            OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
            for (int n = 0; n < 20; n++) {
                OK(MPI_Get(&seen, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
                OK(MPI_Win_flush(0, win));
            }
            OK(MPI_Win_unlock(0, win));
        }
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_free(&win));
}

/* Memory is attached while the window lives, and known by its address. */
static void dynamic(void)
{
    MPI_Win win;
    int *memory = malloc(N * sizeof *memory), value = 100 + rank, got[2] = {-1, -1};
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int i = 0; i < N; i++)
        memory[i] = i;
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_attach(win, memory, N * sizeof *memory));
    MPI_Aint mine, all[8];
    OK(MPI_Get_address(memory, &mine));
    OK(MPI_Allgather(&mine, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Put(&value, 1, MPI_INT, next, all[next] + 4 * 7, 1, MPI_INT, win));
    OK(MPI_Accumulate(&value, 1, MPI_INT, next, all[next] + 4 * 8, 1, MPI_INT, MPI_SUM, win));
    OK(MPI_Win_flush(next, win));
    OK(MPI_Get(got, 2, MPI_INT, next, all[next] + 4 * 7, 2, MPI_INT, win));
    OK(MPI_Win_flush(next, win));
    CHECK(got[0] == value && got[1] == 8 + value);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(memory[7] == 100 + before && memory[8] == 108 + before);
    OK(MPI_Win_detach(win, memory));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    /* Detached memory is out of range: at once on this host, at the latest at the flush on another. */
    OK(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win));
    int code = MPI_Put(&value, 1, MPI_INT, next, all[next], 1, MPI_INT, win);
    if (code == MPI_SUCCESS)
        code = MPI_Win_flush(next, win);
    FAILS(MPI_ERR_RMA_RANGE, code);
    OK(MPI_Win_unlock(next, win));
    OK(MPI_Win_free(&win));
    CHECK(memory[0] == 0);
    free(memory);
}

/* Two ranks each put and then read the other's number. The puts are complete by then, so at least one rank
   sees the other's. */
static void flushes(void)
{
    enum { ROUNDS = 1000 };
    static int64_t seen[ROUNDS], theirs[ROUNDS];
    int64_t *base, now;
    MPI_Win win;
    int other = 1 - rank, both_missed = 0;
    if (size < 2)
        return;
    OK(MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    base[0] = 0;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, win));
    for (int64_t i = 1; i < ROUNDS && rank < 2; i++) {
        /* Delays one rank, because the rank that saw the other last would be late each time. */
        for (volatile int late = (int)(i % 37) * (int)(i % 2 == rank); late > 0; late--)
            continue;
        OK(MPI_Put(&i, 1, MPI_INT64_T, rank, 0, 1, MPI_INT64_T, win));
        OK(MPI_Win_flush(rank, win));
        if (i % 2)
            OK(MPI_Get(&seen[i], 1, MPI_INT64_T, other, 0, 1, MPI_INT64_T, win));
        else
            OK(MPI_Fetch_and_op(NULL, &seen[i], MPI_INT64_T, other, 0, MPI_NO_OP, win));
        OK(MPI_Win_flush(other, win));
        /* Both ranks begin the next round at the same time. */
        for (now = seen[i]; now < i;) {
            OK(MPI_Get(&now, 1, MPI_INT64_T, other, 0, 1, MPI_INT64_T, win));
            OK(MPI_Win_flush(other, win));
        }
    }
    OK(MPI_Win_unlock_all(win));
    if (rank < 2)
        OK(MPI_Sendrecv(seen, ROUNDS, MPI_INT64_T, other, 0, theirs, ROUNDS, MPI_INT64_T, other, 0, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
    for (int i = 1; i < ROUNDS; i++)
        both_missed += seen[i] < i && theirs[i] < i;
    CHECK(rank > 1 || both_missed == 0);
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm host;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
    OK(MPI_Comm_size(host, &one_host));
    OK(MPI_Comm_free(&host));
    one_host = one_host == size;
    dynamic();
    nothing();
    if (one_host)
        between();
    handlers();
    promises();
    writers();
    flushes();
    MPI_Finalize();
    return result();
}
