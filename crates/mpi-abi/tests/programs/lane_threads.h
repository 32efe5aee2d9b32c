/* Threads that each have a duplicate of the world. */
#include "lane.h"
#include <pthread.h>

enum { THREADS = 4 };

static MPI_Comm comms[THREADS];

/* Runs a function in each thread, with the thread's number. */
static void in_threads(void *(*run)(void *))
{
    pthread_t threads[THREADS];
    for (int n = 0; n < THREADS; n++)
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[n]));
    for (int n = 0; n < THREADS; n++)
        CHECK(pthread_create(&threads[n], NULL, run, (void *)(long)n) == 0);
    for (int n = 0; n < THREADS; n++)
        CHECK(pthread_join(threads[n], NULL) == 0);
    for (int n = 0; n < THREADS; n++)
        OK(MPI_Comm_free(&comms[n]));
}
