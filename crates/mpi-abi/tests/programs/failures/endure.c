/* Ranks die at random moments, asynchronously, until one is left. The others compute, check their results,
 * and go on with the survivors. A program with threads does so in several, each with a communicator of its
 * own. Arguments: a seed, and the milliseconds within which ranks die; or 0, 0 and the number of survivors of
 * ranks that the test kills. */
#include "deaths.h"
#include <pthread.h>

enum { LONG = 12000, MORE = 20, THREADS = 3 };

static int ranks, last = 1;

/* Sends messages around a ring, short and long. */
static int ring(MPI_Comm comm, int round, int rank, int size)
{
    static _Thread_local int out[LONG], in[LONG];
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int length = 1; length <= LONG; length *= 109) {
        for (int n = 0; n < length; n++)
            out[n] = round * 1000 + rank + n;
        memset(in, 0, sizeof in);
        STEP(MPI_Sendrecv(out, length, MPI_INT, next, 1, in, length, MPI_INT, before, 1, comm, MPI_STATUS_IGNORE));
        for (int n = 0; n < length; n++)
            if (in[n] != round * 1000 + before + n) {
                CHECK(!"the ring brings what was sent");
                return 0;
            }
    }
    return 1;
}

/* Sends from all ranks to one, which receives from any source. */
static int gather_from_any(MPI_Comm comm, int round, int rank, int size)
{
    int root = round % size, mine = round + rank, sum = 0;
    if (rank != root) {
        STEP(MPI_Send(&mine, 1, MPI_INT, root, 2, comm));
        return 1;
    }
    for (int n = 1; n < size; n++) {
        int got;
        STEP(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 2, comm, MPI_STATUS_IGNORE));
        sum += got - round;
    }
    CHECK(sum == size * (size - 1) / 2 - root);
    return 1;
}

/* Makes a duplicate meanwhile, and uses it. */
static int duplicate(MPI_Comm comm, int round, int rank, int size)
{
    MPI_Comm made;
    MPI_Request request;
    int mine = round + rank, sum = 0;
    STEP(MPI_Comm_idup(comm, &made, &request));
    STEP(MPI_Wait(&request, MPI_STATUS_IGNORE));
    int fine = went_well(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, made), "MPI_Allreduce on a duplicate");
    CHECK(!fine || sum == size * round + size * (size - 1) / 2);
    OK(MPI_Comm_free(&made));
    return fine;
}

static int compute(MPI_Comm comm, int round)
{
    int rank, size, mine[2], sum[2] = {0, 0}, all[64];
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    mine[0] = rank + 1;
    mine[1] = round;
    STEP(MPI_Allreduce(mine, sum, 2, MPI_INT, MPI_SUM, comm));
    CHECK(sum[0] == size * (size + 1) / 2 && sum[1] == size * round);
    STEP(ring(comm, round, rank, size) ? MPI_SUCCESS : MPIX_ERR_REVOKED);
    for (int n = 0; n < 64; n++)
        all[n] = rank == round % size ? round + n : -1;
    STEP(MPI_Bcast(all, 64, MPI_INT, round % size, comm));
    CHECK(all[0] == round && all[63] == round + 63);
    MPI_Request request;
    int total = 0;
    STEP(MPI_Iallreduce(mine, &total, 1, MPI_INT, MPI_SUM, comm, &request));
    STEP(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(total == sum[0]);
    if (round % 4 == 1 && !duplicate(comm, round, rank, size))
        return 0;
    return gather_from_any(comm, round, rank, size);
}

static void *endure(void *of)
{
    int size, round = 0, after = 0, shrunk = 0;
    MPI_Comm comm = *(MPI_Comm *)of;
    do {
        int fine = compute(comm, round);
        /* The other ranks may wait for this one. */
        if (!fine)
            OK(MPIX_Comm_revoke(comm));
        int all_fine = fine, code = MPIX_Comm_agree(comm, &all_fine);
        if (went_well(code, "MPIX_Comm_agree") && all_fine) {
            round++;
        } else {
            MPI_Comm left;
            int before;
            MPI_Comm_size(comm, &before);
            OK(MPIX_Comm_shrink(comm, &left));
            MPI_Comm_size(left, &size);
            CHECK(size >= 1 && size <= before);
            if (comm != MPI_COMM_WORLD)
                OK(MPI_Comm_free(&comm));
            comm = left;
            shrunk++;
        }
        MPI_Comm_size(comm, &size);
        after = size == last ? after + 1 : 0;
    } while (after < MORE);
    CHECK(shrunk >= 1 || ranks == last);
    printf("%d rounds, %d times fewer\n", round, shrunk);
    return NULL;
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    last = argc > 3 ? atoi(argv[3]) : last;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int level, others;
    MPI_Query_thread(&level);
    others = level == MPI_THREAD_MULTIPLE ? THREADS - 1 : 0;
    MPI_Comm world = MPI_COMM_WORLD, comms[THREADS];
    pthread_t threads[THREADS];
    for (int n = 0; n < others; n++)
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[n]));
    /* No rank dies while another one still duplicates: all have reached this line when the first agreement
       ends. */
    int flag = 1;
    went_well(MPIX_Comm_agree(MPI_COMM_WORLD, &flag), "MPIX_Comm_agree");
    if (argc == 3)
        choose_death(strtoul(argv[1], NULL, 10), (unsigned)atoi(argv[2]));
    for (int n = 0; n < others; n++)
        CHECK(pthread_create(&threads[n], NULL, endure, &comms[n]) == 0);
    endure(&world);
    for (int n = 0; n < others; n++)
        CHECK(pthread_join(threads[n], NULL) == 0);
    MPI_Finalize();
    return result();
}
