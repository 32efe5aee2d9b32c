/* Deferred receives keep their order, whatever another thread of the process, or another call, does
 * meanwhile. Messages keep their order while a second thread begins to call MPI.
 *
 *   deferred [MICROSECONDS]    another thread begins after so long */
#include "check.h"
#include <pthread.h>
#include <unistd.h>

enum { WINDOW = 32, ROUNDS = 300, TURN = 5, GO = 6, DONE = 7, STREAM = 8, KEPT = 9, SLOTS = 512, LAPS = 300 };

static int rank, ranks, next, before;
static MPI_Comm others;
static useconds_t delay;

/* Sends windows of numbered messages around a ring of ranks; receives start before, among and after. */
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

/* Asks the peer for the messages that another thread has started to receive. */
static void *ask(void *unused)
{
    (void)unused;
    int word = 1;
    usleep(delay);
    OK(MPI_Send(&word, 1, MPI_INT, next, GO, others));
    OK(MPI_Recv(&word, 1, MPI_INT, next, DONE, others, MPI_STATUS_IGNORE));
    return NULL;
}

static int words[3];
static MPI_Request receives[3];

static void *start_receives(void *unused)
{
    (void)unused;
    for (int n = 0; n < 3; n++)
        OK(MPI_Irecv(&words[n], 1, MPI_INT, next, TURN, MPI_COMM_WORLD, &receives[n]));
    return NULL;
}

static void *end_receives(void *unused)
{
    (void)unused;
    OK(MPI_Waitall(3, receives, MPI_STATUSES_IGNORE));
    for (int n = 0; n < 3; n++)
        CHECK(words[n] == 10 + n);
    return NULL;
}

/* Runs `body` in this thread, or in another one for which it waits. */
static void call_in(int other, void *(*body)(void *))
{
    pthread_t thread;
    if (!other) {
        body(NULL);
    } else if (pthread_create(&thread, NULL, body, NULL) == 0) {
        pthread_join(thread, NULL);
    }
}

/* Threads of rank 0 start receives, wait for a later message, and end the receives; the arguments say which
 * steps have a thread of their own. Rank 1 sends synchronously the messages of the receives. */
static void receives_are_in_their_places(int starter, int asker, int ender)
{
    int word = 1;
    if (rank == 0) {
        memset(words, 0, sizeof words);
        call_in(starter, start_receives);
        call_in(asker, ask);
        call_in(ender, end_receives);
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

/* The receives of two threads, one after the other, get their messages in this order. */
static int first_word, second_word;
static MPI_Request first_receive;

static void *start_first(void *unused)
{
    (void)unused;
    OK(MPI_Irecv(&first_word, 1, MPI_INT, next, TURN, others, &first_receive));
    return NULL;
}

static void *receive_second(void *unused)
{
    (void)unused;
    OK(MPI_Recv(&second_word, 1, MPI_INT, next, TURN, others, MPI_STATUS_IGNORE));
    return NULL;
}

static void threads_receive_in_their_order(int starter, int receiver)
{
    int out[2] = {1, 2}, word = 0;
    if (rank == 0) {
        call_in(starter, start_first);
        OK(MPI_Send(&word, 1, MPI_INT, next, GO, others));
        call_in(receiver, receive_second);
        OK(MPI_Wait(&first_receive, MPI_STATUS_IGNORE));
        CHECK(first_word == 1 && second_word == 2);
    } else if (rank == 1) {
        OK(MPI_Recv(&word, 1, MPI_INT, 0, GO, others, MPI_STATUS_IGNORE));
        for (int n = 0; n < 2; n++)
            OK(MPI_Send(&out[n], 1, MPI_INT, 0, TURN, others));
    }
}

/* A freed communicator lives until its receives have ended; another one may get its handle meanwhile. */
static void receives_outlive_their_communicator(void)
{
    MPI_Comm freed, later;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int in[2] = {0}, out[2] = {3, 4}, none = 0;
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &freed));
    int me = ranks - 1 - rank, from = (me + 1) % ranks, to = (me + ranks - 1) % ranks;
    /* After this exchange receives can be deferred. */
    OK(MPI_Sendrecv(&none, 1, MPI_INT, to, 0, &none, 1, MPI_INT, from, 0, freed, MPI_STATUS_IGNORE));
    for (int turn = 0; turn < 2; turn++) {
        OK(MPI_Irecv(&in[0], 1, MPI_INT, from, TURN, freed, &requests[0]));
        OK(MPI_Send(&out[turn], 1, MPI_INT, to, TURN, freed));
        if (turn == 0) {
            OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
            CHECK(in[0] == 3);
        }
    }
    OK(MPI_Comm_free(&freed));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &later));
    OK(MPI_Irecv(&in[1], 1, MPI_INT, before, TURN, later, &requests[1]));
    OK(MPI_Send(&out[0], 1, MPI_INT, next, TURN, later));
    OK(MPI_Waitall(2, requests, statuses));
    CHECK(in[0] == 4 && statuses[0].MPI_SOURCE == from);
    CHECK(in[1] == 3 && statuses[1].MPI_SOURCE == before);
    OK(MPI_Comm_free(&later));
}

