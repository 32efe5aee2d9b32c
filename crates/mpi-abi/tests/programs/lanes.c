/* Threads that communicate at the same time, each on a communicator of its own on a lane: messages of all
 * lengths and kinds, collectives, derived communicators, windows, requests of several lanes in one wait, and
 * a lane whose thread computes. */
#include "lane.h"
#include <pthread.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 40, MOST = 50000 };

static int rank, ranks, next, before;
static MPI_Comm comms[THREADS];

static int length_of(int round)
{
    static const int lengths[] = {1, 12, 13, 300, 5000, MOST};
    return lengths[round % 6];
}

/* Sends windows of messages around the ring, received by tag, by wildcards and by probes. */
static void messages(MPI_Comm comm, int seed)
{
    int *out = malloc(MOST * sizeof(int)), *in = malloc(MOST * sizeof(int));
    for (int round = 0; round < ROUNDS; round++) {
        int length = length_of(round + seed), count, flag = 0;
        for (int n = 0; n < length; n++)
            out[n] = seed * 100000 + round * 1000 + rank;
        MPI_Request requests[2];
        MPI_Status status;
        OK(MPI_Isend(out, length, MPI_INT, next, round, comm, &requests[0]));
        if (round % 3 == 0) {
            OK(MPI_Irecv(in, MOST, MPI_INT, before, round, comm, &requests[1]));
            OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        } else if (round % 3 == 1) {
            MPI_Message message;
            OK(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, &status));
            OK(MPI_Get_count(&status, MPI_INT, &count));
            CHECK(count == length && status.MPI_SOURCE == before && status.MPI_TAG == round);
            OK(MPI_Mrecv(in, length, MPI_INT, &message, MPI_STATUS_IGNORE));
            OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        } else {
            OK(MPI_Irecv(in, MOST, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[1]));
            while (!flag)
                OK(MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE));
        }
        for (int n = 0; n < length; n++)
            CHECK(in[n] == seed * 100000 + round * 1000 + before);
    }
    free(out);
    free(in);
}

static void collectives(MPI_Comm comm, int seed)
{
    for (int round = 0; round < ROUNDS; round++) {
        int mine = rank + seed, sum = -1, all[64];
        OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
        CHECK(sum == ranks * seed + ranks * (ranks - 1) / 2);
        MPI_Request request;
        OK(MPI_Iallgather(&mine, 1, MPI_INT, all, 1, MPI_INT, comm, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int n = 0; n < ranks; n++)
            CHECK(all[n] == n + seed);
    }
    int bytes = 300000;
    char *in = malloc(bytes), *out = malloc(bytes);
    memset(out, seed + 1, bytes);
    OK(MPI_Allreduce(out, in, bytes, MPI_CHAR, MPI_MAX, comm));
    CHECK(in[0] == seed + 1 && in[bytes - 1] == seed + 1);
    free(in);
    free(out);
}

/* Objects that are made of a communicator on a lane. */
static void objects(MPI_Comm comm, int seed)
{
    MPI_Comm made, within;
    OK(MPI_Comm_split(comm, 0, -rank, &made));
    OK(MPI_Comm_dup(made, &within));
    int value = -1, own = rank + seed;
    OK(MPI_Bcast(rank == ranks - 1 ? &own : &value, 1, MPI_INT, 0, within));
    CHECK(rank == ranks - 1 || value == ranks - 1 + seed);
    OK(MPI_Comm_free(&within));
    OK(MPI_Comm_free(&made));
    int *memory, got = -1;
    MPI_Win window;
    OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &memory, &window));
    *memory = -1;
    OK(MPI_Win_fence(0, window));
    OK(MPI_Put(&own, 1, MPI_INT, next, 0, 1, MPI_INT, window));
    OK(MPI_Win_fence(0, window));
    CHECK(*memory == before + seed);
    /* Memory of the window is sent on another lane, which treats it as ordinary memory. */
    MPI_Request requests[2];
    OK(MPI_Isend(memory, 1, MPI_INT, next, 7, comm, &requests[0]));
    OK(MPI_Irecv(&got, 1, MPI_INT, before, 7, comm, &requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(got == (before + ranks - 1) % ranks + seed);
    OK(MPI_Win_free(&window));
}

/* Sends long messages from and into memory that MPI has allocated, which lies in a region. */
static void regions(MPI_Comm comm, int seed)
{
    int bytes = 1 << 20;
    char *out, *in;
    OK(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &out));
    OK(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &in));
    for (int round = 0; round < 5; round++) {
        memset(out, seed + rank + round, bytes);
        memset(in, 0, bytes);
        OK(MPI_Sendrecv(out, bytes, MPI_CHAR, next, 3, in, bytes, MPI_CHAR, before, 3, comm, MPI_STATUS_IGNORE));
        CHECK(in[0] == seed + before + round && in[bytes - 1] == seed + before + round);
    }
    OK(MPI_Free_mem(out));
    OK(MPI_Free_mem(in));
}

