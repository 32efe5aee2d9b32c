/* A communicator whose members all assert that no receive on it has any tag. Threads with tags of their own
 * communicate on it at the same time, in each way that a message can go. Receives with any tag are refused.
 * */
#include "lane.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 30, MOST = 50000 };

static int rank, ranks, next, before;
static MPI_Comm comm;

static const char asserted[] = "mpi_assert_no_any_tag";

static int lies_on_several(MPI_Comm of)
{
    char text[64];
    return told_hint(of, "canele_lies_on_lane", text, sizeof text) && strchr(text, ',');
}

static void set_hint(const char *value)
{
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, asserted, value));
    OK(MPI_Comm_set_info(comm, info));
    OK(MPI_Info_free(&info));
}

static int length_of(int round)
{
    static const int lengths[] = {1, 12, 13, 300, 5000, MOST};
    return lengths[round % 6];
}

/* Sends one message to the next rank and receives one from the previous rank, with this tag. */
static void exchange(int how, int tag, const int *out, int *in, int length)
{
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Message message;
    int count, flag = 0;
    if (how < 5)
        OK(MPI_Isend(out, length, MPI_INT, next, tag, comm, &requests[0]));
    switch (how) {
    case 0:
        OK(MPI_Irecv(in, MOST, MPI_INT, before, tag, comm, &requests[1]));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        return;
    case 1:
        OK(MPI_Mprobe(MPI_ANY_SOURCE, tag, comm, &message, &status));
        OK(MPI_Get_count(&status, MPI_INT, &count));
        CHECK(count == length && status.MPI_SOURCE == before && status.MPI_TAG == tag);
        OK(MPI_Mrecv(in, length, MPI_INT, &message, MPI_STATUS_IGNORE));
        break;
    case 2:
        OK(MPI_Irecv(in, MOST, MPI_INT, MPI_ANY_SOURCE, tag, comm, &requests[1]));
        while (!flag)
            OK(MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE));
        return;
    case 3:
        OK(MPI_Probe(before, tag, comm, &status));
        OK(MPI_Get_count(&status, MPI_INT, &count));
        CHECK(count == length && status.MPI_TAG == tag);
        OK(MPI_Recv(in, MOST, MPI_INT, before, tag, comm, &status));
        CHECK(status.MPI_SOURCE == before && status.MPI_TAG == tag);
        break;
    case 4:
        while (!flag)
            OK(MPI_Improbe(before, tag, comm, &flag, &message, &status));
        OK(MPI_Imrecv(in, MOST, MPI_INT, &message, &requests[1]));
        OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
        break;
    case 5:
        OK(MPI_Sendrecv(out, length, MPI_INT, next, tag, in, MOST, MPI_INT, before, tag, comm, &status));
        CHECK(status.MPI_TAG == tag);
        return;
    case 6:
        memcpy(in, out, length * sizeof *in);
        OK(MPI_Sendrecv_replace(in, length, MPI_INT, next, tag, before, tag, comm, MPI_STATUS_IGNORE));
        return;
    case 7:
        OK(MPI_Isendrecv(out, length, MPI_INT, next, tag, in, MOST, MPI_INT, before, tag, comm, &requests[0]));
        OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        return;
    case 8:
        OK(MPI_Send_init(out, length, MPI_INT, next, tag, comm, &requests[0]));
        OK(MPI_Recv_init(in, MOST, MPI_INT, before, tag, comm, &requests[1]));
        for (int turn = 0; turn < 3; turn++) {
            OK(MPI_Startall(2, requests));
            OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        }
        OK(MPI_Request_free(&requests[0]));
        OK(MPI_Request_free(&requests[1]));
        return;
    case 9:
        OK(MPI_Issend(out, length, MPI_INT, next, tag, comm, &requests[0]));
        OK(MPI_Recv(in, MOST, MPI_INT, before, tag, comm, MPI_STATUS_IGNORE));
        break;
    case 10:
        OK(MPI_Irecv(in, MOST, MPI_INT, before, tag, comm, &requests[0]));
        OK(MPI_Bsend(out, length, MPI_INT, next, tag, comm));
        break;
    default:
        OK(MPI_Irecv(in, MOST, MPI_INT, before, tag + 1, comm, &requests[0]));
        OK(MPI_Cancel(&requests[0]));
        OK(MPI_Wait(&requests[0], &status));
        OK(MPI_Test_cancelled(&status, &flag));
        CHECK(flag);
        exchange(0, tag, out, in, length);
        return;
    }
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
}

static void *messages(void *thread_of)
{
    int thread = (int)(long)thread_of;
    int *out = malloc(MOST * sizeof(int)), *in = malloc(MOST * sizeof(int));
    for (int round = 0; round < 12 * ROUNDS; round++) {
        int length = length_of(round / 12 + thread), tag = 10 * (thread + round % 3 * THREADS);
        for (int n = 0; n < length; n++)
            out[n] = thread * 100000 + round * 100 + rank;
        exchange(round % 12, tag, out, in, length);
        for (int n = 0; n < length; n++)
            CHECK(in[n] == thread * 100000 + round * 100 + before);
    }
    free(out);
    free(in);
    return NULL;
}

