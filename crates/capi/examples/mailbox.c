/* Rank 0 has a mailbox, to which all ranks post a job of theirs: a name and some numbers, packed into a message.
 *
 *   canele run -n 4 mailbox */
#include <canele.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t WAIT_NS = UINT64_C(30000000000);

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
    uint32_t me = canele_job_rank(job), size = canele_job_size(job);
    canele_mailbox *mailbox = NULL;
    if (me == 0)
        check(canele_job_create_mailbox(job, "orders", 2, &mailbox));
    canele_mailbox_sender *mailbox_sender = NULL;
    check(canele_job_find_mailbox(job, "orders", WAIT_NS, &mailbox_sender));

    if (me != 0 || size == 1) {
        static const char name[] = "sum";
        int32_t count = 3;
        double numbers[3] = {me + 0.25, me + 0.5, me + 0.75};
        canele_message *order = NULL;
        check(canele_message_new(&order));
        check(canele_message_pack(order, CANELE_UINT8, name, sizeof name));
        check(canele_message_pack(order, CANELE_INT32, &count, 1));
        check(canele_message_pack(order, CANELE_DOUBLE, numbers, 3));
        check(canele_mailbox_sender_post(mailbox_sender, &order));
    }
    if (me == 0) {
        for (uint32_t n = 0; n < (size > 1 ? size - 1 : 1); n++) {
            canele_message *order = NULL;
            check(canele_mailbox_retrieve(mailbox, &order));
            char name[4];
            int32_t count = 0;
            double numbers[3];
            check(canele_message_unpack(order, CANELE_UINT8, name, sizeof name));
            /* The types of what was packed are checked. */
            if (canele_message_unpack(order, CANELE_DOUBLE, numbers, 1) != CANELE_ERROR_UNPACK)
                return 1;
            check(canele_message_unpack(order, CANELE_INT32, &count, 1));
            check(canele_message_unpack(order, CANELE_DOUBLE, numbers, (size_t)count));
            uint32_t sender = canele_message_sender(order);
            printf("rank %u: %s %.2f\n", (unsigned)sender, name, numbers[0] + numbers[1] + numbers[2]);
            if (strcmp(name, "sum") != 0 || numbers[1] != sender + 0.5)
                return 1;
            check(canele_message_close(&order));
        }
        check(canele_mailbox_close(&mailbox));
    }
    check(canele_mailbox_sender_close(&mailbox_sender));
    check(canele_job_finish(&job));
    return 0;
}
