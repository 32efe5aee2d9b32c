/* Messages of 8 bytes between two ranks, whose instructions at one end callgrind counts inside `measured`.
 *
 *   messages window|single|put|flush|fetch FILE MESSAGES [multiple|worker|lane]
 *
 * `window`: 64 non-blocking operations and MPI_Waitall; `single`: blocking ones. The others access a window of shared memory of
 * rank 1: `put` by MPI_Put, `flush` by MPI_Put and MPI_Win_flush, `fetch` by MPI_Fetch_and_op. Nothing is counted of waiting: the
 * ranks take turns by a word in FILE, so a message has come before its receiver asks for it, and there is room before one is sent.
 * The answer of each turn is outside of what is counted. With `multiple` the program asks for several threads and uses one; with `worker` a
 * second thread takes all turns; with `lane` the messages go on a duplicate of the world, which lies on another lane. */
#include <mpi.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WINDOW = 64, TAG = 7 };

static long messages[WINDOW];
static MPI_Request requests[WINDOW];
static int rank;
static MPI_Comm comm;
static MPI_Win win;
static long *memory;

static void send_window(void)
{
    for (int n = 0; n < WINDOW; n++)
        MPI_Isend(&messages[n], 1, MPI_LONG, 1, TAG, comm, &requests[n]);
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
}

static void receive_window(void)
{
    for (int n = 0; n < WINDOW; n++)
        MPI_Irecv(&messages[n], 1, MPI_LONG, 0, TAG, comm, &requests[n]);
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
}

static void send_each(void)
{
    for (int n = 0; n < WINDOW; n++)
        MPI_Send(&messages[n], 1, MPI_LONG, 1, TAG, comm);
}

static void receive_each(void)
{
    for (int n = 0; n < WINDOW; n++)
        MPI_Recv(&messages[n], 1, MPI_LONG, 0, TAG, comm, MPI_STATUS_IGNORE);
}

static void put_each(void)
{
    for (int n = 0; n < WINDOW; n++)
        MPI_Put(&messages[n], 1, MPI_LONG, 1, n, 1, MPI_LONG, win);
}

static void put_and_flush_each(void)
{
    for (int n = 0; n < WINDOW; n++) {
        MPI_Put(&messages[n], 1, MPI_LONG, 1, n, 1, MPI_LONG, win);
        MPI_Win_flush(1, win);
    }
}

static void fetch_and_replace_each(void)
{
    long old;
    for (int n = 0; n < WINDOW; n++)
        MPI_Fetch_and_op(&messages[n], &old, MPI_LONG, 1, n, MPI_REPLACE, win);
}

static void read_window(void)
{
    MPI_Win_sync(win);
    memcpy(messages, memory, sizeof messages);
}

/* The functions that each rank calls in its turns. */
static const struct workload {
    const char *name;
    void (*turns[2])(void);
} workloads[] = {
    {"window", {send_window, receive_window}},
    {"single", {send_each, receive_each}},
    {"put", {put_each, read_window}},
    {"flush", {put_and_flush_each, read_window}},
    {"fetch", {fetch_and_replace_each, read_window}},
};

static const struct workload *workload_of(const char *name)
{
    for (size_t n = 0; n < sizeof workloads / sizeof *workloads; n++)
        if (strcmp(name, workloads[n].name) == 0)
            return &workloads[n];
    return NULL;
}

static void (*turn_of_messages)(void);

static __attribute__((noinline)) void measured(void)
{
    turn_of_messages();
    __asm__ volatile("" ::: "memory"); /* A call, not a jump: what is counted ends with it. */
}

static _Atomic int *shared_word(const char *file)
{
    int descriptor = open(file, O_RDWR);
    void *word = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (descriptor < 0 || word == MAP_FAILED) {
        fprintf(stderr, "%s: it must be a file of at least %zu zero bytes\n", file, sizeof(int));
        exit(2);
    }
    return word;
}

static _Atomic int *turn;
static int turns;

static void *take_turns(void *unused)
{
    /* The first turns make the link and everything that is made once. */
    for (int n = -3; n < turns; n++) {
        while (atomic_load(turn) != 2 * (n + 3) + rank)
            usleep(10);
        for (int at = 0; at < WINDOW; at++)
            messages[at] = rank == 0 ? 1000L * n + at : -1;
        if (n < 0)
            turn_of_messages();
        else
            measured();
        for (int at = 0; at < WINDOW; at++)
            if (messages[at] != 1000L * n + at)
                MPI_Abort(MPI_COMM_WORLD, 1);
        atomic_fetch_add(turn, 1);
        if (rank == 0)
            MPI_Recv(&messages[0], 1, MPI_LONG, 1, TAG, comm, MPI_STATUS_IGNORE);
        else
            MPI_Send(&messages[0], 1, MPI_LONG, 0, TAG, comm);
    }
    return unused;
}

static void take_turns_in_a_worker(void)
{
    pthread_t worker;
    if (pthread_create(&worker, NULL, take_turns, NULL) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    pthread_join(worker, NULL);
}

int main(int argc, char **argv)
{
    const struct workload *workload = argc >= 4 ? workload_of(argv[1]) : NULL;
    const char *threads = argc == 5 ? argv[4] : "";
    int has_worker = strcmp(threads, "worker") == 0, has_lane = strcmp(threads, "lane") == 0;
    if (workload == NULL || argc > 5 || (argc == 5 && !has_worker && !has_lane && strcmp(threads, "multiple") != 0)) {
        fprintf(stderr, "messages window|single|put|flush|fetch FILE MESSAGES [multiple|worker|lane]\n");
        return 2;
    }
    turn = shared_word(argv[2]);
    turns = atoi(argv[3]) / WINDOW;
    int provided;
    MPI_Init_thread(&argc, &argv, argc == 5 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    comm = MPI_COMM_WORLD;
    if (has_lane)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    turn_of_messages = workload->turns[rank];
    int has_window = workload->turns[1] == read_window;
    if (has_window) {
        MPI_Win_allocate_shared(sizeof messages, sizeof *messages, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
        MPI_Win_lock_all(0, win);
    }
    if (has_worker)
        take_turns_in_a_worker();
    else
        take_turns(NULL);
    if (has_window) {
        MPI_Win_unlock_all(win);
        MPI_Win_free(&win);
    }
    if (has_lane)
        MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
