/* Threads that exchange short messages and access windows, and each cache the results of their calls. They
 * come and go without a trace, and no thread uses an object that another has freed. */
#include "check.h"
#include <malloc.h>
#include <pthread.h>

enum { THREADS = 3, WINDOW = 40, LIVES = 600, ROUNDS = 60 };

static int rank, ranks;
static MPI_Comm comms[THREADS];
static pthread_barrier_t meeting;

/* Sends windows and single messages to the neighbours on a communicator, in which this process has another
   rank each time. */
static void talk(MPI_Comm comm, int seed)
{
    int me, out[WINDOW], in[WINDOW], place;
    MPI_Request requests[2 * WINDOW];
    OK(MPI_Comm_rank(comm, &me));
    int next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
    for (int n = 0; n < WINDOW; n++) {
        out[n] = seed + 100 * me + n;
        in[n] = -1;
        OK(MPI_Irecv(&in[n], 1, MPI_INT, before, n, comm, &requests[n]));
        OK(MPI_Isend(&out[n], 1, MPI_INT, next, n, comm, &requests[WINDOW + n]));
    }
    OK(MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE));
    for (int n = 0; n < WINDOW; n++)
        CHECK(in[n] == seed + 100 * before + n);
    /* A token keeps each process at most one message ahead. */
    for (int turn = 0; turn < 2; turn++) {
        MPI_Status status;
        place = seed + turn;
        if (me == 0) {
            OK(MPI_Send(&place, 1, MPI_INT, next, WINDOW, comm));
            OK(MPI_Recv(&place, 1, MPI_INT, before, WINDOW, comm, &status));
        } else {
            OK(MPI_Recv(&place, 1, MPI_INT, before, WINDOW, comm, &status));
            OK(MPI_Send(&place, 1, MPI_INT, next, WINDOW, comm));
        }
        int count = -1;
        OK(MPI_Get_count(&status, MPI_INT, &count));
        CHECK(place == seed + turn && count == 1 && status.MPI_SOURCE == before && status.MPI_TAG == WINDOW);
    }
}

static void *live(void *of)
{
    talk(comms[(long)of % THREADS], (int)(long)of);
    return NULL;
}

/* Threads that end free their caches. */
static void many_lives(void)
{
    size_t after_some = 0;
    for (long life = 0; life < LIVES; life += THREADS) {
        pthread_t threads[THREADS];
        for (int n = 0; n < THREADS; n++)
            CHECK(pthread_create(&threads[n], NULL, live, (void *)(life + n)) == 0);
        for (int n = 0; n < THREADS; n++)
            pthread_join(threads[n], NULL);
        if (life == LIVES / 4)
            after_some = mallinfo2().uordblks;
    }
    size_t after_all = mallinfo2().uordblks;
    CHECK(after_all < after_some + 64 * 1024);
}

/* The main thread replaces each communicator by one with the ranks in another order, while the threads that
   have used it wait. */
static void *use_new_ones(void *of)
{
    long n = (long)of;
    for (int round = 0; round < ROUNDS; round++) {
        talk(comms[n], round);
        pthread_barrier_wait(&meeting);
        pthread_barrier_wait(&meeting);
    }
    return NULL;
}

static void make(int round)
{
    for (int n = 0; n < THREADS; n++)
        OK(MPI_Comm_split(MPI_COMM_WORLD, 0, round % 2 ? -rank : (rank + round) % ranks, &comms[n]));
}

static void handles_are_used_again(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&meeting, NULL, THREADS + 1);
    for (long n = 0; n < THREADS; n++)
        CHECK(pthread_create(&threads[n], NULL, use_new_ones, (void *)n) == 0);
    for (int round = 1; round <= ROUNDS; round++) {
        pthread_barrier_wait(&meeting);
        for (int n = 0; n < THREADS; n++)
            OK(MPI_Comm_free(&comms[n]));
        make(round);
        pthread_barrier_wait(&meeting);
    }
    for (int n = 0; n < THREADS; n++)
        pthread_join(threads[n], NULL);
}

