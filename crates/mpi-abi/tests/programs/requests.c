/* Requests: queries, persistent ones, more than can be deferred, and the handlers of their errors. */
#include "check.h"

static int rank, size, left, right;

static int told, told_comm;

static void tell(MPI_Comm *comm, int *code, ...)
{
    (void)code;
    told++;
    told_comm = MPI_Comm_toint(*comm);
}

/* Checks that the call fails, and calls the handler of this communicator alone. */
#define TOLD(comm, class, call)                                                                                        \
    do {                                                                                                               \
        told = 0;                                                                                                      \
        FAILS(class, call);                                                                                            \
        CHECK(told == 1 && told_comm == MPI_Comm_toint(comm));                                                         \
    } while (0)

static void handlers(void)
{
    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI_Request send, parts, receive;
    MPI_Message message;
    int number = rank, got[4], flag;
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    OK(MPI_Comm_create_errhandler(tell, &handler));
    OK(MPI_Comm_set_errhandler(comm, handler));
    OK(MPI_Recv_init(got, 1, MPI_INT, 0, 3, comm, &receive));
    TOLD(comm, MPI_ERR_REQUEST, MPI_Cancel(&receive));
    OK(MPI_Start(&receive));
    TOLD(comm, MPI_ERR_REQUEST, MPI_Start(&receive));
    TOLD(comm, MPI_ERR_REQUEST, MPI_Startall(1, &receive));
    OK(MPI_Send_init(&number, 1, MPI_INT, 0, 3, comm, &send));
    OK(MPI_Start(&send));
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&send));
    OK(MPI_Request_free(&receive));
    OK(MPI_Psend_init(got, 2, 2, MPI_INT, 0, 3, comm, MPI_INFO_NULL, &parts));
    TOLD(comm, MPI_ERR_REQUEST, MPI_Pready(0, parts));
    TOLD(comm, MPI_ERR_REQUEST, MPI_Pready_range(0, 1, parts));
    OK(MPI_Precv_init(got, 2, 2, MPI_INT, 0, 3, comm, MPI_INFO_NULL, &receive));
    OK(MPI_Start(&receive));
    OK(MPI_Start(&parts));
    TOLD(comm, MPI_ERR_ARG, MPI_Pready(2, parts));
    TOLD(comm, MPI_ERR_ARG, MPI_Pready_list(1, &(int){-1}, parts));
    TOLD(comm, MPI_ERR_ARG, MPI_Parrived(receive, 2, &flag));
    TOLD(comm, MPI_ERR_REQUEST, MPI_Parrived(parts, 0, &flag));
    OK(MPI_Pready_range(0, 1, parts));
    TOLD(comm, MPI_ERR_ARG, MPI_Pready(1, parts));
    OK(MPI_Wait(&parts, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&parts));
    OK(MPI_Request_free(&receive));
    /* The message is longer than its receive. */
    OK(MPI_Send(got, 4, MPI_INT, 0, 5, comm));
    OK(MPI_Mprobe(0, 5, comm, &message, MPI_STATUS_IGNORE));
    TOLD(comm, MPI_ERR_TRUNCATE, MPI_Mrecv(got, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
    OK(MPI_Send(got, 4, MPI_INT, 0, 5, comm));
    OK(MPI_Mprobe(0, 5, comm, &message, MPI_STATUS_IGNORE));
    TOLD(comm, MPI_ERR_COUNT, MPI_Imrecv(got, -1, MPI_INT, &message, &receive));
    OK(MPI_Imrecv(got, 4, MPI_INT, &message, &receive));
    OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Comm_free(&comm));
}

