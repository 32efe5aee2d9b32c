/* Each rank talks to the next one through a channel: a header and a body, which lie apart at both ends, travel as one message.
 *
 *   canele run -n 2 channel */
#include <canele.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(canele_error error)
{
    if (error != CANELE_OK) {
        fprintf(stderr, "%s: %s\n", canele_error_name(error), canele_error_text());
        exit(1);
    }
}

struct header {
    uint32_t from, numbers;
};

int main(void)
{
    canele_job *job = NULL;
    check(canele_job_start(&job));
    uint32_t me = canele_job_rank(job), size = canele_job_size(job);
    canele_channel *next = NULL, *previous = NULL;
    check(canele_job_channel(job, (me + 1) % size, 3, &next));
    check(canele_job_channel(job, (me + size - 1) % size, 3, &previous));

    double numbers[3] = {0.5 + me, 1.5 + me, 2.5 + me}, theirs[3] = {0, 0, 0};
    struct header header = {me, 3}, their_header;
    canele_slice parts[2] = {{&header, sizeof header}, {numbers, sizeof numbers}};
    check(canele_channel_send_list(next, parts, 2));

    canele_slice_mut places[2] = {{&their_header, sizeof their_header}, {theirs, sizeof theirs}};
    size_t received = 0;
    check(canele_channel_recv_list(previous, places, 2, &received));
    if (received != sizeof header + sizeof numbers || their_header.from != canele_channel_peer(previous))
        return 1;
    printf("rank %u: %u numbers of rank %u, the first is %.1f\n", (unsigned)me, (unsigned)their_header.numbers,
           (unsigned)their_header.from, theirs[0]);

    /* A long message whose bytes lie in a region is copied once. It waits for its receiver, so a rank alone has none. */
    enum { LONG = 1 << 20 };
    canele_region *region = NULL;
    check(canele_job_region(job, 2 * LONG, &region));
    char *memory = (char *)canele_region_address(region);
    if (me == 0 && size > 1) {
        memset(memory, 9, LONG);
        check(canele_channel_send_region(next, region, 0, LONG));
        check(canele_channel_recv_region(previous, region, LONG, LONG, &received));
        if (received != LONG || memory[LONG] != 9 || memory[2 * LONG - 1] != 9)
            return 1;
    } else if (size > 1) {
        check(canele_channel_recv_region(previous, region, 0, LONG, NULL));
        check(canele_channel_send_region(next, region, 0, LONG));
    }
    check(canele_channel_close(&next));
    check(canele_channel_close(&previous));
    check(canele_region_close(&region));
    check(canele_job_finish(&job));
    return 0;
}
