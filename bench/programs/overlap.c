/* How much of the transfer of 8 MB, both ways between ranks 0 and 1 in memory of MPI_Alloc_mem, goes on while both compute as long
 * as it takes: "overlap" is 100 % if nothing of it is left after the computation, 0 % if all of it. */
#include "measure.h"

enum { BYTES = 8 << 20 };

static char *to, *from;
static volatile double number = 1;

static void compute(long steps) {
    double x = number;
    for (long i = 0; i < steps; i++) x = x * 0.999999 + 1e-6;
    number = x;
}

/* Exchanges, and computes so many steps meanwhile. */
static void exchange(const void *what, long count) {
    for (long i = 0; i < count && rank < 2; i++) {
        MPI_Request requests[2];
        MPI_Irecv(from, BYTES, MPI_BYTE, !rank, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(to, BYTES, MPI_BYTE, !rank, 1, MPI_COMM_WORLD, &requests[1]);
        compute(*(const long *)what);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

static void only_compute(const void *what, long count) {
    for (long i = 0; i < count && rank < 2; i++) compute(*(const long *)what);
}

int main(int argc, char **argv) {
    start(argc, argv);
    to = buffer(BYTES, 1);
    from = buffer(BYTES, 1);
    long none = 0, some = 1000000;
    double transfer = measure(exchange, &none);
    long steps = (long)(some * transfer / measure(only_compute, &some)) + 1;
    MPI_Bcast(&steps, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    double computation = measure(only_compute, &steps), both = measure(exchange, &steps);
    double shorter = transfer < computation ? transfer : computation;
    tell("transfer", BYTES, transfer, "ns");
    tell("both", BYTES, both, "ns");
    tell("overlap", BYTES, 100 * (transfer + computation - both) / shorter, "%");
    MPI_Free_mem(to);
    MPI_Free_mem(from);
    MPI_Finalize();
    return 0;
}
