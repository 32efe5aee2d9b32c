/* Threads that wait while another one finishes the job get an error, and so do threads that use its handles
   later. For one rank or more. */
#define _POSIX_C_SOURCE 200809L
#include "expect.h"

#include <pthread.h>
#include <time.h>

static canele_job *job;
static canele_flow *world, *own;
static canele_mailbox *mailbox;
static canele_channel *channel;
static canele_request *request;
static uint32_t me;

static canele_error wait_in(size_t which)
{
    char byte;
    canele_status status;
    canele_message *message = NULL;
    canele_notice notice;
    switch (which) {
    case 0: return canele_flow_recv(world, CANELE_ANY_SOURCE, 1, &byte, 1, NULL);
    case 1: return canele_flow_recv(own, me, 1, &byte, 1, NULL);
    case 2: return canele_flow_probe(own, me, 2, &status);
    case 3: return canele_request_wait(&request, NULL);
    case 4: return canele_mailbox_retrieve(mailbox, &message);
    case 5: return canele_channel_recv(channel, &byte, 1, NULL);
    default: return canele_job_wait_notice(job, CANELE_FOREVER, &notice);
    }
}
enum { WAITS = 7 };

static void *waits(void *which)
{
    EXPECT(wait_in((size_t)which) == CANELE_ERROR_FINISHED);
    EXPECT(strstr(canele_error_text(), "finished") != NULL);
    return NULL;
}

int main(void)
{
    char byte = 0, name[32];
    OK(canele_job_start(&job));
    world = canele_job_world(job);
    me = canele_job_rank(job);
    OK(canele_flow_duplicate(world, &own));
    OK(canele_flow_irecv(world, me, 3, &byte, 1, &request));
    snprintf(name, sizeof name, "box %u", (unsigned)me);
    OK(canele_job_create_mailbox(job, name, 1, &mailbox));
    OK(canele_job_channel(job, me, 1, &channel));
    canele_region *region = NULL;
    canele_remote_region *remote = NULL;
    OK(canele_job_region(job, 64, &region));
    OK(canele_region_remote(region, &remote));
    pthread_t threads[WAITS];
    for (size_t n = 0; n < WAITS; n++)
        EXPECT(pthread_create(&threads[n], NULL, waits, (void *)n) == 0);
    /* Some threads wait by now, others find the job finished. */
    nanosleep(&(struct timespec){0, 200000000}, NULL);
    OK(canele_flow_barrier(world));
    canele_job *copy = job;
    OK(canele_job_finish(&copy));
    EXPECT(copy == NULL);
    for (size_t n = 0; n < WAITS; n++)
        EXPECT(pthread_join(threads[n], NULL) == 0);

    uint64_t old;
    FAILS(FINISHED, "finished", canele_job_finish(&job));
    FAILS(FINISHED, "finished", canele_flow_send(world, me, 1, &byte, 1));
    FAILS(FINISHED, "finished", canele_flow_send(own, me, 1, &byte, 1));
    FAILS(FINISHED, "finished", canele_flow_recv(own, me, 1, &byte, 1, NULL));
    FAILS(FINISHED, "finished", canele_flow_barrier(own));
    FAILS(FINISHED, "finished", canele_flow_irecv(own, me, 1, &byte, 1, &request));
    FAILS(FINISHED, "finished", canele_job_region(job, 64, &region));
    FAILS(FINISHED, "finished", canele_remote_region_put(remote, 0, &byte, 1));
    FAILS(FINISHED, "finished", canele_remote_region_get(remote, 0, &byte, 1));
    FAILS(FINISHED, "finished", canele_remote_region_fetch_add(remote, 0, 1, &old));
    FAILS(FINISHED, "finished", canele_channel_send(channel, &byte, 1));
    EXPECT(canele_job_rank(job) == UINT32_MAX && canele_job_world(job) == NULL);
    OK(canele_remote_region_close(&remote));
    OK(canele_channel_close(&channel));
    OK(canele_mailbox_close(&mailbox));
    OK(canele_flow_close(&own));
    puts("passed");
    return 0;
}
