/* Overlap of communication and computation. Rank 0 sends 8 MB to rank 1 and computes as long as a transfer
 * takes, while the receiver waits. "overlap" is 100 % if no part of the transfer is left after the
 * computation, 0 % if all of it is. The sender's buffer is from MPI_Alloc_mem, the receiver's is not. */
#include "measure.h"

enum { BYTES = 8 << 20 };

static char *memory;
static volatile double number = 1;

static void compute(long steps) {
    double x = number;
    for (long i = 0; i < steps; i++) x = x * 0.999999 + 1e-6;
    number = x;
}

/* Sends, and computes the given number of steps meanwhile. */
static void transfer(const void *what, long count) {
    for (long i = 0; i < count && rank < 2; i++) {
        if (rank == 1) {
            MPI_Recv(memory, BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            continue;
        }
        MPI_Request request;
        MPI_Isend(memory, BYTES, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
        compute(*(const long *)what);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void only_compute(const void *what, long count) {
    for (long i = 0; i < count && rank == 0; i++) compute(*(const long *)what);
}

int main(int argc, char **argv) {
    start(argc, argv);
    memory = buffer(BYTES, rank == 0);
    long none = 0, some = 1000000;
    double alone = measure(transfer, &none);
    long steps = (long)(some * alone / measure(only_compute, &some)) + 1;
    MPI_Bcast(&steps, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    double computation = measure(only_compute, &steps), both = measure(transfer, &steps);
    double shorter = alone < computation ? alone : computation;
    tell("transfer", BYTES, alone, "ns");
    tell("both", BYTES, both, "ns");
    tell("overlap", BYTES, 100 * (alone + computation - both) / shorter, "%");
    if (rank == 0) MPI_Free_mem(memory);
    else free(memory);
    MPI_Finalize();
    return 0;
}
