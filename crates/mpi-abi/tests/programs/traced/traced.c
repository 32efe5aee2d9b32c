/* What is found in a trace: each call, short ones that go at once too. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, i, got[4] = {0}, sent = 7;
    MPI_Request requests[8];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (i = 0; i < 5; i++) {
        if (rank == 0) {
            MPI_Send(&sent, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
        } else {
            MPI_Recv(got, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    for (i = 0; i < 4; i++) {
        MPI_Irecv(&got[i], 1, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD, &requests[i]);
        MPI_Isend(&sent, 1, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD, &requests[4 + i]);
    }
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    for (i = 0; i < 4; i++) {
        if (got[i] != 7) {
            return 1;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
