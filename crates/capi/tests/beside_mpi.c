/* A ring of which one half uses MPI and the other Canelé's own interface: the process is one rank of one job.
 *
 *   beside_mpi mpi|canele    the interface that starts first; it finishes first, too */
#include <canele.h>
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 3 };

static void check(canele_error error)
{
    if (error != CANELE_OK) {
        fprintf(stderr, "%s\n", canele_error_text());
        exit(1);
    }
}

int main(int argc, char **argv)
{
    int mpi_first = argc == 2 && strcmp(argv[1], "mpi") == 0, rank, size, theirs = -1, sum = 0;
    canele_job *job = NULL;
    if (mpi_first)
        MPI_Init(&argc, &argv);
    check(canele_job_start(&job));
    if (!mpi_first)
        MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    canele_flow *world = canele_job_world(job);
    check(canele_flow_send(world, (uint32_t)((rank + 1) % size), TAG, &rank, sizeof rank));
    MPI_Recv(&theirs, 1, MPI_INT, (rank + size - 1) % size, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (mpi_first) {
        MPI_Finalize();
        check(canele_flow_allreduce(world, &theirs, &sum, 1, CANELE_INT32, CANELE_SUM));
        check(canele_job_finish(&job));
    } else {
        check(canele_job_finish(&job));
        MPI_Allreduce(&theirs, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Finalize();
    }
    printf("rank %d got %d, sum %d\n", rank, theirs, sum);
    return 0;
}
