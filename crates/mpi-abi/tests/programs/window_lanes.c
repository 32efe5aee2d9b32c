/* Windows on lanes: the lane of each, threads that each use a window of their own, and accesses to windows on
 * lanes on which no thread of their owners makes progress. */
#include "lane_threads.h"

enum { ROUNDS = 6, SLOTS = 3, SUMS = 900, KINDS = 4, IDLE = 5 };

static int rank, ranks, lanes, is_on_one_host;

/* Returns the lane of a window; -1 if that is not reported, because a rank has only one. */
static int lane_of(MPI_Win window)
{
    char text[64];
    int flag, length = sizeof text;
    MPI_Info info;
    OK(MPI_Win_get_info(window, &info));
    OK(MPI_Info_get_string(info, "canele_lies_on_lane", &length, text, &flag));
    OK(MPI_Info_free(&info));
    return flag ? atoi(text) : -1;
}

/* Makes a window of one word on the lane that the text names, or on the next one. */
static MPI_Win window_on(const char *lane, long **word)
{
    MPI_Win window;
    MPI_Info info = MPI_INFO_NULL;
    if (lane != NULL) {
        OK(MPI_Info_create(&info));
        OK(MPI_Info_set(info, "canele_lane", lane));
        /* This hint has no meaning for windows. */
        OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
    }
    OK(MPI_Win_allocate(sizeof(long), sizeof(long), info, MPI_COMM_WORLD, word, &window));
    if (lane != NULL)
        OK(MPI_Info_free(&info));
    **word = 0;
    return window;
}

static void named_lanes(void)
{
    long *word;
    MPI_Comm last = dup_on("15");
    lanes = told_lane(last) < 0 ? 1 : lanes;
    OK(MPI_Comm_free(&last));
    for (int wanted = 0; wanted < 6; wanted++) {
        char text[8];
        snprintf(text, sizeof text, "%d", wanted);
        MPI_Win window = window_on(text, &word);
        CHECK(lane_of(window) == (lanes > 1 ? wanted % lanes : -1));
        OK(MPI_Win_free(&window));
    }
    /* If members name different lanes, the window gets the first; windows without a name lie on the lanes in
       turn. */
    MPI_Win window = window_on(rank == 0 ? "0" : "1", &word);
    CHECK(ranks == 1 || lane_of(window) <= 0);
    OK(MPI_Win_free(&window));
    MPI_Win two[2] = {window_on(NULL, &word), window_on(" ", &word)};
    CHECK(lanes == 1 || (lane_of(two[0]) + 1) % lanes == lane_of(two[1]));
    for (int n = 0; n < 2; n++)
        OK(MPI_Win_free(&two[n]));
}

static long value_of(int seed, int round, int from, int to, int slot)
{
    return ((seed * 100L + round) * 100 + from) * 10000 + to * 10 + slot;
}

/* A window of a thread, in which each member has a part: slots of each origin, a counter, and sums of all. */
struct window {
    MPI_Win window;
    MPI_Comm comm;
    long *part;
    /* Displacements of the parts. */
    MPI_Aint at[16];
    int kind, seed;
};

static int longs(void)
{
    return ranks * SLOTS + 1 + SUMS;
}

static struct window make(MPI_Comm comm, int kind, int seed)
{
    struct window it = {.comm = comm, .kind = kind, .seed = seed};
    MPI_Aint bytes = longs() * sizeof(long);
    if (kind == 0 || kind == 2)
        it.part = malloc(bytes);
    if (kind == 0)
        OK(MPI_Win_create(it.part, bytes, sizeof(long), MPI_INFO_NULL, comm, &it.window));
    else if (kind == 1)
        OK(MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, comm, &it.part, &it.window));
    else if (kind == 2)
        OK(MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &it.window));
    else
        OK(MPI_Win_allocate_shared(bytes, sizeof(long), MPI_INFO_NULL, comm, &it.part, &it.window));
    memset(it.part, 0, bytes);
    if (kind == 2) {
        MPI_Aint at;
        OK(MPI_Win_attach(it.window, it.part, bytes));
        OK(MPI_Get_address(it.part, &at));
        OK(MPI_Allgather(&at, 1, MPI_AINT, it.at, 1, MPI_AINT, comm));
    }
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, it.window));
    return it;
}

