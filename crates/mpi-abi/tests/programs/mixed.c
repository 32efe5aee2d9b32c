/* Messages and an operation of the program in one list, which another thread ends while this one waits. */
#include "check.h"
#include <pthread.h>
#include <unistd.h>

static int rank, size, left, right;

static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_INT, 5);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = 11;
    status->MPI_TAG = 12;
    return MPI_SUCCESS;
}

static int release(void *state)
{
    ++*(int *)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

static void *complete_later(void *request)
{
    usleep(20000);
    OK(MPI_Grequest_complete(*(MPI_Request *)request));
    return NULL;
}

/* Waits in every way for a list of messages and an operation of the program that another thread ends. */
static void with_an_operation(void)
{
    for (int way = 0; way < 4; way++) {
        int in = -1, out = 10 * rank + way, freed = 0, index = -1, n = 0, indices[4], seen = 0;
        MPI_Request requests[4], copy;
        MPI_Status statuses[4];
        pthread_t thread;
        OK(MPI_Grequest_start(query, release, cancel, &freed, &requests[0]));
        requests[1] = MPI_REQUEST_NULL;
        OK(MPI_Irecv(&in, 1, MPI_INT, left, way, MPI_COMM_WORLD, &requests[2]));
        OK(MPI_Isend(&out, 1, MPI_INT, right, way, MPI_COMM_WORLD, &requests[3]));
        copy = requests[0];
        pthread_create(&thread, NULL, complete_later, &copy);
        switch (way) {
        case 0:
            OK(MPI_Waitall(4, requests, statuses));
            CHECK(statuses[0].MPI_SOURCE == 11 && statuses[2].MPI_SOURCE == left && statuses[2].MPI_TAG == way);
            break;
        case 1:
            for (int i = 0; i < 3; i++) {
                OK(MPI_Waitany(4, requests, &index, &statuses[0]));
                seen |= 1 << index;
            }
            CHECK(seen == 13);
            OK(MPI_Waitany(4, requests, &index, &statuses[0]));
            CHECK(index == MPI_UNDEFINED);
            break;
        case 2:
            for (int ended = 0; ended < 3; ended += n) {
                OK(MPI_Waitsome(4, requests, &n, indices, statuses));
                CHECK(n > 0);
                for (int i = 0; i < n; i++)
                    seen |= 1 << indices[i];
            }
            CHECK(seen == 13);
            OK(MPI_Waitsome(4, requests, &n, indices, statuses));
            CHECK(n == MPI_UNDEFINED);
            break;
        case 3:
            for (int flag = 0; !flag;)
                OK(MPI_Testall(4, requests, &flag, statuses));
            CHECK(statuses[0].MPI_TAG == 12 && statuses[2].MPI_SOURCE == left);
            break;
        }
        pthread_join(thread, NULL);
        CHECK(freed == 1 && in == 10 * left + way);
        for (int i = 0; i < 4; i++)
            CHECK(requests[i] == MPI_REQUEST_NULL);
    }
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size, right = (rank + 1) % size;
    with_an_operation();
    MPI_Finalize();
    return result();
}
