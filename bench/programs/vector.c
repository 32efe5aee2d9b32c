/* Time one way of 1 MB that lies in blocks of 8 bytes, every other one: with a derived datatype ("typed"), copied by hand to and
 * from a contiguous buffer ("packed"), and of 1 MB that is contiguous anyway ("contiguous"). */
#include "measure.h"

enum { BLOCKS = 1 << 17, BYTES = BLOCKS * (int)sizeof(double) };

static double *spread, *packed;
static MPI_Datatype every_other;

static void one_way(int kind, int sends) {
    int peer = !rank;
    if (kind == 0) {
        if (sends) MPI_Send(spread, 1, every_other, peer, 1, MPI_COMM_WORLD);
        else MPI_Recv(spread, 1, every_other, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    if (kind == 1 && sends) for (int i = 0; i < BLOCKS; i++) packed[i] = spread[2 * i];
    if (sends) MPI_Send(packed, BLOCKS, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD);
    else MPI_Recv(packed, BLOCKS, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (kind == 1 && !sends) for (int i = 0; i < BLOCKS; i++) spread[2 * i] = packed[i];
}

static void exchange(const void *what, long count) {
    int kind = *(const int *)what;
    for (long i = 0; i < count && rank < 2; i++) {
        one_way(kind, rank == 0);
        one_way(kind, rank == 1);
    }
}

int main(int argc, char **argv) {
    start(argc, argv);
    spread = (double *)buffer(2 * (size_t)BYTES, 0);
    packed = (double *)buffer(BYTES, 0);
    MPI_Type_vector(BLOCKS, 1, 2, MPI_DOUBLE, &every_other);
    MPI_Type_commit(&every_other);
    static const char *names[] = {"typed", "packed", "contiguous"};
    for (int kind = 0; kind < 3; kind++) tell(names[kind], BYTES, measure(exchange, &kind) / 2, "ns");
    MPI_Type_free(&every_other);
    free(spread);
    free(packed);
    MPI_Finalize();
    return 0;
}
