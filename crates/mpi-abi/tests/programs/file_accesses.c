/* Reads and writes in each way: by offsets, by pointers, alone and collectively, blocking, non-blocking, and
   in two calls. */
#include "file.h"

#define N 1000

static int mine[N], got[N];
static MPI_File fh;

static void fill(int seed)
{
    for (int n = 0; n < N; n++) {
        mine[n] = seed * 100000 + rank * N + n;
        got[n] = -1;
    }
}

/* Returns true if the data are the numbers that a rank wrote. */
static int is_of(int seed, int of, int first, int count)
{
    for (int n = 0; n < count; n++)
        if (got[n] != seed * 100000 + of * N + first + n)
            return 0;
    return 1;
}

static int left(void)
{
    return (rank + 1) % size;
}

static void offsets(void)
{
    MPI_Status status;
    MPI_Request request;
    MPI_Offset own = (MPI_Offset)rank * sizeof mine, other = (MPI_Offset)left() * sizeof mine;
    for (int way = 0; way < 5; way++) {
        fill(way);
        switch (way) {
        case 0: OK(MPI_File_write_at(fh, own, mine, N, MPI_INT, &status)); break;
        case 1: OK(MPI_File_write_at_all(fh, own, mine, N, MPI_INT, &status)); break;
        case 2: OK(MPI_File_iwrite_at(fh, own, mine, N, MPI_INT, &request)); OK(MPI_Wait(&request, &status)); break;
        case 3: OK(MPI_File_iwrite_at_all(fh, own, mine, N, MPI_INT, &request)); OK(MPI_Wait(&request, &status)); break;
        case 4:
            OK(MPI_File_write_at_all_begin(fh, own, mine, N, MPI_INT));
            OK(MPI_File_write_at_all_end(fh, mine, &status));
        }
        CHECK(count_of(&status, MPI_INT) == N);
        together();
        switch (way) {
        case 0: OK(MPI_File_read_at(fh, other, got, N, MPI_INT, &status)); break;
        case 1: OK(MPI_File_read_at_all(fh, other, got, N, MPI_INT, &status)); break;
        case 2: OK(MPI_File_iread_at(fh, other, got, N, MPI_INT, &request)); OK(MPI_Wait(&request, &status)); break;
        case 3: OK(MPI_File_iread_at_all(fh, other, got, N, MPI_INT, &request)); OK(MPI_Wait(&request, &status)); break;
        case 4:
            OK(MPI_File_read_at_all_begin(fh, other, got, N, MPI_INT));
            OK(MPI_File_read_at_all_end(fh, got, &status));
        }
        CHECK(count_of(&status, MPI_INT) == N && is_of(way, left(), 0, N));
        together();
    }
    FAILS(MPI_ERR_ARG, MPI_File_write_at(fh, -1, mine, 1, MPI_INT, &status));
    FAILS(MPI_ERR_COUNT, MPI_File_write_at(fh, 0, mine, -1, MPI_INT, &status));
    FAILS(MPI_ERR_TYPE, MPI_File_write_at(fh, 0, mine, 1, MPI_DATATYPE_NULL, &status));
    FAILS(MPI_ERR_ARG, MPI_File_iwrite_at(fh, -1, mine, 1, MPI_INT, &request));
    FAILS(MPI_ERR_ARG, MPI_File_write_at_all(fh, rank == size - 1 ? -1 : own, mine, 1, MPI_INT, &status));
}

