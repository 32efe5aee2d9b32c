/* All collectives once.
 *
 *   canele run -n 4 collectives */
#include <canele.h>

#include <stdio.h>
#include <stdlib.h>

static void check(canele_error error)
{
    if (error != CANELE_OK) {
        fprintf(stderr, "%s: %s\n", canele_error_name(error), canele_error_text());
        exit(1);
    }
}

static void expect(bool as_it_should_be, const char *what)
{
    if (!as_it_should_be) {
        fprintf(stderr, "wrong: %s\n", what);
        exit(1);
    }
}

int main(void)
{
    canele_job *job = NULL;
    check(canele_job_start(&job));
    canele_flow *world = canele_job_world(job);
    uint32_t me = canele_job_rank(job), size = canele_job_size(job), last = size - 1;
    check(canele_flow_barrier(world));

    double answer[2] = {0, 0};
    if (me == last) {
        answer[0] = 42;
        answer[1] = 0.5;
    }
    check(canele_flow_broadcast(world, last, answer, sizeof answer));
    expect(answer[0] == 42 && answer[1] == 0.5, "broadcast");

    int64_t items[3] = {(int64_t)me, -(int64_t)me, 1}, result[3] = {0, 0, 0};
    check(canele_flow_reduce(world, 0, items, me == 0 ? result : NULL, 3, CANELE_INT64, CANELE_MIN));
    expect(me != 0 || (result[0] == 0 && result[1] == -(int64_t)last && result[2] == 1), "reduce");
    check(canele_flow_allreduce(world, items, result, 3, CANELE_INT64, CANELE_SUM));
    expect(result[0] == (int64_t)size * last / 2 && result[1] == -result[0] && result[2] == size, "allreduce");
    float half = 0.5F, product = 0;
    check(canele_flow_allreduce(world, &half, &product, 1, CANELE_FLOAT, CANELE_PROD));
    expect(product == 1.0F / (float)(UINT32_C(1) << size), "product");

    uint32_t *all = (uint32_t *)calloc(size, sizeof me), *parts = (uint32_t *)calloc(size, sizeof me);
    expect(all != NULL && parts != NULL, "memory");
    check(canele_flow_gather(world, last, &me, sizeof me, me == last ? all : NULL));
    for (uint32_t n = 0; n < size; n++)
        expect(me != last || all[n] == n, "gather");
    uint32_t mine = 0;
    check(canele_flow_scatter(world, last, me == last ? all : NULL, &mine, sizeof mine));
    expect(mine == me, "scatter");
    check(canele_flow_allgather(world, &me, sizeof me, all));
    for (uint32_t n = 0; n < size; n++) {
        expect(all[n] == n, "allgather");
        parts[n] = 100 * me + n;
    }
    check(canele_flow_alltoall(world, parts, all, sizeof me));
    for (uint32_t n = 0; n < size; n++)
        expect(all[n] == 100 * n + me, "alltoall");
    free(all);
    free(parts);
    printf("rank %u: all as it should be\n", (unsigned)me);
    check(canele_job_finish(&job));
    return 0;
}
