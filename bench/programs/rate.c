/* Messages per second from rank 0 to rank 1: windows of 64 non-blocking sends with 8 tags, then one reply. */
#include "measure.h"

enum { WINDOW = 64, TAGS = 8, REPLY = 99, LARGEST = 1024 };

static char *memory;
static MPI_Request requests[WINDOW];

static void windows(const void *what, long count) {
    int bytes = *(const int *)what;
    if (rank > 1) return;
    for (long i = 0; i < count; i++) {
        for (int j = 0; j < WINDOW; j++) {
            char *at = memory + (size_t)j * LARGEST;
            if (rank == 0) MPI_Isend(at, bytes, MPI_BYTE, 1, j % TAGS, MPI_COMM_WORLD, &requests[j]);
            else MPI_Irecv(at, bytes, MPI_BYTE, 0, j % TAGS, MPI_COMM_WORLD, &requests[j]);
        }
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        if (rank == 0) MPI_Recv(NULL, 0, MPI_BYTE, 1, REPLY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else MPI_Send(NULL, 0, MPI_BYTE, 0, REPLY, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv) {
    start(argc, argv);
    memory = buffer((size_t)WINDOW * LARGEST, 0);
    static const int sizes[] = {8, LARGEST};
    for (int i = 0; i < 2; i++) tell("window", sizes[i], WINDOW * 1e3 / measure(windows, &sizes[i]), "M/s");
    free(memory);
    MPI_Finalize();
    return 0;
}
