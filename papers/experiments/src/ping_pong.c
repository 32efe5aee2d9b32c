/* Sends so many messages of so many bytes there and back. Prints as JSON how often both ranks gave up their
   processor for each message. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static long switches(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, messages = argc > 1 ? atoi(argv[1]) : 1000, bytes = argc > 2 ? atoi(argv[2]) : 8;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *data = calloc(bytes + 1, 1);
    long before = 0, moved, both;
    for (int i = -10; data && i < messages; i++) {
        if (i == 0) before = switches();
        if (rank == 0) MPI_Send(data, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(data, bytes, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(data, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    }
    moved = switches() - before;
    MPI_Reduce(&moved, &both, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("{\"switches\": %g}\n", both / (2.0 * messages));
    free(data);
    MPI_Finalize();
    return 0;
}