/* Starts more receives than can be deferred at once. One is kept so long that its handle's age alone would
   not tell it from a newer one. */
static void many_receives(MPI_Comm comm)
{
    static int in[2 * SLOTS], out[2 * SLOTS];
    MPI_Request kept, requests[2 * SLOTS];
    int got = -1, flag = 1;
    OK(MPI_Irecv(&got, 1, MPI_INT, before, KEPT, comm, &kept));
    OK(MPI_Test(&kept, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    for (int lap = 0; lap < LAPS; lap++) {
        int count = lap % 50 ? SLOTS / 4 : 2 * SLOTS;
        for (int n = 0; n < count; n++) {
            in[n] = -1;
            OK(MPI_Irecv(&in[n], 1, MPI_INT, before, STREAM, comm, &requests[n]));
            CHECK(requests[n] != kept);
        }
        for (int n = 0; n < count; n++) {
            out[n] = lap * 1000 + n;
            OK(MPI_Send(&out[n], 1, MPI_INT, next, STREAM, comm));
        }
        OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
        for (int n = 0; n < count; n++)
            CHECK(in[n] == lap * 1000 + n);
    }
    OK(MPI_Send(&rank, 1, MPI_INT, next, KEPT, comm));
    OK(MPI_Wait(&kept, MPI_STATUS_IGNORE));
    CHECK(got == before);
}

/* Sends messages in another order than their receives were started. */
static void another_order(MPI_Comm comm)
{
    enum { TAGS = 8 };
    int in[TAGS], out[TAGS];
    MPI_Request requests[TAGS];
    for (int round = 0; round < 200; round++) {
        for (int n = 0; n < TAGS; n++) {
            in[n] = -1;
            OK(MPI_Irecv(&in[n], 1, MPI_INT, before, n, comm, &requests[n]));
        }
        for (int n = 0; n < TAGS; n++) {
            int tag = (3 * n + round) % TAGS;
            out[n] = 100 * round + tag;
            OK(MPI_Send(&out[n], 1, MPI_INT, next, tag, comm));
        }
        OK(MPI_Waitall(TAGS, requests, MPI_STATUSES_IGNORE));
        for (int n = 0; n < TAGS; n++)
            CHECK(in[n] == 100 * round + n);
    }
}

static unsigned draw(unsigned *seed, unsigned below)
{
    *seed = *seed * 1103515245u + 12345u;
    return (*seed >> 8) % below;
}

/* Ends some requests in one of the possible ways. */
static void end_all(int count, MPI_Request *requests, unsigned way)
{
    int index, flag = 0, ended = 0, indices[2 * WINDOW];
    if (way == 0) {
        OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
    } else if (way == 1) {
        for (int n = count - 1; n >= 0; n--)
            OK(MPI_Wait(&requests[n], MPI_STATUS_IGNORE));
    } else if (way == 2) {
        for (int n = 0; n < count; n++)
            OK(MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE));
    } else if (way == 3) {
        while (!flag)
            OK(MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE));
    } else {
        while (ended < count) {
            int some;
            OK(MPI_Waitsome(count, requests, &some, indices, MPI_STATUSES_IGNORE));
            ended += some;
        }
    }
}

