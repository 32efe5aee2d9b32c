/* Calls of the library while unexpected messages of each pair have used up the credit of both ranks. */
#include "check.h"

/* The bytes of all messages of a pair exceed the credit that the test sets. */
enum { MESSAGES = 2000, BYTES = 1000, NUMBERS = 1 << 19 };

static int rank, ranks;
static char message[BYTES];

/* Starts the sends to all other ranks, which receive them later. */
static MPI_Request *flood(void)
{
    MPI_Request *sends = malloc(sizeof *sends * MESSAGES * ranks);
    int n = 0;
    for (int to = 0; to < ranks; to++) {
        for (int tag = 0; tag < MESSAGES; tag++) {
            int whom = to == rank ? MPI_PROC_NULL : to;
            OK(MPI_Isend(message, BYTES, MPI_CHAR, whom, tag, MPI_COMM_WORLD, &sends[n++]));
        }
    }
    /* Some of the messages come. */
    for (int n = 0; n < 1000; n++) {
        int any;
        OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &any, MPI_STATUS_IGNORE));
    }
    return sends;
}

static void receive(MPI_Request *sends)
{
    char received[BYTES];
    for (int from = 0; from < ranks; from++) {
        for (int tag = 0; tag < MESSAGES && from != rank; tag++) {
            OK(MPI_Recv(received, BYTES, MPI_CHAR, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
    }
    OK(MPI_Waitall(MESSAGES * ranks, sends, MPI_STATUSES_IGNORE));
    free(sends);
}

/* Reduces long vectors along the ranks. */
static void scans(MPI_Comm comm)
{
    long *given = malloc(sizeof *given * NUMBERS), *got = malloc(sizeof *got * NUMBERS);
    for (long i = 0; i < NUMBERS; i++) given[i] = rank + i;
    for (int round = 0; round < 4; round++) {
        int exclusive = round % 2, first = exclusive && rank == 0;
        MPI_Request request;
        if (round == 0) OK(MPI_Scan(given, got, NUMBERS, MPI_LONG, MPI_SUM, comm));
        if (round == 1) OK(MPI_Exscan(given, got, NUMBERS, MPI_LONG, MPI_SUM, comm));
        if (round == 2) OK(MPI_Iscan(given, got, NUMBERS, MPI_LONG, MPI_SUM, comm, &request));
        if (round == 3) OK(MPI_Iexscan(given, got, NUMBERS, MPI_LONG, MPI_SUM, comm, &request));
        if (round > 1) OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        long summed = exclusive ? rank : rank + 1, wrong = 0;
        for (long i = 0; i < NUMBERS; i++) wrong += got[i] != summed * i + summed * (summed - 1) / 2;
        CHECK(first || wrong == 0);
    }
    free(given);
    free(got);
}

/* Opens epochs of each pair of neighbours in both directions at once. */
static void epochs(MPI_Win window, const int *memory)
{
    MPI_Group all, neighbours;
    int both[] = {(rank + 1) % ranks, (rank + ranks - 1) % ranks};
    OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
    OK(MPI_Group_incl(all, both[0] == both[1] ? 1 : 2, both, &neighbours));
    for (int round = 1; round <= 3; round++) {
        int number = 100 * round + rank, done = 0;
        OK(MPI_Win_post(neighbours, 0, window));
        OK(MPI_Win_start(neighbours, 0, window));
        OK(MPI_Put(&number, 1, MPI_INT, both[0], 0, 1, MPI_INT, window));
        OK(MPI_Win_complete(window));
        if (round < 3) OK(MPI_Win_wait(window));
        while (round == 3 && !done) OK(MPI_Win_test(window, &done));
        CHECK(*memory == 100 * round + both[1]);
    }
    OK(MPI_Group_free(&all));
    OK(MPI_Group_free(&neighbours));
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Win window;
    int *memory;
    start(&argc, &argv);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window));
    MPI_Request *sends = flood();
    scans(comm);
    epochs(window, memory);
    receive(sends);
    OK(MPI_Win_free(&window));
    OK(MPI_Comm_free(&comm));
    MPI_Finalize();
    return result();
}
