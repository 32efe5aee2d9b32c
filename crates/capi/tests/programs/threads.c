/* Several threads of each rank, each with messages and errors of its own. For two ranks. */
#include "expect.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 2000 };

static canele_flow *world;
static uint32_t me;

static void *play(void *number)
{
    uint32_t tag = (uint32_t)(size_t)number;
    char name[32] = "", words[32];
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t got = 0;
        canele_request *request = NULL;
        if (me == 0) {
            OK(canele_flow_send(world, 1, tag, &round, sizeof round));
            OK(canele_flow_irecv(world, 1, tag, &got, sizeof got, &request));
            OK(canele_request_wait(&request, NULL));
        } else {
            OK(canele_flow_recv(world, 0, tag, &got, sizeof got, NULL));
            OK(canele_flow_isend(world, 0, tag, &got, sizeof got, &request));
            OK(canele_request_wait(&request, NULL));
        }
        EXPECT(got == round);
        /* The error text belongs to this thread. */
        if (round % 100 == 0) {
            EXPECT(canele_flow_send(world, 100 + tag, 0, NULL, 0) == CANELE_ERROR_NO_SUCH_RANK);
            snprintf(name, sizeof name, "no rank %u ", (unsigned)(100 + tag));
        }
        snprintf(words, sizeof words, "%s", name);
        EXPECT(strstr(canele_error_text(), words) != NULL);
    }
    return NULL;
}

int main(void)
{
    canele_job *job = NULL;
    OK(canele_job_start(&job));
    world = canele_job_world(job);
    me = canele_job_rank(job);
    pthread_t threads[THREADS];
    for (size_t n = 0; n < THREADS; n++)
        EXPECT(pthread_create(&threads[n], NULL, play, (void *)n) == 0);
    for (size_t n = 0; n < THREADS; n++)
        EXPECT(pthread_join(threads[n], NULL) == 0);
    EXPECT(strcmp(canele_error_text(), "") == 0);
    OK(canele_job_finish(&job));
    puts("passed");
    return 0;
}
