/* Cancelled messages: those that can be withdrawn, those that cannot, and those that follow. */
#include "check.h"

#define LONG (1 << 20)

/* Returns true if an operation was cancelled, once it has ended. */
static int cancelled(MPI_Request *request)
{
    MPI_Status status;
    int flag = -1;
    OK(MPI_Wait(request, &status));
    OK(MPI_Test_cancelled(&status, &flag));
    return flag;
}

/* The sender cancels messages that are not received; later messages with the same tag arrive. */
static void sends(int bytes, int synchronous, char *data)
{
    MPI_Request requests[3];
    for (int n = 0; n < 3; n++) {
        if (synchronous)
            OK(MPI_Issend(data, bytes, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &requests[n]));
        else
            OK(MPI_Isend(data, bytes, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &requests[n]));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Cancel(&requests[0]));
    OK(MPI_Cancel(&requests[2]));
    OK(MPI_Cancel(&requests[2]));
    CHECK(cancelled(&requests[2]));
    CHECK(cancelled(&requests[0]));
    memset(data, 2, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(!cancelled(&requests[1]));
    memset(data, 1, bytes);
    OK(MPI_Send(data, bytes, MPI_BYTE, 1, 5, MPI_COMM_WORLD));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void receives(int bytes, char *data)
{
    MPI_Status status;
    int found = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    for (char content = 2; content > 0; content--) {
        OK(MPI_Recv(data, bytes, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &status));
        CHECK(data[0] == content && data[bytes - 1] == content);
    }
    OK(MPI_Iprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &status));
    CHECK(!found);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A message that a matched probe has taken cannot be withdrawn. */
static void taken(int rank, char *data)
{
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    if (rank == 0) {
        OK(MPI_Issend(data, LONG, MPI_BYTE, 1, 6, MPI_COMM_WORLD, &request));
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_Cancel(&request));
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(!cancelled(&request));
    } else {
        OK(MPI_Mprobe(0, 6, MPI_COMM_WORLD, &message, &status));
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_Mrecv(data, LONG, MPI_BYTE, &message, &status));
    }
}

int main(int argc, char **argv)
{
    int rank;
    char *data = malloc(LONG);
    start(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int synchronous = 0; synchronous < 2; synchronous++) {
        int bytes = synchronous ? 8 : LONG;
        if (rank == 0)
            sends(bytes, synchronous, data);
        else
            receives(bytes, data);
    }
    taken(rank, data);
    MPI_Finalize();
    free(data);
    return result();
}
