/* Messages in all modes, probes, statuses, requests of all kinds. */
#include "conformance.h"

static int next, before;

static void around(void)
{
    next = (rank + 1) % size, before = (rank + size - 1) % size;
}

void blocking(void)
{
    int out[10], in[10], flag;
    char buffer[10000];
    MPI_Status status;
    MPI_Message message;
    around();
    for (int n = 0; n < 10; n++)
        out[n] = rank * 100 + n, in[n] = -1;
    MPI_Sendrecv(out, 3, MPI_INT, next, 1, in, 10, MPI_INT, before, 1, MPI_COMM_WORLD, &status);
    say_status("sendrecv", &status, MPI_INT);
    say_ints("sendrecv", in, 4);
    MPI_Sendrecv_replace(out, 10, MPI_INT, next, 2, before, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    say_status("replace", &status, MPI_INT);
    say_ints("replace", out, 10);
    MPI_Buffer_attach(buffer, sizeof buffer);
    for (int tag = 0; tag < 4; tag++)
        MPI_Bsend(&out[tag], 4 - tag, MPI_INT, next, tag, MPI_COMM_WORLD);
    MPI_Probe(before, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    say_status("probe", &status, MPI_INT);
    MPI_Recv(in, 10, MPI_INT, before, 2, MPI_COMM_WORLD, &status);
    say_status("third first", &status, MPI_INT);
    MPI_Mprobe(before, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
    say_status("mprobe", &status, MPI_INT);
    MPI_Iprobe(before, 0, MPI_COMM_WORLD, &flag, &status);
    say("iprobe of what is matched: %d", flag);
    MPI_Mrecv(in, 10, MPI_INT, &message, &status);
    say_status("mrecv", &status, MPI_INT);
    say_ints("mrecv", in, 4);
    say("message is null: %d", message == MPI_MESSAGE_NULL);
    do
        MPI_Improbe(before, 3, MPI_COMM_WORLD, &flag, &message, &status);
    while (!flag);
    MPI_Mrecv(in, 10, MPI_INT, &message, MPI_STATUS_IGNORE);
    say_ints("improbe", in, 1);
    MPI_Recv(in, 10, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
    say_status("any source", &status, MPI_INT);
    void *given;
    int bytes;
    MPI_Buffer_detach(&given, &bytes);
    say("detached: %d %d", given == buffer, bytes);
    /* Messages with MPI_PROC_NULL. */
    in[0] = -5;
    CODE(MPI_Send(out, 10, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    CODE(MPI_Recv(in, 10, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
    say_status("no process", &status, MPI_INT);
    say_ints("untouched", in, 1);
    CODE(MPI_Probe(MPI_PROC_NULL, 7, MPI_COMM_WORLD, &status));
    say_status("probe of no process", &status, MPI_INT);
    CODE(MPI_Mprobe(MPI_PROC_NULL, 7, MPI_COMM_WORLD, &message, &status));
    say("no process: %d", message == MPI_MESSAGE_NO_PROC);
    CODE(MPI_Mrecv(in, 1, MPI_INT, &message, &status));
    say_status("mrecv of no process", &status, MPI_INT);
    /* Partly filled elements, but not of MPI_2INT, which MPICH does not support here. */
    MPI_Datatype two;
    MPI_Type_contiguous(2, MPI_INT, &two);
    MPI_Type_commit(&two);
    MPI_Sendrecv(out, 3, MPI_INT, next, 4, in, 5, two, before, 4, MPI_COMM_WORLD, &status);
    say_status("odd", &status, two);
    MPI_Type_free(&two);
    MPI_Sendrecv(out, 0, MPI_INT, next, 4, in, 10, MPI_INT, before, 4, MPI_COMM_WORLD, &status);
    say_status("empty", &status, MPI_INT);
}

void nonblocking(void)
{
    enum { LONG = 60000 };
    static int out[LONG], in[LONG];
    int two[4][2], flag = -1, index = -1, count = -1, indices[4];
    MPI_Request requests[8];
    MPI_Status statuses[8], status;
    around();
    for (int n = 0; n < LONG; n++)
        out[n] = rank + n, in[n] = -1;
    MPI_Irecv(in, LONG, MPI_INT, before, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Issend(out, LONG, MPI_INT, next, 5, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    say_status("long", &statuses[0], MPI_INT);
    say("null: %d %d, last %d", requests[0] == MPI_REQUEST_NULL, requests[1] == MPI_REQUEST_NULL, in[LONG - 1]);
    for (int n = 0; n < 4; n++)
        MPI_Irecv(two[n], 2, MPI_INT, before, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[n]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int n = 0; n < 4; n++) {
        if (n % 2)
            MPI_Irsend(&out[n], 1 + n % 2, MPI_INT, next, 10 + n, MPI_COMM_WORLD, &requests[4 + n]);
        else
            MPI_Isend(&out[n], 1 + n % 2, MPI_INT, next, 10 + n, MPI_COMM_WORLD, &requests[4 + n]);
    }
    MPI_Waitall(8, requests, statuses);
    for (int n = 0; n < 4; n++)
        say_status("in order", &statuses[n], MPI_INT);
    MPI_Waitany(4, requests, &index, &status);
    say("any of nothing: %d", index == MPI_UNDEFINED);
    say_status("any of nothing", &status, MPI_INT);
    MPI_Testall(4, requests, &flag, statuses);
    say("all of nothing: %d", flag);
    MPI_Testany(4, requests, &index, &flag, &status);
    say("test any of nothing: %d %d", index == MPI_UNDEFINED, flag);
    MPI_Waitsome(4, requests, &count, indices, statuses);
    say("some of nothing: %d", count == MPI_UNDEFINED);
    MPI_Test(&requests[0], &flag, &status);
    say("null: %d", flag);
    say_status("null", &status, MPI_INT);
    MPI_Request_get_status(requests[0], &flag, &status);
    say("status of null: %d", flag);
    /* The requests end one after the other, by MPI_Waitany. */
    MPI_Irecv(two[0], 1, MPI_INT, before, 20, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(two[1], 1, MPI_INT, before, 21, MPI_COMM_WORLD, &requests[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(&out[7], 1, MPI_INT, next, 21, MPI_COMM_WORLD);
    MPI_Waitany(2, requests, &index, &status);
    say("any: %d", index);
    say_status("any", &status, MPI_INT);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(&out[8], 1, MPI_INT, next, 20, MPI_COMM_WORLD);
    MPI_Waitsome(2, requests, &count, indices, statuses);
    say("some: %d of %d: %d %d", indices[0], count, two[0][0], two[1][0]);
    do
        MPI_Testsome(2, requests, &count, indices, statuses);
    while (count == 0);
    say("testsome of nothing: %d", count == MPI_UNDEFINED);
    MPI_Irecv(two[0], 2, MPI_INT, before, 22, MPI_COMM_WORLD, &requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], &status);
    MPI_Test_cancelled(&status, &flag);
    say("cancelled: %d", flag);
    MPI_Irecv(two[0], 2, MPI_INT, MPI_PROC_NULL, 22, MPI_COMM_WORLD, &requests[0]);
    MPI_Wait(&requests[0], &status);
    say_status("no process", &status, MPI_INT);
    MPI_Irecv(two[0], 2, MPI_INT, before, 23, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 1, MPI_INT, next, 23, MPI_COMM_WORLD, &requests[1]);
    MPI_Request_free(&requests[1]);
    do
        MPI_Request_get_status(requests[0], &flag, &status);
    while (!flag);
    say_status("asked", &status, MPI_INT);
    say("still there: %d", requests[0] != MPI_REQUEST_NULL);
    MPI_Wait(&requests[0], &status);
    say_status("waited", &status, MPI_INT);
    MPI_Isendrecv(out, 4, MPI_INT, next, 24, in, 9, MPI_INT, before, 24, MPI_COMM_WORLD, &requests[0]);
    MPI_Wait(&requests[0], &status);
    /* The status is left out, because MPICH leaves old values in it. */
    say_ints("isendrecv", in, 5);
}

void persistent(void)
{
    int out = 0, in = -1, flag;
    char buffer[MPI_BSEND_OVERHEAD + 400];
    MPI_Request requests[2];
    MPI_Status statuses[2];
    around();
    MPI_Buffer_attach(buffer, sizeof buffer);
    for (int mode = 0; mode < 4; mode++) {
        MPI_Recv_init(&in, 1, MPI_INT, before, 30 + mode, MPI_COMM_WORLD, &requests[0]);
        if (mode == 0)
            MPI_Send_init(&out, 1, MPI_INT, next, 30, MPI_COMM_WORLD, &requests[1]);
        else if (mode == 1)
            MPI_Bsend_init(&out, 1, MPI_INT, next, 31, MPI_COMM_WORLD, &requests[1]);
        else if (mode == 2)
            MPI_Ssend_init(&out, 1, MPI_INT, next, 32, MPI_COMM_WORLD, &requests[1]);
        else
            MPI_Rsend_init(&out, 1, MPI_INT, next, 33, MPI_COMM_WORLD, &requests[1]);
        MPI_Test(&requests[0], &flag, &statuses[0]);
        say("inactive: %d", flag);
        say_status("inactive", &statuses[0], MPI_INT);
        for (int round = 0; round < 3; round++) {
            out = rank * 10 + round;
            MPI_Start(&requests[0]);
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Start(&requests[1]);
            MPI_Waitall(2, requests, statuses);
            say_status("round", &statuses[0], MPI_INT);
            say("got %d, there %d", in, requests[0] != MPI_REQUEST_NULL);
        }
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
        say("freed: %d", requests[0] == MPI_REQUEST_NULL);
    }
    void *given;
    int bytes;
    MPI_Buffer_detach(&given, &bytes);
    int sum = 0, mine = rank + 1;
    MPI_Info info = MPI_INFO_NULL;
    CODE(MPI_Allreduce_init(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, info, &requests[0]));
    for (int round = 0; round < 2; round++) {
        mine += round;
        MPI_Start(&requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        say("persistent sum %d", sum);
    }
    MPI_Request_free(&requests[0]);
}
