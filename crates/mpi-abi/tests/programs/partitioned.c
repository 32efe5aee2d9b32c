/* Partitioned messages: the queries of a receive, and the matching of sends and receives. */
#include "check.h"

#define PARTS 4
#define EACH 3

/* Messages with one tag match in the order of their initialisation; here they start in another order. */
static void told_apart(int left, int right, int tag)
{
    enum { COUNT = 3 };
    int sent[COUNT] = {0}, got[COUNT];
    MPI_Request sends[COUNT], receives[COUNT];
    /* A failed initialisation does not count. */
    FAILS(MPI_ERR_ARG, MPI_Psend_init(sent, 1, 1, MPI_INT, right, tag, MPI_COMM_WORLD, MPI_INFO_NULL, NULL));
    for (int n = 0; n < COUNT; n++) {
        OK(MPI_Psend_init(&sent[n], 1, 1, MPI_INT, right, tag, MPI_COMM_WORLD, MPI_INFO_NULL, &sends[n]));
        OK(MPI_Precv_init(&got[n], 1, 1, MPI_INT, left, tag, MPI_COMM_WORLD, MPI_INFO_NULL, &receives[n]));
    }
    for (int round = 0; round < 4; round++) {
        for (int n = 0; n < COUNT; n++) {
            sent[n] = 10 * round + n;
            got[n] = -1;
            OK(MPI_Start(&receives[n]));
        }
        for (int i = 0; i < COUNT; i++) {
            int n = round % 2 ? COUNT - 1 - i : (i + round) % COUNT;
            OK(MPI_Start(&sends[n]));
            OK(MPI_Pready(0, sends[n]));
        }
        OK(MPI_Waitall(COUNT, sends, MPI_STATUSES_IGNORE));
        OK(MPI_Waitall(COUNT, receives, MPI_STATUSES_IGNORE));
        for (int n = 0; n < COUNT; n++)
            CHECK(got[n] == 10 * round + n);
    }
    for (int n = 0; n < COUNT; n++) {
        OK(MPI_Request_free(&sends[n]));
        OK(MPI_Request_free(&receives[n]));
    }
}

int main(int argc, char **argv)
{
    int rank, size, sent[PARTS * EACH], got[PARTS * EACH], flag = 0, count = -1;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    start(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    FAILS(MPI_ERR_RANK, MPI_Precv_init(got, PARTS, EACH, MPI_INT, MPI_ANY_SOURCE, 17, MPI_COMM_WORLD, MPI_INFO_NULL,
                                       &requests[1]));
    FAILS(MPI_ERR_TAG, MPI_Precv_init(got, PARTS, EACH, MPI_INT, left, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                                      &requests[1]));
    OK(MPI_Psend_init(sent, PARTS, EACH, MPI_INT, right, 17, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Precv_init(got, PARTS, EACH, MPI_INT, left, 17, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
    for (int round = 0; round < 3; round++) {
        for (int n = 0; n < PARTS * EACH; n++) {
            sent[n] = 100 * round + 10 * rank + n;
            got[n] = -1;
        }
        OK(MPI_Startall(2, requests));
        for (int part = PARTS - 1; part >= 0; part--)
            OK(MPI_Pready(part, requests[0]));
        while (!flag)
            OK(MPI_Parrived(requests[1], PARTS - 1, &flag));
        flag = 0;
        OK(MPI_Waitall(2, requests, statuses));
        CHECK(statuses[1].MPI_SOURCE == left && statuses[1].MPI_TAG == 17);
        OK(MPI_Get_count(&statuses[1], MPI_INT, &count));
        CHECK(count == PARTS * EACH);
        for (int n = 0; n < PARTS * EACH; n++)
            CHECK(got[n] == 100 * round + 10 * left + n);
    }
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
    told_apart(left, right, 17);
    told_apart(left, right, (1 << 20) - 1);
    MPI_Finalize();
    return result();
}
