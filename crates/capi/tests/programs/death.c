/* The last rank dies; the others get an error with its number, and go on. For three ranks and --on-failure
   continue. */
#include "expect.h"

int main(void)
{
    canele_job *job = NULL;
    OK(canele_job_start(&job));
    canele_flow *world = canele_job_world(job);
    uint32_t me = canele_job_rank(job), byte = 0;
    OK(canele_flow_barrier(world));
    if (me == 2) {
        /* This message comes once the other ranks have left the barrier. */
        OK(canele_flow_recv(world, 0, 3, NULL, 0, NULL));
        OK(canele_flow_recv(world, 1, 3, NULL, 0, NULL));
        abort();
    }
    OK(canele_flow_send(world, 2, 3, NULL, 0));
    canele_request *request = NULL;
    OK(canele_flow_irecv(world, 2, 1, &byte, sizeof byte, &request));
    FAILS(PEER_FAILED, "rank 2", canele_request_wait(&request, NULL));
    EXPECT(request == NULL);
    FAILS(PEER_FAILED, "rank 2", canele_flow_recv(world, 2, 1, &byte, sizeof byte, NULL));
    FAILS(PEER_FAILED, "rank 2", canele_flow_barrier(world));
    uint32_t other = 1 - me;
    OK(canele_flow_send(world, other, 2, &me, sizeof me));
    OK(canele_flow_recv(world, other, 2, &byte, sizeof byte, NULL));
    EXPECT(byte == other);
    OK(canele_job_finish(&job));
    puts("passed");
    return 0;
}