/* Messages with one tag keep their order; those of other tags arrive when they are received. */
static void orders(void)
{
    enum { TAGS = 20, EACH = 10 };
    int values[TAGS * EACH], got = -1;
    MPI_Request requests[TAGS * EACH];
    for (int n = 0; n < TAGS * EACH; n++) {
        values[n] = n / TAGS;
        OK(MPI_Isend(&values[n], 1, MPI_INT, next, n % TAGS, comm, &requests[n]));
    }
    for (int tag = TAGS - 1; tag >= 0; tag--)
        for (int n = 0; n < EACH; n++) {
            OK(MPI_Recv(&got, 1, MPI_INT, n % 2 ? before : MPI_ANY_SOURCE, tag, comm, MPI_STATUS_IGNORE));
            CHECK(got == n);
        }
    OK(MPI_Waitall(TAGS * EACH, requests, MPI_STATUSES_IGNORE));
}

/* Each call that could receive a message of any tag is refused, and the communicator goes on. */
static void any_tag_is_refused(void)
{
    int value, flag;
    MPI_Request request;
    MPI_Message message;
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_TAG, MPI_Recv(&value, 1, MPI_INT, before, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_TAG, MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request));
    FAILS(MPI_ERR_TAG, MPI_Recv_init(&value, 1, MPI_INT, before, MPI_ANY_TAG, comm, &request));
    FAILS(MPI_ERR_TAG, MPI_Probe(before, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_TAG, MPI_Iprobe(before, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_TAG, MPI_Mprobe(before, MPI_ANY_TAG, comm, &message, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_TAG, MPI_Improbe(before, MPI_ANY_TAG, comm, &flag, &message, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_TAG, MPI_Sendrecv(&rank, 1, MPI_INT, next, 1, &value, 1, MPI_INT, before, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE));
}

static void any_tag_is_received(MPI_Comm on)
{
    int value = -1;
    MPI_Request request;
    OK(MPI_Isend(&rank, 1, MPI_INT, next, 5, on, &request));
    OK(MPI_Recv(&value, 1, MPI_INT, before, MPI_ANY_TAG, on, MPI_STATUS_IGNORE));
    CHECK(value == before);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* A communicator without the assertion on all members receives with any tag; so do duplicates of the
   asserting one. */
static void others_are_not_spread(void)
{
    MPI_Comm others[4];
    others[0] = dup_with(asserted, "false");
    others[1] = dup_with(asserted, "perhaps");
    others[2] = dup_with(asserted, rank % 2 ? "true" : "false");
    OK(MPI_Comm_dup(comm, &others[3]));
    for (int n = 0; n < 4; n++) {
        if (n != 2 || ranks > 1)
            CHECK(!lies_on_several(others[n]));
        if (!lies_on_several(others[n]))
            any_tag_is_received(others[n]);
        OK(MPI_Comm_free(&others[n]));
    }
}

int main(int argc, char **argv)
{
    int provided, size = 64 * (MOST * (int)sizeof(int) + MPI_BSEND_OVERHEAD), sum;
    pthread_t threads[THREADS];
    OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    CHECK(provided == MPI_THREAD_MULTIPLE);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    next = (rank + 1) % ranks;
    before = (rank + ranks - 1) % ranks;
    void *memory = malloc(size);
    OK(MPI_Buffer_attach(memory, size));
    for (int turn = 0; turn < 3; turn++) {
        comm = dup_with(asserted, "true");
        /* A rank without a launcher has one lane. */
        if (getenv("CANELE_RANK") && getenv("CANELE_LANES") && atoi(getenv("CANELE_LANES")) > 1)
            CHECK(lies_on_several(comm));
        if (lies_on_several(comm)) {
            char text[16] = "";
            set_hint("false");
            /* The assertion of its creation stays. */
            CHECK(told_hint(comm, asserted, text, sizeof text) && strcmp(text, "true") == 0);
            any_tag_is_refused();
        }
        else
            any_tag_is_received(comm);
        orders();
        for (long thread = 1; thread < THREADS; thread++)
            CHECK(pthread_create(&threads[thread], NULL, messages, (void *)thread) == 0);
        messages(NULL);
        for (int thread = 1; thread < THREADS; thread++)
            pthread_join(threads[thread], NULL);
        OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
        CHECK(sum == ranks * (ranks - 1) / 2);
        others_are_not_spread();
        if (turn % 2)
            OK(MPI_Comm_disconnect(&comm));
        else
            OK(MPI_Comm_free(&comm));
    }
    OK(MPI_Buffer_detach(&memory, &size));
    free(memory);
    OK(MPI_Finalize());
    return result();
}
