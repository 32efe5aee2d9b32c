/* Nothing is left of handles that are closed: descriptors and mappings are the same after many rounds as after few. For two ranks. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <time.h>
#include "expect.h"

enum { LONG = 100000, FIRST = 20, LOOKS = 3000 };

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
    OK(canele_region_close(&region));
}

static void mailboxes(int n)
{
    char own[40], others[40];
    canele_mailbox *mailbox;
    canele_postbox *postbox;
    names(own, others, "mailbox", n);
    OK(canele_job_create_mailbox(job, own, 8, &mailbox));
    OK(canele_job_find_mailbox(job, others, CANELE_FOREVER, &postbox));
    OK(canele_flow_barrier(world));
    OK(canele_postbox_close(&postbox));
    OK(canele_mailbox_close(&mailbox));
}

static void channels(int n)
{
    canele_channel *channel;
    OK(canele_job_channel(job, other, (uint32_t)n, &channel));
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
}

static int descriptors(void)
{
    int n = 0;
    DIR *folder = opendir("/proc/self/fd");
    EXPECT(folder != NULL);
    while (readdir(folder) != NULL) n++;
    closedir(folder);
    return n;
}

static int mappings(void)
{
    int n = 0, c;
    FILE *file = fopen("/proc/self/maps", "r");
    EXPECT(file != NULL);
    while ((c = getc(file)) != EOF) n += c == '\n';
    fclose(file);
    return n;
}

static void measure(const char *name, void (*round)(int), int rounds)
{
    for (int n = 0; n < FIRST; n++) round(n);
    OK(canele_flow_barrier(world));
    int held = descriptors(), mapped = mappings();
    for (int n = FIRST; n < FIRST + rounds; n++) round(n);
    for (int look = 0; look < LOOKS && (descriptors() > held || mappings() > mapped + 2); look++) {
        /* What the launcher tells is read by whoever makes progress. */
        canele_status status;
        bool found;
        OK(canele_flow_iprobe(world, CANELE_ANY_SOURCE, 99, &found, &status));
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    if (descriptors() > held || mappings() > mapped + 2)
        fprintf(stderr, "%s: %d descriptors and %d mappings more\n", name, descriptors() - held, mappings() - mapped);
    EXPECT(descriptors() <= held && mappings() <= mapped + 2);
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
    measure("regions", regions, rounds);
    measure("mailboxes", mailboxes, rounds);
    measure("channels", channels, rounds);
    measure("flows", flows, rounds);
    measure("requests", requests, rounds);
    OK(canele_job_finish(&job));
    puts("passed");
    return 0;
}
