/* A program that asks for several threads and uses one for a while: receives that were deferred meanwhile are in their places when another
 * thread calls, and messages keep their order while it begins.
 *
 *   biased [MICROSECONDS]    another thread begins after so long */
#include "check.h"
#include <pthread.h>
#include <unistd.h>

enum { WINDOW = 32, ROUNDS = 300, TURN = 5, GO = 6, DONE = 7, STREAM = 8 };

static int rank, ranks, next, before;
static MPI_Comm others;
static useconds_t delay;

/* Windows of messages in a ring of ranks, numbered; receives are started before, between and behind sends. */
static void stream(MPI_Comm comm, int rounds)
{
    int out[WINDOW], in[WINDOW];
    MPI_Request requests[2 * WINDOW];
    MPI_Status statuses[2 * WINDOW];
    for (int round = 0; round < rounds; round++) {
        int started = 0;
        for (int n = 0; n < WINDOW; n++) {
            out[n] = round * WINDOW + n;
            in[n] = -1;
            OK(MPI_Irecv(&in[n], 1, MPI_INT, before, STREAM, comm, &requests[started++]));
            if (n % 4 == round % 4)
                OK(MPI_Isend(&out[n], 1, MPI_INT, next, STREAM, comm, &requests[started++]));
            else
                OK(MPI_Send(&out[n], 1, MPI_INT, next, STREAM, comm));
        }
        OK(MPI_Waitall(started, requests, round % 2 ? statuses : MPI_STATUSES_IGNORE));
        for (int n = 0; n < WINDOW; n++)
            CHECK(in[n] == round * WINDOW + n);
        int value = round, got = -1;
        if (rank % 2) {
            OK(MPI_Recv(&got, 1, MPI_INT, before, STREAM, comm, MPI_STATUS_IGNORE));
            OK(MPI_Send(&value, 1, MPI_INT, next, STREAM, comm));
        } else {
            OK(MPI_Send(&value, 1, MPI_INT, next, STREAM, comm));
            OK(MPI_Recv(&got, 1, MPI_INT, before, STREAM, comm, MPI_STATUS_IGNORE));
        }
        CHECK(got == round);
    }
}

/* The first call of another thread than the main one, which waits for it outside of MPI with receives that it has started. */
static void *ask(void *unused)
{
    (void)unused;
    int word = 1;
    usleep(delay);
    OK(MPI_Send(&word, 1, MPI_INT, next, GO, others));
    OK(MPI_Recv(&word, 1, MPI_INT, next, DONE, others, MPI_STATUS_IGNORE));
    return NULL;
}

/* Rank 0's main thread has started receives; rank 1 sends to it synchronously what only they take. */
static void receives_are_in_their_places(void)
{
    int words[3] = {0}, word = 1;
    MPI_Request requests[3];
    if (rank == 0) {
        pthread_t thread;
        for (int n = 0; n < 3; n++)
            OK(MPI_Irecv(&words[n], 1, MPI_INT, next, TURN, MPI_COMM_WORLD, &requests[n]));
        pthread_create(&thread, NULL, ask, NULL);
        pthread_join(thread, NULL);
        OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
        for (int n = 0; n < 3; n++)
            CHECK(words[n] == 10 + n);
    } else if (rank == 1) {
        OK(MPI_Recv(&word, 1, MPI_INT, 0, GO, others, MPI_STATUS_IGNORE));
        for (int n = 0; n < 3; n++) {
            words[n] = 10 + n;
            OK(MPI_Ssend(&words[n], 1, MPI_INT, 0, TURN, MPI_COMM_WORLD));
        }
        OK(MPI_Send(&word, 1, MPI_INT, 0, DONE, others));
    }
}

static void *stream_beside(void *unused)
{
    (void)unused;
    usleep(delay);
    stream(others, ROUNDS);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    delay = argc > 1 ? (useconds_t)atoi(argv[1]) : 0;
    OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    CHECK(provided == MPI_THREAD_MULTIPLE);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    next = (rank + 1) % ranks;
    before = (rank + ranks - 1) % ranks;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &others));
    stream(MPI_COMM_WORLD, 20);
    if (argc > 1) {
        pthread_t thread;
        pthread_create(&thread, NULL, stream_beside, NULL);
        stream(MPI_COMM_WORLD, ROUNDS);
        pthread_join(thread, NULL);
    } else if (ranks > 1) {
        receives_are_in_their_places();
    }
    stream(MPI_COMM_WORLD, 20);
    OK(MPI_Comm_free(&others));
    OK(MPI_Finalize());
    return result();
}