/* Threads make communicators between the same two groups at the same time, with one tag, each over a
   communicator of its own. */
static void *meet_the_others(void *of)
{
    MPI_Comm own = comms[(long)of], half, between;
    int me, got, size;
    OK(MPI_Comm_rank(own, &me));
    int is_low = me < ranks / 2, other = is_low ? ranks / 2 : 0;
    for (int round = 0; round < 10; round++) {
        OK(MPI_Comm_split(own, is_low, me, &half));
        OK(MPI_Intercomm_create(half, 0, own, other, 99, &between));
        OK(MPI_Comm_remote_size(between, &size));
        CHECK(size == (is_low ? ranks - ranks / 2 : ranks / 2));
        int mine = 1000 * (int)(long)of + round;
        if (me == (is_low ? 0 : ranks / 2)) {
            OK(MPI_Sendrecv(&mine, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, 0, 1, between, MPI_STATUS_IGNORE));
            CHECK(got == mine);
        }
        OK(MPI_Comm_free(&between));
        OK(MPI_Comm_free(&half));
    }
    return NULL;
}

static void in_threads(void *(*body)(void *))
{
    pthread_t threads[THREADS];
    for (long n = 0; n < THREADS; n++)
        CHECK(pthread_create(&threads[n], NULL, body, (void *)n) == 0);
    for (int n = 0; n < THREADS; n++)
        pthread_join(threads[n], NULL);
}

static MPI_Win window;

/* Adds to words of all ranks by both kinds of operations, and writes and reads a word of its own there. */
static void *access_window(void *of)
{
    long n = (long)of, one = 1, old, next;
    for (int round = 0; round < ROUNDS; round++)
        for (int target = 0; target < ranks; target++) {
            int own = 2 + rank * THREADS + (int)n;
            long out = 1000 * round + own, in = -1;
            OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, target, 0, MPI_SUM, window));
            OK(MPI_Win_flush(target, window));
            CHECK(old >= round && old < (long)ranks * THREADS * ROUNDS);
            OK(MPI_Get(&next, 1, MPI_LONG, target, 1, 1, MPI_LONG, window));
            OK(MPI_Win_flush(target, window));
            do {
                long expected = next, more = expected + 1;
                OK(MPI_Compare_and_swap(&more, &expected, &next, MPI_LONG, target, 1, window));
                OK(MPI_Win_flush(target, window));
                if (next == expected)
                    break;
            } while (1);
            OK(MPI_Put(&out, 1, MPI_LONG, target, own, 1, MPI_LONG, window));
            OK(MPI_Win_flush(target, window));
            OK(MPI_Get(&in, 1, MPI_LONG, target, own, 1, MPI_LONG, window));
            OK(MPI_Win_flush_local(target, window));
            CHECK(in == out);
        }
    return NULL;
}

static void windows_of_threads(void)
{
    long *memory;
    pthread_t threads[THREADS];
    OK(MPI_Win_allocate((2 + ranks * THREADS) * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                        &window));
    memset(memory, 0, (2 + ranks * THREADS) * sizeof *memory);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, window));
    for (long n = 1; n < THREADS; n++)
        CHECK(pthread_create(&threads[n], NULL, access_window, (void *)n) == 0);
    access_window(NULL);
    for (int n = 1; n < THREADS; n++)
        pthread_join(threads[n], NULL);
    OK(MPI_Win_unlock_all(window));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(memory[0] == (long)ranks * THREADS * ROUNDS && memory[1] == memory[0]);
    for (int n = 2; n < 2 + ranks * THREADS; n++)
        CHECK(memory[n] == 1000 * (ROUNDS - 1) + n);
    OK(MPI_Win_free(&window));
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    make(0);
    many_lives();
    handles_are_used_again();
    windows_of_threads();
    in_threads(meet_the_others);
    for (int n = 0; n < THREADS; n++)
        OK(MPI_Comm_free(&comms[n]));
    MPI_Finalize();
    return result();
}
