/* Two ranks put a number each, flush, and get the other's number, at many places and at nearly the same time.
   One of the two gets comes after both puts, so at least one rank finds the other's number (MPI 5.0, 12.5.4
   and 12.7). If a put is still in its processor when the next get is made, neither rank does. Without the
   fence of MPI_Get this happens at some tens of 1.6 million places, if the library is optimised. */
#include <stdint.h>
#include "check.h"

enum { PLACES = 2048, LINE = 8, ROUNDS = 400 };

static int rank, size;

/* Returns the number of places at which both ranks got an older number than that of this round. */
static int places_missed(const int64_t *got, int other, int64_t round)
{
    static int64_t theirs[PLACES];
    OK(MPI_Sendrecv(got, PLACES, MPI_INT64_T, other, 1, theirs, PLACES, MPI_INT64_T, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    int missed = 0;
    for (int i = 0; i < PLACES; i++) missed += got[i] != round && theirs[i] != round;
    return missed;
}

/* Puts, flushes and gets; `words` numbers of 8 bytes are put at once. */
static void put_flush_get(MPI_Win win, int other, int words)
{
    static int64_t got[PLACES];
    int missed = 0;
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    for (int64_t round = 1; round <= ROUNDS; round++) {
        int64_t numbers[LINE];
        for (int i = 0; i < LINE; i++) numbers[i] = round;
        OK(MPI_Barrier(MPI_COMM_WORLD));
        /* A varying delay makes each rank the first one at times. */
        for (volatile int i = 0; i < (rank ? round % 20 : (ROUNDS - round) % 20) * 10; i++)
            ;
        for (int i = 0; i < PLACES; i++) {
            MPI_Put(numbers, words, MPI_INT64_T, other, i * LINE, words, MPI_INT64_T, win);
            MPI_Win_flush(other, win);
            MPI_Get(&got[i], 1, MPI_INT64_T, rank, i * LINE, 1, MPI_INT64_T, win);
        }
        OK(MPI_Win_flush_all(win));
        missed += places_missed(got, other, round);
    }
    OK(MPI_Win_unlock_all(win));
    if (missed) printf("%d words: missed at %d places\n", words, missed);
    CHECK(missed == 0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size == 2);
    for (int words = 1; words <= LINE; words += LINE - 1) {
        int64_t *base;
        MPI_Win win;
        OK(MPI_Win_allocate(PLACES * LINE * sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
        memset(base, 0, PLACES * LINE * sizeof *base);
        OK(MPI_Barrier(MPI_COMM_WORLD));
        put_flush_get(win, 1 - rank, words);
        OK(MPI_Win_free(&win));
    }
    MPI_Finalize();
    return result();
}
