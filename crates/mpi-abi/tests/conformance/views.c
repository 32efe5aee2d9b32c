/* Views of files: the visible bytes of a rank, and their representation. */
#include "files.h"

static void say_view(const char *what, MPI_File file)
{
    MPI_Offset at = -1, byte = -1;
    MPI_Datatype etype, filetype;
    MPI_Aint extent = -1;
    int etype_bytes = -1, bytes = -1, integers, addresses, datatypes, combiner;
    char representation[MPI_MAX_DATAREP_STRING];
    MPI_File_get_view(file, &at, &etype, &filetype, representation);
    MPI_Type_size(etype, &etype_bytes);
    MPI_Type_size(filetype, &bytes);
    MPI_File_get_type_extent(file, filetype, &extent);
    MPI_File_get_byte_offset(file, 5, &byte);
    say("%s: at %lld, etype of %d bytes, filetype of %d in %ld, '%s', 5 lies at %lld", what, (long long)at,
        etype_bytes, bytes, (long)extent, representation, (long long)byte);
    MPI_Type_get_envelope(etype, &integers, &addresses, &datatypes, &combiner);
    if (combiner != MPI_COMBINER_NAMED)
        MPI_Type_free(&etype);
    MPI_Type_get_envelope(filetype, &integers, &addresses, &datatypes, &combiner);
    if (combiner != MPI_COMBINER_NAMED)
        MPI_Type_free(&filetype);
}

/* Each rank has two numbers of every 2 * size. */
static void interleaved(void)
{
    MPI_File file = opened(MPI_MODE_RDWR | MPI_MODE_CREATE);
    MPI_Datatype mine, spread, row;
    MPI_Status status;
    MPI_Request request;
    MPI_Offset at;
    int from[8], got[8];
    say_view("first", file);
    MPI_Type_contiguous(2, MPI_INT, &row);
    MPI_Type_create_resized(row, 0, (MPI_Aint)(2 * size * sizeof(int)), &mine);
    MPI_Type_commit(&mine);
    for (int n = 0; n < 8; n++)
        from[n] = 1000 * (rank + 1) + n;
    CODE(MPI_File_set_view(file, (MPI_Offset)(8 + 8 * rank), MPI_INT, mine, "native", MPI_INFO_NULL));
    say_view("interleaved", file);
    CODE(MPI_File_write_all(file, from, 6, MPI_INT, &status));
    say_count("written by all", &status, MPI_INT);
    content("interleaved");
    MPI_File_get_position(file, &at);
    say("position: %lld", (long long)at);
    CODE(MPI_File_write(file, from + 6, 2, MPI_INT, &status));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_seek(file, 1, MPI_SEEK_SET);
    CODE(MPI_File_read_all(file, got, 7, MPI_INT, &status));
    say_count("read by all", &status, MPI_INT);
    say_ints("read by all", got, 7);
    CODE(MPI_File_read_at(file, 3, got, 4, MPI_INT, &status));
    say_ints("read", got, 4);
    /* The data lie at every other number of memory. */
    MPI_Type_vector(4, 1, 2, MPI_INT, &spread);
    MPI_Type_commit(&spread);
    memset(got, -1, sizeof got);
    MPI_Barrier(MPI_COMM_WORLD);
    CODE(MPI_File_read_at_all(file, 2, got, 1, spread, &status));
    say_ints("spread", got, 8);
    MPI_Barrier(MPI_COMM_WORLD);
    CODE(MPI_File_write_at(file, 0, from, 1, spread, &status));
    content("spread");
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    MPI_File_iread_all(file, got, 4, MPI_INT, &request);
    MPI_Wait(&request, &status);
    say_ints("read later", got, 4);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_iwrite(file, from, 2, MPI_INT, &request);
    MPI_Wait(&request, &status);
    content("written later");
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    CODE(MPI_File_read_all_begin(file, got, 3, MPI_INT));
    CODE(MPI_File_read_all_end(file, got, &status));
    say_ints("split", got, 3);
    /* Only some ranks write. */
    MPI_Barrier(MPI_COMM_WORLD);
    CODE(MPI_File_write_at_all(file, 8, from, rank % 2 == 0 ? 2 : 0, MPI_INT, &status));
    content("uneven");
    MPI_File_close(&file);
    MPI_Type_free(&mine);
    MPI_Type_free(&spread);
    MPI_Type_free(&row);
}

/* Rows of a matrix are dealt to the ranks in turn; columns, too. */
static void matrices(void)
{
    MPI_File file;
    MPI_Datatype part;
    MPI_Status status;
    int sizes[2] = {4, 2 * size}, own[2] = {4, 2}, starts[2] = {0, 2 * rank}, from[8], got[8];
    int dims[2] = {size, 1}, kinds[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
    int defaults[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    unlink(path);
    MPI_Barrier(MPI_COMM_WORLD);
    file = opened(MPI_MODE_RDWR | MPI_MODE_CREATE);
    for (int n = 0; n < 8; n++)
        from[n] = 10 * (rank + 1) + n;
    MPI_Type_create_subarray(2, sizes, own, starts, MPI_ORDER_C, MPI_INT, &part);
    MPI_Type_commit(&part);
    MPI_File_set_view(file, 0, MPI_INT, part, "native", MPI_INFO_NULL);
    MPI_Type_free(&part);
    CODE(MPI_File_write_all(file, from, 8, MPI_INT, &status));
    content("columns");
    sizes[0] = 2 * size;
    sizes[1] = 4;
    MPI_Type_create_darray(size, rank, 2, sizes, kinds, defaults, dims, MPI_ORDER_C, MPI_INT, &part);
    MPI_Type_commit(&part);
    MPI_File_set_view(file, 0, MPI_INT, part, "native", MPI_INFO_NULL);
    MPI_Type_free(&part);
    CODE(MPI_File_read_all(file, got, 8, MPI_INT, &status));
    say_ints("rows in turn", got, 8);
    MPI_File_close(&file);
}

/* The standard's representation has the opposite byte order. */
static void external(void)
{
    MPI_File file;
    MPI_Status status;
    MPI_Aint extent;
    int numbers[2] = {0x01020304, rank}, got[2] = {0};
    double real = 1.5 + rank, same = 0;
    unlink(path);
    MPI_Barrier(MPI_COMM_WORLD);
    file = opened(MPI_MODE_RDWR | MPI_MODE_CREATE);
    CODE(MPI_File_set_view(file, 16 * rank, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL));
    MPI_File_get_type_extent(file, MPI_DOUBLE, &extent);
    say("a double: %ld", (long)extent);
    CODE(MPI_File_write_at(file, 0, numbers, 2, MPI_INT, &status));
    CODE(MPI_File_write_at(file, 8, &real, 1, MPI_DOUBLE, &status));
    content("external");
    MPI_File_read_at(file, 0, got, 2, MPI_INT, &status);
    MPI_File_read_at(file, 8, &same, 1, MPI_DOUBLE, &status);
    say("read: %x %d %g", got[0], got[1], same);
    MPI_Barrier(MPI_COMM_WORLD);
    CODE(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "of no program", MPI_INFO_NULL));
    CODE(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    MPI_File_read_at(file, 0, got, 2, MPI_INT, &status);
    say("native: %x %x", got[0], got[1]);
    MPI_File_close(&file);
}

void views(void)
{
    new_path();
    interleaved();
    matrices();
    external();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        unlink(path);
}
