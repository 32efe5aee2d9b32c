/* Buffers of collectives: a broadcast only reads the root's buffer, and received parts do not overlap. */
#include "check.h"
#include <sys/mman.h>
#include <unistd.h>

enum { ROWS = 4, MOST = 8 };

static int rank, ranks;

/* Checks that only the numbers of the message were received, and clears them. */
static void received(int *data)
{
    for (int i = 0; rank != 0 && i < 2 * ROWS; i++) {
        CHECK(data[i] == (i % 2 ? -1 : i));
        data[i] = -1;
    }
}

/* Broadcasts every second number of memory that the root cannot write. */
static void broadcasts(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int *data = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) abort();
    for (int i = 0; i < 2 * ROWS; i++) data[i] = rank == 0 ? i : -1;
    CHECK(mprotect(data, page, rank == 0 ? PROT_READ : PROT_READ | PROT_WRITE) == 0);
    MPI_Datatype type;
    MPI_Request request;
    OK(MPI_Type_vector(ROWS, 1, 2, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    for (int turn = 0; turn < 2; turn++) {
        OK(MPI_Bcast(data, 1, type, 0, MPI_COMM_WORLD));
        received(data);
        OK(MPI_Ibcast(data, 1, type, 0, MPI_COMM_WORLD, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        received(data);
    }
    OK(MPI_Bcast_init(data, 1, type, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    for (int turn = 0; turn < 2; turn++) {
        OK(MPI_Start(&request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        received(data);
    }
    OK(MPI_Request_free(&request));
    OK(MPI_Type_free(&type));
    munmap(data, page);
}

/* All parts lie at one place. The calls fail before they send anything: the gather at its root alone, the
   others on all ranks. */
static void overlaps(void)
{
    int all[MOST], own[MOST], counts[MOST], places[MOST], from[MOST];
    MPI_Request request;
    for (int i = 0; i < ranks; i++) {
        counts[i] = 1;
        places[i] = 1;
        from[i] = own[i] = i;
    }
    if (rank == 0)
        FAILS(MPI_ERR_BUFFER, MPI_Gatherv(own, 1, MPI_INT, all, counts, places, MPI_INT, 0, MPI_COMM_WORLD));
    FAILS(MPI_ERR_BUFFER, MPI_Allgatherv(own, 1, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD));
    FAILS(MPI_ERR_BUFFER,
          MPI_Ialltoallv(own, counts, from, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD, &request));
    char text[MPI_MAX_ERROR_STRING] = "";
    int len;
    int code = MPI_Alltoallv(own, counts, from, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD);
    OK(MPI_Error_string(code, text, &len));
    CHECK(strstr(text, "parts 0 and 1 of recvbuf overlap") != NULL);
}

/* Parts without elements may lie anywhere, also inside others; parts with gaps may be interleaved. */
static void apart(void)
{
    int all[2 * MOST], counts[MOST] = {0}, places[MOST] = {0}, own[2] = {rank, 10 + rank};
    counts[1] = 2;
    if (ranks > 1) {
        OK(MPI_Allgatherv(own, rank == 1 ? 2 : 0, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD));
        CHECK(all[0] == 1 && all[1] == 11);
    }
    MPI_Datatype column;
    OK(MPI_Type_vector(2, 1, ranks, MPI_INT, &column));
    MPI_Datatype type;
    OK(MPI_Type_create_resized(column, 0, sizeof(int), &type));
    OK(MPI_Type_commit(&type));
    for (int i = 0; i < ranks; i++) {
        counts[i] = 1;
        places[i] = i;
    }
    OK(MPI_Allgatherv(own, 2, MPI_INT, all, counts, places, type, MPI_COMM_WORLD));
    for (int i = 0; i < ranks; i++) CHECK(all[i] == i && all[ranks + i] == 10 + i);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_free(&column));
}

/* Along one dimension: both neighbours are the rank itself, or there is none. */
static void grids(void)
{
    int one = 1, counts[2] = {1, 1}, from[2] = {0, 1}, into[2] = {0, 0}, own[2] = {1, 2}, all[2] = {7, 7};
    for (int periodic = 0; periodic < 2; periodic++) {
        MPI_Comm grid;
        OK(MPI_Cart_create(MPI_COMM_SELF, 1, &one, &periodic, 0, &grid));
        MPI_Comm_set_errhandler(grid, MPI_ERRORS_RETURN);
        int class = periodic ? MPI_ERR_BUFFER : MPI_SUCCESS;
        FAILS(class, MPI_Neighbor_alltoallv(own, counts, from, MPI_INT, all, counts, into, MPI_INT, grid));
        FAILS(class, MPI_Neighbor_allgatherv(own, 1, MPI_INT, all, counts, into, MPI_INT, grid));
        CHECK(all[0] == 7 && all[1] == 7);
        OK(MPI_Comm_free(&grid));
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    broadcasts();
    if (ranks > 1) overlaps();
    apart();
    grids();
    MPI_Finalize();
    return result();
}
