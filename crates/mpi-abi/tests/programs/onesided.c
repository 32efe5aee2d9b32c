/* Accesses to memory of other ranks: data, operations, and the time of completion. */
#include "check.h"
#include <stdint.h>

static int rank, size, one_host;

enum { N = 1000 };

static void fences(MPI_Win win, int *base)
{
    for (int i = 0; i < N; i++)
        base[i] = -1;
    OK(MPI_Win_fence(0, win));
    /* Every rank writes its elements at every other one. */
    for (int to = 0; to < size; to++)
        OK(MPI_Put(&rank, 1, MPI_INT, to, rank, 1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    for (int from = 0; from < size; from++)
        CHECK(base[from] == from);
    int got[8] = {0};
    for (int from = 0; from < size; from++)
        OK(MPI_Get(got + from, 1, MPI_INT, from, from, 1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    for (int from = 0; from < size; from++)
        CHECK(got[from] == from);
    OK(MPI_Put(&rank, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

/* Any pair of datatypes: a row here becomes a column there, with more bytes than are packed at a time. */
static void layouts(MPI_Win win, int *base)
{
    MPI_Datatype column, pair, nothing;
    OK(MPI_Type_vector(10, 1, 10, MPI_INT, &column));
    OK(MPI_Type_commit(&column));
    OK(MPI_Type_create_hvector(2, 1, 40, MPI_INT, &pair));
    OK(MPI_Type_commit(&pair));
    OK(MPI_Type_contiguous(0, MPI_INT, &nothing));
    OK(MPI_Type_commit(&nothing));
    int row[10], back[100], next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int i = 0; i < 10; i++)
        row[i] = 100 * rank + i;
    for (int i = 0; i < N; i++)
        base[i] = -1;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(row, 10, MPI_INT, next, 3, 1, column, win));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < 100; i++)
        CHECK(base[i] == (i % 10 == 3 ? 100 * before + i / 10 : -1));
    memset(back, 0, sizeof back);
    OK(MPI_Get(back + 7, 1, column, next, 3, 1, column, win));
    OK(MPI_Get(back, 1, pair, next, 3, 1, pair, win));
    OK(MPI_Put(NULL, 5, nothing, next, 999999, 7, nothing, win));
    OK(MPI_Win_fence(0, win));
    CHECK(back[0] == 100 * rank && back[10] == 100 * rank + 1);
    for (int i = 0; i < 10; i++)
        CHECK(back[10 * i + 7] == 100 * rank + i);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    OK(MPI_Type_free(&column));
    OK(MPI_Type_free(&pair));
    OK(MPI_Type_free(&nothing));
}

static void large(int own)
{
    enum { MANY = 200000 };
    double *base = calloc(2 * MANY, sizeof *base), *memory = base;
    double *mine = malloc(MANY * sizeof *mine), *back = malloc(MANY * sizeof *back);
    MPI_Win win;
    MPI_Datatype other;
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Aint bytes = 2 * MANY * sizeof *base;
    if (own)
        OK(MPI_Win_create(base, bytes, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    else
        OK(MPI_Win_allocate(bytes, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Type_vector(MANY, 1, 2, MPI_DOUBLE, &other));
    OK(MPI_Type_commit(&other));
    for (int i = 0; i < MANY; i++)
        mine[i] = rank + i;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put_c(mine, MANY, MPI_DOUBLE, next, 0, 1, other, win));
    OK(MPI_Win_fence(0, win));
    int wrong = 0;
    for (int i = 0; i < MANY; i++)
        wrong += base[2 * i] != before + i || (i > 0 && base[2 * i - 1] != 0);
    CHECK(wrong == 0);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Accumulate(mine, MANY, MPI_DOUBLE, next, 0, 1, other, MPI_SUM, win));
    OK(MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, back, MANY, MPI_DOUBLE, next, 0, 1, other, MPI_NO_OP, win));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < MANY; i++)
        wrong += back[i] != 2.0 * (rank + i);
    CHECK(wrong == 0);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    OK(MPI_Type_free(&other));
    OK(MPI_Win_free(&win));
    free(memory);
    free(mine);
    free(back);
}

/* Every rank adds to the same elements of every size and alignment. */
static void accumulates(int own)
{
    enum { ROUNDS = 200 };
    static _Alignas(64) char memory[256];
    char *base = memory;
    MPI_Win win;
    if (own)
        OK(MPI_Win_create(base, 256, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    else
        OK(MPI_Win_allocate(256, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    memset(base, 0, 256);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    const char c8 = 1;
    const short c16 = 1;
    const int c32 = 1;
    const int64_t c64 = 1;
    const float f32 = 1;
    const double f64 = 1, complex[2] = {1, 2};
    const long double f80 = 1;
    struct { const void *value; MPI_Datatype type; int at; } all[] = {
        {&c8, MPI_INT8_T, 0}, {&c16, MPI_SHORT, 2}, {&c32, MPI_INT, 4}, {&c64, MPI_INT64_T, 8}, {&f32, MPI_FLOAT, 16},
        {&f64, MPI_DOUBLE, 24}, {&f64, MPI_DOUBLE, 35}, {&c32, MPI_INT, 45}, {complex, MPI_C_DOUBLE_COMPLEX, 64},
        {&f80, MPI_LONG_DOUBLE, 96},
    };
    OK(MPI_Win_lock_all(0, win));
    for (int n = 0; n < ROUNDS; n++)
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            OK(MPI_Accumulate(all[i].value, 1, all[i].type, n % size, all[i].at, 1, all[i].type, MPI_SUM, win));
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    int expected = 0;
    for (int n = 0; n < ROUNDS; n++)
        expected += n % size == rank ? size : 0;
    double d, z[2];
    int odd;
    long double l;
    CHECK((signed char)base[0] == (signed char)expected && *(short *)(base + 2) == expected);
    CHECK(*(int *)(base + 4) == expected && *(int64_t *)(base + 8) == expected && *(float *)(base + 16) == expected);
    CHECK(*(double *)(base + 24) == expected);
    memcpy(&d, base + 35, sizeof d);
    memcpy(&odd, base + 45, sizeof odd);
    memcpy(z, base + 64, sizeof z);
    memcpy(&l, base + 96, sizeof l);
    CHECK(d == expected && odd == expected && z[0] == expected && z[1] == 2.0 * expected && l == expected);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_free(&win));
}

/* Counters, and a lock made of compare-and-swap. */
static void atomics(int own)
{
    enum { ROUNDS = 300 };
    static int64_t memory[8];
    int64_t *base = memory;
    MPI_Win win;
    if (own)
        OK(MPI_Win_create(base, 64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    else
        OK(MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    memset(base, 0, 64);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    int64_t one = 1, old = -1, last = -1;
    for (int n = 0; n < ROUNDS; n++) {
        OK(MPI_Fetch_and_op(&one, &old, MPI_INT64_T, 0, 0, MPI_SUM, win));
        OK(MPI_Win_flush(0, win));
        CHECK(old > last);
        last = old;
    }
    for (int n = 0; n < ROUNDS; n++) {
        const int64_t free = 0, mine = rank + 1;
        do {
            OK(MPI_Compare_and_swap(&mine, &free, &old, MPI_INT64_T, 0, 1, win));
            OK(MPI_Win_flush(0, win));
        } while (old != 0);
        int64_t value = -1;
        OK(MPI_Get(&value, 1, MPI_INT64_T, 0, 2, 1, MPI_INT64_T, win));
        OK(MPI_Win_flush(0, win));
        value++;
        OK(MPI_Put(&value, 1, MPI_INT64_T, 0, 2, 1, MPI_INT64_T, win));
        OK(MPI_Win_flush(0, win));
        OK(MPI_Fetch_and_op(&free, &old, MPI_INT64_T, 0, 1, MPI_REPLACE, win));
        OK(MPI_Win_flush_all(win));
        CHECK(old == mine);
    }
    /* One rank finds the letter's place free, the others find that rank's letter. */
    const char none = 0, letter = 'A' + rank;
    char before = '?', first;
    OK(MPI_Compare_and_swap(&letter, &none, &before, MPI_CHAR, 0, 3, win));
    OK(MPI_Win_flush(0, win));
    first = before == 0 ? letter : before;
    char least, most;
    OK(MPI_Allreduce(&first, &least, 1, MPI_SIGNED_CHAR, MPI_MIN, MPI_COMM_WORLD));
    OK(MPI_Allreduce(&first, &most, 1, MPI_SIGNED_CHAR, MPI_MAX, MPI_COMM_WORLD));
    CHECK(least == most && most >= 'A' && most < 'A' + size);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Fetch_and_op(NULL, &old, MPI_INT64_T, 0, 0, MPI_NO_OP, win));
    OK(MPI_Win_flush_local(0, win));
    CHECK(old == (int64_t)ROUNDS * size);
    OK(MPI_Get(&old, 1, MPI_INT64_T, 0, 2, 1, MPI_INT64_T, win));
    OK(MPI_Win_flush_local_all(win));
    CHECK(old == (int64_t)ROUNDS * size);
    struct { double value; int index; } pair = {rank, rank}, best = {-1, -1};
    OK(MPI_Accumulate(&pair, 1, MPI_DOUBLE_INT, 0, 4, 1, MPI_DOUBLE_INT, MPI_MAXLOC, win));
    OK(MPI_Win_flush(0, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Get_accumulate(NULL, 0, MPI_INT, &best, 1, MPI_DOUBLE_INT, 0, 4, 1, MPI_DOUBLE_INT, MPI_NO_OP, win));
    OK(MPI_Win_unlock_all(win));
    CHECK(best.value == size - 1 && best.index == size - 1);
    OK(MPI_Win_free(&win));
}

/* Takes exclusive and shared locks: a rank that has one sees no half of another's change. */
static void locks(MPI_Win win, int *base)
{
    enum { ROUNDS = 300 };
    base[0] = base[1] = 0;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int n = 0; n < ROUNDS; n++) {
        int to = n % size, pair[2];
        if (n % 3 == rank % 3) {
            OK(MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win));
            OK(MPI_Get(pair, 2, MPI_INT, to, 0, 2, MPI_INT, win));
            OK(MPI_Win_flush(to, win));
            CHECK(pair[0] == pair[1]);
        } else {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win));
            OK(MPI_Get(pair, 2, MPI_INT, to, 0, 2, MPI_INT, win));
            OK(MPI_Win_flush(to, win));
            CHECK(pair[0] == pair[1]);
            for (int i = 0; i < 2; i++) {
                int value = pair[i] + 1;
                OK(MPI_Put(&value, 1, MPI_INT, to, i, 1, MPI_INT, win));
                OK(MPI_Win_flush_local(to, win));
            }
        }
        OK(MPI_Win_unlock(to, win));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    int expected = 0;
    for (int n = 0; n < ROUNDS; n++)
        for (int from = 0; from < size; from++)
            expected += n % size == rank && n % 3 != from % 3;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    CHECK(base[0] == expected && base[1] == expected);
    OK(MPI_Win_unlock(rank, win));
    OK(MPI_Win_sync(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* Post, start, complete, wait around a ring, and from one to all. */
static void groups(MPI_Win win, int *base)
{
    MPI_Group world, next, before;
    int to = (rank + 1) % size, from = (rank + size - 1) % size, flag = 0;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, 1, &to, &next));
    OK(MPI_Group_incl(world, 1, &from, &before));
    for (int n = 0; n < 100; n++) {
        base[0] = -1;
        int value = 1000 * rank + n;
        OK(MPI_Win_post(before, 0, win));
        OK(MPI_Win_start(next, 0, win));
        OK(MPI_Put(&value, 1, MPI_INT, to, 0, 1, MPI_INT, win));
        OK(MPI_Win_complete(win));
        if (n % 2)
            OK(MPI_Win_wait(win));
        else
            for (flag = 0; !flag;)
                OK(MPI_Win_test(win, &flag));
        CHECK(base[0] == 1000 * from + n);
    }
    MPI_Group root, others;
    int zero = 0;
    OK(MPI_Group_incl(world, 1, &zero, &root));
    OK(MPI_Group_excl(world, 1, &zero, &others));
    if (rank == 0) {
        OK(MPI_Win_start(others, 0, win));
        for (int i = 1; i < size; i++)
            OK(MPI_Put(&i, 1, MPI_INT, i, 1, 1, MPI_INT, win));
        OK(MPI_Win_complete(win));
    } else {
        OK(MPI_Win_post(root, MPI_MODE_NOSTORE, win));
        OK(MPI_Win_wait(win));
        CHECK(base[1] == rank);
    }
    MPI_Group list[] = {world, next, before, root};
    for (int i = 0; i < 4; i++)
        OK(MPI_Group_free(list + i));
    if (others != MPI_GROUP_EMPTY)
        OK(MPI_Group_free(&others));
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void requests(MPI_Win win, int *base)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size, value[3] = {rank, 1, 2}, got[3] = {-1, -1, -1};
    MPI_Request list[4];
    base[0] = base[1] = base[2] = 5;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Rput(value, 1, MPI_INT, to, 0, 1, MPI_INT, win, list));
    OK(MPI_Raccumulate(value + 1, 1, MPI_INT, to, 1, 1, MPI_INT, MPI_SUM, win, list + 1));
    OK(MPI_Rget_accumulate(value + 2, 1, MPI_INT, got + 2, 1, MPI_INT, to, 2, 1, MPI_INT, MPI_PROD, win, list + 2));
    OK(MPI_Rput(value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, list + 3));
    OK(MPI_Waitall(4, list, MPI_STATUSES_IGNORE));
    CHECK(got[2] == 5 && list[0] == MPI_REQUEST_NULL);
    OK(MPI_Win_flush(to, win));
    OK(MPI_Rget(got, 3, MPI_INT, to, 0, 3, MPI_INT, win, list));
    OK(MPI_Wait(list, MPI_STATUS_IGNORE));
    CHECK(got[0] == rank && got[1] == 6 && got[2] == 10);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(base[0] == from && base[1] == 6 && base[2] == 10);
}

/* A target that computes outside MPI need not answer: its memory is reached directly, or by its progress
   thread. */
static void passive(MPI_Win win, int *base)
{
    if (size < 2)
        return;
    volatile int *seen = base;
    int one = 1, old = -1, got[2] = {-1, -1};
    memset(base, 0, N * sizeof *base);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        while (seen[0] != 3)
            ;
    } else if (rank == 1) {
        for (int value = 1; value <= 3; value++) {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
            OK(MPI_Accumulate(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, win));
            OK(MPI_Fetch_and_op(&one, &old, MPI_INT, 0, 2, MPI_SUM, win));
            OK(MPI_Win_flush(0, win));
            OK(MPI_Get(got, 2, MPI_INT, 0, 1, 2, MPI_INT, win));
            OK(MPI_Win_flush(0, win));
            CHECK(old == value - 1 && got[0] == value && got[1] == value);
            OK(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
            OK(MPI_Win_unlock(0, win));
        }
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm host;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
    OK(MPI_Comm_size(host, &one_host));
    one_host = one_host == size;
    const char *thread = getenv("CANELE_PROGRESS_THREAD");
    int is_served = thread && strcmp(thread, "1") == 0;
    OK(MPI_Comm_free(&host));
    int *base, *from_mem, *own = malloc(N * sizeof *own);
    MPI_Win win;
    OK(MPI_Alloc_mem(N * sizeof *base, MPI_INFO_NULL, &from_mem));
    for (int kind = 0; kind < 4; kind++) {
        if (kind == 0)
            OK(MPI_Win_allocate(N * sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
        else if (kind == 1 && !one_host) {
            FAILS(MPI_ERR_RMA_SHARED, MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
            continue;
        } else if (kind == 1)
            OK(MPI_Win_allocate_shared(N * sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
        else if (kind == 3)
            OK(MPI_Win_create(base = own, N * sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        else
            OK(MPI_Win_create(base = from_mem, N * sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        fences(win, base);
        layouts(win, base);
        locks(win, base);
        groups(win, base);
        requests(win, base);
        if (is_served || (kind != 3 && one_host))
            passive(win, base);
        OK(MPI_Win_free(&win));
    }
    OK(MPI_Free_mem(from_mem));
    for (int of_program = 0; of_program < 2; of_program++) {
        large(of_program);
        accumulates(of_program);
        atomics(of_program);
    }
    free(own);
    MPI_Finalize();
    return result();
}
