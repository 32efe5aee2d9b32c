/* The exchange of stochastic arithmetic (CESTAC) between three ranks: each rank sends its sample of a number,
 * one double, to both others and receives theirs (Glück, Lamotte, Greiner, 2002). papers/cestac makes the
 * exchange over Canelé's own API, in the same order. "exchange" is the time of one. Before the measurement,
 * each rank checks the samples that it gets. */
#include "measure.h"

enum { SAMPLES = 3, CHECKED = 1000 };

static void exchange(double own, double *all) {
    const int others[] = {(rank + 1) % SAMPLES, (rank + 2) % SAMPLES};
    all[rank] = own;
    for (int i = 0; i < 2; i++) MPI_Send(&own, 1, MPI_DOUBLE, others[i], 0, MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++) MPI_Recv(&all[others[i]], 1, MPI_DOUBLE, others[i], 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void exchanges(const void *own, long count) {
    double all[SAMPLES];
    for (long i = 0; i < count; i++) exchange(*(const double *)own, all);
}

static void check(void) {
    for (int i = 0; i < CHECKED; i++) {
        double all[SAMPLES];
        exchange(10 * i + rank, all);
        for (int of = 0; of < SAMPLES; of++) {
            if (all[of] == 10 * i + of) continue;
            fprintf(stderr, "rank %d: exchange %d gives %g as the sample of rank %d\n", rank, i, all[of], of);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

int main(int argc, char **argv) {
    start(argc, argv);
    if (ranks != SAMPLES) {
        fprintf(stderr, "rank %d: %d ranks instead of %d: start it with -n %d\n", rank, ranks, SAMPLES, SAMPLES);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    check();
    double own = rank;
    tell("exchange", sizeof own, measure(exchanges, &own), "ns");
    MPI_Finalize();
    return 0;
}