static void end(struct window *it)
{
    if (it->kind == 2)
        OK(MPI_Win_detach(it->window, it->part));
    OK(MPI_Win_free(&it->window));
    if (it->kind == 0 || it->kind == 2)
        free(it->part);
}

/* Returns the place of an element in a member's part. */
static MPI_Aint place(const struct window *it, int target, int element)
{
    return it->kind == 2 ? it->at[target] + element * (MPI_Aint)sizeof(long) : element;
}

/* Changes the part of one member in a round; the origin's memory lasts until the epoch ends. */
static void change(const struct window *it, int round, int target, long *out, const long *ones, long *before)
{
    static const long one = 1;
    int counter = ranks * SLOTS;
    for (int slot = 0; slot < SLOTS; slot++)
        out[slot] = value_of(it->seed, round, rank, target, slot);
    OK(MPI_Put(out, SLOTS, MPI_LONG, target, place(it, target, rank * SLOTS), SLOTS, MPI_LONG, it->window));
    OK(MPI_Fetch_and_op(&one, before, MPI_LONG, target, place(it, target, counter), MPI_SUM, it->window));
    OK(MPI_Accumulate(ones, SUMS, MPI_LONG, target, place(it, target, counter + 1), SUMS, MPI_LONG, MPI_SUM, it->window));
}

/* Reads back by requests, in one wait with a message to this rank over another lane. Other threads may wait
   for a lock that this one holds. */
static void read_back(const struct window *it, int round, int target)
{
    long in[SLOTS], got = -1, told = value_of(it->seed, round, rank, 0, 0);
    MPI_Request requests[3];
    MPI_Aint at = place(it, target, rank * SLOTS);
    OK(MPI_Rget(in, SLOTS, MPI_LONG, target, at, SLOTS, MPI_LONG, it->window, &requests[0]));
    OK(MPI_Irecv(&got, 1, MPI_LONG, rank, it->seed, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Isend(&told, 1, MPI_LONG, rank, it->seed, MPI_COMM_WORLD, &requests[2]));
    OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    CHECK(got == told);
    for (int slot = 0; slot < SLOTS; slot++)
        CHECK(in[slot] == value_of(it->seed, round, rank, target, slot));
}

/* Changes all parts, by all members, in epochs of one of four kinds. */
static void change_all(const struct window *it, int round, int epochs, const long *ones)
{
    long out[16 * SLOTS], before[16];
    MPI_Group all;
    OK(MPI_Comm_group(it->comm, &all));
    if (epochs == 0)
        OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, it->window));
    else if (epochs == 1) {
        OK(MPI_Win_post(all, 0, it->window));
        OK(MPI_Win_start(all, 0, it->window));
    } else if (epochs == 2)
        OK(MPI_Win_lock_all(0, it->window));
    for (int n = 0; n < ranks; n++) {
        int target = (rank + n) % ranks;
        if (epochs == 3)
            OK(MPI_Win_lock(n % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, it->window));
        change(it, round, target, &out[target * SLOTS], ones, &before[target]);
        if (epochs >= 2) {
            OK(MPI_Win_flush(target, it->window));
            CHECK(before[target] >= round * ranks && before[target] < (round + 1) * ranks);
            read_back(it, round, target);
        }
        if (epochs == 3)
            OK(MPI_Win_unlock(target, it->window));
    }
    if (epochs == 0)
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, it->window));
    else if (epochs == 1) {
        OK(MPI_Win_complete(it->window));
        OK(MPI_Win_wait(it->window));
    } else if (epochs == 2)
        OK(MPI_Win_unlock_all(it->window));
    OK(MPI_Group_free(&all));
}

/* Checks that the part of this member has the changes of all members. */
static void check_part(const struct window *it, int round)
{
    int counter = ranks * SLOTS;
    OK(MPI_Barrier(it->comm));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, it->window));
    for (int n = 0; n < ranks * SLOTS; n++)
        CHECK(it->part[n] == value_of(it->seed, round, n / SLOTS, rank, n % SLOTS));
    CHECK(it->part[counter] == (round + 1) * ranks);
    int wrong = 0;
    for (int n = 0; n < SUMS; n++)
        wrong += it->part[counter + 1 + n] != (round + 1L) * ranks * (ranks + 1) / 2;
    CHECK(wrong == 0);
    OK(MPI_Win_unlock(rank, it->window));
    OK(MPI_Barrier(it->comm));
}