/* Sends a message in parts of allocated memory, one after the other, while both ends test it or wait. */
static void partitions(MPI_Comm comm, int seed, int count)
{
    enum { PARTS = 4 };
    int *out, *in;
    MPI_Request requests[2];
    OK(MPI_Alloc_mem(PARTS * count * sizeof(int), MPI_INFO_NULL, &out));
    OK(MPI_Alloc_mem(PARTS * count * sizeof(int), MPI_INFO_NULL, &in));
    OK(MPI_Psend_init(out, PARTS, count, MPI_INT, next, 9, comm, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Precv_init(in, PARTS, count, MPI_INT, before, 9, comm, MPI_INFO_NULL, &requests[1]));
    for (int round = 0; round < 5; round++) {
        OK(MPI_Startall(2, requests));
        for (int part = 0; part < PARTS; part++) {
            for (int n = 0; n < count; n++)
                out[part * count + n] = seed * 1000 + round * 100 + rank;
            OK(MPI_Pready(part, requests[0]));
        }
        for (int n = 0; n < 2; n++)
            for (int flag = round % 2; !flag;)
                OK(MPI_Test(&requests[n], &flag, MPI_STATUS_IGNORE));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        for (int n = 0; n < PARTS * count; n++)
            CHECK(in[n] == seed * 1000 + round * 100 + before);
    }
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
    OK(MPI_Free_mem(out));
    OK(MPI_Free_mem(in));
}

static MPI_T_pvar_session session;
static MPI_T_pvar_handle variable;

/* Adds numbers, and tries to read a variable meanwhile: the library reports that it is not accessible. */
static void sum_and_read(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    unsigned long long value;
    int code = MPI_T_pvar_read(session, variable, &value);
    CHECK(code == MPI_SUCCESS || code == MPI_T_ERR_NOT_ACCESSIBLE);
    for (int n = 0; n < *length; n++)
        ((int *)inout)[n] += ((int *)in)[n];
}

/* Runs a user's reduction on each lane, in calls and by the thread that makes progress. */
static void reads_inside_a_reduction(void)
{
    int count, provided, index;
    MPI_Op op;
    OK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    OK(MPI_T_pvar_get_index("local_sent", MPI_T_PVAR_CLASS_COUNTER, &index));
    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_T_pvar_handle_alloc(session, index, NULL, &variable, &count));
    OK(MPI_Op_create(sum_and_read, 1, &op));
    for (int n = 0; n < THREADS; n++) {
        int sum = -1;
        MPI_Request request;
        OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, op, comms[n]));
        CHECK(sum == ranks * (ranks - 1) / 2);
        OK(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, op, comms[n], &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(sum == ranks * (ranks - 1) / 2);
    }
    OK(MPI_Op_free(&op));
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
}

static void *run_thread(void *seed_of)
{
    int seed = (int)(long)seed_of;
    for (int turn = 0; turn < 3; turn++) {
        messages(comms[seed], seed);
        collectives(comms[seed], seed);
        objects(comms[seed], seed);
        regions(comms[seed], seed);
        partitions(comms[seed], seed, 500);
        partitions(comms[seed], seed, 20000);
    }
    return NULL;
}

static void in_threads(void *(*body)(void *))
{
    pthread_t threads[THREADS];
    for (long seed = 1; seed < THREADS; seed++)
        CHECK(pthread_create(&threads[seed], NULL, body, (void *)seed) == 0);
    body(NULL);
    for (int seed = 1; seed < THREADS; seed++)
        pthread_join(threads[seed], NULL);
}

/* One thread waits for requests of all lanes together, by each function. */
static void waits_for_several_lanes(void)
{
    for (int round = 0; round < 60; round++) {
        int in[THREADS], out[THREADS], index, flag = 0, done = 0, indices[2 * THREADS];
        MPI_Request requests[2 * THREADS];
        for (int n = 0; n < THREADS; n++) {
            out[n] = 100 * round + 10 * n + rank;
            OK(MPI_Irecv(&in[n], 1, MPI_INT, before, round, comms[n], &requests[n]));
        }
        for (int n = THREADS - 1; n >= 0; n--)
            OK(MPI_Isend(&out[n], 1, MPI_INT, next, round, comms[n], &requests[THREADS + n]));
        switch (round % 4) {
        case 0:
            OK(MPI_Waitall(2 * THREADS, requests, MPI_STATUSES_IGNORE));
            break;
        case 1:
            for (int n = 0; n < 2 * THREADS; n++) {
                OK(MPI_Waitany(2 * THREADS, requests, &index, MPI_STATUS_IGNORE));
                CHECK(index != MPI_UNDEFINED);
            }
            break;
        case 2:
            while (done < 2 * THREADS) {
                int some;
                OK(MPI_Waitsome(2 * THREADS, requests, &some, indices, MPI_STATUSES_IGNORE));
                done += some;
            }
            break;
        default:
            while (!flag)
                OK(MPI_Testall(2 * THREADS, requests, &flag, MPI_STATUSES_IGNORE));
        }
        for (int n = 0; n < THREADS; n++)
            CHECK(in[n] == 100 * round + 10 * n + before);
    }
}

