/* Threads of two ranks that exchange messages at the same time, each with a thread of the other: message rate
 * in windows of 64, and time one way. Each pair of threads has a communicator. The rate is also measured with
 * one communicator for all: with different tags, and with one tag for each pair, where the program asserts
 * that no receive uses MPI_ANY_TAG. A figure's number counts the threads of a rank. */
#include "measure.h"
#include <pthread.h>

enum { WINDOW = 64, MOST_THREADS = 8, BYTES = 8, REPLY = MOST_THREADS * WINDOW };

/* Runs one thread's exchange `count` times on a communicator, with tags from `tag` on. */
typedef void (*exchange)(MPI_Comm comm, int tag, long count);

struct task {
    exchange does;
    MPI_Comm comm;
    int tag;
    long count;
};

/* The exchange of all threads, and their number. */
struct work {
    exchange does;
    int threads;
    /* The communicator of each pair, or one for all. */
    const MPI_Comm *own, *shared;
};

static MPI_Comm comms[MOST_THREADS], without_any_tag;

static void windows_of_tags(MPI_Comm comm, int tag, int step, long count) {
    char memory[WINDOW][BYTES] = {{0}};
    MPI_Request requests[WINDOW];
    for (long i = 0; i < count; i++) {
        for (int j = 0; j < WINDOW; j++) {
            if (rank == 0) MPI_Isend(memory[j], BYTES, MPI_BYTE, 1, tag + step * j, comm, &requests[j]);
            else MPI_Irecv(memory[j], BYTES, MPI_BYTE, 0, tag + step * j, comm, &requests[j]);
        }
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        if (rank == 0) MPI_Recv(NULL, 0, MPI_BYTE, 1, REPLY + tag, comm, MPI_STATUS_IGNORE);
        else MPI_Send(NULL, 0, MPI_BYTE, 0, REPLY + tag, comm);
    }
}

static void windows(MPI_Comm comm, int tag, long count) {
    windows_of_tags(comm, tag, 1, count);
}

static void windows_of_one_tag(MPI_Comm comm, int tag, long count) {
    windows_of_tags(comm, tag / WINDOW, 0, count);
}

static void there_and_back(MPI_Comm comm, int tag, long count) {
    char memory[BYTES] = {0};
    for (long i = 0; i < count; i++) {
        if (rank == 0) MPI_Send(memory, BYTES, MPI_BYTE, 1, tag, comm);
        MPI_Recv(memory, BYTES, MPI_BYTE, 1 - rank, tag, comm, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(memory, BYTES, MPI_BYTE, 0, tag, comm);
    }
}

static void *carry_out(void *of) {
    const struct task *task = of;
    task->does(task->comm, task->tag, task->count);
    return NULL;
}

static void together(const void *what, long count) {
    const struct work *work = what;
    pthread_t threads[MOST_THREADS];
    struct task tasks[MOST_THREADS];
    if (rank > 1) return;
    for (int t = 0; t < work->threads; t++) {
        tasks[t] = (struct task){work->does, work->own ? work->own[t] : *work->shared, t * WINDOW, count};
        if (t > 0 && pthread_create(&threads[t], NULL, carry_out, &tasks[t])) {
            fprintf(stderr, "rank %d: no thread is left\n", rank);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    carry_out(&tasks[0]);
    for (int t = 1; t < work->threads; t++) pthread_join(threads[t], NULL);
}

int main(int argc, char **argv) {
    start_with_threads(argc, argv);
    for (int t = 0; t < MOST_THREADS; t++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &without_any_tag);
    MPI_Info_free(&info);
    for (int threads = 1; threads <= (quick ? 2 : MOST_THREADS); threads *= 2) {
        struct work own = {windows, threads, comms, NULL}, way = {there_and_back, threads, comms, NULL};
        struct work one = {windows, threads, NULL, comms}, tags = {windows_of_one_tag, threads, NULL, &without_any_tag};
        double messages = 1e3 * WINDOW * threads;
        tell("own-communicators", threads, messages / measure(together, &own), "M/s");
        tell("own-communicators-one-way", threads, measure(together, &way) / 2, "ns");
        tell("one-communicator", threads, messages / measure(together, &one), "M/s");
        tell("one-communicator-no-any-tag", threads, messages / measure(together, &tags), "M/s");
    }
    MPI_Comm_free(&without_any_tag);
    for (int t = 0; t < MOST_THREADS; t++) MPI_Comm_free(&comms[t]);
    MPI_Finalize();
    return 0;
}
