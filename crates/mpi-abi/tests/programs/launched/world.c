/* A job whose ranks any launcher has started: numbers, hosts, messages of all lengths between all ranks,
 * collectives, communicators. Arguments: the expected number of ranks, the expected number of hosts, and
 * optionally the way in which the job ends. */
#include "../check.h"

static int rank, ranks;

/* Checks that each host is one communicator, whose ranks have one processor name. */
static void hosts(int expected)
{
    MPI_Comm host;
    char name[MPI_MAX_PROCESSOR_NAME] = "", first[MPI_MAX_PROCESSOR_NAME];
    int length, local, leads, all;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host));
    OK(MPI_Comm_rank(host, &local));
    OK(MPI_Get_processor_name(name, &length));
    memcpy(first, name, sizeof name);
    OK(MPI_Bcast(first, sizeof first, MPI_CHAR, 0, host));
    CHECK(strcmp(first, name) == 0);
    leads = local == 0;
    OK(MPI_Allreduce(&leads, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(all == expected);
    /* The ranks of a host see its memory. */
    MPI_Win window;
    int *own, *theirs, size, unit;
    MPI_Aint bytes;
    OK(MPI_Comm_size(host, &size));
    OK(MPI_Win_allocate_shared(sizeof *own, sizeof *own, MPI_INFO_NULL, host, &own, &window));
    OK(MPI_Win_fence(0, window));
    *own = 100 + rank;
    OK(MPI_Win_fence(0, window));
    OK(MPI_Win_shared_query(window, (local + 1) % size, &bytes, &unit, &theirs));
    int next = *theirs - 100, numbers[2] = {rank, next}, both[2] = {-1, -1};
    OK(MPI_Sendrecv(numbers, 1, MPI_INT, next, 9, both, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    OK(MPI_Sendrecv(&local, 1, MPI_INT, (local + 1) % size, 8, &both[1], 1, MPI_INT, (local + size - 1) % size, 8, host,
                    MPI_STATUS_IGNORE));
    CHECK(both[1] == (local + size - 1) % size);
    OK(MPI_Win_fence(0, window));
    OK(MPI_Win_free(&window));
    OK(MPI_Comm_free(&host));
}

/* Sends between all pairs of ranks, also to itself: short, eager and announced messages. */
static void messages(void)
{
    for (int ints = 1; ints < 1 << 19; ints *= 40)
        for (int step = 0; step < ranks; step++) {
            int to = (rank + step) % ranks, from = (rank + ranks - step) % ranks;
            int *out = malloc(ints * sizeof *out), *in = calloc(ints, sizeof *in);
            for (int i = 0; i < ints; i++)
                out[i] = 1000 * rank + to + i;
            OK(MPI_Sendrecv(out, ints, MPI_INT, to, ints, in, ints, MPI_INT, from, ints, MPI_COMM_WORLD,
                            MPI_STATUS_IGNORE));
            for (int i = 0; i < ints; i++)
                if (in[i] != 1000 * from + rank + i) {
                    CHECK(!"the message is that of its sender");
                    break;
                }
            free(out);
            free(in);
        }
}

static void collectives(MPI_Comm comm)
{
    int me, n, sum, before = -1;
    OK(MPI_Comm_rank(comm, &me));
    OK(MPI_Comm_size(comm, &n));
    OK(MPI_Barrier(comm));
    OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == n * (n - 1) / 2);
    OK(MPI_Exscan(&me, &before, 1, MPI_INT, MPI_SUM, comm));
    CHECK(me == 0 || before == me * (me - 1) / 2);
    for (int root = 0; root < n; root++) {
        static double numbers[20000];
        for (int i = 0; i < 20000; i++)
            numbers[i] = me == root ? root + i : -1;
        OK(MPI_Bcast(numbers, 20000, MPI_DOUBLE, root, comm));
        CHECK(numbers[0] == root && numbers[19999] == root + 19999);
    }
    int *out = malloc(n * sizeof *out), *in = malloc(n * sizeof *in);
    for (int i = 0; i < n; i++)
        out[i] = 100 * me + i;
    OK(MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm));
    for (int i = 0; i < n; i++)
        CHECK(in[i] == 100 * i + me);
    OK(MPI_Allgather(&me, 1, MPI_INT, in, 1, MPI_INT, comm));
    for (int i = 0; i < n; i++)
        CHECK(in[i] == i);
    free(out);
    free(in);
}

/* Rank 1 aborts, or all ranks wait for messages that never come. */
static void end(const char *how)
{
    int got;
    if (strcmp(how, "abort") == 0 && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 7);
    MPI_Recv(&got, 1, MPI_INT, (rank + 1) % ranks, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    CHECK(argc >= 3 && ranks == atoi(argv[1]) && rank < ranks);
    hosts(atoi(argv[2]));
    messages();
    collectives(MPI_COMM_WORLD);
    MPI_Comm part;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part));
    collectives(part);
    OK(MPI_Comm_free(&part));
    if (argc > 3)
        end(argv[3]);
    OK(MPI_Finalize());
    return result();
}
