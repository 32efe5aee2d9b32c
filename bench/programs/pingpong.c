/* Time of a message one way between ranks 0 and 1: private memory ("private"), and memory of MPI_Alloc_mem ("allocated"). */
#include "measure.h"

enum { LARGEST = 4 << 20 };

struct message { char *at; int bytes; };

static void exchange(const void *what, long count) {
    const struct message *m = what;
    if (rank > 1) return;
    for (long i = 0; i < count; i++) {
        if (rank == 0) MPI_Send(m->at, m->bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(m->at, m->bytes, MPI_BYTE, !rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(m->at, m->bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv) {
    start(argc, argv);
    static const int all[] = {0, 8, 48, 64, 256, 1024, 4096, 16384, 65536, 262144, 1 << 20, LARGEST};
    static const int few[] = {8, 1024, 65536, 1 << 20};
    const int *sizes = quick ? few : all;
    int count = quick ? sizeof few / sizeof *few : sizeof all / sizeof *all;
    for (int allocated = 0; allocated < 2; allocated++) {
        char *at = buffer(LARGEST, allocated);
        for (int i = 0; i < count; i++) {
            struct message m = {at, sizes[i]};
            tell(allocated ? "allocated" : "private", sizes[i], measure(exchange, &m) / 2, "ns");
        }
        if (allocated) MPI_Free_mem(at);
        else free(at);
    }
    MPI_Finalize();
    return 0;
}
