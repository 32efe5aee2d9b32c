/* Results after rank 3 of 4 has died: failed ranks, receives from any rank, agreement, revocation. */
#include "../check.h"
#include <mpi-ext.h>
#include <signal.h>
#include <unistd.h>

static int rank;

/* Returns the number of members in the group of failed processes. */
static int failed(MPI_Comm comm)
{
    MPI_Group group;
    int size;
    OK(MPIX_Comm_get_failed(comm, &group));
    OK(MPI_Group_size(group, &size));
    MPI_Group_free(&group);
    return size;
}

static int acknowledged(MPI_Comm comm)
{
    MPI_Group group, world;
    int size, dead, zero = 0;
    OK(MPIX_Comm_failure_get_acked(comm, &group));
    OK(MPI_Group_size(group, &size));
    if (size > 0) {
        OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
        OK(MPI_Group_translate_ranks(group, 1, &zero, world, &dead));
        CHECK(dead == 3);
        OK(MPI_Group_free(&world));
        OK(MPI_Group_free(&group));
    }
    return size;
}

static void before(void)
{
    int flag = 0x70 | 1 << rank, revoked = 7, num = 7;
    OK(MPIX_Comm_agree(MPI_COMM_WORLD, &flag));
    CHECK(flag == 0x70);
    flag = -1;
    OK(MPIX_Comm_agree(MPI_COMM_WORLD, &flag));
    CHECK(flag == -1);
    OK(MPIX_Comm_is_revoked(MPI_COMM_WORLD, &revoked));
    CHECK(revoked == 0 && failed(MPI_COMM_WORLD) == 0);
    OK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, 4, &num));
    CHECK(num == 0);
    FAILS(MPI_ERR_ARG, MPIX_Comm_ack_failed(MPI_COMM_WORLD, -1, &num));
    MPI_Comm same;
    int size, other;
    OK(MPIX_Comm_shrink(MPI_COMM_WORLD, &same));
    MPI_Comm_size(same, &size);
    MPI_Comm_rank(same, &other);
    CHECK(size == 4 && other == rank);
    OK(MPI_Barrier(same));
    OK(MPI_Comm_free(&same));
}

/* Waits for the dead rank, on each rank in another way. */
static void wait_for_the_dead(MPI_Comm comm)
{
    int word = 0;
    MPI_Request request;
    if (rank == 0)
        FAILS(MPIX_ERR_PROC_FAILED, MPI_Recv(&word, 1, MPI_INT, 3, 0, comm, MPI_STATUS_IGNORE));
    if (rank == 1) {
        OK(MPI_Irecv(&word, 1, MPI_INT, 3, 0, comm, &request));
        FAILS(MPIX_ERR_PROC_FAILED, MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(request == MPI_REQUEST_NULL);
    }
    FAILS(MPIX_ERR_PROC_FAILED, MPI_Barrier(comm));
    FAILS(MPIX_ERR_PROC_FAILED, MPI_Ssend(&word, 1, MPI_INT, 3, 0, comm));
    CHECK(failed(comm) == 1 && acknowledged(comm) == 0);
}

/* Rank 1 sends to rank 0, which receives from any rank. */
static void receive_from_any(MPI_Comm comm)
{
    int word = 0, num, flag;
    if (rank == 0) {
        MPI_Request requests[2], request;
        MPI_Status statuses[2], status;
        FAILS(MPIX_ERR_PROC_FAILED, MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 8, comm, &status));
        FAILS(MPIX_ERR_PROC_FAILED, MPI_Probe(MPI_ANY_SOURCE, 8, comm, &status));
        MPI_Message message;
        FAILS(MPIX_ERR_PROC_FAILED, MPI_Iprobe(MPI_ANY_SOURCE, 8, comm, &flag, &status));
        FAILS(MPIX_ERR_PROC_FAILED, MPI_Improbe(MPI_ANY_SOURCE, 8, comm, &flag, &message, &status));
        FAILS(MPIX_ERR_PROC_FAILED, MPI_Iprobe(3, 8, comm, &flag, &status));
        OK(MPI_Iprobe(2, 8, comm, &flag, &status));
        CHECK(!flag);
        OK(MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 9, comm, &request));
        for (int n = 0; n < 3; n++) {
            FAILS(MPIX_ERR_PROC_FAILED_PENDING, MPI_Wait(&request, &status));
            CHECK(request != MPI_REQUEST_NULL);
            FAILS(MPIX_ERR_PROC_FAILED_PENDING, MPI_Test(&request, &flag, &status));
        }
        requests[0] = request;
        OK(MPI_Irecv(&num, 1, MPI_INT, 1, 10, comm, &requests[1]));
        OK(MPI_Send(&word, 1, MPI_INT, 1, 7, comm));
        FAILS(MPI_ERR_IN_STATUS, MPI_Waitall(2, requests, statuses));
        CHECK(requests[0] == request && requests[1] == MPI_REQUEST_NULL && num == 42);
        FAILS(MPIX_ERR_PROC_FAILED_PENDING, statuses[0].MPI_ERROR);
        OK(statuses[1].MPI_ERROR);
        OK(MPIX_Comm_ack_failed(comm, 0, &num));
        CHECK(num == 0);
        OK(MPIX_Comm_ack_failed(comm, 1, &num));
        CHECK(num == 1 && acknowledged(comm) == 1);
        OK(MPI_Test(&request, &flag, &status));
        CHECK(!flag);
        OK(MPI_Iprobe(MPI_ANY_SOURCE, 8, comm, &flag, &status));
        CHECK(!flag);
        OK(MPI_Send(&word, 1, MPI_INT, 1, 7, comm));
        OK(MPI_Wait(&request, &status));
        CHECK(word == 43 && status.MPI_SOURCE == 1 && request == MPI_REQUEST_NULL);
        OK(MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 11, comm, &status));
        CHECK(word == 44);
        /* This receive is cancelled, so it must not take the next message. */
        OK(MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 9, comm, &request));
        OK(MPI_Cancel(&request));
        OK(MPI_Wait(&request, &status));
    } else if (rank == 1) {
        OK(MPI_Recv(&word, 1, MPI_INT, 0, 7, comm, MPI_STATUS_IGNORE));
        word = 42;
        OK(MPI_Send(&word, 1, MPI_INT, 0, 10, comm));
        OK(MPI_Recv(&word, 1, MPI_INT, 0, 7, comm, MPI_STATUS_IGNORE));
        word = 43;
        OK(MPI_Send(&word, 1, MPI_INT, 0, 9, comm));
        word = 44;
        OK(MPI_Send(&word, 1, MPI_INT, 0, 11, comm));
    }
}

