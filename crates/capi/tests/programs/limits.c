/* Wrong uses that regions, notices, channels and mailboxes refuse, and their waits. For two ranks. */
#include "expect.h"

static const uint64_t SHORT_NS = 1000000;

static void seen(const canele_notice *notice, void *context)
{
    *(uint64_t *)context += notice->id;
}

static void regions(canele_job *job, uint32_t me)
{
    canele_region *region = NULL, *copy;
    canele_remote_region *mine = NULL, *theirs = NULL;
    char name[32], byte = 0;
    OK(canele_job_region(job, 1000, &region));
    EXPECT(canele_region_len(region) >= 1000);
    snprintf(name, sizeof name, "region %u", (unsigned)me);
    OK(canele_region_publish(region, name));
    FAILS(NAME_TAKEN, "region", canele_region_publish(region, name));
    FAILS(DEADLINE, "deadline", canele_job_find_region(job, "nothing", SHORT_NS, &theirs));
    EXPECT(theirs == NULL);
    snprintf(name, sizeof name, "region %u", (unsigned)(1 - me));
    OK(canele_job_find_region(job, name, WAIT_NS, &theirs));
    OK(canele_region_remote(region, &mine));
    EXPECT(canele_remote_region_owner(mine) == me && canele_remote_region_owner(theirs) == 1 - me);

    uint64_t value = 5, old = 1;
    FAILS(RANGE, "outside", canele_remote_region_put(theirs, SIZE_MAX - 2, &value, sizeof value));
    FAILS(RANGE, "outside", canele_region_read(region, SIZE_MAX - 2, &value, sizeof value));
    FAILS(RANGE, "outside", canele_remote_region_fetch_add(theirs, 4, 1, &old));
    OK(canele_region_write(region, 8, &value, sizeof value));
    OK(canele_remote_region_get(mine, 8, &old, sizeof old));
    EXPECT(old == 5 && *(uint64_t *)((char *)canele_region_address(region) + 8) == 5);
    OK(canele_remote_region_compare_and_swap(mine, 8, 4, 6, &old));
    EXPECT(old == 5);
    OK(canele_remote_region_compare_and_swap(mine, 8, 5, 7, &old));
    OK(canele_remote_region_fetch_add(mine, 8, 1, NULL));
    OK(canele_region_read(region, 8, &value, sizeof value));
    EXPECT(old == 5 && value == 8);

    /* Notices of the given numbers go to the function, other notices to calls that ask for them. */
    static uint64_t sum = 0;
    bool found = true;
    canele_notice notice;
    OK(canele_job_on_notice(job, 100, 200, seen, &sum));
    FAILS(ARGUMENT, "null pointer", canele_job_on_notice(job, 0, 1, NULL, NULL));
    OK(canele_job_try_notice(job, &found, &notice));
    OK(canele_flow_barrier(canele_job_world(job)));
    OK(canele_remote_region_put_notify(theirs, 0, &byte, 1, 100));
    OK(canele_remote_region_put_notify(theirs, 0, &byte, 1, 199));
    OK(canele_remote_region_put_notify(theirs, 0, &byte, 1, 200));
    OK(canele_job_wait_notice(job, WAIT_NS, &notice));
    EXPECT(notice.source == 1 - me && notice.id == 200 && sum == 299);
    FAILS(DEADLINE, "notice", canele_job_wait_notice(job, SHORT_NS, &notice));
    OK(canele_remote_region_fence(theirs, CANELE_FOREVER));

    /* Messages whose bytes lie in regions. */
    canele_status status;
    canele_flow *world = canele_job_world(job);
    memcpy(canele_region_address(region), "in place", 8);
    OK(canele_flow_send_region(world, me, 1, region, 0, 8));
    OK(canele_flow_recv_region(world, me, 1, region, 100, 100, &status));
    EXPECT(status.bytes == 8 && memcmp((char *)canele_region_address(region) + 100, "in place", 8) == 0);
    FAILS(RANGE, "outside", canele_flow_send_region(world, me, 1, region, 0, (size_t)1 << 40));
    FAILS(RANGE, "negative", canele_flow_send_region(world, me, 1, region, SIZE_MAX, 8));
    OK(canele_flow_barrier(world));
    copy = region;
    OK(canele_region_close(&region));
    FAILS(CLOSED_HANDLE, "the region is closed already", canele_region_close(&copy));
    OK(canele_remote_region_close(&mine));
    OK(canele_remote_region_close(&theirs));
}

