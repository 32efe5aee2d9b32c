/* One-sided communication: each kind of synchronisation, each call, operations, datatypes, errors. */
#include "conformance.h"

#include <stdint.h>

enum { CELLS = 24 };

static int *memory;
static MPI_Win window;
static int next, before;

/* Adds a line with this rank's part; called between two fences or locks. */
static void part(const char *what)
{
    say_ints(what, memory, CELLS);
}

/* Fills this rank's whole part, while no other rank accesses it. */
static void clear(int value)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
    for (int n = 0; n < CELLS; n++)
        memory[n] = value + n;
    MPI_Win_unlock(rank, window);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void fences(void)
{
    int from[4] = {10 * rank, 10 * rank + 1, 10 * rank + 2, 10 * rank + 3}, got[3];
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
    MPI_Put(from, 2, MPI_INT, next, 1, 2, MPI_INT, window);
    MPI_Put(from + 2, 1, MPI_INT, before, 8, 1, MPI_INT, window);
    MPI_Get(got, 3, MPI_INT, next, 20, 3, MPI_INT, window);
    MPI_Put(from, 4, MPI_INT, MPI_PROC_NULL, 100000, 4, MPI_INT, window);
    MPI_Win_fence(0, window);
    part("put");
    say_ints("got", got, 3);
    /* No rank adds before all ranks have read. */
    MPI_Win_fence(0, window);
    for (int n = 0; n < size; n++)
        MPI_Accumulate(from, 2, MPI_INT, n, 10, 2, MPI_INT, MPI_SUM, window);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    part("sum of all");
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 0 puts to all other ranks, which expose their parts to it. */
static void post_and_start(void)
{
    MPI_Group world, origin, targets;
    int zero = 0, others[3] = {1, 2, 3}, values[2] = {77, 78}, flag = 0;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &zero, &origin);
    MPI_Group_incl(world, size - 1, others, &targets);
    for (int round = 0; round < 2; round++) {
        if (rank == 0) {
            MPI_Win_start(targets, 0, window);
            for (int n = 1; n < size; n++)
                MPI_Put(values, 2, MPI_INT, n, 2 * n + 6 * round, 2, MPI_INT, window);
            MPI_Win_complete(window);
        } else {
            MPI_Win_post(origin, 0, window);
            if (round == 0)
                MPI_Win_wait(window);
            for (flag = round == 0; !flag;)
                MPI_Win_test(window, &flag);
            part("posted");
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Group_free(&origin);
    MPI_Group_free(&targets);
    MPI_Group_free(&world);
}

static void locks(void)
{
    int value = 1000 + rank, got = -1, sum = -1, one = 1, before_it[2] = {-1, -1};
    MPI_Request requests[3];
    MPI_Status status;
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, window);
    MPI_Put(&value, 1, MPI_INT, next, 3, 1, MPI_INT, window);
    MPI_Win_flush(next, window);
    MPI_Get(&got, 1, MPI_INT, next, 3, 1, MPI_INT, window);
    MPI_Win_flush_local(next, window);
    MPI_Win_unlock(next, window);
    say("put and got: %d", got);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    for (int n = 0; n < 10; n++)
        MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
    MPI_Win_flush_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Fetch_and_op(NULL, &sum, MPI_INT, 0, 0, MPI_NO_OP, window);
    MPI_Win_flush(0, window);
    say("counted: %d", sum);
    MPI_Rput(&value, 1, MPI_INT, next, 5, 1, MPI_INT, window, &requests[0]);
    MPI_Raccumulate(&value, 1, MPI_INT, next, 6, 1, MPI_INT, MPI_REPLACE, window, &requests[1]);
    MPI_Rget_accumulate(&one, 1, MPI_INT, before_it, 1, MPI_INT, next, 7, 1, MPI_INT, MPI_SUM, window, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    MPI_Win_flush_local_all(window);
    MPI_Win_flush_all(window);
    MPI_Rget(&got, 1, MPI_INT, next, 7, 1, MPI_INT, window, &requests[0]);
    MPI_Wait(&requests[0], &status);
    say("before %d, after %d", before_it[0], got);
    MPI_Rget(&got, 1, MPI_INT, MPI_PROC_NULL, 7, 1, MPI_INT, window, &requests[0]);
    MPI_Wait(&requests[0], &status);
    say("of no process: completed");
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
    part("locked");
    MPI_Win_unlock(rank, window);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Ranks take turns with a counter that only one of them can swap. */
static void swaps(void)
{
    int found, following = rank + 1, turn = -1;
    MPI_Win_lock_all(0, window);
    do {
        MPI_Compare_and_swap(&following, &rank, &found, MPI_INT, 0, 0, window);
        MPI_Win_flush(0, window);
    } while (found != rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Compare_and_swap(&following, &(int){size + 5}, &turn, MPI_INT, 0, 0, window);
    MPI_Win_unlock_all(window);
    say("turn: %d", turn);
}

static void all_operations(void)
{
    const struct {
        const char *name;
        MPI_Op op;
    } operations[] = {
        {"max", MPI_MAX},   {"min", MPI_MIN},   {"sum", MPI_SUM},     {"prod", MPI_PROD},
        {"land", MPI_LAND}, {"band", MPI_BAND}, {"lor", MPI_LOR},     {"bor", MPI_BOR},
        {"lxor", MPI_LXOR}, {"bxor", MPI_BXOR}, {"no_op", MPI_NO_OP}, {"replace", MPI_REPLACE},
    };
    for (size_t n = 0; n < sizeof operations / sizeof *operations; n++) {
        int from[4] = {rank, 6 + rank, 0, -3 - (int)n}, got[4] = {-1, -1, -1, -1};
        clear(2);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, window);
        MPI_Get_accumulate(from, 4, MPI_INT, got, 4, MPI_INT, next, 4, 4, MPI_INT, operations[n].op, window);
        MPI_Win_unlock(next, window);
        MPI_Barrier(MPI_COMM_WORLD);
        say_ints(operations[n].name, got, 4);
        MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
        say_ints(operations[n].name, memory + 4, 4);
        MPI_Win_unlock(rank, window);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void of_type(const char *what, MPI_Datatype datatype, const void *from, void *to, int bytes, MPI_Op op)
{
    int fetched[8];
    memset(fetched, 0, sizeof fetched);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
    memcpy(memory, to, (size_t)bytes);
    MPI_Win_unlock(rank, window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, window);
    MPI_Fetch_and_op(from, fetched, datatype, next, 0, op, window);
    MPI_Win_unlock(next, window);
    MPI_Barrier(MPI_COMM_WORLD);
    say_bytes(what, fetched, bytes);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
    say_bytes(what, memory, bytes);
    MPI_Win_unlock(rank, window);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void types(void)
{
    of_type("int8", MPI_INT8_T, &(int8_t){100}, &(int8_t){27}, 1, MPI_SUM);
    of_type("uint16", MPI_UINT16_T, &(uint16_t){65000}, &(uint16_t){700}, 2, MPI_MAX);
    of_type("int64", MPI_INT64_T, &(int64_t){1LL << 40}, &(int64_t){-5}, 8, MPI_SUM);
    of_type("float", MPI_FLOAT, &(float){1.5f}, &(float){2.25f}, 4, MPI_PROD);
    of_type("double", MPI_DOUBLE, &(double){-1.5}, &(double){2.25}, 8, MPI_MIN);
    of_type("complex", MPI_C_DOUBLE_COMPLEX, (double[]){1, 2}, (double[]){3, -4}, 16, MPI_PROD);
    of_type("bool", MPI_C_BOOL, &(_Bool){1}, &(_Bool){1}, 1, MPI_LXOR);
    of_type("byte", MPI_BYTE, &(char){15}, &(char){51}, 1, MPI_BXOR);
    of_type("pair", MPI_2INT, (int[]){9, 2}, (int[]){9, 5}, 8, MPI_MAXLOC);
    of_type("aint", MPI_AINT, &(MPI_Aint){5}, &(MPI_Aint){6}, 8, MPI_REPLACE);
}

/* Tests every pair of three layouts of six numbers. */
static void layouts(void)
{
    MPI_Datatype made[3];
    int count[3] = {6, 1, 1}, from[CELLS], got[CELLS];
    MPI_Type_dup(MPI_INT, &made[0]);
    MPI_Type_vector(3, 2, 5, MPI_INT, &made[1]);
    MPI_Type_indexed(3, (int[]){1, 3, 2}, (int[]){13, 7, 1}, MPI_INT, &made[2]);
    for (int n = 0; n < 3; n++)
        MPI_Type_commit(&made[n]);
    for (int here = 0; here < 3; here++)
        for (int there = 0; there < 3; there++) {
            for (int n = 0; n < CELLS; n++) {
                from[n] = 100 * (rank + 1) + n;
                got[n] = -1;
            }
            clear(0);
            MPI_Win_fence(0, window);
            MPI_Put(from, count[here], made[here], next, 2, count[there], made[there], window);
            MPI_Win_fence(0, window);
            MPI_Get(got, count[there], made[there], before, 2, count[here], made[here], window);
            MPI_Win_fence(0, window);
            MPI_Accumulate(from, count[here], made[here], next, 2, count[there], made[there], MPI_SUM, window);
            MPI_Win_fence(0, window);
            say("layouts %d and %d", here, there);
            part("put and added");
            say_ints("got", got, CELLS);
        }
    for (int n = 0; n < 3; n++)
        MPI_Type_free(&made[n]);
}

static void dynamic(void)
{
    MPI_Win made;
    MPI_Aint address, theirs;
    int *attached = calloc(4, sizeof *attached), value = 500 + rank;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &made);
    MPI_Win_attach(made, attached, 4 * sizeof *attached);
    MPI_Get_address(attached, &address);
    MPI_Sendrecv(&address, 1, MPI_AINT, before, 0, &theirs, 1, MPI_AINT, next, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_fence(0, made);
    MPI_Put(&value, 1, MPI_INT, next, MPI_Aint_add(theirs, 2 * sizeof value), 1, MPI_INT, made);
    MPI_Win_fence(0, made);
    say_ints("attached", attached, 4);
    MPI_Win_detach(made, attached);
    MPI_Win_free(&made);
    free(attached);
}

/* Rank n has displacement units of 2^n bytes. */
static void units(void)
{
    char bytes[64];
    MPI_Win made;
    memset(bytes, '.', sizeof bytes);
    MPI_Win_create(bytes, sizeof bytes, 1 << rank, MPI_INFO_NULL, MPI_COMM_WORLD, &made);
    MPI_Win_fence(0, made);
    for (int n = 0; n < size; n++)
        MPI_Put(&(char){(char)('a' + rank)}, 1, MPI_CHAR, n, 1 + rank, 1, MPI_CHAR, made);
    MPI_Win_fence(0, made);
    say("units: %.64s", bytes);
    MPI_Win_free(&made);
}

static void wrong_calls(void)
{
    int one = 1;
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    MPI_Win_fence(0, window);
    CODE(MPI_Put(&one, 1, MPI_INT, size, 0, 1, MPI_INT, window));
    CODE(MPI_Put(&one, 1, MPI_INT, -50, 0, 1, MPI_INT, window));
    CODE(MPI_Put(&one, -1, MPI_INT, 0, 0, 1, MPI_INT, window));
    CODE(MPI_Put(&one, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, window));
    CODE(MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_OP_NULL, window));
    CODE(MPI_Put(&one, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, window));
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    CODE(MPI_Win_unlock(0, window));
    CODE(MPI_Win_complete(window));
    CODE(MPI_Win_wait(window));
    CODE(MPI_Win_lock(MPI_LOCK_SHARED, size, 0, window));
    /* An invalid kind of lock is left out: its class is MPI_ERR_LOCKTYPE, but MPI_ERR_ARG with MPICH. */
}

void onesided(void)
{
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    MPI_Win_allocate(CELLS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    clear(200);
    fences();
    clear(300);
    post_and_start();
    clear(0);
    locks();
    clear(0);
    swaps();
    MPI_Barrier(MPI_COMM_WORLD);
    all_operations();
    types();
    layouts();
    dynamic();
    units();
    wrong_calls();
    MPI_Win_free(&window);
}
