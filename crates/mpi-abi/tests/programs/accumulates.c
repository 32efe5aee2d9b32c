/* Long accumulates and single elements in the same memory, by several threads of every rank: no addition is
   lost. The argument is the least number of seconds. */
#include "check.h"
#include <pthread.h>
#include <stdint.h>

enum { ELEMENTS = 6000, ROUNDS = 60, THREADS = 2 };

static int rank, size;
static MPI_Win win;

/* The number of a thread, and its sum for each element of each rank. */
struct work {
    int thread;
    int64_t *added;
};

static void *work(void *argument)
{
    struct work *mine = argument;
    int64_t *ones = malloc(ELEMENTS * sizeof *ones), *old = malloc(ELEMENTS * sizeof *old), one = 1, before;
    for (int i = 0; i < ELEMENTS; i++)
        ones[i] = 1;
    for (int n = 0; n < ROUNDS; n++) {
        int to = (n + rank) % size, what = (n / size + rank + mine->thread) % 5, at = n % 64, count = 1;
        if (what == 0) {
            at = 0;
            count = ELEMENTS;
            OK(MPI_Accumulate(ones, count, MPI_INT64_T, to, at, count, MPI_INT64_T, MPI_SUM, win));
        } else if (what == 1) {
            at = 100;
            count = ELEMENTS - 200;
            OK(MPI_Get_accumulate(ones, count, MPI_INT64_T, old, count, MPI_INT64_T, to, at, count, MPI_INT64_T, MPI_SUM, win));
            OK(MPI_Win_flush(to, win));
            for (int i = 0; i < count; i++)
                if (old[i] < 0 || old[i] > THREADS * size * ROUNDS)
                    CHECK(!"an element is torn");
        } else if (what == 2) {
            count = 40;
            OK(MPI_Accumulate(ones, count, MPI_INT64_T, to, at, count, MPI_INT64_T, MPI_SUM, win));
        } else if (what == 3) {
            for (int i = 0; i < 50; i++)
                OK(MPI_Fetch_and_op(&one, &before, MPI_INT64_T, to, at, MPI_SUM, win));
            mine->added[to * ELEMENTS + at] += 49;
        } else {
            /* Adds one by compare-and-swap. */
            int64_t expected = 0, wanted = 1;
            for (;;) {
                OK(MPI_Compare_and_swap(&wanted, &expected, &before, MPI_INT64_T, to, at, win));
                OK(MPI_Win_flush(to, win));
                if (before == expected)
                    break;
                expected = before;
                wanted = before + 1;
            }
        }
        /* The added memory must not change before the flush. */
        OK(MPI_Win_flush(to, win));
        for (int i = at; i < at + count; i++)
            mine->added[to * ELEMENTS + i]++;
    }
    free(ones);
    free(old);
    return NULL;
}

static void all_add(int own)
{
    int64_t *memory = calloc(ELEMENTS, sizeof *memory), *base = memory;
    int64_t *added = calloc(ELEMENTS * size, sizeof *added), *all = calloc(ELEMENTS * size, sizeof *all);
    MPI_Aint bytes = ELEMENTS * sizeof *memory;
    if (own)
        OK(MPI_Win_create(base, bytes, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    else
        OK(MPI_Win_allocate(bytes, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    memset(base, 0, bytes);
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    struct work works[THREADS];
    pthread_t threads[THREADS];
    for (int n = 0; n < THREADS; n++) {
        works[n] = (struct work){n, calloc(ELEMENTS * size, sizeof *added)};
        if (n > 0)
            CHECK(pthread_create(threads + n, NULL, work, works + n) == 0);
    }
    work(works);
    for (int n = 0; n < THREADS; n++) {
        if (n > 0)
            CHECK(pthread_join(threads[n], NULL) == 0);
        for (int i = 0; i < ELEMENTS * size; i++)
            added[i] += works[n].added[i];
        free(works[n].added);
    }
    OK(MPI_Allreduce(added, all, ELEMENTS * size, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    int wrong = 0;
    for (int i = 0; i < ELEMENTS; i++)
        wrong += base[i] != all[rank * ELEMENTS + i];
    CHECK(wrong == 0);
    OK(MPI_Win_free(&win));
    free(memory);
    free(added);
    free(all);
}

int main(int argc, char **argv)
{
    int level;
    OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level));
    CHECK(level == MPI_THREAD_MULTIPLE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double end = MPI_Wtime() + (argc > 1 ? atof(argv[1]) : 0);
    int goes_on;
    do {
        all_add(0);
        all_add(1);
        goes_on = MPI_Wtime() < end;
        OK(MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD));
    } while (goes_on);
    MPI_Finalize();
    return result();
}
