/* Collectives of long blocks whose elements have gaps, on some ranks: the blocks are sent from where they lie, and
 * received there. */
#include "check.h"

/* The elements of a long block, which has more than 64 KB. */
enum { LONG = 9000 };

static int rank, ranks;
/* Two numbers beside each other, and two numbers of an element of four. */
static MPI_Datatype types[2];
static const int extents[2] = {2, 4}, seconds[2] = {1, 2};

static int value(int from, int to, int i)
{
    return from * 10000000 + to * 1000000 + 2 * i;
}

/* Allocates elements, the numbers of which are all -1. */
static int *elements(int count, int kind)
{
    int *made = malloc(sizeof *made * (count * extents[kind] + 1));
    memset(made, 0xff, sizeof *made * (count * extents[kind] + 1));
    return made;
}

static void fill(int *data, int kind, int from, int to, int count)
{
    for (int i = 0; i < count; i++) {
        data[i * extents[kind]] = value(from, to, i);
        data[i * extents[kind] + seconds[kind]] = value(from, to, i) + 1;
    }
}

static int holds(const int *data, int kind, int from, int to, int count)
{
    for (int i = 0; i < count; i++, data += extents[kind]) {
        if (data[0] != value(from, to, i) || data[seconds[kind]] != value(from, to, i) + 1) return 0;
        if (kind && (data[1] != -1 || data[3] != -1)) return 0;
    }
    return 1;
}

/* Blocks of these lengths from all ranks to all, to one, and from one, blocking or not. */
static void exchange(const int *counts, int kind, int blocking)
{
    int *places = malloc(sizeof *places * ranks), total = 0;
    for (int n = 0; n < ranks; n++) places[n] = total, total += counts[n];
    int *mine = elements(counts[rank], kind), *all = elements(total, kind);
    MPI_Datatype type = types[kind];
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request = MPI_REQUEST_NULL;
    fill(mine, kind, rank, 0, counts[rank]);
    if (blocking) OK(MPI_Allgatherv(mine, counts[rank], type, all, counts, places, type, comm));
    else OK(MPI_Iallgatherv(mine, counts[rank], type, all, counts, places, type, comm, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int n = 0; n < ranks; n++) CHECK(holds(all + places[n] * extents[kind], kind, n, 0, counts[n]));
    for (int root = 0; root < ranks; root++) {
        memset(all, 0xff, sizeof *all * total * extents[kind]);
        if (blocking) OK(MPI_Gatherv(mine, counts[rank], type, all, counts, places, type, root, comm));
        else OK(MPI_Igatherv(mine, counts[rank], type, all, counts, places, type, root, comm, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int n = 0; n < ranks && rank == root; n++) {
            CHECK(holds(all + places[n] * extents[kind], kind, n, 0, counts[n]));
        }
        for (int n = 0; n < ranks; n++) fill(all + places[n] * extents[kind], kind, root, n, counts[n]);
        int *given = elements(counts[rank], kind);
        if (blocking) OK(MPI_Scatterv(all, counts, places, type, given, counts[rank], type, root, comm));
        else OK(MPI_Iscatterv(all, counts, places, type, given, counts[rank], type, root, comm, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(holds(given, kind, root, rank, counts[rank]));
        free(given);
    }
    free(mine);
    free(all);
    free(places);
}

/* Equal blocks from all ranks to all. */
static void equal(int kind, int blocking)
{
    int *given = elements(ranks * LONG, kind), *got = elements(ranks * LONG, kind);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm comm = MPI_COMM_WORLD;
    for (int to = 0; to < ranks; to++) fill(given + to * LONG * extents[kind], kind, rank, to, LONG);
    if (blocking) OK(MPI_Alltoall(given, LONG, types[kind], got, LONG, types[kind], comm));
    else OK(MPI_Ialltoall(given, LONG, types[kind], got, LONG, types[kind], comm, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int n = 0; n < ranks; n++) CHECK(holds(got + n * LONG * extents[kind], kind, n, rank, LONG));
    free(given);
    free(got);
}

int main(int argc, char **argv)
{
    MPI_Datatype apart;
    start(&argc, &argv);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    OK(MPI_Type_contiguous(2, MPI_INT, &types[0]));
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &apart));
    OK(MPI_Type_create_resized(apart, 0, 4 * sizeof(int), &types[1]));
    for (int kind = 0; kind < 2; kind++) OK(MPI_Type_commit(&types[kind]));
    int *counts = malloc(sizeof *counts * ranks);
    for (int round = 0; round < 8; round++) {
        int blocking = round % 2, is_mixed = round / 2 % 2, is_equal = round / 4;
        for (int n = 0; n < ranks; n++) counts[n] = is_equal ? LONG : n % 2 ? 1 : LONG + 100 * n;
        exchange(counts, is_mixed ? rank % 2 : 1, blocking);
        equal(is_mixed ? rank % 2 : 1, blocking);
    }
    free(counts);
    for (int kind = 0; kind < 2; kind++) OK(MPI_Type_free(&types[kind]));
    OK(MPI_Type_free(&apart));
    MPI_Finalize();
    return result();
}
