/* Every rank puts a row of numbers into a region of rank 0 and says so by a notice; rank 0 adds up what came.
 *
 *   canele run -n 4 put */
#include <canele.h>

#include <stdio.h>
#include <stdlib.h>

enum { ROW = 100 };

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

    /* A counter, and behind it a row for each rank. */
    canele_region *table = NULL;
    if (me == 0) {
        check(canele_job_region(job, sizeof(uint64_t) + size * ROW * sizeof(double), &table));
        check(canele_region_publish(table, "table"));
    }
    canele_remote_region *remote = NULL;
    check(canele_job_find_region(job, "table", WAIT_NS, &remote));

    double row[ROW];
    for (int n = 0; n < ROW; n++)
        row[n] = me + 1;
    check(canele_remote_region_put_notify(remote, sizeof(uint64_t) + me * sizeof row, row, sizeof row, 1000 + me));
    check(canele_remote_region_fence(remote, WAIT_NS));
    uint64_t before = 0;
    check(canele_remote_region_fetch_add(remote, 0, 1, &before));

    if (me == 0) {
        for (uint32_t n = 0; n < size; n++) {
            canele_notice notice;
            check(canele_job_wait_notice(job, WAIT_NS, &notice));
            if (notice.id != 1000 + notice.source) {
                fprintf(stderr, "an unexpected notice of rank %u\n", (unsigned)notice.source);
                return 1;
            }
        }
        /* All rows are there: their notices were seen. */
        const double *rows = (const double *)((const char *)canele_region_address(table) + sizeof(uint64_t));
        double sum = 0;
        for (uint32_t n = 0; n < size * ROW; n++)
            sum += rows[n];
        printf("the table's sum is %.0f\n", sum);
        if (sum != ROW * size * (size + 1) / 2.0)
            return 1;
    }
    check(canele_flow_barrier(canele_job_world(job)));
    if (me == 0) {
        uint64_t counted = 0;
        check(canele_region_read(table, 0, &counted, sizeof counted));
        if (counted != size)
            return 1;
        check(canele_region_close(&table));
    }
    check(canele_remote_region_close(&remote));
    check(canele_job_finish(&job));
    return 0;
}
