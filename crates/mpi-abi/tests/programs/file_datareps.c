/* Data representations: big-endian in the file, and one of the program that writes numbers of half the
   length. */
#include "file.h"

static MPI_File fh;
static int extents, reads, writes;

/* Numbers of 4 bytes have 2 in the file. */
static int half_extent(MPI_Datatype datatype, MPI_Aint *extent, void *state)
{
    CHECK(state == &extents);
    extents++;
    int size;
    MPI_Type_size(datatype, &size);
    *extent = datatype == MPI_INT ? 2 : size;
    return datatype == MPI_FLOAT ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int to_half(void *user, MPI_Datatype datatype, int count, void *file, MPI_Offset position, void *state)
{
    CHECK(state == &extents && position == 0);
    writes++;
    int size, each;
    MPI_Aint low, extent;
    MPI_Type_size(datatype, &size);
    MPI_Type_get_extent(datatype, &low, &extent);
    each = size / 4;
    for (int n = 0; n < count; n++)
        for (int i = 0; i < each; i++) {
            int value;
            /* The tests' types have their numbers at every second place of memory. */
            memcpy(&value, (char *)user + n * extent + (each == 1 ? 0 : 8 * i), 4);
            short shorter = (short)value;
            memcpy((char *)file + 2 * (n * each + i), &shorter, 2);
        }
    return MPI_SUCCESS;
}

static int from_half(void *user, MPI_Datatype datatype, int count, void *file, MPI_Offset position, void *state)
{
    CHECK(state == &extents && position == 0);
    reads++;
    int size, each;
    MPI_Aint low, extent;
    MPI_Type_size(datatype, &size);
    MPI_Type_get_extent(datatype, &low, &extent);
    each = size / 4;
    for (int n = 0; n < count; n++)
        for (int i = 0; i < each; i++) {
            short shorter;
            memcpy(&shorter, (char *)file + 2 * (n * each + i), 2);
            int value = shorter;
            memcpy((char *)user + n * extent + (each == 1 ? 0 : 8 * i), &value, 4);
        }
    return MPI_SUCCESS;
}

static int fails(void *user, MPI_Datatype datatype, int count, void *file, MPI_Offset position, void *state)
{
    (void)user, (void)datatype, (void)count, (void)file, (void)position, (void)state;
    return MPI_ERR_OTHER;
}

static int large_extent(MPI_Datatype datatype, MPI_Aint *extent, void *state)
{
    (void)state;
    int size;
    MPI_Type_size(datatype, &size);
    *extent = size;
    return MPI_SUCCESS;
}

static int upside_down(void *user, MPI_Datatype datatype, MPI_Count count, void *file, MPI_Offset position, void *state)
{
    (void)datatype, (void)position, (void)state;
    for (MPI_Count n = 0; n < count; n++)
        ((int *)file)[n] = -((int *)user)[n];
    return MPI_SUCCESS;
}

static void external(void)
{
    MPI_Status status;
    long longs[4] = {1, -2, 3, 0x12345678}, back[4] = {0};
    OK(MPI_File_set_size(fh, 0));
    OK(MPI_File_set_view(fh, 0, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL));
    MPI_Aint extent;
    OK(MPI_File_get_type_extent(fh, MPI_LONG, &extent));
    CHECK(extent == 4);
    OK(MPI_File_write_at_all(fh, 4 * rank, longs, 4, MPI_LONG, &status));
    CHECK(count_of(&status, MPI_LONG) == 4);
    together();
    CHECK(size_of(fh) == 16 * size);
    OK(MPI_File_read_at(fh, 4 * (size - 1), back, 4, MPI_LONG, &status));
    CHECK(count_of(&status, MPI_LONG) == 4 && memcmp(longs, back, sizeof longs) == 0);
    OK(MPI_File_read_at(fh, 4 * size - 1, back, 4, MPI_LONG, &status));
    CHECK(count_of(&status, MPI_LONG) == 1 && back[0] == longs[3]);
    longs[0] = 1L << 40;
    FAILS(MPI_ERR_CONVERSION, MPI_File_write_at(fh, 0, longs, 1, MPI_LONG, &status));
    together();
    /* Every second number of memory; the file's numbers are interleaved with those of another view. */
    MPI_Datatype vector;
    MPI_Type_vector(2, 1, 2, MPI_LONG, &vector);
    MPI_Type_commit(&vector);
    OK(MPI_File_set_view(fh, 16, MPI_LONG, vector, "external32", MPI_INFO_NULL));
    MPI_Offset place;
    OK(MPI_File_get_byte_offset(fh, 1, &place));
    CHECK(place == 24);
    unsigned char bytes[16];
    OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_File_read_at(fh, 0, bytes, 16, MPI_BYTE, &status));
    CHECK(bytes[3] == 1 && bytes[4] == 0xff && bytes[7] == 0xfe && bytes[12] == 0x12 && bytes[15] == 0x78);
    MPI_Type_free(&vector);
    together();
}