/* The last rank waits on one lane while others need its progress on another one. */
static void lanes_of_computing_threads(void)
{
    int bytes = 4 << 20, word = 1;
    char *long_message = calloc(bytes, 1);
    MPI_Request request;
    if (rank == 0) {
        /* Too long to be sent eagerly: it goes on only when this rank makes progress. */
        OK(MPI_Isend(long_message, bytes, MPI_CHAR, 1, 1, comms[1], &request));
        OK(MPI_Recv(&word, 1, MPI_INT, 1, 2, comms[2], MPI_STATUS_IGNORE));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else if (rank == 1) {
        usleep(20000);
        OK(MPI_Recv(long_message, bytes, MPI_CHAR, 0, 1, comms[1], MPI_STATUS_IGNORE));
        OK(MPI_Send(&word, 1, MPI_INT, 0, 2, comms[2]));
    }
    free(long_message);
}

static MPI_Comm waited_on[2];

static void *receive_late(void *which)
{
    int number = -1;
    OK(MPI_Recv(&number, 1, MPI_INT, 0, 50, waited_on[(long)which], MPI_STATUS_IGNORE));
    CHECK(number == 0);
    return NULL;
}

/* A thread waits for receives of two lanes and for a partitioned message whose sender begins later. Other
 * threads make progress on both lanes, and get their messages only afterwards. */
static void partitions_wake_a_wait_for_several_lanes(void)
{
    int part = rank, got[3] = {-1, -1, -1}, index;
    MPI_Request requests[3];
    pthread_t threads[2];
    waited_on[0] = dup_on("0"), waited_on[1] = dup_on("1");
    if (rank == 0) {
        usleep(100000);
        OK(MPI_Psend_init(&part, 1, 1, MPI_INT, 1, 52, waited_on[1], MPI_INFO_NULL, &requests[0]));
        OK(MPI_Start(&requests[0]));
        OK(MPI_Pready(0, requests[0]));
        OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        OK(MPI_Request_free(&requests[0]));
        OK(MPI_Recv(&got[0], 1, MPI_INT, 1, 53, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int n = 0; n < 2; n++) {
            OK(MPI_Send(&rank, 1, MPI_INT, 1, 50, waited_on[n]));
            OK(MPI_Send(&rank, 1, MPI_INT, 1, 51, waited_on[n]));
        }
    } else if (rank == 1) {
        for (long n = 0; n < 2; n++)
            CHECK(pthread_create(&threads[n], NULL, receive_late, (void *)n) == 0);
        usleep(30000);
        for (int n = 0; n < 2; n++)
            OK(MPI_Irecv(&got[n], 1, MPI_INT, 0, 51, waited_on[n], &requests[n]));
        OK(MPI_Precv_init(&got[2], 1, 1, MPI_INT, 0, 52, waited_on[1], MPI_INFO_NULL, &requests[2]));
        OK(MPI_Start(&requests[2]));
        OK(MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE));
        CHECK(index == 2);
        OK(MPI_Send(&rank, 1, MPI_INT, 0, 53, MPI_COMM_WORLD));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        for (int n = 0; n < 2; n++)
            pthread_join(threads[n], NULL);
        CHECK(got[0] == 0 && got[1] == 0 && got[2] == 0);
        OK(MPI_Request_free(&requests[2]));
    }
    for (int n = 0; n < 2; n++)
        OK(MPI_Comm_free(&waited_on[n]));
}

int main(int argc, char **argv)
{
    int provided;
    OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    CHECK(provided == MPI_THREAD_MULTIPLE);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    next = (rank + 1) % ranks;
    before = (rank + ranks - 1) % ranks;
    for (int n = 0; n < THREADS; n++)
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[n]));
    waits_for_several_lanes();
    reads_inside_a_reduction();
    if (ranks > 1) {
        lanes_of_computing_threads();
        partitions_wake_a_wait_for_several_lanes();
    }
    in_threads(run_thread);
    waits_for_several_lanes();
    for (int n = 0; n < THREADS; n++)
        OK(MPI_Comm_free(&comms[n]));
    OK(MPI_Finalize());
    return result();
}