/* Long accesses from and into memory that MPI has allocated, which lies in a region, to a window of such
   memory that its owner serves. */
static void regions(MPI_Comm comm, int seed)
{
    int bytes = 1 << 20, next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    char *out, *in, *part;
    MPI_Win window;
    MPI_Aint own, at[16];
    OK(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &out));
    OK(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &in));
    OK(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &part));
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &window));
    OK(MPI_Win_attach(window, part, bytes));
    OK(MPI_Get_address(part, &own));
    OK(MPI_Allgather(&own, 1, MPI_AINT, at, 1, MPI_AINT, comm));
    for (int round = 0; round < 3; round++) {
        memset(out, 10 * seed + rank + round, bytes);
        memset(in, 0, bytes);
        OK(MPI_Win_fence(0, window));
        OK(MPI_Put(out, bytes, MPI_CHAR, next, at[next], bytes, MPI_CHAR, window));
        OK(MPI_Win_fence(0, window));
        CHECK(part[0] == 10 * seed + before + round && part[bytes - 1] == part[0]);
        OK(MPI_Get(in, bytes, MPI_CHAR, next, at[next], bytes, MPI_CHAR, window));
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));
        CHECK(memcmp(in, out, bytes) == 0);
    }
    OK(MPI_Win_detach(window, part));
    OK(MPI_Win_free(&window));
    OK(MPI_Free_mem(part));
    OK(MPI_Free_mem(out));
    OK(MPI_Free_mem(in));
}

static void *run_thread(void *seed_of)
{
    int seed = (int)(long)seed_of;
    long ones[SUMS];
    for (int n = 0; n < SUMS; n++)
        ones[n] = rank + 1;
    for (int turn = 0; turn < KINDS; turn++) {
        int kind = (turn + seed) % KINDS;
        if (kind == 3 && !is_on_one_host)
            continue;
        struct window it = make(comms[seed], kind, seed);
        for (int round = 0; round < ROUNDS; round++) {
            change_all(&it, round, (round + seed) % 4, ones);
            check_part(&it, round);
        }
        end(&it);
    }
    regions(comms[seed], seed);
    return NULL;
}

/* One rank at a time accesses the windows of the next one. All ranks wait for a message on the first lane
   meanwhile. */
static void idle_lanes(void)
{
    long *words[IDLE];
    MPI_Win windows[IDLE];
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    for (int n = 0; n < IDLE; n++) {
        char text[8];
        snprintf(text, sizeof text, "%d", n);
        windows[n] = window_on(text, &words[n]);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; round < 20; round++) {
        if (rank > 0 || round > 0)
            OK(MPI_Recv(NULL, 0, MPI_BYTE, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int n = 0; n < IDLE; n++) {
            long own = rank + 1, got = -1;
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, windows[n]));
            OK(MPI_Get_accumulate(&own, 1, MPI_LONG, &got, 1, MPI_LONG, next, 0, 1, MPI_LONG, MPI_SUM, windows[n]));
            OK(MPI_Win_flush(next, windows[n]));
            CHECK(got == round * (rank + 1));
            OK(MPI_Win_unlock(next, windows[n]));
        }
        OK(MPI_Send(NULL, 0, MPI_BYTE, next, 0, MPI_COMM_WORLD));
    }
    if (rank == 0)
        OK(MPI_Recv(NULL, 0, MPI_BYTE, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int n = 0; n < IDLE; n++) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, windows[n]));
        CHECK(*words[n] == 20 * (before + 1));
        OK(MPI_Win_unlock(rank, windows[n]));
        OK(MPI_Win_free(&windows[n]));
    }
}

int main(int argc, char **argv)
{
    int provided, here;
    MPI_Comm host;
    OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    CHECK(provided == MPI_THREAD_MULTIPLE);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
    OK(MPI_Comm_size(host, &here));
    OK(MPI_Comm_free(&host));
    is_on_one_host = here == ranks;
    /* A rank without a launcher has one lane. */
    lanes = getenv("CANELE_RANK") && getenv("CANELE_LANES") ? atoi(getenv("CANELE_LANES")) : 1;
    if (lanes > 0 && lanes <= 16 && getenv("CANELE_LANES"))
        named_lanes();
    in_threads(run_thread);
    idle_lanes();
    OK(MPI_Finalize());
    return result();
}
