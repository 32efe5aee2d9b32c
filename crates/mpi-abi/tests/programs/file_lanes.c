/* Files on lanes: the lane of each, threads that each access a file of their own together with other ranks,
 * and a shared file pointer whose owner waits on another lane. */
#include "file.h"
#include "file_dealt.h"
#include "lane_threads.h"

enum { ROUNDS = 6, BLOCK = 5, BLOCKS = 3000, COUNT = BLOCK * BLOCKS, SHORT = 40 };

static int lanes;

/* Returns the lane of a file; -1 if that is not reported, because a rank has only one. */
static int lane_of(MPI_File file)
{
    char text[64];
    int flag, length = sizeof text;
    MPI_Info info;
    OK(MPI_File_get_info(file, &info));
    OK(MPI_Info_get_string(info, "canele_lies_on_lane", &length, text, &flag));
    OK(MPI_Info_free(&info));
    return flag ? atoi(text) : -1;
}

/* Opens a file that is deleted when it is closed, on the lane that the text names, or on the next one. */
static MPI_File opened(MPI_Comm comm, int of, const char *lane)
{
    char name[250];
    MPI_File file;
    MPI_Info info = MPI_INFO_NULL;
    snprintf(name, sizeof name, "%s-%d", path, of);
    if (lane != NULL) {
        OK(MPI_Info_create(&info));
        OK(MPI_Info_set(info, "canele_lane", lane));
    }
    OK(MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &file));
    if (lane != NULL)
        OK(MPI_Info_free(&info));
    return file;
}

static void named_lanes(void)
{
    MPI_Comm last = dup_on("15");
    lanes = told_lane(last) < 0 ? 1 : lanes;
    OK(MPI_Comm_free(&last));
    for (int wanted = 0; wanted < 6; wanted++) {
        char text[8];
        snprintf(text, sizeof text, "%d", wanted);
        MPI_File file = opened(MPI_COMM_WORLD, 0, text);
        CHECK(lane_of(file) == (lanes > 1 ? wanted % lanes : -1));
        OK(MPI_File_close(&file));
    }
    MPI_File two[2];
    for (int n = 0; n < 2; n++)
        two[n] = opened(MPI_COMM_WORLD, n, NULL);
    CHECK(lanes == 1 || (lane_of(two[0]) + 1) % lanes == lane_of(two[1]));
    for (int n = 0; n < 2; n++)
        OK(MPI_File_close(&two[n]));
}

static int value_of(int seed, int round, int of, int n)
{
    return ((seed * ROUNDS + round) * 16 + of) * COUNT + n;
}

/* All members write a file together whose blocks are dealt to them, in one of four ways, and read the next
   member's data. */
static void dealt_to_all(MPI_File file, MPI_Comm comm, int seed, int round, int *out, int *in)
{
    int next = (rank + 1) % size;
    MPI_Status status;
    MPI_Request request;
    MPI_Datatype own = dealt(BLOCK, BLOCKS, rank), others = dealt(BLOCK, BLOCKS, next);
    for (int n = 0; n < COUNT; n++)
        out[n] = value_of(seed, round, rank, n);
    memset(in, 0, COUNT * sizeof *in);
    OK(MPI_File_set_view(file, 0, MPI_INT, own, "native", MPI_INFO_NULL));
    if (round % 3 == 0)
        OK(MPI_File_write_all(file, out, COUNT, MPI_INT, &status));
    else if (round % 3 == 1) {
        OK(MPI_File_iwrite_all(file, out, COUNT, MPI_INT, &request));
        OK(MPI_Wait(&request, &status));
    } else {
        OK(MPI_File_write_all_begin(file, out, COUNT, MPI_INT));
        OK(MPI_File_write_all_end(file, out, &status));
    }
    CHECK(count_of(&status, MPI_INT) == COUNT);
    OK(MPI_File_sync(file));
    OK(MPI_Barrier(comm));
    OK(MPI_File_set_view(file, 0, MPI_INT, others, "native", MPI_INFO_NULL));
    if (round % 2 == 0)
        OK(MPI_File_read_all(file, in, COUNT, MPI_INT, &status));
    else {
        OK(MPI_File_iread(file, in, COUNT, MPI_INT, &request));
        OK(MPI_Wait(&request, &status));
    }
    CHECK(count_of(&status, MPI_INT) == COUNT);
    int wrong = 0;
    for (int n = 0; n < COUNT; n++)
        wrong += in[n] != value_of(seed, round, next, n);
    CHECK(wrong == 0);
    OK(MPI_Barrier(comm));
    OK(MPI_Type_free(&own));
    OK(MPI_Type_free(&others));
}

