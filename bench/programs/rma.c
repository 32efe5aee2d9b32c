/* One-sided communication of rank 0 with memory of rank 1 in an allocated window, and the synchronization of all ranks.
 *
 *   put, get, fetch_and_op   8 bytes, and the flush that completes them; each get reads a line that rank 1 has just written
 *   put, accumulate          1 MB, and the flush; accumulate adds doubles
 *   lock                     an exclusive lock, a put of 8 bytes, and the unlock
 *   puts                     windows of 64 puts of 8 bytes, then one flush
 *   fence, barrier           of all ranks, without other calls between
 *
 * With more than two ranks only the last line is measured. What a call wrote or read is checked, and a wrong value ends the job. */
#include "measure.h"

#include <stdint.h>

enum { WINDOW = 64, LONG = 1 << 20, LINES = 512, LINE_BYTES = 64, TARGET = 1 };

/* Offsets in the window of rank 1: first cell, cells of the windows, lines that are read, long transfers. */
enum { CELL = 0, COUNTER = 64, CELLS = 128, READ = 4096, MANY = READ + LINES * LINE_BYTES, ALL = MANY + LONG };

static MPI_Win window;
static char *memory;
static int64_t written, added, fetched, rounds;

static void target_must_have(MPI_Aint at, int64_t expected, const char *what) {
    int64_t found;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(&expected, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    MPI_Win_sync(window);
    memcpy(&found, memory + at, sizeof found);
    if (rank == TARGET) must_be(found, expected, what);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void put(const void *what, long count) {
    (void)what;
    if (rank != 0) return;
    for (long i = 0; i < count; i++) {
        written++;
        MPI_Put(&written, 8, MPI_BYTE, TARGET, CELL, 8, MPI_BYTE, window);
        MPI_Win_flush(TARGET, window);
    }
}

static void puts_window(const void *what, long count) {
    static int64_t from[WINDOW];
    (void)what;
    if (rank != 0) return;
    for (long i = 0; i < count; i++) {
        written++;
        for (int j = 0; j < WINDOW; j++) {
            from[j] = written + j;
            MPI_Put(&from[j], 8, MPI_BYTE, TARGET, CELLS + 8 * j, 8, MPI_BYTE, window);
        }
        MPI_Win_flush(TARGET, window);
    }
}

static void fetch_and_add(const void *what, long count) {
    static const int64_t one = 1;
    (void)what;
    if (rank != 0) return;
    for (long i = 0; i < count; i++) {
        MPI_Fetch_and_op(&one, &fetched, MPI_INT64_T, TARGET, COUNTER, MPI_SUM, window);
        MPI_Win_flush(TARGET, window);
    }
    added += count;
}

static void locked_put(const void *what, long count) {
    (void)what;
    if (rank != 0) return;
    for (long i = 0; i < count; i++) {
        written++;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, window);
        MPI_Put(&written, 8, MPI_BYTE, TARGET, CELL, 8, MPI_BYTE, window);
        MPI_Win_unlock(TARGET, window);
    }
}

static void put_long(const void *from, long count) {
    if (rank != 0) return;
    for (long i = 0; i < count; i++) {
        MPI_Put(from, LONG, MPI_BYTE, TARGET, MANY, LONG, MPI_BYTE, window);
        MPI_Win_flush(TARGET, window);
    }
}

static void accumulate_long(const void *from, long count) {
    if (rank != 0) return;
    for (long i = 0; i < count; i++) {
        MPI_Accumulate(from, LONG / 8, MPI_DOUBLE, TARGET, MANY, LONG / 8, MPI_DOUBLE, MPI_SUM, window);
        MPI_Win_flush(TARGET, window);
    }
    rounds += count;
}

static void fence(const void *what, long count) {
    (void)what;
    for (long i = 0; i < count; i++) MPI_Win_fence(0, window);
}

static void barrier(const void *what, long count) {
    (void)what;
    for (long i = 0; i < count; i++) MPI_Barrier(MPI_COMM_WORLD);
}

/* Returns nanoseconds of one get. It makes as many passes as fit into the blocks; before each pass rank 1
   writes all lines. */
static double gets(void) {
    double spent = 0, took[4096], begin = MPI_Wtime();
    int passes = 0, enough = 0;
    int64_t value = 0;
    while (!enough) {
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; rank == TARGET && i < LINES; i++) {
            value = ((int64_t)passes << 32) + i;
            memcpy(memory + READ + i * LINE_BYTES, &value, sizeof value);
        }
        MPI_Win_sync(window);
        MPI_Barrier(MPI_COMM_WORLD);
        int64_t sum = 0;
        spent = MPI_Wtime();
        /* A processor would prefetch lines in order. */
        for (int i = 0; rank == 0 && i < LINES; i++) {
            MPI_Get(&value, 8, MPI_BYTE, TARGET, READ + i * 37 % LINES * LINE_BYTES, 8, MPI_BYTE, window);
            MPI_Win_flush(TARGET, window);
            sum += value;
        }
        took[passes] = (MPI_Wtime() - spent) / LINES;
        if (rank == 0) must_be(sum, LINES * ((int64_t)passes << 32) + LINES * (LINES - 1) / 2, "the sum of what was read");
        passes++;
        enough = passes == 4096 || (passes > 8 && MPI_Wtime() - begin > block_s * MOST_BLOCKS);
        MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    return median(took, passes) * 1e9;
}

/* Measures operations of rank 0 on rank 1, in one epoch. */
static void of_two(void) {
    double *from = (double *)buffer(LONG, 0), first, last;
    for (int i = 0; i < LONG / 8; i++) from[i] = i;
    MPI_Win_lock_all(0, window);
    tell("put", 8, measure(put, NULL), "ns");
    target_must_have(CELL, written, "what was put");
    tell("get", 8, gets(), "ns");
    tell("fetch_and_op", 8, measure(fetch_and_add, NULL), "ns");
    target_must_have(COUNTER, added, "the counter");
    if (rank == 0) must_be(fetched, added - 1, "the counter before the last addition");
    tell("puts", 8, WINDOW * 1e3 / measure(puts_window, NULL), "M/s");
    target_must_have(CELLS + 8 * (WINDOW - 1), written + WINDOW - 1, "what was put at last");
    tell("put", LONG, measure(put_long, from), "ns");
    memcpy(&first, memory + MANY + LONG / 2, 8);
    memcpy(&last, memory + MANY + LONG - 8, 8);
    if (rank == TARGET) must_be(first == LONG / 16 && last == LONG / 8 - 1, 1, "that doubles were put");
    /* Zeros, so that sums are known. */
    memset(memory + MANY, 0, LONG);
    MPI_Win_sync(window);
    tell("accumulate", LONG, measure(accumulate_long, from), "ns");
    MPI_Bcast(&rounds, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    MPI_Win_sync(window);
    memcpy(&last, memory + MANY + LONG - 8, 8);
    if (rank == TARGET) must_be((int64_t)last, rounds * (LONG / 8 - 1), "the last sum");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(window);
    tell("lock", 8, measure(locked_put, NULL), "ns");
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
    target_must_have(CELL, written, "what was put under a lock");
    MPI_Win_unlock(rank, window);
    free(from);
}

int main(int argc, char **argv) {
    start(argc, argv);
    MPI_Win_allocate(ALL, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    memset(memory, 0, ALL);
    MPI_Barrier(MPI_COMM_WORLD);
    if (ranks == 2) of_two();
    MPI_Win_fence(0, window);
    tell("fence", 0, measure(fence, NULL), "ns");
    tell("barrier", 0, measure(barrier, NULL), "ns");
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