/* All ranks draw the same lengths and tags of messages around the ring, and each its own way to receive them.
 * Messages arrive in the order in which they were sent. */
static void random_receives(MPI_Comm comm, unsigned plan, unsigned own)
{
    static const int lengths[] = {1, 2, 12, 13, 100, 1024, 1500};
    char (*out)[6000] = malloc(WINDOW * sizeof *out), (*in)[6000] = malloc(WINDOW * sizeof *in);
    for (int round = 0; round < 40; round++) {
        MPI_Request requests[2 * WINDOW];
        MPI_Status status;
        int started = 0, sizes[WINDOW];
        for (int n = 0; n < WINDOW; n++) {
            int length = sizes[n] = lengths[draw(&plan, 7)], tag = (int)draw(&plan, 3);
            memset(out[n], round + n + rank, length * sizeof(int));
            memset(in[n], -1, sizeof in[n]);
            OK(MPI_Isend(out[n], length, MPI_INT, next, tag, comm, &requests[started++]));
            unsigned source = draw(&own, 4) ? (unsigned)before : (unsigned)MPI_ANY_SOURCE;
            int wanted = draw(&own, 4) ? tag : MPI_ANY_TAG, count = -1;
            switch (draw(&own, 6)) {
            case 0:
                OK(MPI_Recv(in[n], 1500, MPI_INT, (int)source, wanted, comm, &status));
                OK(MPI_Get_count(&status, MPI_INT, &count));
                CHECK(count == length && status.MPI_SOURCE == before && status.MPI_TAG == tag);
                break;
            case 1:
                OK(MPI_Probe((int)source, wanted, comm, &status));
                OK(MPI_Get_count(&status, MPI_INT, &count));
                CHECK(count == length && status.MPI_TAG == tag);
                OK(MPI_Recv(in[n], count, MPI_INT, before, tag, comm, MPI_STATUS_IGNORE));
                break;
            default:
                OK(MPI_Irecv(in[n], length, MPI_INT, (int)source, wanted, comm, &requests[started++]));
            }
            if (draw(&own, 8) == 0) {
                end_all(started, requests, draw(&own, 5));
                started = 0;
            }
        }
        end_all(started, requests, draw(&own, 5));
        for (int n = 0; n < WINDOW; n++)
            for (int at = 0; at < sizes[n] * (int)sizeof(int); at++)
                if (in[n][at] != (char)(round + n + before)) {
                    CHECK(!"a message is where it was not sent");
                    return;
                }
    }
    free(in);
    free(out);
}

static MPI_Comm drawn[3];

static void *receive_at_random(void *of)
{
    long n = (long)of;
    for (unsigned seed = 0; seed < 4; seed++)
        random_receives(drawn[n], 100 * seed + n, 1000 * rank + 100 * seed + n);
    return NULL;
}

static void random_receives_in_threads(void)
{
    pthread_t threads[3];
    for (long n = 0; n < 3; n++)
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &drawn[n]));
    for (long n = 0; n < 3; n++)
        CHECK(pthread_create(&threads[n], NULL, receive_at_random, (void *)n) == 0);
    for (int n = 0; n < 3; n++)
        pthread_join(threads[n], NULL);
    for (int n = 0; n < 3; n++)
        OK(MPI_Comm_free(&drawn[n]));
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
    } else {
        another_order(MPI_COMM_WORLD);
        many_receives(others);
        receives_outlive_their_communicator();
        /* Bits select the steps that have a thread of their own; in the first round none has. */
        for (int who = 0; who < 8 && ranks > 1; who++) {
            receives_are_in_their_places(who & 4, who & 2, who & 1);
            threads_receive_in_their_order(who & 2, who & 1);
        }
        random_receives_in_threads();
        another_order(others);
        many_receives(MPI_COMM_WORLD);
    }
    stream(MPI_COMM_WORLD, 20);
    OK(MPI_Comm_free(&others));
    OK(MPI_Finalize());
    return result();
}
