/* Two ranks that wait for ever, in the way that the argument says. */
#include "../check.h"
#include <string.h>
#include <unistd.h>

static void receive(int from, int tag)
{
    int value;
    MPI_Recv(&value, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* THE RECEIVE */
}

int main(int argc, char **argv)
{
    int rank, value = 1;
    MPI_Comm rows, columns;
    start(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &rows);
    MPI_Comm_dup(MPI_COMM_WORLD, &columns);
    MPI_Comm_set_name(rows, "rows");
    MPI_Comm_set_name(columns, "columns");
    if (argc > 1 && strcmp(argv[1], "order") == 0) {
        MPI_Barrier(rank == 0 ? rows : columns);
    } else if (argc > 1 && strcmp(argv[1], "communicator") == 0) {
        if (rank == 0)
            MPI_Send(&value, 1, MPI_INT, 1, 7, rows);
        receive(1 - rank, 7);
    } else if (argc > 1 && strcmp(argv[1], "finalizes") == 0) {
        /* Like an interpreter that ends by an exception. */
        if (rank == 1) {
            MPI_Finalize();
            return 3;
        }
        if (argc > 2 && strcmp(argv[2], "barrier") == 0)
            MPI_Barrier(MPI_COMM_WORLD);
        else if (argc > 2 && strcmp(argv[2], "any tag") == 0)
            receive(1, MPI_ANY_TAG);
        else
            receive(argc > 2 ? MPI_ANY_SOURCE : 1, 7);
    } else if (argc > 1 && strcmp(argv[1], "works") == 0) {
        if (rank == 0)
            sleep(13);
    } else if (rank == 0) {
        MPI_Send(&value, 1, MPI_INT, 1, 8, MPI_COMM_WORLD);
        receive(1, 9);
    } else {
        receive(0, 7);
    }
    MPI_Finalize();
    return 0;
}