/* All members write by the shared file pointer, in order, and then each alone. */
static void by_shared_pointer(MPI_File file, MPI_Comm comm, int seed, int round, int *out, int *in)
{
    MPI_Offset at;
    MPI_Status status;
    for (int n = 0; n < SHORT; n++)
        out[n] = value_of(seed, round, rank, n);
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    OK(MPI_File_write_ordered(file, out, SHORT, MPI_INT, &status));
    OK(MPI_File_write_shared(file, out, SHORT, MPI_INT, &status));
    OK(MPI_Barrier(comm));
    OK(MPI_File_get_position_shared(file, &at));
    CHECK(at == 2 * SHORT * size);
    OK(MPI_File_read_at_all(file, 0, in, 2 * SHORT * size, MPI_INT, &status));
    int wrong = 0, found = 0;
    for (int n = 0; n < SHORT * size; n++)
        wrong += in[n] != value_of(seed, round, n / SHORT, n % SHORT);
    for (int part = size; part < 2 * size; part++)
        found += in[part * SHORT] == out[0] && in[part * SHORT + SHORT - 1] == out[SHORT - 1];
    CHECK(wrong == 0 && found == 1);
    OK(MPI_Barrier(comm));
}

static void *run_thread(void *seed_of)
{
    int seed = (int)(long)seed_of;
    int *out = malloc(COUNT * sizeof *out), *in = malloc(COUNT * sizeof *in);
    for (int turn = 0; turn < 2; turn++) {
        MPI_File file = opened(comms[seed], seed, NULL);
        for (int round = 0; round < ROUNDS; round++) {
            dealt_to_all(file, comms[seed], seed, round, out, in);
            by_shared_pointer(file, comms[seed], seed, round, out, in);
        }
        OK(MPI_File_close(&file));
    }
    free(out);
    free(in);
    return NULL;
}

/* One rank after the other adds to the shared file pointer of the first rank. All others wait for a message
   on a lane of their own meanwhile. */
static void idle_owner(void)
{
    MPI_Comm other = dup_on("2");
    MPI_File file = opened(MPI_COMM_WORLD, 0, "1");
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Offset at;
    for (int round = 0; round < 10; round++) {
        if (rank > 0 || round > 0)
            OK(MPI_Recv(NULL, 0, MPI_BYTE, before, 0, other, MPI_STATUS_IGNORE));
        OK(MPI_File_write_shared(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
        OK(MPI_File_get_position_shared(file, &at));
        CHECK(at == (MPI_Offset)sizeof(int) * (round * size + rank + 1));
        OK(MPI_Send(NULL, 0, MPI_BYTE, next, 0, other));
    }
    if (rank == 0)
        OK(MPI_Recv(NULL, 0, MPI_BYTE, before, 0, other, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&file));
    OK(MPI_Comm_free(&other));
}

int main(int argc, char **argv)
{
    setenv("ASKS_FOR_THREADS", "1", 1);
    start_file(&argc, &argv, "file_lanes");
    /* A rank without a launcher has one lane. */
    lanes = getenv("CANELE_RANK") && getenv("CANELE_LANES") ? atoi(getenv("CANELE_LANES")) : 1;
    if (lanes > 0 && lanes <= 16 && getenv("CANELE_LANES"))
        named_lanes();
    in_threads(run_thread);
    idle_owner();
    OK(MPI_Finalize());
    return result();
}
