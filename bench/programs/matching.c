/* Time of a message that finds its receive, or its message, among 10,000 others.
 *
 *   known       receives from rank 0 with different tags; messages come in reverse order
 *   any-source  the same, from any source
 *   any-tag     behind these receives stand, one after the other, those with any tag that the messages are for
 *   unexpected  messages wait, and are received in reverse order */
#include "measure.h"

enum { DEPTH = 10000, EXTRA = 1000, OTHER = DEPTH + 1, GO = DEPTH + 2, PASSES = 3 };

static MPI_Request requests[DEPTH];
static long inbox[DEPTH], one;

static void synchronise(void) { MPI_Sendrecv(NULL, 0, MPI_BYTE, !rank, GO, NULL, 0, MPI_BYTE, !rank, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }

static void wrong(const char *what, int at) {
    fprintf(stderr, "rank %d: %s %d got the wrong message\n", rank, what, at);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void send_backwards(void) {
    for (one = DEPTH - 1; one >= 0; one--) MPI_Send(&one, 1, MPI_LONG, 1, (int)one, MPI_COMM_WORLD);
}

static void post(int source) {
    for (int i = 0; i < DEPTH; i++) MPI_Irecv(&inbox[i], 1, MPI_LONG, source, i, MPI_COMM_WORLD, &requests[i]);
}

static void wait_for_all(const char *name) {
    MPI_Waitall(DEPTH, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < DEPTH; i++) if (inbox[i] != i) wrong(name, i);
}

/* Returns nanoseconds for one message, on both ranks, like the other functions below. */
static double posted(const char *name, int source) {
    if (rank == 1) post(source);
    synchronise();
    double begin = MPI_Wtime();
    if (rank == 0) send_backwards();
    else wait_for_all(name);
    synchronise();
    return (MPI_Wtime() - begin) / DEPTH * 1e9;
}

static double any_tag(void) {
    if (rank == 1) post(0);
    synchronise();
    double begin = MPI_Wtime();
    for (int i = 0; i < EXTRA; i++) {
        long number = rank == 0 ? i : -1;
        if (rank == 1) {
            MPI_Request request;
            MPI_Irecv(&number, 1, MPI_LONG, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
            MPI_Send(NULL, 0, MPI_BYTE, 0, GO, MPI_COMM_WORLD);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            if (number != i) wrong("any-tag", i);
        } else {
            MPI_Recv(NULL, 0, MPI_BYTE, 1, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&number, 1, MPI_LONG, 1, OTHER, MPI_COMM_WORLD);
        }
    }
    double took = (MPI_Wtime() - begin) / EXTRA * 1e9;
    if (rank == 0) send_backwards();
    else wait_for_all("any-tag");
    return took;
}

static double unexpected(void) {
    if (rank == 0) send_backwards();
    synchronise();
    double begin = MPI_Wtime();
    /* The messages arrived from the last to the first, so the first has waited the shortest. */
    for (int i = 0; rank == 1 && i < DEPTH; i++) {
        MPI_Recv(&inbox[i], 1, MPI_LONG, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (inbox[i] != i) wrong("unexpected", i);
    }
    synchronise();
    return (MPI_Wtime() - begin) / DEPTH * 1e9;
}

int main(int argc, char **argv) {
    start(argc, argv);
    double took[4][PASSES];
    int passes = quick ? 1 : PASSES;
    for (int i = 0; i < passes && rank < 2; i++) {
        took[0][i] = posted("known", 0);
        took[1][i] = posted("any-source", MPI_ANY_SOURCE);
        took[2][i] = any_tag();
        took[3][i] = unexpected();
    }
    static const char *names[] = {"known", "any-source", "any-tag", "unexpected"};
    for (int kind = 0; kind < 4; kind++) tell(names[kind], sizeof(long), median(took[kind], passes), "ns");
    MPI_Finalize();
    return 0;
}