static void registered(void)
{
    MPI_Status status;
    MPI_Request request;
    OK(MPI_Register_datarep("half", from_half, to_half, half_extent, &extents));
    FAILS(MPI_ERR_DUP_DATAREP, MPI_Register_datarep("half", from_half, to_half, half_extent, NULL));
    FAILS(MPI_ERR_DUP_DATAREP, MPI_Register_datarep("native", from_half, to_half, half_extent, NULL));
    FAILS(MPI_ERR_ARG, MPI_Register_datarep("", from_half, to_half, half_extent, NULL));
    FAILS(MPI_ERR_ARG, MPI_Register_datarep("other", from_half, to_half, NULL, NULL));
    OK(MPI_File_set_size(fh, 0));
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "half", MPI_INFO_NULL));
    char name[MPI_MAX_DATAREP_STRING];
    MPI_Offset disp;
    MPI_Datatype etype, filetype, gaps;
    OK(MPI_File_get_view(fh, &disp, &etype, &filetype, name));
    CHECK(strcmp(name, "half") == 0 && extents > 0);
    int numbers[6] = {1, 7, -2, 8, 3, 9}, back[6] = {0};
    MPI_Type_vector(3, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    OK(MPI_File_write_at_all(fh, 3 * rank, numbers, 1, gaps, &status));
    CHECK(count_of(&status, MPI_INT) == 3 && writes == 1);
    together();
    CHECK(size_of(fh) == 6 * size);
    OK(MPI_File_iread_at_all(fh, 3 * (size - 1 - rank), back, 1, gaps, &request));
    OK(MPI_Wait(&request, &status));
    CHECK(count_of(&status, MPI_INT) == 3 && reads == 1 && back[0] == 1 && back[1] == 0 && back[2] == -2 && back[4] == 3);
    FAILS(MPI_ERR_OTHER, MPI_File_set_view(fh, 0, MPI_FLOAT, MPI_FLOAT, "half", MPI_INFO_NULL));
    MPI_Type_free(&gaps);
    OK(MPI_Register_datarep("failing", fails, fails, large_extent, NULL));
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "failing", MPI_INFO_NULL));
    CHECK(MPI_File_write_at(fh, 0, numbers, 1, MPI_INT, &status) != MPI_SUCCESS);
    OK(MPI_Register_datarep("plain", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, large_extent, NULL));
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "plain", MPI_INFO_NULL));
    together();
    OK(MPI_File_write_at_all(fh, rank, &numbers[2], 1, MPI_INT, &status));
    OK(MPI_File_read_at_all(fh, rank, back, 1, MPI_INT, &status));
    CHECK(back[0] == -2);
    OK(MPI_Register_datarep_c("large", MPI_CONVERSION_FN_NULL_C, upside_down, large_extent, NULL));
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "large", MPI_INFO_NULL));
    OK(MPI_File_write_at_all(fh, rank, &numbers[2], 1, MPI_INT, &status));
    OK(MPI_File_read_at_all(fh, rank, back, 1, MPI_INT, &status));
    CHECK(back[0] == 2);
}

int main(int argc, char **argv)
{
    start_file(&argc, &argv, "datareps");
    fh = fresh(MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    external();
    registered();
    OK(MPI_File_close(&fh));
    MPI_Finalize();
    return result();
}
