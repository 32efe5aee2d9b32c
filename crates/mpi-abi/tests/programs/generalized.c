/* Operations that the program ends by itself. */
#include "check.h"

struct operation {
    int queried, freed, cancelled, fails;
    MPI_Request request;
};

static int query(void *state, MPI_Status *status)
{
    struct operation *operation = state;
    operation->queried++;
    status->MPI_SOURCE = 17;
    status->MPI_TAG = -18;
    MPI_Status_set_cancelled(status, operation->cancelled);
    return operation->fails ? MPI_ERR_IO : MPI_SUCCESS;
}

static int release(void *state)
{
    ((struct operation *)state)->freed++;
    return MPI_SUCCESS;
}

/* The operation is over once it is cancelled: the function itself completes it. */
static int cancel(void *state, int complete)
{
    struct operation *operation = state;
    CHECK(!complete);
    operation->cancelled = 1;
    return MPI_Grequest_complete(operation->request);
}

static void begin(struct operation *operation)
{
    memset(operation, 0, sizeof *operation);
    OK(MPI_Grequest_start(query, release, cancel, operation, &operation->request));
}

int main(int argc, char **argv)
{
    struct operation one, other;
    MPI_Status status;
    MPI_Request none = MPI_REQUEST_NULL, both[2], copy;
    int flag = -1, number;
    start(&argc, &argv);

    begin(&one);
    OK(MPI_Test(&one.request, &flag, &status));
    CHECK(!flag && one.queried == 0);
    OK(MPI_Grequest_complete(one.request));
    FAILS(MPI_ERR_REQUEST, MPI_Grequest_complete(one.request));
    OK(MPI_Request_get_status(one.request, &flag, &status));
    CHECK(flag && one.queried == 1 && one.freed == 0);
    status.MPI_ERROR = 55;
    OK(MPI_Wait(&one.request, &status));
    CHECK(one.request == MPI_REQUEST_NULL && one.queried == 2 && one.freed == 1);
    CHECK(status.MPI_SOURCE == 17 && status.MPI_TAG == -18 && status.MPI_ERROR == 55);

    begin(&one);
    OK(MPI_Cancel(&one.request));
    OK(MPI_Wait(&one.request, &status));
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK(flag && one.freed == 1);

    /* The request is freed first, then completed. */
    begin(&one);
    copy = one.request;
    OK(MPI_Request_free(&one.request));
    CHECK(one.request == MPI_REQUEST_NULL && one.freed == 0);
    FAILS(MPI_ERR_REQUEST, MPI_Wait(&copy, &status));
    OK(MPI_Grequest_complete(copy));
    CHECK(one.freed == 1 && one.queried == 0);
    FAILS(MPI_ERR_REQUEST, MPI_Grequest_complete(copy));

    /* The call returns the error of the program's function. */
    begin(&one);
    begin(&other);
    other.fails = 1;
    OK(MPI_Grequest_complete(one.request));
    OK(MPI_Grequest_complete(other.request));
    both[0] = one.request;
    both[1] = other.request;
    MPI_Status statuses[2];
    FAILS(MPI_ERR_IN_STATUS, MPI_Waitall(2, both, statuses));
    CHECK(statuses[0].MPI_ERROR == MPI_SUCCESS && statuses[1].MPI_ERROR == MPI_ERR_IO);
    CHECK(one.freed == 1 && other.freed == 1);

    MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &copy);
    FAILS(MPI_ERR_REQUEST, MPI_Grequest_complete(copy));
    FAILS(MPI_ERR_REQUEST, MPI_Grequest_complete(none));
    OK(MPI_Cancel(&copy));
    OK(MPI_Wait(&copy, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_ARG, MPI_Grequest_start(NULL, release, cancel, NULL, &copy));
    OK(MPI_Finalize());
    return result();
}