static void pointers(void)
{
    MPI_Status status;
    MPI_Request request;
    MPI_Offset at;
    for (int way = 0; way < 5; way++) {
        fill(10 + way);
        OK(MPI_File_seek(fh, (MPI_Offset)rank * sizeof mine, MPI_SEEK_SET));
        for (int part = 0; part < 2; part++) {
            int *from = mine + part * N / 2;
            switch (way) {
            case 0: OK(MPI_File_write(fh, from, N / 2, MPI_INT, &status)); break;
            case 1: OK(MPI_File_write_all(fh, from, N / 2, MPI_INT, &status)); break;
            case 2: OK(MPI_File_iwrite(fh, from, N / 2, MPI_INT, &request)); OK(MPI_Wait(&request, &status)); break;
            case 3: OK(MPI_File_iwrite_all(fh, from, N / 2, MPI_INT, &request)); OK(MPI_Wait(&request, &status)); break;
            case 4:
                OK(MPI_File_write_all_begin(fh, from, N / 2, MPI_INT));
                OK(MPI_File_write_all_end(fh, from, &status));
            }
            CHECK(count_of(&status, MPI_INT) == N / 2);
        }
        OK(MPI_File_get_position(fh, &at));
        CHECK(at == (MPI_Offset)(rank + 1) * (MPI_Offset)sizeof mine);
        together();
        OK(MPI_File_seek(fh, (MPI_Offset)(left() - rank - 1) * (MPI_Offset)sizeof mine, MPI_SEEK_CUR));
        switch (way) {
        case 0: OK(MPI_File_read(fh, got, N, MPI_INT, &status)); break;
        case 1: OK(MPI_File_read_all(fh, got, N, MPI_INT, &status)); break;
        case 2: OK(MPI_File_iread(fh, got, N, MPI_INT, &request)); OK(MPI_Wait(&request, &status)); break;
        case 3: OK(MPI_File_iread_all(fh, got, N, MPI_INT, &request)); OK(MPI_Wait(&request, &status)); break;
        case 4:
            OK(MPI_File_read_all_begin(fh, got, N, MPI_INT));
            OK(MPI_File_read_all_end(fh, got, &status));
        }
        CHECK(count_of(&status, MPI_INT) == N && is_of(10 + way, left(), 0, N));
        together();
    }
}

/* At the end of the file a read returns less than requested. */
static void ends(void)
{
    MPI_Status status;
    MPI_Offset at;
    int elements;
    OK(MPI_File_set_size(fh, 10 * sizeof(int)));
    OK(MPI_File_seek(fh, -4 * (MPI_Offset)sizeof(int), MPI_SEEK_END));
    fill(0);
    OK(MPI_File_read(fh, got, N, MPI_INT, &status));
    CHECK(count_of(&status, MPI_INT) == 4 && got[4] == -1);
    OK(MPI_File_get_position(fh, &at));
    CHECK(at == 10 * sizeof(int));
    OK(MPI_File_read(fh, got, N, MPI_INT, &status));
    CHECK(count_of(&status, MPI_INT) == 0);
    OK(MPI_File_read_at_all(fh, rank == 0 ? 0 : 9 * sizeof(int), got, 2, MPI_INT, &status));
    CHECK(count_of(&status, MPI_INT) == (rank == 0 ? 2 : 1));
    MPI_Datatype three;
    MPI_Type_contiguous(3, MPI_INT, &three);
    MPI_Type_commit(&three);
    OK(MPI_File_read_at(fh, 5 * sizeof(int), got, 3, three, &status));
    CHECK(count_of(&status, three) == MPI_UNDEFINED);
    OK(MPI_Get_elements(&status, three, &elements));
    CHECK(elements == 5);
    MPI_Type_free(&three);
    FAILS(MPI_ERR_ARG, MPI_File_seek(fh, -11 * (MPI_Offset)sizeof(int), MPI_SEEK_END));
    together();
}

