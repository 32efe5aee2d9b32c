/* The tools interface while several threads call MPI: callbacks must be registered as thread-safe. */
#include "check.h"
#include <pthread.h>

#define GIVES(code, call) CHECK((call) == (code))

enum { ROUNDS = 500 };

static long told_unsafe, told_safe, missed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void unsafe(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *user)
{
    (void)instance, (void)registration, (void)safety, (void)user;
    told_unsafe++;
}

static void safe(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *user)
{
    int source = -1;
    (void)registration, (void)user;
    CHECK(safety == MPI_T_CB_REQUIRE_THREAD_SAFE);
    GIVES(MPI_SUCCESS, MPI_T_event_read(instance, 0, &source));
    pthread_mutex_lock(&lock);
    told_safe++;
    pthread_mutex_unlock(&lock);
}

static void dropped(MPI_Count count, MPI_T_event_registration registration, int source, MPI_T_cb_safety safety, void *user)
{
    (void)registration, (void)source, (void)safety, (void)user;
    missed += count;
}

/* Each thread sends itself messages on a communicator of its own, and receives them in the opposite order. */
static void *exchanges(void *argument)
{
    MPI_Comm comm = *(MPI_Comm *)argument;
    for (int n = 0, first, second; n < ROUNDS; n++) {
        OK(MPI_Send(&n, 1, MPI_INT, 0, 1, comm));
        OK(MPI_Send(&n, 1, MPI_INT, 0, 2, comm));
        OK(MPI_Recv(&second, 1, MPI_INT, 0, 2, comm, MPI_STATUS_IGNORE));
        OK(MPI_Recv(&first, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE));
        CHECK(first == n && second == n);
        OK(MPI_Barrier(comm));
    }
    return NULL;
}

/* Registers and frees while events are delivered to others. */
static void *comes_and_goes(void *argument)
{
    int index = *(int *)argument;
    for (int n = 0; n < ROUNDS; n++) {
        MPI_T_event_registration registration;
        GIVES(MPI_SUCCESS, MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &registration));
        GIVES(MPI_SUCCESS, MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, NULL, safe));
        GIVES(MPI_SUCCESS, MPI_T_event_handle_free(registration, NULL, NULL));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, index;
    pthread_t threads[3];
    MPI_Comm comms[2];
    MPI_T_event_registration careless, careful;
    OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    GIVES(MPI_SUCCESS, MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    GIVES(MPI_SUCCESS, MPI_T_event_get_index("unexpected_arrived", &index));
    GIVES(MPI_SUCCESS, MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &careless));
    GIVES(MPI_SUCCESS, MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &careful));
    GIVES(MPI_SUCCESS, MPI_T_event_register_callback(careless, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, unsafe));
    GIVES(MPI_SUCCESS, MPI_T_event_register_callback(careful, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, NULL, safe));
    GIVES(MPI_SUCCESS, MPI_T_event_set_dropped_handler(careless, dropped));
    for (int n = 0; n < 2; n++) {
        OK(MPI_Comm_dup(MPI_COMM_SELF, &comms[n]));
        CHECK(pthread_create(&threads[n], NULL, exchanges, &comms[n]) == 0);
    }
    CHECK(pthread_create(&threads[2], NULL, comes_and_goes, &index) == 0);
    for (int n = 0; n < 3; n++)
        CHECK(pthread_join(threads[n], NULL) == 0);
    OK(MPI_Comm_free(&comms[0]));
    OK(MPI_Comm_free(&comms[1]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(told_unsafe == 0 && missed > 0 && told_safe >= 4 * ROUNDS);
    OK(MPI_Finalize());
    GIVES(MPI_SUCCESS, MPI_T_finalize());
    return result();
}
