/* Collectives whose long blocks have gaps: elements are read and written where they lie, and the gaps stay as they are. */
#include "check.h"

#define INTS 20000
#define GAP (-1)

static int rank, size;
static MPI_Datatype type;
static int row, extent; /* Numbers side by side, and from one element to the next. */

static int value(int from, int to, int k)
{
    return 100003 * from + 1009 * to + k;
}

/* Returns the place of number k of a strided element. */
static int place(int element, int k)
{
    return element * extent + k / row * 2 * row + k % row;
}

static int *strided(int elements)
{
    int *memory = malloc((size_t)elements * extent * sizeof(int));
    for (int i = 0; i < elements * extent; i++)
        memory[i] = GAP;
    return memory;
}

static void fill(int *memory, int element, int from, int to)
{
    for (int k = 0; k < INTS; k++)
        memory[place(element, k)] = value(from, to, k);
}

/* Returns true if an element has the numbers that `from` sent to `to`, and its gaps are unchanged. */
static int is(const int *memory, int element, int from, int to)
{
    int wrong = 0, gaps = 0;
    for (int k = 0; k < INTS; k++)
        wrong += memory[place(element, k)] != value(from, to, k);
    for (int i = 0; i < extent; i++)
        gaps += memory[element * extent + i] == GAP;
    return wrong == 0 && gaps == extent - INTS;
}

static int *plain(int from, int to)
{
    int *memory = malloc(INTS * sizeof(int));
    for (int k = 0; k < INTS; k++)
        memory[k] = value(from, to, k);
    return memory;
}

static int all_are(const int *memory, int to)
{
    int right = 1;
    for (int n = 0; n < size; n++)
        right &= is(memory, n, n, to);
    return right;
}

static void gathered(int root)
{
    int *mine = plain(rank, 0), *into = strided(size);
    OK(MPI_Gather(mine, INTS, MPI_INT, into, 1, type, root, MPI_COMM_WORLD));
    CHECK(rank != root || all_are(into, 0));
    int *all = strided(size);
    OK(MPI_Allgather(mine, INTS, MPI_INT, all, 1, type, MPI_COMM_WORLD));
    CHECK(all_are(all, 0));
    int *own = strided(size);
    fill(own, rank, rank, 0);
    OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, own, 1, type, MPI_COMM_WORLD));
    CHECK(all_are(own, 0));
    int counts[8], places[8], *uneven = strided(size);
    for (int n = 0; n < size; n++)
        counts[n] = 1, places[n] = n;
    MPI_Request request;
    OK(MPI_Iallgatherv(mine, INTS, MPI_INT, uneven, counts, places, type, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(all_are(uneven, 0));
    free(mine), free(into), free(all), free(own), free(uneven);
}

static void scattered(int root)
{
    int *all = strided(size), *mine = strided(1), *sent = strided(1);
    for (int n = 0; n < size; n++)
        fill(all, n, root, n);
    OK(MPI_Scatter(all, 1, type, mine, 1, type, root, MPI_COMM_WORLD));
    CHECK(is(mine, 0, root, rank));
    if (rank == root)
        fill(sent, 0, root, 7);
    OK(MPI_Bcast(sent, 1, type, root, MPI_COMM_WORLD));
    CHECK(is(sent, 0, root, 7));
    /* One side has gaps, the other has none. */
    int *other = rank == root ? plain(root, 9) : strided(1);
    OK(MPI_Bcast(other, rank == root ? INTS : 1, rank == root ? MPI_INT : type, root, MPI_COMM_WORLD));
    CHECK(rank == root || is(other, 0, root, 9));
    free(all), free(mine), free(sent), free(other);
}

static void exchanged(void)
{
    int *from = strided(size), *into = strided(size), *own = strided(size);
    for (int n = 0; n < size; n++) {
        fill(from, n, rank, n);
        fill(own, n, rank, n);
    }
    OK(MPI_Alltoall(from, 1, type, into, 1, type, MPI_COMM_WORLD));
    CHECK(all_are(into, rank));
    OK(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, own, 1, type, MPI_COMM_WORLD));
    CHECK(all_are(own, rank));
    MPI_Request request;
    int *again = strided(size);
    OK(MPI_Alltoall_init(from, 1, type, again, 1, type, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    for (int round = 0; round < 2; round++) {
        OK(MPI_Start(&request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(all_are(again, rank));
    }
    OK(MPI_Request_free(&request));
    int *neighbours = strided(2), *given = strided(2), periodic = 1;
    MPI_Comm ring;
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring));
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    fill(given, 0, rank, 0);
    fill(given, 1, rank, 1);
    OK(MPI_Neighbor_alltoall(given, 1, type, neighbours, 1, type, ring));
    CHECK(is(neighbours, 0, previous, 1) && is(neighbours, 1, next, 0));
    OK(MPI_Comm_free(&ring));
    free(from), free(into), free(own), free(again), free(neighbours), free(given);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int rows[] = {2, 400, 5000};
    for (int i = 0; i < 3; i++) {
        row = rows[i];
        extent = 2 * INTS - row;
        OK(MPI_Type_vector(INTS / row, row, 2 * row, MPI_INT, &type));
        OK(MPI_Type_commit(&type));
        gathered(size - 1);
        scattered(0);
        exchanged();
        OK(MPI_Type_free(&type));
    }
    OK(MPI_Finalize());
    return result();
}