static void shared(void)
{
    MPI_Status status;
    MPI_Request request;
    MPI_Offset at;
    for (int way = 0; way < 4; way++) {
        fill(20 + way);
        OK(MPI_File_set_size(fh, 0));
        OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
        switch (way) {
        case 0: OK(MPI_File_write_shared(fh, mine, N, MPI_INT, &status)); break;
        case 1: OK(MPI_File_iwrite_shared(fh, mine, N, MPI_INT, &request)); OK(MPI_Wait(&request, &status)); break;
        case 2: OK(MPI_File_write_ordered(fh, mine, N - rank, MPI_INT, &status)); break;
        case 3:
            OK(MPI_File_write_ordered_begin(fh, mine, N - rank, MPI_INT));
            OK(MPI_File_write_ordered_end(fh, mine, &status));
        }
        int lost = way < 2 ? 0 : rank, all_lost = way < 2 ? 0 : size * (size - 1) / 2;
        CHECK(count_of(&status, MPI_INT) == N - lost);
        together();
        OK(MPI_File_get_position_shared(fh, &at));
        CHECK(at == (MPI_Offset)sizeof(int) * (size * N - all_lost) && size_of(fh) == at);
        together();
        OK(MPI_File_seek_shared(fh, way < 2 ? 0 : -at, way < 2 ? MPI_SEEK_SET : MPI_SEEK_CUR));
        switch (way) {
        case 0: OK(MPI_File_read_shared(fh, got, N, MPI_INT, &status)); break;
        case 1: OK(MPI_File_iread_shared(fh, got, N, MPI_INT, &request)); OK(MPI_Wait(&request, &status)); break;
        case 2: OK(MPI_File_read_ordered(fh, got, N - rank, MPI_INT, &status)); break;
        case 3:
            OK(MPI_File_read_ordered_begin(fh, got, N - rank, MPI_INT));
            OK(MPI_File_read_ordered_end(fh, got, &status));
        }
        CHECK(count_of(&status, MPI_INT) == N - lost);
        /* Without an order each rank reads the data of one rank, and all together read those of all. */
        int writer = (got[0] - (20 + way) * 100000) / N, writers[16] = {0};
        CHECK(way < 2 || writer == rank);
        CHECK(writer >= 0 && writer < size && is_of(20 + way, writer, 0, N - lost));
        MPI_Allgather(&writer, 1, MPI_INT, writers, 1, MPI_INT, MPI_COMM_WORLD);
        int sum = 0;
        for (int n = 0; n < size; n++)
            sum += 1 << writers[n];
        CHECK(sum == (1 << size) - 1);
        together();
    }
    if (size > 1)
        FAILS(MPI_ERR_NOT_SAME, MPI_File_seek_shared(fh, rank, MPI_SEEK_SET));
    FAILS(MPI_ERR_ARG, MPI_File_seek_shared(fh, -1, MPI_SEEK_SET));
}

/* Starts many accesses at once; collective ones keep their order. */
static void many(void)
{
    enum { PARTS = 8 };
    MPI_Request requests[2 * PARTS];
    int part = N / PARTS;
    OK(MPI_File_set_size(fh, 0));
    fill(30);
    MPI_Offset base = (MPI_Offset)rank * sizeof mine;
    for (int n = 0; n < PARTS; n++) {
        MPI_Offset at = base + (MPI_Offset)(n * part) * sizeof(int);
        if (n % 2)
            OK(MPI_File_iwrite_at(fh, at, mine + n * part, part, MPI_INT, &requests[n]));
        else
            OK(MPI_File_iwrite_at_all(fh, at, mine + n * part, part, MPI_INT, &requests[n]));
    }
    OK(MPI_Waitall(PARTS, requests, MPI_STATUSES_IGNORE));
    OK(MPI_File_sync(fh));
    together();
    for (int n = 0; n < PARTS; n++) {
        MPI_Offset at = (MPI_Offset)left() * sizeof mine + (MPI_Offset)(n * part) * sizeof(int);
        OK(MPI_File_iread_at_all(fh, at, got + n * part, part, MPI_INT, &requests[n]));
    }
    /* A collective call follows these accesses. */
    int last = -1;
    MPI_Status status;
    OK(MPI_File_read_at_all(fh, base, &last, 1, MPI_INT, &status));
    CHECK(last == mine[0]);
    int flag = 0;
    while (!flag)
        OK(MPI_Testall(PARTS, requests, &flag, MPI_STATUSES_IGNORE));
    CHECK(is_of(30, left(), 0, part * PARTS));
    together();
}