/* Queries leave requests unchanged. */
static void asked(void)
{
    enum { COUNT = 3 };
    int in[COUNT], out[COUNT], flag = 0, n = 0, index, indices[COUNT];
    MPI_Request requests[COUNT];
    MPI_Status statuses[COUNT], status;
    for (int i = 0; i < COUNT; i++)
        OK(MPI_Irecv(&in[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &requests[i]));
    OK(MPI_Request_get_status_all(COUNT, requests, &flag, statuses));
    CHECK(!flag || size > 1);
    for (int i = 0; i < COUNT; i++) {
        out[i] = rank + i;
        OK(MPI_Send(&out[i], 1, MPI_INT, right, i, MPI_COMM_WORLD));
    }
    for (flag = 0; !flag;)
        OK(MPI_Request_get_status(requests[1], &flag, &status));
    CHECK(status.MPI_SOURCE == left && status.MPI_TAG == 1);
    for (flag = 0; !flag;)
        OK(MPI_Request_get_status_all(COUNT, requests, &flag, statuses));
    for (int i = 0; i < COUNT; i++)
        CHECK(in[i] == left + i && statuses[i].MPI_TAG == i);
    OK(MPI_Request_get_status_any(COUNT, requests, &index, &flag, &status));
    CHECK(flag && index == 0 && status.MPI_TAG == 0);
    OK(MPI_Request_get_status_some(COUNT, requests, &n, indices, statuses));
    CHECK(n == COUNT && indices[2] == 2 && statuses[2].MPI_TAG == 2);
    OK(MPI_Testany(COUNT, requests, &index, &flag, &status));
    CHECK(flag && index == 0 && requests[0] == MPI_REQUEST_NULL);
    OK(MPI_Testsome(COUNT, requests, &n, indices, statuses));
    CHECK(n == 2 && indices[0] == 1 && indices[1] == 2);
    OK(MPI_Testany(COUNT, requests, &index, &flag, &status));
    CHECK(flag && index == MPI_UNDEFINED);
    OK(MPI_Test(&requests[0], &flag, &status));
    CHECK(flag && status.MPI_SOURCE == MPI_ANY_SOURCE);
}

/* Persistent messages with gaps, started many times, and their requests in every list. */
static void persistent(void)
{
    int out[8], in[8], flag, index, n, indices[2];
    MPI_Datatype gaps;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    OK(MPI_Type_vector(4, 1, 2, MPI_INT, &gaps));
    OK(MPI_Type_commit(&gaps));
    OK(MPI_Send_init(out, 1, gaps, right, 1, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Recv_init(in, 1, gaps, left, 1, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Waitall(2, requests, statuses));
    OK(MPI_Testany(2, requests, &index, &flag, statuses));
    CHECK(flag && index == MPI_UNDEFINED);
    for (int round = 0; round < 12; round++) {
        for (int i = 0; i < 8; i++)
            out[i] = 100 * rank + 10 * round + i, in[i] = -1;
        OK(MPI_Startall(2, requests));
        switch (round % 4) {
        case 0:
            OK(MPI_Waitall(2, requests, statuses));
            break;
        case 1:
            OK(MPI_Waitany(2, requests, &index, statuses));
            OK(MPI_Waitany(2, requests, &index, statuses));
            break;
        case 2:
            for (int ended = 0; ended < 2; ended += n)
                OK(MPI_Waitsome(2, requests, &n, indices, statuses));
            break;
        case 3:
            for (int i = 0; i < 2; i++)
                for (flag = 0; !flag;)
                    OK(MPI_Test(&requests[i], &flag, statuses));
            break;
        }
        for (int i = 0; i < 8; i++)
            CHECK(in[i] == (i % 2 ? -1 : 100 * left + 10 * round + i));
    }
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
    OK(MPI_Type_free(&gaps));
}

/* More receives than can be deferred, some of which stay for long, waited for in any order. */
static void many(void)
{
    enum { COUNT = 1500 };
    static int in[COUNT], out[COUNT], kept_in;
    static MPI_Request requests[COUNT], kept;
    OK(MPI_Irecv(&kept_in, 1, MPI_INT, left, 9, MPI_COMM_WORLD, &kept));
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < COUNT; i++) {
            in[i] = -1;
            out[i] = round * COUNT + i;
            OK(MPI_Irecv(&in[i], 1, MPI_INT, left, i % 5, MPI_COMM_WORLD, &requests[i]));
            if (i % 700 == 699)
                OK(MPI_Barrier(MPI_COMM_SELF));
        }
        for (int i = 0; i < COUNT; i++)
            OK(MPI_Send(&out[i], 1, MPI_INT, right, i % 5, MPI_COMM_WORLD));
        for (int i = 0; i < COUNT / 2; i++)
            OK(MPI_Wait(&requests[round % 2 ? i : COUNT - 1 - i], MPI_STATUS_IGNORE));
        OK(MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < COUNT; i++)
            CHECK(in[i] == round * COUNT + i);
    }
    OK(MPI_Send(&rank, 1, MPI_INT, right, 9, MPI_COMM_WORLD));
    OK(MPI_Wait(&kept, MPI_STATUS_IGNORE));
    CHECK(kept_in == left);
}

static void from_no_process(const MPI_Status *status)
{
    int count = -1;
    CHECK(status->MPI_SOURCE == MPI_PROC_NULL && status->MPI_TAG == MPI_ANY_TAG);
    OK(MPI_Get_count(status, MPI_INT, &count));
    CHECK(count == 0);
}

/* Receives from MPI_PROC_NULL among others, like at the border of a domain, end in each function. */
static void no_process(void)
{
    enum { COUNT = 4 };
    int in[COUNT] = {-1, -1, -1, -1}, flag, index, n, indices[COUNT];
    MPI_Request requests[COUNT], request;
    MPI_Status statuses[COUNT], status;
    for (int round = 0; round < 3; round++) {
        OK(MPI_Irecv(&in[0], 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Irecv(&in[1], 1, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[1]));
        OK(MPI_Isend(&rank, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[2]));
        OK(MPI_Isend(&rank, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[3]));
        if (round == 0) {
            OK(MPI_Waitall(COUNT, requests, statuses));
            from_no_process(&statuses[0]);
            CHECK(statuses[1].MPI_SOURCE == left && statuses[1].MPI_TAG == 1);
        } else if (round == 1) {
            OK(MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE));
        } else {
            OK(MPI_Waitany(1, requests, &index, &status));
            CHECK(index == 0);
            from_no_process(&status);
            OK(MPI_Waitall(COUNT - 1, requests + 1, MPI_STATUSES_IGNORE));
        }
        for (int i = 0; i < COUNT; i++) CHECK(requests[i] == MPI_REQUEST_NULL);
        CHECK(in[0] == -1 && in[1] == left);
    }
    for (int way = 0; way < 6; way++) {
        memset(&status, 0, sizeof status);
        OK(MPI_Irecv(in, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &request));
        CHECK(request != MPI_REQUEST_NULL);
        OK(MPI_Request_get_status(request, &flag, &status));
        CHECK(flag);
        from_no_process(&status);
        OK(MPI_Cancel(&request));
        FAILS(MPI_ERR_REQUEST, MPI_Start(&request));
        memset(&status, 0, sizeof status);
        flag = n = 1;
        if (way == 0) OK(MPI_Wait(&request, &status));
        if (way == 1) OK(MPI_Test(&request, &flag, &status));
        if (way == 2) OK(MPI_Testall(1, &request, &flag, &status));
        if (way == 3) OK(MPI_Testsome(1, &request, &n, indices, &status));
        if (way == 4) OK(MPI_Waitsome(1, &request, &n, indices, &status));
        if (way == 5) OK(MPI_Request_free(&request));
        else from_no_process(&status);
        OK(MPI_Test_cancelled(&status, &index));
        CHECK(flag && n == 1 && request == MPI_REQUEST_NULL && (way == 5 || !index));
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size, right = (rank + 1) % size;
    handlers();
    asked();
    persistent();
    many();
    no_process();
    MPI_Finalize();
    return result();
}