static void channels(canele_job *job, uint32_t me)
{
    canele_channel *channel = NULL;
    char byte = 0;
    size_t received = 9;
    FAILS(NO_SUCH_RANK, "no rank 2", canele_job_channel(job, 2, 0, &channel));
    OK(canele_job_channel(job, 1 - me, 5, &channel));
    EXPECT(canele_channel_peer(channel) == 1 - me && canele_channel_number(channel) == 5);
    FAILS(DEADLINE, "deadline", canele_channel_recv_deadline(channel, &byte, 1, &received, SHORT_NS));
    OK(canele_flow_barrier(canele_job_world(job)));
    OK(canele_channel_send_deadline(channel, "long", 4, WAIT_NS));
    OK(canele_channel_send(channel, "x", 1));
    FAILS(TRUNCATED, "4 bytes", canele_channel_recv(channel, &byte, 1, &received));
    OK(canele_channel_recv(channel, &byte, 1, &received));
    EXPECT(byte == 'x' && received == 1);
    FAILS(ARGUMENT, "null pointer", canele_channel_send_list(channel, NULL, 2));
    OK(canele_channel_close(&channel));
}

static void mailboxes(canele_job *job, uint32_t me)
{
    canele_mailbox *mailbox = NULL;
    canele_mailbox_sender *sender = NULL;
    canele_message *message = NULL, *none = NULL;
    char name[32];
    snprintf(name, sizeof name, "mailbox of %u", (unsigned)me);
    FAILS(LENGTHS, "messages in a mailbox", canele_job_create_mailbox(job, name, 0, &mailbox));
    OK(canele_job_create_mailbox(job, name, 1, &mailbox));
    FAILS(NAME_TAKEN, name, canele_job_create_mailbox(job, name, 1, &(canele_mailbox *){NULL}));
    FAILS(DEADLINE, "deadline", canele_job_find_mailbox(job, "nothing", SHORT_NS, &sender));
    OK(canele_job_find_mailbox(job, name, WAIT_NS, &sender));
    EXPECT(canele_mailbox_sender_owner(sender) == me);
    OK(canele_mailbox_try_retrieve(mailbox, &none));
    EXPECT(none == NULL);
    FAILS(DEADLINE, "mailbox of", canele_mailbox_retrieve_deadline(mailbox, &none, SHORT_NS));

    OK(canele_message_new(&message));
    EXPECT(canele_message_len(message) == 0 && canele_message_sender(message) == UINT32_MAX);
    FAILS(ARGUMENT, "no type 11", canele_message_pack(message, 11, name, 1));
    OK(canele_message_pack(message, CANELE_UINT8, "bytes", 5));
    OK(canele_mailbox_sender_try_post(sender, &message));
    EXPECT(message == NULL);
    FAILS(ARGUMENT, "the message is NULL", canele_mailbox_sender_post(sender, &message));
    OK(canele_message_new(&message));
    OK(canele_message_pack(message, CANELE_UINT8, "more", 4));
    FAILS(MAILBOX_FULL, "full", canele_mailbox_sender_try_post(sender, &message));
    FAILS(MAILBOX_FULL, "full", canele_mailbox_sender_post_deadline(sender, &message, SHORT_NS));
    EXPECT(message != NULL && canele_message_len(message) == 4);
    OK(canele_mailbox_retrieve(mailbox, &none));
    EXPECT(canele_message_sender(none) == me && canele_message_len(none) == 5);
    EXPECT(memcmp(canele_message_bytes(none), "bytes", 5) == 0);
    OK(canele_message_close(&none));
    OK(canele_mailbox_sender_post(sender, &message));

    /* A long message lies in a region. */
    enum { LONG = 1 << 20 };
    char *data = (char *)malloc(LONG);
    EXPECT(data != NULL);
    memset(data, 7, LONG);
    OK(canele_mailbox_retrieve(mailbox, &none));
    OK(canele_message_close(&none));
    OK(canele_message_new(&message));
    OK(canele_message_pack(message, CANELE_UINT8, data, LONG));
    EXPECT(memcmp(canele_message_bytes(message), data, LONG) == 0);
    OK(canele_mailbox_sender_post(sender, &message));
    OK(canele_mailbox_retrieve(mailbox, &none));
    const void *bytes = canele_message_bytes(none);
    EXPECT(memcmp(bytes, data, LONG) == 0 && canele_message_bytes(none) == bytes);
    OK(canele_message_close(&none));
    free(data);

    OK(canele_mailbox_close(&mailbox));
    OK(canele_message_new(&message));
    FAILS(MAILBOX_CLOSED, "closed", canele_mailbox_sender_post(sender, &message));
    EXPECT(message == NULL);
    OK(canele_mailbox_sender_close(&sender));
}

int main(void)
{
    canele_job *job = NULL;
    OK(canele_job_start(&job));
    uint32_t me = canele_job_rank(job);
    regions(job, me);
    channels(job, me);
    mailboxes(job, me);
    OK(canele_job_finish(&job));
    puts("passed");
    return 0;
}
