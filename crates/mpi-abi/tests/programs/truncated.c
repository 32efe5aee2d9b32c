/* Messages that are too long: the status of each names its source, tag and length, and the handler of its communicator is called. */
#include "check.h"

enum { GOOD = 3, LONG = 13, READY = 100 };

static MPI_Comm comm;
static int rank, calls;

static void count(MPI_Comm *of, int *code, ...)
{
    (void)code;
    calls++;
    CHECK(*of == comm);
}

static int data[2][4];

static void receive(MPI_Request *requests)
{
    OK(MPI_Irecv(data[0], 2, MPI_INT, 1, GOOD, comm, &requests[0]));
    OK(MPI_Irecv(data[1], 2, MPI_INT, 1, LONG, comm, &requests[1]));
    /* The answer shows that both messages have arrived. */
    OK(MPI_Send(NULL, 0, MPI_INT, 1, READY, comm));
    OK(MPI_Recv(NULL, 0, MPI_INT, 1, READY, comm, MPI_STATUS_IGNORE));
}

static void good(const MPI_Status *status)
{
    CHECK(status->MPI_SOURCE == 1 && status->MPI_TAG == GOOD && status->MPI_ERROR == MPI_SUCCESS);
}

static void wrong(const MPI_Status *status)
{
    CHECK(status->MPI_SOURCE == 1 && status->MPI_TAG == LONG);
    FAILS(MPI_ERR_TRUNCATE, status->MPI_ERROR);
}

static void some(int waits)
{
    MPI_Request requests[2];
    MPI_Status statuses[2], all[2];
    int n, indices[2], ended = 0;
    receive(requests);
    while (ended < 2) {
        int code = waits ? MPI_Waitsome(2, requests, &n, indices, statuses)
                         : MPI_Testsome(2, requests, &n, indices, statuses);
        if (code == MPI_SUCCESS)
            for (int i = 0; i < n; i++)
                statuses[i].MPI_ERROR = MPI_SUCCESS;
        else
            FAILS(MPI_ERR_IN_STATUS, code);
        for (int i = 0; i < n; i++)
            all[indices[i]] = statuses[i];
        ended += n;
    }
    good(&all[0]);
    wrong(&all[1]);
}

static void all(int waits)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int flag = 0, code = MPI_SUCCESS;
    receive(requests);
    if (waits)
        code = MPI_Waitall(2, requests, statuses);
    while (!waits && !flag)
        code = MPI_Testall(2, requests, &flag, statuses);
    FAILS(MPI_ERR_IN_STATUS, code);
    good(&statuses[0]);
    wrong(&statuses[1]);
}

static void matched(void)
{
    MPI_Message message;
    MPI_Errhandler handler;
    OK(MPI_Comm_create_errhandler(count, &handler));
    OK(MPI_Comm_set_errhandler(comm, handler));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Mprobe(1, LONG, comm, &message, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_TRUNCATE, MPI_Mrecv(data[0], 2, MPI_INT, &message, MPI_STATUS_IGNORE));
    CHECK(calls == 1 && message == MPI_MESSAGE_NULL);
    OK(MPI_Errhandler_free(&handler));
}

/* A query of a request calls the handler of its communicator, and leaves the request; MPI_Request_free
   reports nothing. */
static void looked(void)
{
    MPI_Request requests[2], kept;
    MPI_Status status;
    int flag = 0, index = -1;
    receive(requests);
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    kept = requests[1];
    calls = 0;
    FAILS(MPI_ERR_TRUNCATE, MPI_Request_get_status(requests[1], &flag, &status));
    CHECK(calls == 1 && flag);
    FAILS(MPI_ERR_TRUNCATE, MPI_Request_get_status_any(2, requests, &index, &flag, &status));
    CHECK(calls == 2 && requests[1] == kept);
    OK(MPI_Request_free(&requests[1]));
    CHECK(calls == 2 && requests[1] == MPI_REQUEST_NULL);
}

/* Returns a status that no call has filled. */
static MPI_Status unset(void)
{
    MPI_Status status;
    memset(&status, 0, sizeof status);
    status.MPI_SOURCE = status.MPI_TAG = status.MPI_ERROR = -77;
    return status;
}

