/* Revokes and frees more communicators, one after the other, than the library remembers apart: later ones are
   not affected. */
#include "../check.h"
#include <mpi-ext.h>

enum { MANY = 4300 };

int main(int argc, char **argv)
{
    int rank, size, revoked, sum;
    MPI_Comm comm;
    start(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int n = 0; n < MANY && failures == 0; n++) {
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        OK(MPI_Allreduce(&n, &sum, 1, MPI_INT, MPI_SUM, comm));
        CHECK(sum == n * size);
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (rank == n % size)
            OK(MPIX_Comm_revoke(comm));
        FAILS(MPIX_ERR_REVOKED, MPI_Recv(&sum, 1, MPI_INT, (rank + 1) % size, 0, comm, MPI_STATUS_IGNORE));
        OK(MPIX_Comm_is_revoked(comm, &revoked));
        CHECK(revoked);
        OK(MPI_Comm_free(&comm));
    }
    MPI_Finalize();
    return result();
}
