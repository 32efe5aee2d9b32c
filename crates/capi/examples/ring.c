/* A token of each rank travels once around the ring; each rank sends and receives at the same time, and counts what it does meanwhile.
 *
 *   canele run -n 4 ring */
#include <canele.h>

#include <stdio.h>
#include <stdlib.h>

enum { TAG = 7, WORDS = 20000 };

static void check(canele_error error)
{
    if (error != CANELE_OK) {
        fprintf(stderr, "%s: %s\n", canele_error_name(error), canele_error_text());
        exit(1);
    }
}

int main(void)
{
    static uint64_t here[WORDS], coming[WORDS];
    canele_job *job = NULL;
    check(canele_job_start(&job));
    canele_flow *ring = NULL;
    check(canele_flow_duplicate(canele_job_world(job), &ring));
    uint32_t me = canele_job_rank(job), size = canele_job_size(job);
    uint32_t next = (me + 1) % size, previous = (me + size - 1) % size;

    for (int n = 0; n < WORDS; n++)
        here[n] = me;
    for (uint32_t step = 0; step < size; step++) {
        canele_request *receive = NULL, *send = NULL;
        check(canele_flow_irecv(ring, CANELE_ANY_SOURCE, CANELE_ANY_TAG, coming, sizeof coming, &receive));
        check(canele_flow_isend(ring, next, TAG + step, here, sizeof here, &send));
        /* Something useful may be done here; a test lets the messages go on. */
        bool ended = false;
        check(canele_request_test(&send, &ended, NULL));
        canele_status status;
        check(canele_request_wait(&receive, &status));
        if (!ended)
            check(canele_request_wait(&send, NULL));
        if (status.source != previous || status.tag != TAG + step || status.bytes != sizeof coming) {
            fprintf(stderr, "an unexpected message of rank %u\n", (unsigned)status.source);
            return 1;
        }
        for (int n = 0; n < WORDS; n++)
            here[n] = coming[n];
    }
    if (here[0] != me || here[WORDS - 1] != me) {
        fprintf(stderr, "rank %u got the token of rank %u\n", (unsigned)me, (unsigned)here[0]);
        return 1;
    }
    printf("rank %u: the token is back\n", (unsigned)me);
    check(canele_flow_close(&ring));
    check(canele_job_finish(&job));
    return 0;
}
