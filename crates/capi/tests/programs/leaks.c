/* Closed handles leave nothing behind: descriptors, mappings and memory of ranks, launcher and supervisor are
 * equal after many rounds and after few. For two ranks. */
#define _POSIX_C_SOURCE 200809L
#include <time.h>
#include "expect.h"
#include "../../../mpi-abi/tests/programs/leaks/measure.h"

/* SLACK: kilobytes by which memory may differ, because an allocator keeps some for itself. */
enum { LONG = 100000, FIRST = 100, LOOKS = 3000, SLACK = 384 };

static canele_job *job;
static canele_flow *world;
static uint32_t me, other;
static char bytes[LONG], got[LONG];

static void names(char *own, char *others, const char *kind, int n)
{
    sprintf(own, "%s %d of %u", kind, n, me);
    sprintf(others, "%s %d of %u", kind, n, other);
}

static void regions(int n)
{
    char own[40], others[40];
    canele_region *region;
    canele_remote_region *remote;
    names(own, others, "region", n);
    OK(canele_job_region(job, LONG, &region));
    OK(canele_region_publish(region, own));
    OK(canele_job_find_region(job, others, CANELE_FOREVER, &remote));
    OK(canele_remote_region_put(remote, 0, bytes, 1000));
    OK(canele_remote_region_fence(remote, CANELE_FOREVER));
    OK(canele_flow_barrier(world));
    OK(canele_remote_region_close(&remote));
    OK(canele_region_remote(region, &remote));
    OK(canele_remote_region_close(&remote));
    OK(canele_region_close(&region));
}

static void region_messages(int n)
{
    canele_region *from, *into;
    (void)n;
    OK(canele_job_region(job, LONG, &from));
    OK(canele_job_region(job, LONG, &into));
    if (me == 0) OK(canele_flow_send_region(world, other, 6, from, 0, LONG));
    OK(canele_flow_recv_region(world, other, 6, into, 0, LONG, NULL));
    if (me != 0) OK(canele_flow_send_region(world, other, 6, from, 0, LONG));
    OK(canele_region_close(&from));
    OK(canele_region_close(&into));
}

static void notices(int n)
{
    char own[40], others[40];
    canele_region *region;
    canele_remote_region *remote;
    canele_notice notice;
    names(own, others, "notice", n);
    OK(canele_job_region(job, 4096, &region));
    OK(canele_region_publish(region, own));
    OK(canele_job_find_region(job, others, CANELE_FOREVER, &remote));
    OK(canele_remote_region_put_notify(remote, 0, bytes, 8, (uint64_t)n));
    OK(canele_job_wait_notice(job, CANELE_FOREVER, &notice));
    OK(canele_flow_barrier(world));
    OK(canele_remote_region_close(&remote));
    OK(canele_region_close(&region));
}

static void post(canele_mailbox_sender *sender, size_t len)
{
    canele_message *message;
    OK(canele_message_new(&message));
    OK(canele_message_pack(message, CANELE_UINT8, bytes, len));
    OK(canele_mailbox_sender_post(sender, &message));
}

/* Takes a message out of the mailbox and closes it, read or not. */
static void retrieve(canele_mailbox *mailbox, size_t len, bool read)
{
    canele_message *message;
    OK(canele_mailbox_retrieve(mailbox, &message));
    EXPECT(canele_message_len(message) == len);
    if (read) OK(canele_message_unpack(message, CANELE_UINT8, got, len));
    OK(canele_message_close(&message));
}

static void mailboxes(int n)
{
    char own[40], others[40];
    canele_mailbox *mailbox;
    canele_mailbox_sender *sender;
    names(own, others, "mailbox", n);
    OK(canele_job_create_mailbox(job, own, 8, &mailbox));
    OK(canele_job_find_mailbox(job, others, CANELE_FOREVER, &sender));
    for (int i = 0; i < 2; i++) {
        post(sender, 10);
        post(sender, LONG);
        retrieve(mailbox, 10, i == 0);
        retrieve(mailbox, LONG, i == 0);
    }
    /* The last message is lost with its mailbox. */
    post(sender, LONG);
    OK(canele_flow_barrier(world));
    OK(canele_mailbox_sender_close(&sender));
    OK(canele_mailbox_close(&mailbox));
}

