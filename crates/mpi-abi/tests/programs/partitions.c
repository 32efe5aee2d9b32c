/* Partitioned messages whose partitions move as they become ready: by several threads, in any order, divided
 * otherwise at the other end, with gaps, many with one tag, and started before the other end is initialised.
 * */
#include "check.h"
#include <pthread.h>

static int rank, size, left, right;

enum { THREADS = 4, PARTS = 24, EACH = 5 };

static int out[PARTS * EACH], in[PARTS * EACH];

struct share {
    MPI_Request request;
    int first, backwards;
};

static void *make_ready(void *argument)
{
    struct share *share = argument;
    for (int i = 0; i < PARTS / THREADS; i++) {
        int part = share->first + (share->backwards ? PARTS / THREADS - 1 - i : i) * THREADS;
        OK(MPI_Pready(part, share->request));
    }
    return NULL;
}

/* Several threads send; the receiver divides the message into `parts` partitions. */
static void threads(int parts)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int each = PARTS * EACH / parts, flag, count;
    OK(MPI_Psend_init(out, PARTS, EACH, MPI_INT, right, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Precv_init(in, parts, each, MPI_INT, left, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
    for (int round = 0; round < 5; round++) {
        pthread_t thread[THREADS];
        struct share shares[THREADS];
        for (int i = 0; i < PARTS * EACH; i++) {
            out[i] = 10000 * round + 1000 * rank + i;
            in[i] = -1;
        }
        OK(MPI_Startall(2, requests));
        for (int i = 0; i < THREADS; i++) {
            shares[i] = (struct share){requests[0], i, (i + round) % 2};
            pthread_create(&thread[i], NULL, make_ready, &shares[i]);
        }
        for (int n = 0; n < parts; n++) {
            int part = (n * 7 + round) % parts;
            if (parts % 7 == 0)
                part = n;
            for (flag = 0; !flag;)
                OK(MPI_Parrived(requests[1], part, &flag));
            for (int i = part * each; i < (part + 1) * each; i++)
                CHECK(in[i] == 10000 * round + 1000 * left + i);
        }
        OK(MPI_Waitall(2, requests, statuses));
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
        OK(MPI_Get_count(&statuses[1], MPI_INT, &count));
        CHECK(count == PARTS * EACH && statuses[1].MPI_SOURCE == left && statuses[1].MPI_TAG == 5);
        OK(MPI_Parrived(requests[1], 0, &flag));
        CHECK(flag);
    }
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
}

/* A partition arrives while others are not ready. */
static void one_by_one(void)
{
    MPI_Request requests[2];
    int flag;
    OK(MPI_Psend_init(out, PARTS, EACH, MPI_INT, right, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Precv_init(in, PARTS / 2, 2 * EACH, MPI_INT, left, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
    OK(MPI_Startall(2, requests));
    OK(MPI_Pready_list(2, (int[]){7, 3}, requests[0]));
    OK(MPI_Pready(6, requests[0]));
    for (flag = 0; !flag;)
        OK(MPI_Parrived(requests[1], 3, &flag));
    OK(MPI_Parrived(requests[1], 1, &flag));
    CHECK(!flag);
    OK(MPI_Parrived(requests[1], 0, &flag));
    CHECK(!flag);
    OK(MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Pready_range(0, 2, requests[0]));
    OK(MPI_Pready_range(4, 5, requests[0]));
    OK(MPI_Pready_range(8, PARTS - 1, requests[0]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
}

/* The receiver's elements have gaps, and its partitions cut those of the sender. */
static void gaps(void)
{
    enum { COUNT = 12 };
    int with_gaps[2 * COUNT], flat[COUNT];
    MPI_Datatype sparse;
    MPI_Request requests[2];
    OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &sparse));
    OK(MPI_Type_commit(&sparse));
    OK(MPI_Psend_init(flat, 3, 4, MPI_INT, right, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Precv_init(with_gaps, 4, 3, sparse, left, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++) {
            flat[i] = 100 * rank + round + i;
            with_gaps[2 * i] = with_gaps[2 * i + 1] = -1;
        }
        OK(MPI_Startall(2, requests));
        for (int part = 2; part >= 0; part--)
            OK(MPI_Pready(part, requests[0]));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < COUNT; i++)
            CHECK(with_gaps[2 * i] == 100 * left + round + i && with_gaps[2 * i + 1] == -1);
    }
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
    OK(MPI_Type_free(&sparse));
}

/* Many messages with one tag match in the order of their initialisation. */
static void many(void)
{
    enum { COUNT = 1000 };
    static int sent[COUNT][2], got[COUNT][2];
    static MPI_Request sends[COUNT], receives[COUNT];
    for (int n = 0; n < COUNT; n++)
        OK(MPI_Psend_init(sent[n], 2, 1, MPI_INT, right, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &sends[n]));
    for (int n = 0; n < COUNT; n++)
        OK(MPI_Precv_init(got[n], 1, 2, MPI_INT, left, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &receives[n]));
    for (int round = 0; round < 2; round++) {
        for (int n = 0; n < COUNT; n++) {
            sent[n][0] = COUNT * round + n, sent[n][1] = -n;
            got[n][0] = got[n][1] = -7;
        }
        for (int i = 0; i < COUNT; i++) {
            int n = (i * 77 + round) % COUNT;
            OK(MPI_Start(&receives[n]));
            OK(MPI_Start(&sends[COUNT - 1 - n]));
            OK(MPI_Pready_range(0, 1, sends[COUNT - 1 - n]));
        }
        OK(MPI_Waitall(COUNT, sends, MPI_STATUSES_IGNORE));
        OK(MPI_Waitall(COUNT, receives, MPI_STATUSES_IGNORE));
        for (int n = 0; n < COUNT; n++)
            CHECK(got[n][0] == COUNT * round + n && got[n][1] == -n);
    }
    for (int n = 0; n < COUNT; n++) {
        OK(MPI_Request_free(&sends[n]));
        OK(MPI_Request_free(&receives[n]));
    }
}

/* The receiver starts before its sender is initialised, and waits for another message while long partitions
   arrive. */
static void early(void)
{
    enum { LONG = 300000 };
    static int from[2 * LONG], into[2 * LONG];
    MPI_Request request;
    if (rank % 2 == 1 || size == 1) {
        OK(MPI_Precv_init(into, 1, 2 * LONG, MPI_INT, left, 10, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
        OK(MPI_Start(&request));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank % 2 == 0 && rank + 1 < size) {
        for (int i = 0; i < 2 * LONG; i++)
            from[i] = i + rank;
        OK(MPI_Psend_init(from, 2, LONG, MPI_INT, right, 10, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
        OK(MPI_Start(&request));
        OK(MPI_Pready_range(0, 1, request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        OK(MPI_Request_free(&request));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank % 2 == 1) {
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int i = 0; i < 2 * LONG; i++)
            CHECK(into[i] == i + left);
        OK(MPI_Request_free(&request));
    }
    if (size == 1) {
        MPI_Request send;
        OK(MPI_Psend_init(from, 2, LONG, MPI_INT, 0, 10, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
        OK(MPI_Start(&send));
        OK(MPI_Pready_range(0, 1, send));
        OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        OK(MPI_Request_free(&request));
        OK(MPI_Request_free(&send));
    }
}

/* Partitions without elements, too, arrive when the sender marks them ready. */
static void empty(void)
{
    MPI_Request requests[2];
    int flag = 1;
    OK(MPI_Psend_init(out, 2, 0, MPI_INT, right, 12, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Precv_init(in, 2, 0, MPI_INT, left, 12, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
    OK(MPI_Start(&requests[1]));
    OK(MPI_Parrived(requests[1], 0, &flag));
    CHECK(!flag);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Start(&requests[0]));
    OK(MPI_Pready(1, requests[0]));
    for (flag = 0; !flag;)
        OK(MPI_Parrived(requests[1], 1, &flag));
    OK(MPI_Parrived(requests[1], 0, &flag));
    CHECK(!flag);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Pready(0, requests[0]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
}

/* Returns the number of messages that this rank has sent, by the library's counters. */
static unsigned long messages(void)
{
    static const char *const names[] = {"short_sent", "eager_sent", "local_sent"};
    static MPI_T_pvar_session session;
    static MPI_T_pvar_handle handles[3];
    unsigned long value, sum = 0;
    int level, index, count;
    for (int n = 0; n < 3; n++) {
        if (n == 0 && session == MPI_T_PVAR_SESSION_NULL) {
            CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS);
            CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
        }
        if (handles[n] == MPI_T_PVAR_HANDLE_NULL) {
            CHECK(MPI_T_pvar_get_index(names[n], MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS);
            CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handles[n], &count) == MPI_SUCCESS);
            CHECK(MPI_T_pvar_start(session, handles[n]) == MPI_SUCCESS);
        }
        CHECK(MPI_T_pvar_read(session, handles[n], &value) == MPI_SUCCESS);
        sum += value;
    }
    return sum;
}

/* Many small partitions that are ready together are sent in few messages. */
static void together(void)
{
    enum { MANY = 512 };
    static double from[MANY], into[MANY];
    MPI_Request requests[2];
    OK(MPI_Psend_init(from, MANY, 1, MPI_DOUBLE, right, 14, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Precv_init(into, MANY, 1, MPI_DOUBLE, left, 14, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++)
            from[i] = 1000 * round + rank + i, into[i] = -1;
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Startall(2, requests));
        unsigned long before = messages();
        for (int part = MANY - 1; part >= 0; part--)
            OK(MPI_Pready(part, requests[0]));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        CHECK(messages() - before < MANY / 16);
        for (int i = 0; i < MANY; i++)
            CHECK(into[i] == 1000 * round + left + i);
    }
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
}

/* Messages to no process, without partitions, and with different ends. */
static void odd(void)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int flag = 0;
    FAILS(MPI_ERR_COUNT,
          MPI_Psend_init(out, 1 << 30, 0, MPI_INT, right, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Psend_init(out, 2, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Precv_init(in, 2, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
    OK(MPI_Startall(2, requests));
    OK(MPI_Parrived(requests[1], 1, &flag));
    CHECK(flag);
    OK(MPI_Pready_range(0, 1, requests[0]));
    OK(MPI_Waitall(2, requests, statuses));
    CHECK(statuses[1].MPI_SOURCE == MPI_PROC_NULL);
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
    OK(MPI_Psend_init(out, 0, 3, MPI_INT, right, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Precv_init(in, 3, 0, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
    OK(MPI_Startall(2, requests));
    OK(MPI_Waitall(2, requests, statuses));
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size, right = (rank + 1) % size;
    static const int parts[] = {PARTS, 1, 6, 5, PARTS * EACH};
    for (int i = 0; i < 5; i++)
        threads(parts[i]);
    one_by_one();
    gaps();
    many();
    early();
    empty();
    together();
    odd();
    MPI_Finalize();
    return result();
}