static void agree(MPI_Comm comm)
{
    int flag = 6 | rank, num;
    MPI_Request request;
    /* Only rank 0 has acknowledged the failure. */
    FAILS(MPIX_ERR_PROC_FAILED, MPIX_Comm_agree(comm, &flag));
    CHECK(flag == 6);
    OK(MPIX_Comm_failure_ack(comm));
    OK(MPIX_Comm_ack_failed(comm, 0, &num));
    CHECK(num == 1);
    flag = 12 | 1 << rank;
    OK(MPIX_Comm_iagree(comm, &flag, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(flag == 12);
}

/* Revokes the communicator: waiting and new operations end, at all ranks. */
static void revoke_it(MPI_Comm comm)
{
    int word = 5, revoked, flag = 3;
    static char large[1 << 20];
    MPI_Request requests[3];
    MPI_Comm copy;
    if (rank == 0) {
        OK(MPI_Irecv(&word, 1, MPI_INT, 1, 20, comm, &requests[0]));
        OK(MPI_Issend(large, sizeof large, MPI_CHAR, 1, 21, comm, &requests[1]));
        OK(MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 22, comm, &requests[2]));
        OK(MPI_Send(NULL, 0, MPI_INT, 2, 24, comm));
        for (int n = 0; n < 3; n++)
            FAILS(MPIX_ERR_REVOKED, MPI_Wait(&requests[n], MPI_STATUS_IGNORE));
    } else if (rank == 1) {
        FAILS(MPIX_ERR_REVOKED, MPI_Recv(&word, 1, MPI_INT, 0, 23, comm, MPI_STATUS_IGNORE));
    } else {
        OK(MPI_Recv(NULL, 0, MPI_INT, 0, 24, comm, MPI_STATUS_IGNORE));
        usleep(100000);
        OK(MPIX_Comm_revoke(comm));
    }
    OK(MPIX_Comm_is_revoked(comm, &revoked));
    CHECK(revoked == 1);
    int next = (rank + 1) % 3;
    FAILS(MPIX_ERR_REVOKED, MPI_Send(&word, 1, MPI_INT, next, 0, comm));
    memset(requests, 0, sizeof requests);
    FAILS(MPIX_ERR_REVOKED, MPI_Isend(&word, 1, MPI_INT, next, 0, comm, &requests[0]));
    FAILS(MPIX_ERR_REVOKED, MPI_Irecv(&word, 1, MPI_INT, next, 0, comm, &requests[1]));
    FAILS(MPIX_ERR_REVOKED, MPI_Isendrecv(&word, 1, MPI_INT, next, 0, &word, 1, MPI_INT, next, 0, comm, &requests[2]));
    OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    CHECK(MPI_Barrier(comm) == MPIX_ERR_REVOKED);
    FAILS(MPIX_ERR_REVOKED, MPI_Recv(&word, 1, MPI_INT, next, 0, comm, MPI_STATUS_IGNORE));
    FAILS(MPIX_ERR_REVOKED, MPI_Iprobe(next, 0, comm, &flag, MPI_STATUS_IGNORE));
    FAILS(MPIX_ERR_REVOKED, MPI_Bcast(&word, 1, MPI_INT, 0, comm));
    FAILS(MPIX_ERR_REVOKED, MPI_Comm_dup(comm, &copy));
    OK(MPI_Ibarrier(comm, &requests[0]));
    FAILS(MPIX_ERR_REVOKED, MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    OK(MPIX_Comm_revoke(comm));
    flag = 3 << rank | 4;
    OK(MPIX_Comm_agree(comm, &flag));
    CHECK(flag == 4);
}

static void shrink(MPI_Comm comm)
{
    MPI_Comm left, again;
    MPI_Request request;
    int size, sum = 0, mine = 10 + rank, number;
    OK(MPIX_Comm_shrink(comm, &left));
    OK(MPI_Comm_size(left, &size));
    OK(MPI_Comm_rank(left, &number));
    CHECK(size == 3 && number == rank && failed(left) == 0);
    OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, left));
    CHECK(sum == 33);
    OK(MPIX_Comm_ishrink(left, &again, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_MAX, again));
    CHECK(sum == 12);
    OK(MPI_Comm_free(&again));
    OK(MPI_Comm_free(&left));
}

