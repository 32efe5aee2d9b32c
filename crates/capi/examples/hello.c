/* Each rank greets the next one around a ring, and all numbers are added up.
 *
 *   canele run -n 4 hello */
#include <canele.h>

#include <stdio.h>
#include <stdlib.h>

static void check(canele_error error)
{
    if (error != CANELE_OK) {
        fprintf(stderr, "%s: %s\n", canele_error_name(error), canele_error_text());
        exit(1);
    }
}

int main(void)
{
    canele_job *job = NULL;
    check(canele_job_start(&job));
    canele_flow *world = canele_job_world(job);
    uint32_t me = canele_job_rank(job), size = canele_job_size(job);
    uint32_t next = (me + 1) % size, previous = (me + size - 1) % size;

    uint32_t theirs = 0;
    canele_request *requests[2];
    check(canele_flow_irecv(world, previous, 1, &theirs, sizeof theirs, &requests[0]));
    check(canele_flow_isend(world, next, 1, &me, sizeof me, &requests[1]));
    check(canele_wait_all(requests, 2, NULL));

    uint32_t sum = 0;
    check(canele_flow_allreduce(world, &me, &sum, 1, CANELE_UINT32, CANELE_SUM));
    printf("rank %u of %u: greeted by rank %u, and all numbers add up to %u\n", (unsigned)me, (unsigned)size,
           (unsigned)theirs, (unsigned)sum);
    check(canele_job_finish(&job));
    return 0;
}
