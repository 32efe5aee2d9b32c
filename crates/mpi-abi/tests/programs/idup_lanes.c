/* Non-blocking duplicates on lanes: their lanes, waits in any order and by several threads, and waits of some
 * ranks for other ranks' next steps. With an argument, rank 0 asks for no threads. */
#include "lane_threads.h"

enum { MOST = 60, ROUNDS = 8 };

static int rank, ranks, lanes, has_threads;

static int lane_of(MPI_Comm comm)
{
    int lane = told_lane(comm);
    return lane >= 0 ? lane : 0;
}

/* Checks that the members communicate, in order, and get no messages of other communicators. */
static void use(MPI_Comm comm, int seed)
{
    int sum = 0, out = seed * 100 + rank, in = -1, own = rank + seed;
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    OK(MPI_Sendrecv(&out, 1, MPI_INT, next, 3, &in, 1, MPI_INT, before, 3, comm, MPI_STATUS_IGNORE));
    CHECK(in == seed * 100 + before);
    OK(MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == ranks * seed + ranks * (ranks - 1) / 2);
}

static MPI_Comm idup_with(MPI_Comm comm, const char *key, const char *value)
{
    MPI_Comm made;
    MPI_Info info;
    MPI_Request request;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, key, value));
    OK(MPI_Comm_idup_with_info(comm, info, &made, &request));
    OK(MPI_Info_free(&info));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    use(made, 1);
    return made;
}

/* Duplicates lie on the lanes in turn, for both kinds of calls. One may name its lane, or let its tags
   spread. */
static void places(void)
{
    int used = has_threads ? lanes : 1;
    MPI_Comm made[4], comm, parent;
    MPI_Request request;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &parent));
    for (int n = 0; n < 4; n++) {
        if (n % 2 == 0) {
            OK(MPI_Comm_idup(parent, &made[n], &request));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else
            OK(MPI_Comm_dup(parent, &made[n]));
        use(made[n], n);
    }
    /* A rank without threads uses one lane only. Each duplicate takes its turn, also before the members know
       of that rank. */
    for (int n = 1; n < 4; n++)
        CHECK(lane_of(made[n]) == (lane_of(made[0]) + n) % used);
    for (int n = 0; n < 4; n++)
        OK(MPI_Comm_free(&made[n]));
    for (int wanted = 0; wanted < 6; wanted++) {
        char text[8];
        snprintf(text, sizeof text, "%d", wanted);
        comm = idup_with(parent, "canele_lane", text);
        CHECK(lane_of(comm) == wanted % used);
        OK(MPI_Comm_idup(comm, &made[0], &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        use(made[0], 5);
        CHECK(lane_of(made[0]) == (wanted + 1) % used);
        OK(MPI_Comm_free(&made[0]));
        OK(MPI_Comm_free(&comm));
    }
    char told[64];
    comm = idup_with(parent, "mpi_assert_no_any_tag", "true");
    if (used > 1)
        CHECK(told_hint(comm, "canele_lies_on_lane", told, sizeof told) && strchr(told, ',') != NULL);
    for (int tag = 0; tag < 20; tag++) {
        int got = -1, next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
        OK(MPI_Sendrecv(&tag, 1, MPI_INT, next, tag, &got, 1, MPI_INT, before, tag, comm, MPI_STATUS_IGNORE));
        CHECK(got == tag);
    }
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_free(&parent));
}

/* Makes many duplicates at once, between other collectives; each rank waits for them in another order. */
static void many(MPI_Comm parent, int seed, int count)
{
    MPI_Comm made[MOST], between;
    MPI_Request requests[MOST + 1];
    int mine = rank, sum = -1;
    for (int n = 0; n < count; n++) {
        OK(MPI_Comm_idup(parent, &made[n], &requests[n]));
        if (n == 3)
            OK(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, parent, &requests[count]));
        if (n == 5) {
            OK(MPI_Comm_dup(parent, &between));
            use(between, seed);
            OK(MPI_Comm_free(&between));
        }
    }
    if (rank % 3 == 0)
        OK(MPI_Waitall(count + 1, requests, MPI_STATUSES_IGNORE));
    else if (rank % 3 == 1)
        for (int n = count; n >= 0; n--)
            OK(MPI_Wait(&requests[n], MPI_STATUS_IGNORE));
    else
        for (int flag = 0; !flag;)
            OK(MPI_Testall(count + 1, requests, &flag, MPI_STATUSES_IGNORE));
    CHECK(sum == ranks * (ranks - 1) / 2);
    for (int n = 0; n < count; n++)
        use(made[n], seed + n);
    for (int n = 0; n < count; n++)
        OK(MPI_Comm_free(&made[n]));
}


static void *run_thread(void *seed_of)
{
    int seed = (int)(long)seed_of;
    for (int round = 0; round < ROUNDS; round++)
        many(comms[seed], seed * 50, 12);
    return NULL;
}

/* Rank 0 waits for its duplicate, and then sends messages on another lane. The other ranks wait for these
   first, also by polling, and for their duplicates afterwards. */
static void goes_on(int by_looks)
{
    MPI_Comm other = has_threads ? dup_on("1") : MPI_COMM_WORLD, parent = has_threads ? dup_on("0") : MPI_COMM_WORLD, made;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request request;
        OK(MPI_Comm_idup(parent, &made, &request));
        if (rank == 0) {
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            for (int n = 1; n < ranks; n++)
                OK(MPI_Send(&round, 1, MPI_INT, n, 7, other));
        } else {
            int got = -1, flag = 0;
            while (by_looks && !flag)
                OK(MPI_Iprobe(0, 7, other, &flag, MPI_STATUS_IGNORE));
            OK(MPI_Recv(&got, 1, MPI_INT, 0, 7, other, MPI_STATUS_IGNORE));
            CHECK(got == round);
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        use(made, round);
        OK(MPI_Comm_free(&made));
    }
    if (has_threads) {
        OK(MPI_Comm_free(&other));
        OK(MPI_Comm_free(&parent));
    }
}

int main(int argc, char **argv)
{
    int provided;
    const char *number = getenv("CANELE_RANK"), *allowed = getenv("CANELE_LANES");
    has_threads = argc < 2;
    if (!has_threads && number != NULL && atoi(number) == 0)
        OK(MPI_Init(&argc, &argv));
    else
        OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    /* A rank without a launcher has one lane. */
    lanes = number != NULL && allowed != NULL ? atoi(allowed) : 1;
    if (allowed != NULL)
        places();
    many(MPI_COMM_WORLD, 7, MOST);
    if (has_threads)
        in_threads(run_thread);
    goes_on(0);
    goes_on(1);
    OK(MPI_Finalize());
    return result();
}