/* Revokes a window, which ends the waits on it, and frees it. */
static void give_up_window(MPI_Win win)
{
    MPI_Group group;
    int size;
    OK(MPIX_Win_get_failed(win, &group));
    OK(MPI_Group_size(group, &size));
    CHECK(size == 1);
    OK(MPI_Group_free(&group));
    if (rank == 1) {
        OK(MPIX_Win_revoke(win));
    } else {
        MPI_Group other;
        int one = 1;
        OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
        OK(MPI_Group_incl(group, 1, &one, &other));
        /* Rank 1 never exposes its part, so the start of an epoch waits. */
        FAILS(MPIX_ERR_REVOKED, MPI_Win_start(other, 0, win));
        OK(MPI_Group_free(&other));
        OK(MPI_Group_free(&group));
    }
    FAILS(MPIX_ERR_REVOKED, MPI_Win_fence(0, win));
    FAILS(MPIX_ERR_REVOKED, MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Win win;
    int word = 0, *memory;
    start(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    before();
    /* These messages make the ranks known to each other. */
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % 4, 0, &word, 1, MPI_INT, (rank + 3) % 4, 0, comm, MPI_STATUS_IGNORE));
    if (rank < 3)
        for (int n = 0; n < 10; n++) {
            OK(MPI_Send(&rank, 1, MPI_INT, (rank + 1) % 3, 0, comm));
            OK(MPI_Recv(&word, 1, MPI_INT, (rank + 2) % 3, 0, comm, MPI_STATUS_IGNORE));
        }
    /* Rank 3 dies once no other rank is inside an earlier call. */
    if (rank == 3) {
        for (int n = 0; n < 3; n++)
            OK(MPI_Recv(&word, 1, MPI_INT, n, 1, comm, MPI_STATUS_IGNORE));
        raise(SIGKILL);
    }
    OK(MPI_Send(&rank, 1, MPI_INT, 3, 1, comm));
    wait_for_the_dead(comm);
    receive_from_any(comm);
    agree(comm);
    revoke_it(comm);
    shrink(comm);
    OK(MPI_Comm_free(&comm));
    give_up_window(win);
    /* The world communicator is unchanged. */
    if (rank == 0)
        OK(MPI_Send(&rank, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
    if (rank == 1)
        OK(MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MPI_Finalize();
    return result();
}
