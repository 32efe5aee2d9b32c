/* Time stamps along the way of messages of 8 bytes from rank 0 to rank 1, like the native form of this
 * measurement: call and return of the send, the probe that finds the message, and the return of the receive.
 * Prints medians in nanoseconds as JSON. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    long x = *(const long *)a, y = *(const long *)b;
    return (x > y) - (x < y);
}

static long median(long *values, int count) {
    qsort(values, count, sizeof *values, ascending);
    return values[count / 2];
}

static void receive(long number) {
    long there[2], word = -1;
    int found = 0;
    while (!found) MPI_Iprobe(0, 1, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    there[0] = now();
    MPI_Recv(&word, 1, MPI_LONG, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    there[1] = now();
    if (word != number) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Send(there, 2, MPI_LONG, 0, 1, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, messages = argc > 1 ? atoi(argv[1]) : 1000;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    long *send = malloc(3 * messages * sizeof *send), *way = send + messages, *got = way + messages;
    for (long number = 0; send && number < messages; number++) {
        if (rank > 0) {
            receive(number);
            continue;
        }
        for (long start = now(); now() - start < 2000;) { }
        long there[2], before = now();
        MPI_Send(&number, 1, MPI_LONG, 1, 1, MPI_COMM_WORLD);
        long sent = now();
        MPI_Recv(there, 2, MPI_LONG, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        send[number] = sent - before;
        way[number] = there[0] - sent;
        got[number] = there[1] - there[0];
    }
    if (rank == 0 && send)
        printf("{\"send\": %ld, \"way\": %ld, \"receive\": %ld}\n", median(send, messages), median(way, messages), median(got, messages));
    free(send);
    MPI_Finalize();
    return 0;
}
