/* Threads of each rank, each with a flow of its own on a lane; and requests of all flows in one wait. For two
   ranks. */
#include "expect.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 300, MOST = 200000 };

static canele_flow *flows[THREADS];
static uint32_t me;

/* Returns the bytes of a message of a round. */
static size_t length(uint64_t round)
{
    static const size_t lengths[] = {8, 300, 5000, MOST};
    return lengths[round % 4];
}

static void fill(unsigned char *data, uint64_t round, uint32_t thread, uint32_t rank)
{
    memset(data, (int)(round * 7 + thread * 2 + rank), length(round));
}

static void check(const unsigned char *data, uint64_t round, uint32_t thread, uint32_t rank)
{
    for (size_t at = 0; at < length(round); at++)
        EXPECT(data[at] == (unsigned char)(round * 7 + thread * 2 + rank));
}

static void *exchange(void *number)
{
    uint32_t thread = (uint32_t)(size_t)number;
    canele_flow *flow = flows[thread];
    unsigned char *mine = malloc(MOST), *theirs = malloc(MOST);
    EXPECT(mine && theirs);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        canele_request *requests[2];
        fill(mine, round, thread, me);
        OK(canele_flow_isend(flow, 1 - me, thread, mine, length(round), &requests[0]));
        OK(canele_flow_irecv(flow, 1 - me, CANELE_ANY_TAG, theirs, length(round), &requests[1]));
        OK(canele_wait_all(requests, 2, NULL));
        check(theirs, round, thread, 1 - me);
        uint64_t given = 10 * round + thread, sum = 0;
        OK(canele_flow_allreduce(flow, &given, &sum, 1, CANELE_UINT64, CANELE_SUM));
        EXPECT(sum == 2 * given);
    }
    free(mine);
    free(theirs);
    return NULL;
}

/* Requests of several flows end in one wait. The peer begins with another flow in each round. */
static void wait_for_any(void)
{
    for (uint32_t round = 0; round < ROUNDS; round++) {
        canele_request *requests[THREADS] = {NULL};
        uint32_t got[THREADS];
        if (me == 0) {
            for (uint32_t n = 0; n < THREADS; n++) {
                uint32_t value = round + n;
                OK(canele_flow_send(flows[(round + n) % THREADS], 1, 9, &value, sizeof value));
            }
            continue;
        }
        for (uint32_t n = 0; n < THREADS; n++)
            OK(canele_flow_irecv(flows[n], 0, 9, &got[n], sizeof got[n], &requests[n]));
        for (uint32_t n = 0; n < THREADS; n++) {
            size_t index = THREADS;
            canele_status status;
            OK(canele_wait_any(requests, THREADS, &index, &status));
            EXPECT(index < THREADS && requests[index] == NULL && status.tag == 9);
            EXPECT((got[index] % THREADS) == index && got[index] - round < THREADS);
        }
    }
}

int main(void)
{
    canele_job *job = NULL;
    OK(canele_job_start(&job));
    me = canele_job_rank(job);
    for (size_t n = 0; n < THREADS; n++)
        OK(canele_flow_duplicate_on_lane(canele_job_world(job), (uint32_t)n, &flows[n]));
    pthread_t threads[THREADS];
    for (size_t n = 0; n < THREADS; n++)
        EXPECT(pthread_create(&threads[n], NULL, exchange, (void *)n) == 0);
    for (size_t n = 0; n < THREADS; n++)
        EXPECT(pthread_join(threads[n], NULL) == 0);
    wait_for_any();
    for (size_t n = 0; n < THREADS; n++)
        OK(canele_flow_close(&flows[n]));
    OK(canele_job_finish(&job));
    puts("passed");
    return 0;
}
