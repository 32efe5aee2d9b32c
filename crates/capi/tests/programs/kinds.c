/* A handle of the wrong kind is an error, and the library reads nothing behind it. For one rank. */
#define _GNU_SOURCE
#include "expect.h"

#include <sys/mman.h>
#include <unistd.h>

/* Returns four bytes that are no handle; no byte behind them can be read. */
static void *four_bytes(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(pages != MAP_FAILED && mprotect(pages + page, page, PROT_NONE) == 0);
    return pages + page - sizeof(uint32_t);
}

enum { KINDS = 10 };

int main(void)
{
    canele_job *job = NULL;
    OK(canele_job_start(&job));
    canele_flow *world = canele_job_world(job);
    uint32_t me = canele_job_rank(job);
    char byte = 0, word[8] = {0};
    canele_region *region = NULL;
    canele_remote_region *remote = NULL;
    canele_channel *channel = NULL;
    canele_mailbox *mailbox = NULL;
    canele_mailbox_sender *sender = NULL;
    canele_message *message = NULL;
    canele_request *request = NULL;
    OK(canele_job_region(job, 64, &region));
    OK(canele_region_remote(region, &remote));
    OK(canele_job_channel(job, me, 1, &channel));
    OK(canele_job_create_mailbox(job, "box", 1, &mailbox));
    OK(canele_job_find_mailbox(job, "box", WAIT_NS, &sender));
    OK(canele_message_new(&message));
    OK(canele_flow_irecv(world, me, 1, &byte, 1, &request));
    void *all[KINDS] = {job, world, region, remote, channel, mailbox, sender, message, request, four_bytes()};
    for (int n = 0; n < KINDS; n++) {
        void *other = all[n];
        const char *words = "it points to another kind of handle";
        if (n != 0)
            EXPECT(canele_job_rank(other) == UINT32_MAX && canele_job_world(other) == NULL);
        if (n != 0)
            FAILS(ARGUMENT, words, canele_job_finish((canele_job **)&other));
        if (n != 1) {
            FAILS(ARGUMENT, words, canele_flow_send(other, me, 1, word, 8));
            FAILS(ARGUMENT, words, canele_flow_recv(other, me, 1, word, 8, NULL));
            FAILS(ARGUMENT, words, canele_flow_barrier(other));
            FAILS(ARGUMENT, words, canele_flow_close((canele_flow **)&other));
        }
        if (n != 2)
            FAILS(ARGUMENT, words, canele_region_read(other, 0, word, 8));
        if (n != 3)
            FAILS(ARGUMENT, words, canele_remote_region_put(other, 0, word, 8));
        if (n != 4)
            FAILS(ARGUMENT, words, canele_channel_send(other, word, 8));
        if (n != 5)
            FAILS(ARGUMENT, words, canele_mailbox_close((canele_mailbox **)&other));
        if (n != 6)
            FAILS(ARGUMENT, words, canele_mailbox_sender_post(other, &message));
        if (n != 7)
            FAILS(ARGUMENT, words, canele_mailbox_sender_post(sender, (canele_message **)&other));
        if (n != 8) {
            bool ended;
            FAILS(ARGUMENT, words, canele_request_test((canele_request **)&other, &ended, NULL));
            FAILS(ARGUMENT, words, canele_wait_all((canele_request **)&other, 1, NULL));
        }
        EXPECT(other == all[n]);
    }
    OK(canele_flow_send(world, me, 1, &byte, 1));
    OK(canele_request_wait(&request, NULL));
    OK(canele_job_finish(&job));
    puts("passed");
    return 0;
}
