/* Many threads: four exchange, each on a communicator of its own, while a fifth does collectives on the world. */
#include "../check.h"

#include <pthread.h>

enum { PAIRS = 4, ROUNDS = 500 };

static int size, rank;
static MPI_Comm own[PAIRS];
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

/* Adds a thread's errors to the common count. */
static void add(int wrong)
{
    pthread_mutex_lock(&gate);
    failures += wrong;
    pthread_mutex_unlock(&gate);
}

static void *exchange(void *which)
{
    int n = (int)(intptr_t)which, other = rank ^ 1, wrong = 0;
    for (int round = 0; round < ROUNDS && other < size; round++) {
        int out = n * 1000000 + round * 10 + rank, in = -1;
        if (rank < other) {
            wrong += MPI_Send(&out, 1, MPI_INT, other, 0, own[n]) != MPI_SUCCESS;
            wrong += MPI_Recv(&in, 1, MPI_INT, other, 0, own[n], MPI_STATUS_IGNORE) != MPI_SUCCESS;
        } else {
            wrong += MPI_Recv(&in, 1, MPI_INT, other, 0, own[n], MPI_STATUS_IGNORE) != MPI_SUCCESS;
            wrong += MPI_Send(&out, 1, MPI_INT, other, 0, own[n]) != MPI_SUCCESS;
        }
        wrong += in != n * 1000000 + round * 10 + other;
    }
    add(wrong);
    return NULL;
}

static void *together(void *nothing)
{
    int wrong = 0;
    (void)nothing;
    for (int round = 0; round < ROUNDS; round++) {
        int mine = rank + round, sum = -1;
        wrong += MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS;
        wrong += sum != size * round + size * (size - 1) / 2;
    }
    add(wrong);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided = -1;
    pthread_t threads[PAIRS + 1];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int n = 0; n < PAIRS; n++)
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &own[n]));
    for (int n = 0; n < PAIRS; n++)
        CHECK(pthread_create(&threads[n], NULL, exchange, (void *)(intptr_t)n) == 0);
    CHECK(pthread_create(&threads[PAIRS], NULL, together, NULL) == 0);
    for (int n = 0; n <= PAIRS; n++)
        CHECK(pthread_join(threads[n], NULL) == 0);
    for (int n = 0; n < PAIRS; n++)
        OK(MPI_Comm_free(&own[n]));
    OK(MPI_Finalize());
    return result();
}
