/* A tool gets an event for the death of a rank, if the job goes on. */
#include "../check.h"
#include <mpi-ext.h>
#include <signal.h>

#define GIVES(code, call) CHECK((call) == (code))

static int died = -1, how = -1;

static void dies(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *user)
{
    (void)registration, (void)safety, (void)user;
    GIVES(MPI_SUCCESS, MPI_T_event_read(instance, 0, &died));
    GIVES(MPI_SUCCESS, MPI_T_event_read(instance, 1, &how));
}

int main(int argc, char **argv)
{
    int provided, rank, index = -1, got;
    MPI_T_event_registration registration;
    start(&argc, &argv);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    if (rank == 1) {
        /* Rank 1 dies only once the other ranks listen. */
        OK(MPI_Recv(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Recv(&got, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        raise(SIGKILL);
    }
    GIVES(MPI_SUCCESS, MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    GIVES(MPI_SUCCESS, MPI_T_event_get_index("rank_died", &index));
    GIVES(MPI_SUCCESS, MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &registration));
    GIVES(MPI_SUCCESS, MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, dies));
    OK(MPI_Send(&rank, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
    FAILS(MPIX_ERR_PROC_FAILED, MPI_Recv(&got, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(died == 1 && how == 0);
    MPI_Finalize();
    return result();
}
