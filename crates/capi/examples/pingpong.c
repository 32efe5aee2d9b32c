/* Ranks 0 and 1 play ping-pong; rank 0 prints the one-way times.
 *
 *   canele run -n 2 --bind core pingpong [BYTES [ROUNDS]] */
#include <canele.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPEATS = 9, TAG = 1 };

static void check(canele_error error)
{
    if (error != CANELE_OK) {
        fprintf(stderr, "%s: %s\n", canele_error_name(error), canele_error_text());
        exit(1);
    }
}

static double now_ns(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of the one-way times in nanoseconds. */
static double one_way_ns(canele_flow *world, size_t bytes, int rounds)
{
    uint32_t me = canele_flow_rank(world), other = 1 - me;
    char *data = (char *)malloc(bytes + 1);
    if (data == NULL)
        exit(1);
    memset(data, 1, bytes);
    double times[REPEATS];
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        double start = now_ns();
        for (int round = 0; round < rounds; round++) {
            if (me == 0) {
                check(canele_flow_send(world, other, TAG, data, bytes));
                check(canele_flow_recv(world, other, TAG, data, bytes, NULL));
            } else {
                check(canele_flow_recv(world, other, TAG, data, bytes, NULL));
                check(canele_flow_send(world, other, TAG, data, bytes));
            }
        }
        times[repeat] = (now_ns() - start) / rounds / 2;
    }
    free(data);
    qsort(times, REPEATS, sizeof times[0], compare);
    return times[REPEATS / 2];
}

int main(int argc, char **argv)
{
    static const size_t all[] = {0, 8, 48, 64, 1024, 4096, 16384, 65536, 262144, 1 << 20, 4 << 20};
    size_t only = argc > 1 ? (size_t)atol(argv[1]) : 0;
    canele_job *job = NULL;
    check(canele_job_start(&job));
    if (canele_job_size(job) != 2) {
        fprintf(stderr, "ping-pong is for two ranks: canele run -n 2 pingpong\n");
        return 1;
    }
    for (size_t n = 0; n < (argc > 1 ? 1 : sizeof all / sizeof all[0]); n++) {
        size_t bytes = argc > 1 ? only : all[n];
        size_t rounds = argc > 2 ? (size_t)atol(argv[2]) : ((size_t)1 << 28) / (bytes + 1);
        rounds = rounds > 200000 ? 200000 : rounds < 1 ? 1 : rounds;
        double ns = one_way_ns(canele_job_world(job), bytes, (int)rounds);
        if (canele_job_rank(job) == 0)
            printf("%8zu B %10.1f ns %8.2f GB/s\n", bytes, ns, (double)bytes / ns);
    }
    check(canele_job_finish(&job));
    return 0;
}