static void splits(void)
{
    MPI_Status status;
    MPI_Request request;
    MPI_Offset at = (MPI_Offset)rank * sizeof mine;
    FAILS(MPI_ERR_OTHER, MPI_File_write_at_all_end(fh, mine, &status));
    OK(MPI_File_write_at_all_begin(fh, at, mine, N, MPI_INT));
    FAILS(MPI_ERR_OTHER, MPI_File_write_at_all_begin(fh, at, mine, N, MPI_INT));
    FAILS(MPI_ERR_OTHER, MPI_File_write_all_end(fh, mine, &status));
    FAILS(MPI_ERR_OTHER, MPI_File_read_at_all_end(fh, mine, &status));
    FAILS(MPI_ERR_OTHER, MPI_File_write_at_all(fh, at, mine, N, MPI_INT, &status));
    FAILS(MPI_ERR_OTHER, MPI_File_iwrite_at_all(fh, at, mine, N, MPI_INT, &request));
    FAILS(MPI_ERR_OTHER, MPI_File_sync(fh));
    FAILS(MPI_ERR_BUFFER, MPI_File_write_at_all_end(fh, got, &status));
    OK(MPI_File_read_at(fh, 0, got, 0, MPI_INT, &status));
    OK(MPI_File_write_at_all_end(fh, mine, &status));
    CHECK(count_of(&status, MPI_INT) == N);
    together();
}

static void sequential(void)
{
    MPI_Status status;
    MPI_File other;
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &other));
    FAILS(MPI_ERR_UNSUPPORTED_OPERATION, MPI_File_write(other, mine, 1, MPI_INT, &status));
    FAILS(MPI_ERR_UNSUPPORTED_OPERATION, MPI_File_write_at(other, 0, mine, 1, MPI_INT, &status));
    FAILS(MPI_ERR_UNSUPPORTED_OPERATION, MPI_File_seek(other, 0, MPI_SEEK_SET));
    FAILS(MPI_ERR_UNSUPPORTED_OPERATION, MPI_File_seek_shared(other, 0, MPI_SEEK_SET));
    fill(40);
    OK(MPI_File_write_ordered(other, mine, 1, MPI_INT, &status));
    FAILS(MPI_ERR_ARG, MPI_File_set_view(other, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_set_view(other, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_write_ordered(other, mine + 1, 1, MPI_INT, &status));
    OK(MPI_File_close(&other));
    for (int n = 0; n < 2; n++) {
        OK(MPI_File_read_at_all(fh, (MPI_Offset)(n * size + rank) * sizeof(int), got, 1, MPI_INT, &status));
        CHECK(is_of(40, rank, n, 1));
    }
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_WRONLY | MPI_MODE_APPEND, MPI_INFO_NULL, &other));
    MPI_Offset at, end = size_of(other);
    OK(MPI_File_get_position(other, &at));
    CHECK(at == end && end > 0);
    OK(MPI_File_get_position_shared(other, &at));
    CHECK(at == end);
    OK(MPI_File_close(&other));
}

/* In atomic mode conflicting writes leave the data of one of them. */
static void conflicts(void)
{
    MPI_Datatype some;
    MPI_Type_vector(N / 2, 1, 2, MPI_INT, &some);
    MPI_Type_commit(&some);
    for (int way = 0; way < 4; way++) {
        OK(MPI_File_set_view(fh, 0, MPI_INT, way % 2 ? some : MPI_INT, "native", MPI_INFO_NULL));
        for (int n = 0; n < N; n++)
            mine[n] = rank + 1;
        if (way < 2)
            OK(MPI_File_write_at_all(fh, 0, mine, N, MPI_INT, MPI_STATUS_IGNORE));
        else
            OK(MPI_File_write_at(fh, 0, mine, N, MPI_INT, MPI_STATUS_IGNORE));
        together();
        OK(MPI_File_read_at_all(fh, 0, got, N, MPI_INT, MPI_STATUS_IGNORE));
        int wrong = got[0] < 1 || got[0] > size;
        for (int n = 0; n < N; n++)
            wrong += got[n] != got[0];
        CHECK(wrong == 0);
        together();
    }
    OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    MPI_Type_free(&some);
}

int main(int argc, char **argv)
{
    start_file(&argc, &argv, "accesses");
    fh = fresh(MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    offsets();
    pointers();
    ends();
    shared();
    many();
    splits();
    sequential();
    OK(MPI_File_set_atomicity(fh, 1));
    offsets();
    pointers();
    conflicts();
    OK(MPI_File_close(&fh));
    MPI_Finalize();
    return result();
}
