/* Data in memory of a device, which the processors can neither read nor write: every call refuses such data
   with an error text. */
#define _DEFAULT_SOURCE
#include "expect.h"

#include <sys/mman.h>

enum { BYTES = 4096 };
static char *device;

/* The library calls this function for each address. */
int canele_device_of(const void *address)
{
    const char *at = address;
    return at >= device && at < device + BYTES ? 3 : -1;
}

#define REFUSED(call) FAILS(ARGUMENT, "memory of device 3", call)

static void messages(const canele_flow *world)
{
    canele_request *request = NULL;
    REFUSED(canele_flow_send(world, 0, 1, device, 8));
    REFUSED(canele_flow_send_sync(world, 0, 1, device, 8));
    REFUSED(canele_flow_send_deadline(world, 0, 1, device, 8, WAIT_NS));
    REFUSED(canele_flow_recv(world, 0, 1, device, 8, NULL));
    REFUSED(canele_flow_recv_deadline(world, 0, 1, device, 8, NULL, WAIT_NS));
    REFUSED(canele_flow_isend(world, 0, 1, device, 8, &request));
    REFUSED(canele_flow_isend_sync(world, 0, 1, device, 8, &request));
    REFUSED(canele_flow_irecv(world, 0, 1, device, 8, &request));
    EXPECT(request == NULL);
}

/* Tests the short path between two ranks, which programs without a device take from the second call on. */
static void neighbours(const canele_flow *world, uint32_t me)
{
    int64_t host = 1;
    for (int i = 0; i < 10; i++) {
        if (me == 0) OK(canele_flow_send(world, 1, 3, &host, sizeof host));
        OK(canele_flow_recv(world, 1 - me, 3, &host, sizeof host, NULL));
        if (me == 1) OK(canele_flow_send(world, 0, 3, &host, sizeof host));
    }
    REFUSED(canele_flow_send(world, 1 - me, 3, device, 8));
    REFUSED(canele_flow_recv(world, 1 - me, 3, device, 8, NULL));
}

static void collectives(const canele_flow *world, uint32_t me)
{
    int64_t host = 1;
    REFUSED(canele_flow_broadcast(world, me, device, 8));
    REFUSED(canele_flow_reduce(world, me, device, &host, 1, CANELE_INT64, CANELE_SUM));
    REFUSED(canele_flow_reduce(world, me, &host, device, 1, CANELE_INT64, CANELE_SUM));
    REFUSED(canele_flow_allreduce(world, device, &host, 1, CANELE_INT64, CANELE_SUM));
    REFUSED(canele_flow_allreduce(world, &host, device, 1, CANELE_INT64, CANELE_SUM));
    REFUSED(canele_flow_gather(world, me, device, 8, &host));
    REFUSED(canele_flow_gather(world, me, &host, 8, device));
    REFUSED(canele_flow_scatter(world, me, device, &host, 8));
    REFUSED(canele_flow_scatter(world, me, &host, device, 8));
    REFUSED(canele_flow_allgather(world, device, 8, &host));
    REFUSED(canele_flow_allgather(world, &host, 8, device));
    REFUSED(canele_flow_alltoall(world, device, &host, 8));
    REFUSED(canele_flow_alltoall(world, &host, device, 8));
}

static void regions(canele_job *job)
{
    canele_region *region = NULL;
    canele_remote_region *remote = NULL;
    OK(canele_job_region(job, BYTES, &region));
    OK(canele_region_remote(region, &remote));
    REFUSED(canele_region_read(region, 0, device, 8));
    REFUSED(canele_region_write(region, 0, device, 8));
    REFUSED(canele_remote_region_put(remote, 0, device, 8));
    REFUSED(canele_remote_region_get(remote, 0, device, 8));
    REFUSED(canele_remote_region_put_notify(remote, 0, device, 8, 1));
}

static void channels(canele_job *job)
{
    canele_channel *channel = NULL;
    size_t received;
    canele_slice out[] = {{"host", 4}, {device, 8}};
    char host[4];
    canele_slice_mut in[] = {{host, 4}, {device, 8}};
    OK(canele_job_channel(job, 0, 1, &channel));
    REFUSED(canele_channel_send(channel, device, 8));
    REFUSED(canele_channel_send_deadline(channel, device, 8, WAIT_NS));
    REFUSED(canele_channel_recv(channel, device, 8, &received));
    REFUSED(canele_channel_recv_deadline(channel, device, 8, &received, WAIT_NS));
    REFUSED(canele_channel_send_list(channel, out, 2));
    REFUSED(canele_channel_recv_list(channel, in, 2, &received));
}

static void packed(void)
{
    canele_message *message = NULL;
    OK(canele_message_new(&message));
    REFUSED(canele_message_pack(message, CANELE_INT64, device, 1));
    REFUSED(canele_message_unpack(message, CANELE_INT64, device, 1));
    OK(canele_message_close(&message));
}

/* A message that a probe has taken is still there after a refused receive. */
static void matched(const canele_flow *world, uint32_t me)
{
    canele_request *request = NULL;
    canele_matched *matched = NULL;
    int64_t sent = 7, received = 0;
    OK(canele_flow_isend(world, me, 2, &sent, sizeof sent, &request));
    OK(canele_flow_mprobe(world, me, 2, &matched, NULL));
    REFUSED(canele_matched_recv(&matched, device, 8, NULL));
    OK(canele_matched_recv(&matched, &received, sizeof received, NULL));
    OK(canele_request_wait(&request, NULL));
    EXPECT(received == sent);
}

int main(void)
{
    canele_job *job = NULL;
    device = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    OK(canele_job_start(&job));
    neighbours(canele_job_world(job), canele_job_rank(job));
    messages(canele_job_world(job));
    collectives(canele_job_world(job), canele_job_rank(job));
    regions(job);
    channels(job);
    packed();
    matched(canele_job_world(job), canele_job_rank(job));
    OK(canele_job_finish(&job));
    puts("passed");
    return 0;
}
