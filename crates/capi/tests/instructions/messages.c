/* Messages of 8 bytes between two ranks; callgrind counts the instructions of one end inside `measured`.
 * crates/canele/examples/messages.rs is the same program in Rust.
 *
 *   messages FILE MESSAGES
 *
 * Nothing is counted of waiting: the ranks take turns by the length of FILE, which is empty at first, so messages have come before their
 * receiver asks for them, and there is room before they are sent. The answer of each turn is outside of what is counted. */
#include <canele.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WINDOW = 64, TAG = 7 };

static int64_t messages[WINDOW];
static canele_flow *world;
static uint32_t me;

static void check(canele_error error)
{
    if (error != CANELE_OK) {
        fprintf(stderr, "%s\n", canele_error_text());
        exit(1);
    }
}

static __attribute__((noinline)) void measured(void)
{
    if (me == 0)
        for (int n = 0; n < WINDOW; n++)
            check(canele_flow_send(world, 1, TAG, &messages[n], sizeof messages[n]));
    else
        for (int n = 0; n < WINDOW; n++)
            check(canele_flow_recv(world, 0, TAG, &messages[n], sizeof messages[n], NULL));
    __asm__ volatile("" ::: "memory"); /* A call, not a jump: what is counted ends with it. */
}

/* Like `measured`, but not counted. */
static __attribute__((noinline)) void warm_up(void)
{
    if (me == 0)
        for (int n = 0; n < WINDOW; n++)
            check(canele_flow_send(world, 1, TAG, &messages[n], sizeof messages[n]));
    else
        for (int n = 0; n < WINDOW; n++)
            check(canele_flow_recv(world, 0, TAG, &messages[n], sizeof messages[n], NULL));
}

static void wait_for_turn(const char *file, long turn)
{
    struct stat about;
    while (stat(file, &about) != 0 || about.st_size != turn)
        usleep(10);
}

static void next_turn(const char *file)
{
    FILE *turns = fopen(file, "a");
    if (turns == NULL || fputc('.', turns) == EOF || fclose(turns) != 0)
        exit(2);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "messages FILE MESSAGES\n");
        return 2;
    }
    canele_job *job = NULL;
    check(canele_job_start(&job));
    world = canele_job_world(job);
    me = canele_job_rank(job);
    for (long n = 0; n < atol(argv[2]) / WINDOW + 3; n++) {
        wait_for_turn(argv[1], 2 * n + (long)me);
        for (int at = 0; at < WINDOW; at++)
            messages[at] = me == 0 ? 1000 * n + at : -1;
        /* The first turns make the link and everything that is made once. */
        if (n < 3)
            warm_up();
        else
            measured();
        for (int at = 0; at < WINDOW; at++)
            if (messages[at] != 1000 * n + at)
                return 1;
        next_turn(argv[1]);
        if (me == 0)
            check(canele_flow_recv(world, 1, TAG, &messages[0], sizeof messages[0], NULL));
        else
            check(canele_flow_send(world, 0, TAG, &messages[0], sizeof messages[0]));
    }
    check(canele_job_finish(&job));
    return 0;
}
