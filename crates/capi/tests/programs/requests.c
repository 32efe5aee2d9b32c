/* Requests, alone and several at once, cancelled, too late; probes and their messages. For two ranks. */
#include "expect.h"

enum { MANY = 200, LONG = 3 << 20 };

static canele_flow *world;
static uint32_t me, other;

/* Messages of all lengths in both directions, waited for together. */
static void all(void)
{
    static char sent[MANY][100], got[MANY][100];
    canele_request *requests[2 * MANY + 1];
    canele_status statuses[2 * MANY + 1];
    for (int n = 0; n < MANY; n++) {
        memset(sent[n], n, sizeof sent[n]);
        OK(canele_flow_irecv(world, other, (uint64_t)n, got[n], sizeof got[n], &requests[n]));
    }
    requests[2 * MANY] = NULL;
    for (int n = 0; n < MANY; n++)
        OK(canele_flow_isend(world, other, (uint32_t)n, sent[n], (size_t)n / 2, &requests[MANY + n]));
    OK(canele_wait_all(requests, 2 * MANY + 1, statuses));
    for (int n = 0; n < MANY; n++) {
        EXPECT(requests[n] == NULL && requests[MANY + n] == NULL);
        EXPECT(statuses[n].source == other && statuses[n].tag == (uint32_t)n && statuses[n].bytes == (size_t)n / 2);
        EXPECT(statuses[MANY + n].source == other && statuses[MANY + n].bytes == (size_t)n / 2);
        EXPECT(memcmp(got[n], sent[n], (size_t)n / 2) == 0);
    }
    OK(canele_wait_all(requests, 2 * MANY + 1, NULL));
    OK(canele_wait_all(NULL, 0, NULL));
    FAILS(ARGUMENT, "null pointer", canele_wait_all(NULL, 1, NULL));
}

/* A long message needs its receiver, so the requests end one after the other. */
static void any(void)
{
    char *data = (char *)malloc(LONG), *into = (char *)malloc(LONG), byte = 1;
    EXPECT(data != NULL && into != NULL);
    memset(data, (int)me + 1, LONG);
    canele_request *requests[3] = {NULL, NULL, NULL};
    OK(canele_flow_irecv(world, other, 1, into, LONG, &requests[0]));
    OK(canele_flow_isend_sync(world, other, 1, data, LONG, &requests[2]));
    FAILS(ARGUMENT, "twice", canele_wait_any((canele_request *[]){requests[0], requests[0]}, 2, &(size_t){0}, NULL));
    size_t seen = 0, index = 9;
    canele_status status;
    for (int n = 0; n < 2; n++) {
        OK(canele_wait_any(requests, 3, &index, &status));
        EXPECT((index == 0 || index == 2) && requests[index] == NULL && status.bytes == LONG);
        seen += index;
    }
    EXPECT(seen == 2 && into[0] == (int)other + 1 && into[LONG - 1] == (int)other + 1);
    FAILS(LENGTHS, "requests under way", canele_wait_any(requests, 3, &index, &status));

    size_t ended = 0, total = 0, indices[3];
    canele_status statuses[3];
    OK(canele_flow_irecv(world, other, 2, into, 1, &requests[1]));
    OK(canele_flow_isend(world, other, 2, &byte, 1, &requests[2]));
    while (total < 2) {
        OK(canele_wait_some(requests, 3, &ended, indices, statuses));
        for (size_t n = 0; n < ended; n++)
            EXPECT(requests[indices[n]] == NULL && statuses[n].tag == 2);
        EXPECT(ended > 0);
        total += ended;
    }
    free(data);
    free(into);
}

static void late(void)
{
    char into[8];
    bool ended = true, withdrawn = false;
    canele_request *request = NULL, *copy, *send = NULL;
    OK(canele_flow_irecv(world, CANELE_ANY_SOURCE, 77, into, sizeof into, &request));
    OK(canele_request_test(&request, &ended, NULL));
    EXPECT(!ended && request != NULL);
    FAILS(DEADLINE, "deadline", canele_request_wait_deadline(&request, NULL, 1000));
    EXPECT(request != NULL);
    OK(canele_request_cancel(request, &withdrawn));
    EXPECT(withdrawn);
    copy = request;
    FAILS(CANCELLED, "cancelled", canele_request_wait(&request, NULL));
    EXPECT(request == NULL);
    FAILS(CLOSED_HANDLE, "closed already", canele_request_wait(&copy, NULL));
    FAILS(ARGUMENT, "NULL", canele_request_wait(&request, NULL));
    FAILS(NO_SUCH_RANK, "no rank 5", canele_flow_isend(world, 5, 0, into, 1, &request));
    EXPECT(request == NULL);
    FAILS(ARGUMENT, "null pointer", canele_flow_isend(world, me, 0, into, 1, NULL));

    /* Of several failures the first one is returned, and all requests have ended. */
    canele_request *requests[3];
    OK(canele_flow_irecv(world, me, 5, into, 1, &requests[0]));
    OK(canele_flow_irecv(world, me, 6, into, 2, &requests[1]));
    OK(canele_flow_irecv(world, me, 7, into + 4, 4, &requests[2]));
    for (uint32_t tag = 5; tag < 8; tag++) {
        OK(canele_flow_isend(world, me, tag, "four", 4, &send));
        OK(canele_request_wait(&send, NULL));
    }
    FAILS(TRUNCATED, "tag 5", canele_wait_all(requests, 3, NULL));
    EXPECT(requests[0] == NULL && requests[1] == NULL && requests[2] == NULL && memcmp(into + 4, "four", 4) == 0);
}

static void probes(void)
{
    char into[16];
    bool found = true;
    canele_status status;
    canele_matched *matched = NULL, *none = NULL;
    OK(canele_flow_iprobe(world, me, 1, &found, &status));
    EXPECT(!found);
    OK(canele_flow_improbe(world, me, 1, &none, NULL));
    EXPECT(none == NULL);
    OK(canele_flow_send(world, me, 1, "first", 5));
    OK(canele_flow_send(world, me, 1, "second", 6));
    OK(canele_flow_probe(world, CANELE_ANY_SOURCE, 1, &status));
    EXPECT(status.bytes == 5);
    OK(canele_flow_mprobe(world, me, CANELE_ANY_TAG, &matched, &status));
    EXPECT(matched != NULL && status.bytes == 5);
    OK(canele_flow_iprobe(world, me, 1, &found, &status));
    EXPECT(found && status.bytes == 6);
    OK(canele_flow_recv(world, me, 1, into, sizeof into, &status));
    EXPECT(memcmp(into, "second", 6) == 0);
    canele_matched *copy = matched;
    OK(canele_matched_recv(&matched, into, sizeof into, &status));
    EXPECT(matched == NULL && status.bytes == 5 && memcmp(into, "first", 5) == 0);
    FAILS(CLOSED_HANDLE, "closed already", canele_matched_recv(&copy, into, sizeof into, NULL));
}

int main(void)
{
    canele_job *job = NULL;
    OK(canele_job_start(&job));
    world = canele_job_world(job);
    me = canele_job_rank(job);
    other = 1 - me;
    all();
    any();
    late();
    probes();
    /* Closed handles are used again, far later. */
    for (int n = 0; n < 10000; n++) {
        canele_request *request = NULL;
        char byte = 0;
        OK(canele_flow_isend(world, me, 3, &byte, 1, &request));
        OK(canele_flow_recv(world, me, 3, &byte, 1, NULL));
        OK(canele_request_wait(&request, NULL));
    }
    OK(canele_job_finish(&job));
    puts("passed");
    return 0;
}