/* Checks the result of a call for one message; the call leaves the error field of the status alone. */
static void named(int code, const MPI_Status *status)
{
    int n = -1;
    FAILS(MPI_ERR_TRUNCATE, code);
    OK(MPI_Get_count(status, MPI_INT, &n));
    CHECK(status->MPI_SOURCE == 1 && status->MPI_TAG == LONG && status->MPI_ERROR == -77 && n == 3);
}

/* The ways to receive one message; each reports the source of the message that was too long. */
enum { RECV, WAIT, TEST, WAITANY, TESTANY, SENDRECV, REPLACE, MRECV, STATUS, PERSISTENT, WAYS };

static void one(int way, int any_source)
{
    int source = any_source ? MPI_ANY_SOURCE : 1, tag = any_source ? MPI_ANY_TAG : LONG, code = MPI_SUCCESS, flag = 0, index = -1;
    MPI_Status status = unset();
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Message message;
    if (way == WAIT || way == TEST || way == WAITANY || way == TESTANY || way == STATUS)
        OK(MPI_Irecv(data[0], 2, MPI_INT, source, tag, comm, &request));
    OK(MPI_Send(NULL, 0, MPI_INT, 1, READY, comm));
    switch (way) {
    case RECV:
        code = MPI_Recv(data[0], 2, MPI_INT, source, tag, comm, &status);
        break;
    case WAIT:
        code = MPI_Wait(&request, &status);
        break;
    case TEST:
        while (!flag)
            code = MPI_Test(&request, &flag, &status);
        break;
    case WAITANY:
        code = MPI_Waitany(1, &request, &index, &status);
        break;
    case TESTANY:
        while (!flag)
            code = MPI_Testany(1, &request, &index, &flag, &status);
        break;
    case SENDRECV:
        code = MPI_Sendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, data[0], 2, MPI_INT, source, tag, comm, &status);
        break;
    case REPLACE:
        code = MPI_Sendrecv_replace(data[0], 2, MPI_INT, MPI_PROC_NULL, 0, source, tag, comm, &status);
        break;
    case MRECV:
        OK(MPI_Mprobe(source, tag, comm, &message, MPI_STATUS_IGNORE));
        code = MPI_Mrecv(data[0], 2, MPI_INT, &message, &status);
        break;
    case STATUS:
        while (!flag)
            code = MPI_Request_get_status(request, &flag, &status);
        OK(MPI_Request_free(&request));
        break;
    default:
        OK(MPI_Recv_init(data[0], 2, MPI_INT, source, tag, comm, &request));
        OK(MPI_Start(&request));
        code = MPI_Wait(&request, &status);
        OK(MPI_Request_free(&request));
    }
    named(code, &status);
    CHECK(request == MPI_REQUEST_NULL);
}

static void send_one(void)
{
    OK(MPI_Recv(NULL, 0, MPI_INT, 0, READY, comm, MPI_STATUS_IGNORE));
    OK(MPI_Send(data[1], 3, MPI_INT, 0, LONG, comm));
}

static void send(void)
{
    OK(MPI_Recv(NULL, 0, MPI_INT, 0, READY, comm, MPI_STATUS_IGNORE));
    OK(MPI_Send(data[0], 2, MPI_INT, 0, GOOD, comm));
    OK(MPI_Send(data[1], 3, MPI_INT, 0, LONG, comm));
    OK(MPI_Send(NULL, 0, MPI_INT, 0, READY, comm));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int waits = 0; waits < 2; waits++)
        if (rank == 0) {
            some(waits);
            all(waits);
        } else {
            send();
            send();
        }
    for (int way = 0; way < 2 * WAYS; way++)
        if (rank == 0)
            one(way % WAYS, way / WAYS);
        else
            send_one();
    if (rank == 0) {
        matched();
        looked();
    } else {
        OK(MPI_Send(data[0], 3, MPI_INT, 0, LONG, comm));
        send();
    }
    OK(MPI_Comm_free(&comm));
    OK(MPI_Finalize());
    return result();
}
