/* Dynamic windows: accesses across adjacent memory; owners that serve others while they wait for a value. */
#include "check.h"

static int rank, size;

enum { HALF = 3000 };

/* The first half is attached after the second one; a third part has a gap before it. */
static long memory[3 * HALF];

static void attach(MPI_Win win)
{
    OK(MPI_Win_attach(win, memory + HALF, HALF * sizeof *memory));
    OK(MPI_Win_attach(win, memory, HALF * sizeof *memory));
    OK(MPI_Win_attach(win, memory + 2 * HALF + 1, 8 * sizeof *memory));
}

static void borders(MPI_Win win, int target, MPI_Aint there)
{
    enum { LEN = 2500, FROM = HALF - 1000 };
    static long to[LEN], back[LEN];
    MPI_Aint disp = MPI_Aint_add(there, FROM * sizeof *memory);
    for (int i = 0; i < LEN; i++)
        to[i] = i + 1;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
    OK(MPI_Put(to, LEN, MPI_LONG, target, disp, LEN, MPI_LONG, win));
    OK(MPI_Win_flush(target, win));
    OK(MPI_Accumulate(to, LEN, MPI_LONG, target, disp, LEN, MPI_LONG, MPI_SUM, win));
    OK(MPI_Win_flush(target, win));
    OK(MPI_Get(back, LEN, MPI_LONG, target, disp, LEN, MPI_LONG, win));
    OK(MPI_Win_unlock(target, win));
    for (int i = 0; i < LEN; i++)
        CHECK(back[i] == 2 * (i + 1));
    memset(to, 0, sizeof to);
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
    OK(MPI_Get_accumulate(to, LEN, MPI_LONG, back, LEN, MPI_LONG, target, disp, LEN, MPI_LONG, MPI_REPLACE, win));
    OK(MPI_Win_unlock(target, win));
    CHECK(back[0] == 2 && back[LEN - 1] == 2 * LEN);
}

/* Rank 0 waits for a value in its own memory, in one of several ways, and rank 1 puts it there. */
static void waits(MPI_Win win, MPI_Aint here, MPI_Aint there, volatile long *own, int how)
{
    long one = 1, value = 0;
    *own = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, there, 1, MPI_LONG, MPI_REPLACE, win));
        OK(MPI_Win_unlock(0, win));
    }
    if (how == 0 && rank == 0) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        while (!*own)
            MPI_Win_sync(win);
        OK(MPI_Win_unlock(0, win));
    }
    while (how > 0 && rank == 0 && !value) {
        OK(MPI_Win_lock(how == 1 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, win));
        OK(MPI_Fetch_and_op(NULL, &value, MPI_LONG, 0, here, MPI_NO_OP, win));
        OK(MPI_Win_unlock(0, win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win win, created;
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    attach(win);
    MPI_Aint addresses[8];
    OK(MPI_Get_address(memory, &addresses[rank]));
    OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, addresses, 1, MPI_AINT, MPI_COMM_WORLD));
    for (int target = 0; target < size; target++) {
        if (target % size == (rank + 1) % size)
            borders(win, target, addresses[target]);
        MPI_Barrier(MPI_COMM_WORLD);
        if (target == rank)
            borders(win, rank, addresses[rank]);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    OK(MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &created));
    for (int how = 0; size > 1 && how < 3; how++) {
        waits(win, addresses[0], addresses[0], memory, how);
        waits(created, 0, 0, memory, how);
    }
    OK(MPI_Win_free(&created));
    OK(MPI_Win_detach(win, memory));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    long value = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, (rank + 1) % size, 0, win));
    int code = MPI_Get(&value, 1, MPI_LONG, (rank + 1) % size, addresses[(rank + 1) % size], 1, MPI_LONG, win);
    int later = MPI_Win_unlock((rank + 1) % size, win);
    CHECK(code != MPI_SUCCESS || later != MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_detach(win, memory + HALF));
    OK(MPI_Win_detach(win, memory + 2 * HALF + 1));
    OK(MPI_Win_free(&win));
    MPI_Finalize();
    return result();
}
