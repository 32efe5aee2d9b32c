/* Receives keep their order and make progress, whatever calls stand between their start and their end. */
#include "check.h"

enum { COUNT = 20 };

static int rank, ranks;

/* Runs `receives` on rank 0 after all of rank 1's `sends` have started, and once before. */
static void both(void (*sends)(void), void (*receives)(void))
{
    for (int early = 0; early < 2; early++) {
        if (rank == 1) {
            if (!early) MPI_Barrier(MPI_COMM_WORLD);
            sends();
            if (early) MPI_Barrier(MPI_COMM_WORLD);
        } else if (rank == 0) {
            MPI_Barrier(MPI_COMM_WORLD);
            receives();
        } else {
            MPI_Barrier(MPI_COMM_WORLD);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void send_numbers(void)
{
    for (int i = 0; i < COUNT; i++) OK(MPI_Send(&i, 1, MPI_INT, 0, i % 3, MPI_COMM_WORLD));
}

/* Receives one tag after the other, though the messages alternate. */
static void by_tags(void)
{
    int got[COUNT], n = 0;
    MPI_Request requests[COUNT];
    MPI_Status statuses[COUNT];
    for (int tag = 0; tag < 3; tag++)
        for (int i = tag; i < COUNT; i += 3, n++) OK(MPI_Irecv(&got[n], 1, MPI_INT, 1, tag, MPI_COMM_WORLD, &requests[n]));
    OK(MPI_Waitall(COUNT, requests, statuses));
    n = 0;
    for (int tag = 0; tag < 3; tag++)
        for (int i = tag; i < COUNT; i += 3, n++) {
            int count;
            MPI_Get_count(&statuses[n], MPI_INT, &count);
            CHECK(got[n] == i && requests[n] == MPI_REQUEST_NULL && count == 1);
            CHECK(statuses[n].MPI_SOURCE == 1 && statuses[n].MPI_TAG == tag);
        }
}

/* Receives posted before one from any source, or before a blocking one, get the first messages. */
static void mixed(void)
{
    int got[COUNT];
    MPI_Request requests[COUNT];
    for (int i = 0; i < COUNT; i++) {
        if (i % 5 == 2) OK(MPI_Irecv(&got[i], 1, MPI_INT, MPI_ANY_SOURCE, i % 3, MPI_COMM_WORLD, &requests[i]));
        else if (i % 5 == 3) OK(MPI_Irecv(&got[i], 1, MPI_INT, 1, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]));
        else if (i % 5 == 4) OK(MPI_Recv(&got[i], 1, MPI_INT, 1, i % 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        else OK(MPI_Irecv(&got[i], 1, MPI_INT, 1, i % 3, MPI_COMM_WORLD, &requests[i]));
        if (i % 5 == 4) requests[i] = MPI_REQUEST_NULL;
    }
    OK(MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < COUNT; i++) CHECK(got[i] == i);
}

/* Waits in the opposite order, one by one, by all kinds of calls. */
static void backwards(void)
{
    int got[COUNT], done = 0, index;
    MPI_Request requests[COUNT];
    for (int i = 0; i < COUNT; i++) OK(MPI_Irecv(&got[i], 1, MPI_INT, 1, i % 3, MPI_COMM_WORLD, &requests[i]));
    for (int i = COUNT - 1; i >= 2; i--) {
        if (i % 4 == 0) OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        if (i % 4 == 1) for (done = 0; !done;) OK(MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE));
        if (i % 4 == 2) OK(MPI_Waitany(1, &requests[i], &index, MPI_STATUS_IGNORE));
        if (i % 4 == 3) OK(MPI_Waitsome(1, &requests[i], &done, &index, MPI_STATUSES_IGNORE));
        CHECK(got[i] == i && requests[i] == MPI_REQUEST_NULL);
    }
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(got[0] == 0 && got[1] == 1);
}

/* A synchronous send ends while its receiver waits for another message, which follows it. */
static void send_synchronously(void)
{
    int number = 5;
    OK(MPI_Ssend(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD));
    OK(MPI_Send(&number, 1, MPI_INT, 0, 2, MPI_COMM_WORLD));
    OK(MPI_Recv(&number, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Ssend(&number, 1, MPI_INT, 0, 4, MPI_COMM_WORLD));
    OK(MPI_Recv(&number, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void elsewhere(void)
{
    int first = 0, second = 0, third = 0, number = 6;
    MPI_Request request;
    OK(MPI_Irecv(&first, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &request));
    OK(MPI_Recv(&second, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Irecv(&third, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, &request));
    OK(MPI_Ssend(&number, 1, MPI_INT, 1, 3, MPI_COMM_WORLD));
    /* The peer starts the next receive only after the one above was matched. */
    OK(MPI_Ssend(&number, 1, MPI_INT, 1, 5, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(first == 5 && second == 5 && third == 6);
}

/* A message that is too long makes only its own receive fail. */
static void truncated(void)
{
    int got[COUNT] = {0};
    char less;
    MPI_Request requests[COUNT];
    MPI_Status statuses[COUNT];
    for (int i = 0; i < COUNT; i++) {
        if (i == 4) OK(MPI_Irecv(&less, 1, MPI_CHAR, 1, i % 3, MPI_COMM_WORLD, &requests[i]));
        else OK(MPI_Irecv(&got[i], 1, MPI_INT, 1, i % 3, MPI_COMM_WORLD, &requests[i]));
    }
    FAILS(MPI_ERR_IN_STATUS, MPI_Waitall(COUNT, requests, statuses));
    for (int i = 0; i < COUNT; i++) {
        int class;
        MPI_Error_class(statuses[i].MPI_ERROR, &class);
        CHECK(class == (i == 4 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
        CHECK(i == 4 || got[i] == i);
    }
}

static void nothing(void) {}

/* A cancelled receive never gets a message. */
static void withdrawn(void)
{
    int got = 7, cancelled = 0;
    MPI_Request request;
    MPI_Status status;
    OK(MPI_Irecv(&got, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &request));
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK(cancelled && got == 7);
}

/* A freed communicator lives as long as the operations under way on it. */
static void freed(void)
{
    MPI_Comm comm;
    MPI_Request requests[4];
    MPI_Status statuses[4];
    int out[2] = {rank, rank + 10}, in[2] = {-1, -1}, peer = 1 - rank;
    if (rank > 1) peer = MPI_PROC_NULL;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int i = 0; i < 2; i++) OK(MPI_Irecv(&in[i], 1, MPI_INT, peer, i, comm, &requests[i]));
    for (int i = 0; i < 2; i++) OK(MPI_Isend(&out[i], 1, MPI_INT, peer, i, comm, &requests[2 + i]));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Waitall(4, requests, statuses));
    if (rank < 2) CHECK(in[0] == peer && in[1] == peer + 10 && statuses[1].MPI_SOURCE == peer && statuses[1].MPI_TAG == 1);
}

/* A receive that a callback of the program starts, from within another call. */
static int from_within = -1;
static MPI_Request within = MPI_REQUEST_NULL;

static int receiving_copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra, (void)in, (void)out;
    *flag = 0;
    return rank == 0 ? MPI_Irecv(&from_within, 1, MPI_INT, 1, 8, MPI_COMM_WORLD, &within) : MPI_SUCCESS;
}

static void from_a_function(void)
{
    MPI_Comm comm, copy;
    int key, number = 4;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_create_keyval(receiving_copy, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    OK(MPI_Comm_set_attr(comm, key, &key));
    OK(MPI_Comm_dup(comm, &copy));
    if (rank == 1) OK(MPI_Ssend(&number, 1, MPI_INT, 0, 8, MPI_COMM_WORLD));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Wait(&within, MPI_STATUS_IGNORE));
    CHECK(rank != 0 || from_within == 4);
    OK(MPI_Comm_free_keyval(&key));
    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_free(&comm));
}

/* Messages of this rank to itself, between the start and the end of its receives. */
static void to_itself(void)
{
    int out[COUNT], in[COUNT];
    MPI_Request requests[COUNT];
    for (int i = 0; i < COUNT; i++) OK(MPI_Irecv(&in[i], 1, MPI_INT, rank, i % 2, MPI_COMM_WORLD, &requests[i]));
    for (int i = 0; i < COUNT; i++) {
        out[i] = i;
        OK(MPI_Send(&out[i], 1, MPI_INT, rank, i % 2, MPI_COMM_WORLD));
    }
    OK(MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < COUNT; i++) CHECK(in[i] == i);
}

/* Neighbours exchange a blocking send, short or long, between the start and the end of the receives. There
 * are too many at a time for all to find room at once. */
static void exchange(void)
{
    enum { DEEP = 100, LARGEST = 100000 };
    static const int sizes[] = {0, 8, 48, 49, 4096, 4097, 20000, LARGEST};
    static char in[DEEP][LARGEST], out[LARGEST];
    MPI_Request requests[DEEP];
    int peer = rank > 1 ? MPI_PROC_NULL : 1 - rank;
    for (int s = 0; s < 8; s++) {
        int deep = sizes[s] <= 4096 ? DEEP : 4;
        for (int i = 0; i < deep; i++) OK(MPI_Irecv(in[i], sizes[s], MPI_CHAR, peer, i % 3, MPI_COMM_WORLD, &requests[i]));
        for (int i = 0; i < deep; i++) {
            memset(out, i + 10 * rank + s, (size_t)sizes[s]);
            OK(MPI_Send(out, sizes[s], MPI_CHAR, peer, i % 3, MPI_COMM_WORLD));
        }
        OK(MPI_Waitall(deep, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < deep && rank < 2 && sizes[s] > 0; i++) {
            char expected = (char)(i + 10 * peer + s);
            CHECK(in[i][0] == expected && in[i][sizes[s] - 1] == expected);
        }
    }
}

/* After MPI_Session_init no receive is deferred; one deferred earlier keeps its order. */
static void before_a_session(void)
{
    int first = -1, second = -1, numbers[2] = {5, 6}, flag = -1;
    MPI_Request requests[2];
    MPI_Session session;
    OK(MPI_Irecv(&first, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &requests[0]));
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    OK(MPI_Irecv(&second, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &requests[1]));
    OK(MPI_Send(&numbers[0], 1, MPI_INT, 0, 3, MPI_COMM_SELF));
    OK(MPI_Send(&numbers[1], 1, MPI_INT, 0, 3, MPI_COMM_SELF));
    OK(MPI_Iprobe(0, 3, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
    CHECK(flag == 0);
    OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    CHECK(first == 5 && second == 6);
    OK(MPI_Session_finalize(&session));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    both(send_numbers, by_tags);
    both(send_numbers, mixed);
    both(send_numbers, backwards);
    both(send_numbers, truncated);
    both(nothing, withdrawn);
    if (rank == 1) send_synchronously();
    if (rank == 0) elsewhere();
    freed();
    from_a_function();
    to_itself();
    exchange();
    before_a_session();
    MPI_Finalize();
    return result();
}
