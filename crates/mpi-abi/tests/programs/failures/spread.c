/* A rank dies, and later the communicator is revoked, while the others receive on all its lanes. Receives
 * from any source report the death until it is acknowledged, and all receives end with the revocation. */
#include "../check.h"
#include <mpi-ext.h>
#include <signal.h>
#include <unistd.h>

enum { TAGS = 8 };

static int rank, ranks;
static MPI_Comm comm;

static void receives(int source, int *into, MPI_Request *requests)
{
    for (int tag = 0; tag < TAGS; tag++)
        OK(MPI_Irecv(&into[tag], 1, MPI_INT, source, tag, comm, &requests[tag]));
}

/* Each receive from any source reports the death. After the acknowledgement old and new ones go on. */
static void told_until_acknowledged(void)
{
    int into[TAGS], flag, acknowledged = 0, next = (rank + 1) % (ranks - 1);
    MPI_Request requests[TAGS], sends[TAGS];
    receives(MPI_ANY_SOURCE, into, requests);
    for (int tag = 0; tag < TAGS; tag++)
        FAILS(MPIX_ERR_PROC_FAILED_PENDING, MPI_Wait(&requests[tag], MPI_STATUS_IGNORE));
    OK(MPIX_Comm_ack_failed(comm, ranks, &acknowledged));
    CHECK(acknowledged == 1);
    for (int tag = 0; tag < TAGS; tag++)
        OK(MPI_Test(&requests[tag], &flag, MPI_STATUS_IGNORE));
    /* The other ranks may not have acknowledged yet. */
    OK(MPIX_Comm_agree(comm, &acknowledged));
    for (int turn = 0; turn < 2; turn++) {
        for (int tag = 0; tag < TAGS; tag++)
            OK(MPI_Isend(&rank, 1, MPI_INT, next, tag, comm, &sends[tag]));
        OK(MPI_Waitall(TAGS, requests, MPI_STATUSES_IGNORE));
        OK(MPI_Waitall(TAGS, sends, MPI_STATUSES_IGNORE));
        for (int tag = 0; tag < TAGS; tag++)
            CHECK(into[tag] == (rank + ranks - 2) % (ranks - 1));
        if (turn == 0)
            receives(MPI_ANY_SOURCE, into, requests);
    }
    for (int tag = 0; tag < TAGS; tag++)
        FAILS(MPIX_ERR_PROC_FAILED, MPI_Recv(into, 1, MPI_INT, ranks - 1, tag, comm, MPI_STATUS_IGNORE));
}

static void revoked(void)
{
    int into[TAGS], flag = 0, index;
    MPI_Request requests[TAGS];
    receives((rank + 1) % (ranks - 1), into, requests);
    if (rank == 0) {
        usleep(20000);
        OK(MPIX_Comm_revoke(comm));
    }
    for (int n = 0; n < TAGS; n++) {
        FAILS(MPIX_ERR_REVOKED, MPI_Waitany(TAGS, requests, &index, MPI_STATUS_IGNORE));
        CHECK(index != MPI_UNDEFINED);
    }
    OK(MPIX_Comm_is_revoked(comm, &flag));
    CHECK(flag);
    for (int tag = 0; tag < TAGS; tag++) {
        FAILS(MPIX_ERR_REVOKED, MPI_Send(&rank, 1, MPI_INT, 0, tag, comm));
        FAILS(MPIX_ERR_REVOKED, MPI_Recv(into, 1, MPI_INT, 0, tag, comm, MPI_STATUS_IGNORE));
    }
}

int main(int argc, char **argv)
{
    int provided, sum, mine = 1;
    MPI_Info info;
    MPI_Comm left;
    OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (int round = 0; round < 2; round++) {
        OK(MPI_Info_create(&info));
        OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
        OK(MPI_Comm_dup_with_info(round ? left : MPI_COMM_WORLD, info, &comm));
        OK(MPI_Info_free(&info));
        if (rank == ranks - 1) {
            usleep(1000);
            kill(getpid(), SIGKILL);
        }
        told_until_acknowledged();
        revoked();
        if (round)
            OK(MPI_Comm_free(&left));
        OK(MPIX_Comm_shrink(comm, &left));
        OK(MPI_Comm_free(&comm));
        ranks--;
        OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, left));
        CHECK(sum == ranks);
    }
    OK(MPI_Comm_free(&left));
    OK(MPI_Finalize());
    return result();
}