static void channels(int n)
{
    canele_channel *channel;
    OK(canele_job_channel(job, other, (uint32_t)n, &channel));
    OK(canele_channel_send(channel, bytes, 100));
    OK(canele_channel_recv(channel, got, 100, NULL));
    OK(canele_channel_close(&channel));
}

static void flows(int n)
{
    canele_flow *flow;
    (void)n;
    OK(canele_flow_duplicate(world, &flow));
    OK(canele_flow_broadcast(flow, 0, bytes, LONG));
    OK(canele_flow_close(&flow));
}

static void requests(int n)
{
    canele_request *both[2];
    (void)n;
    OK(canele_flow_irecv(world, other, 5, got, LONG, &both[0]));
    OK(canele_flow_isend(world, other, 5, bytes, LONG, &both[1]));
    OK(canele_wait_all(both, 2, NULL));
    bool cancelled;
    OK(canele_flow_irecv(world, other, 7, got, LONG, &both[0]));
    OK(canele_request_cancel(both[0], &cancelled));
    EXPECT(cancelled);
    (void)canele_request_wait(&both[0], NULL);
}

static void taken_messages(int n)
{
    canele_matched *matched;
    canele_request *both[2];
    (void)n;
    OK(canele_flow_isend(world, other, 8, bytes, LONG, &both[0]));
    OK(canele_flow_isend(world, other, 9, bytes, 100, &both[1]));
    OK(canele_flow_mprobe(world, other, 8, &matched, NULL));
    OK(canele_matched_recv(&matched, got, LONG, NULL));
    OK(canele_flow_mprobe(world, other, 9, &matched, NULL));
    FAILS(TRUNCATED, "", canele_matched_recv(&matched, got, 10, NULL));
    OK(canele_wait_all(both, 2, NULL));
}

static bool is_more(Held now, Held before)
{
    return now.descriptors > before.descriptors || now.mappings > before.mappings + 2
           || now.kilobytes > before.kilobytes + SLACK;
}

static void compare(const char *kind, const char *who, int pid, Held before)
{
    Held now = held_by(pid);
    for (int look = 0; look < LOOKS && is_more(now, before); look++) {
        /* A call that makes progress reads the launcher's messages. */
        canele_status status;
        bool found;
        OK(canele_flow_iprobe(world, CANELE_ANY_SOURCE, 99, &found, &status));
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        now = held_by(pid);
    }
    if (is_more(now, before))
        fprintf(stderr, "%s: %s holds %ld descriptors, %ld mappings and %ld KB more\n", kind, who,
                now.descriptors - before.descriptors, now.mappings - before.mappings, now.kilobytes - before.kilobytes);
    EXPECT(!is_more(now, before));
}

static void measure(const char *name, void (*round)(int), int rounds)
{
    for (int n = 0; n < FIRST; n++) round(n);
    OK(canele_flow_barrier(world));
    Held own = held_by(getpid()), launchers = held_by(launcher), supervisors = held_by(supervisor);
    OK(canele_flow_barrier(world));
    for (int n = FIRST; n < FIRST + rounds; n++) round(n);
    OK(canele_flow_barrier(world));
    compare(name, "the rank", getpid(), own);
    if (me == 0) {
        compare(name, "the launcher", launcher, launchers);
        compare(name, "the supervisor", supervisor, supervisors);
    }
    OK(canele_flow_barrier(world));
}

int main(void)
{
    const char *asked = getenv("LEAK_ROUNDS");
    int rounds = asked != NULL ? atoi(asked) : 200;
    OK(canele_job_start(&job));
    world = canele_job_world(job);
    me = canele_job_rank(job);
    other = 1 - me;
    find_launcher();
    EXPECT(launcher != 0);
    measure("regions", regions, rounds);
    measure("messages in regions", region_messages, rounds);
    measure("notices", notices, rounds);
    measure("mailboxes", mailboxes, rounds);
    measure("channels", channels, rounds);
    measure("flows", flows, rounds);
    measure("requests", requests, rounds);
    measure("messages that a probe took", taken_messages, rounds);
    OK(canele_job_finish(&job));
    puts("passed");
    return 0;
}
