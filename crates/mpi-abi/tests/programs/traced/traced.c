/* Calls that a trace must contain, also short ones that end at once. */
#include <mpi.h>
#include <stdlib.h>

/* Starts a collective in which the program does not wait, and accesses a window. */
static void one_sided(int rank)
{
    int sent = rank, sum = 0, old = 0, *part;
    MPI_Request request;
    MPI_Win win;

    MPI_Iallreduce(&sent, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_allocate(sizeof *part, sizeof *part, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win);
    *part = 0;
    MPI_Win_fence(0, win);
    if (rank == 0) {
        MPI_Put(&sent, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
    }
    MPI_Win_fence(0, win);
    MPI_Accumulate(&sum, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    MPI_Fetch_and_op(&sent, &old, MPI_INT, 1 - rank, 0, MPI_SUM, win);
    MPI_Win_fence(0, win);
    if (rank == 1) {
        MPI_Get(&old, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    }
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

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
    one_sided(rank);
    MPI_Finalize();
    return 0;
}
