/* Views of any datatypes, compared with a model that places each byte by itself. */
#include "file.h"
#include "file_dealt.h"

enum { LIMIT = 1 << 16 };

static MPI_File fh;
/* The expected content of the file, and the content read. */
static unsigned char model[LIMIT], content[LIMIT];
static unsigned random_state = 12345;

static int draw(int below)
{
    random_state = random_state * 1103515245 + 12345;
    return (int)(random_state >> 8) % below;
}

/* Returns the place of number n of rank `of`. */
static int place(int block, int blocks, int of, int n)
{
    int row = n / (block * blocks), within = n % (block * blocks);
    return (row * blocks + within / block) * block * size + of * block + within % block;
}

static void interleaved(int block, int blocks, int count, int way, MPI_Info info)
{
    MPI_Datatype filetype = dealt(block, blocks, rank);
    MPI_Offset disp = 4 * (way % 3);
    OK(MPI_File_set_size(fh, 0));
    OK(MPI_File_set_view(fh, disp, MPI_INT, filetype, "native", info));
    int *data = malloc(count * sizeof *data), *back = malloc(count * sizeof *back);
    for (int n = 0; n < count; n++)
        data[n] = rank * 1000000 + n;
    MPI_Status status;
    MPI_Request request;
    int half = count / 2;
    switch (way) {
    case 0: OK(MPI_File_write_at(fh, 0, data, count, MPI_INT, &status)); break;
    case 1:
        OK(MPI_File_write(fh, data, half, MPI_INT, &status));
        OK(MPI_File_write(fh, data + half, count - half, MPI_INT, &status));
        break;
    case 2: OK(MPI_File_write_at_all(fh, 0, data, count, MPI_INT, &status)); break;
    case 3:
        OK(MPI_File_write_all(fh, data, half, MPI_INT, &status));
        OK(MPI_File_write_all(fh, data + half, count - half, MPI_INT, &status));
        break;
    case 4: OK(MPI_File_iwrite_at_all(fh, 0, data, count, MPI_INT, &request)); OK(MPI_Wait(&request, &status));
    }
    OK(MPI_File_sync(fh));
    together();
    /* Reads the whole file without a view. */
    int total = size * count + block * size;
    int *all = malloc(total * sizeof *all);
    memset(all, 0xff, total * sizeof *all);
    OK(MPI_File_set_view(fh, disp, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_read_at(fh, 0, all, total, MPI_INT, &status));
    int wrong = 0;
    for (int of = 0; of < size; of++)
        for (int n = 0; n < count; n++)
            wrong += all[place(block, blocks, of, n)] != of * 1000000 + n;
    CHECK(wrong == 0);
    free(all);
    /* Reads by the view of the next rank. */
    MPI_Datatype next = dealt(block, blocks, (rank + 1) % size);
    OK(MPI_File_set_view(fh, disp, MPI_INT, next, "native", info));
    memset(back, 0, count * sizeof *back);
    switch (way) {
    case 0: OK(MPI_File_read_at(fh, 0, back, count, MPI_INT, &status)); break;
    case 1:
        OK(MPI_File_read(fh, back, half, MPI_INT, &status));
        OK(MPI_File_read(fh, back + half, count - half, MPI_INT, &status));
        break;
    case 2: OK(MPI_File_read_at_all(fh, 0, back, count, MPI_INT, &status)); break;
    case 3:
        OK(MPI_File_read_all(fh, back, half, MPI_INT, &status));
        OK(MPI_File_read_all(fh, back + half, count - half, MPI_INT, &status));
        break;
    case 4: OK(MPI_File_iread_at_all(fh, 0, back, count, MPI_INT, &request)); OK(MPI_Wait(&request, &status));
    }
    wrong = 0;
    for (int n = 0; n < count; n++)
        wrong += back[n] != ((rank + 1) % size) * 1000000 + n;
    CHECK(wrong == 0);
    together();
    MPI_Type_free(&filetype);
    MPI_Type_free(&next);
    free(data);
    free(back);
}

/* Compares one rank's views of any stretches, with gaps in memory. */
static void anything(void)
{
    int lens[6], gaps[6], blocks = 1 + draw(6), extent = 0, bytes = 0;
    MPI_Aint places[6];
    for (int n = 0; n < blocks; n++) {
        gaps[n] = draw(20);
        lens[n] = 1 + draw(30);
        extent += gaps[n];
        places[n] = extent;
        extent += lens[n];
        bytes += lens[n];
    }
    extent += draw(20);
    MPI_Datatype indexed, filetype, memory;
    MPI_Type_create_hindexed(blocks, lens, places, MPI_BYTE, &indexed);
    MPI_Type_create_resized(indexed, 0, extent, &filetype);
    MPI_Type_commit(&filetype);
    MPI_Type_free(&indexed);
    int piece = 1 + draw(5), stride = piece + draw(4), count = 1 + draw(400 / piece);
    MPI_Type_vector(count, piece, stride, MPI_BYTE, &memory);
    MPI_Type_commit(&memory);
    int disp = draw(50), offset = draw(300), total = count * piece;
    unsigned char *data = malloc(count * stride), *back = calloc(count, stride);
    for (int n = 0; n < count * stride; n++)
        data[n] = (unsigned char)draw(256);
    MPI_Status status;
    OK(MPI_File_set_view(fh, disp, MPI_BYTE, filetype, "native", MPI_INFO_NULL));
    OK(MPI_File_write_at(fh, offset, data, 1, memory, &status));
    CHECK(count_of(&status, MPI_BYTE) == total);
    MPI_Offset last = 0, found;
    for (int n = 0; n < total; n++) {
        int at = offset + n, tile = at / bytes, within = at % bytes, block = 0;
        while (within >= lens[block])
            within -= lens[block++];
        last = disp + (MPI_Offset)tile * extent + places[block] + within;
        if (n % 37 == 0) {
            OK(MPI_File_get_byte_offset(fh, at, &found));
            CHECK(found == last);
        }
        model[last] = data[n / piece * stride + n % piece];
    }
    MPI_Offset end;
    OK(MPI_File_read_at(fh, offset, back, 1, memory, &status));
    int wrong = count_of(&status, MPI_BYTE) != total;
    for (int n = 0; n < count * stride; n++)
        wrong += n % stride < piece ? back[n] != data[n] : back[n] != 0;
    CHECK(wrong == 0);
    /* The end of the file is a position in the view. */
    OK(MPI_File_seek(fh, 0, MPI_SEEK_END));
    OK(MPI_File_get_position(fh, &end));
    OK(MPI_File_get_byte_offset(fh, end, &found));
    CHECK(found >= size_of(fh));
    if (end > 0) {
        OK(MPI_File_get_byte_offset(fh, end - 1, &found));
        CHECK(found < size_of(fh));
    }
    OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    memset(content, 0, sizeof content);
    OK(MPI_File_read_at(fh, 0, content, LIMIT, MPI_BYTE, &status));
    CHECK(memcmp(content, model, LIMIT) == 0);
    free(data);
    free(back);
    MPI_Type_free(&filetype);
    MPI_Type_free(&memory);
}

/* A filetype that is used once and reaches far beyond its extent, like that of selected chunks: each rank has
   a column of each chunk. */
static void beyond_the_extent(MPI_Info info)
{
    enum { CHUNKS = 5, CHUNK = 40 };
    int lens[CHUNKS], count = 0;
    MPI_Aint places[CHUNKS];
    MPI_Datatype column, columns[CHUNKS], chunks, filetype;
    MPI_Type_vector(CHUNK, 1, size, MPI_INT, &column);
    for (int n = 0; n < CHUNKS; n++) {
        lens[n] = 1;
        columns[n] = column;
        /* Chunks lie anywhere, in the order of their displacements. */
        places[n] = (MPI_Aint)sizeof(int) * (n * size * (CHUNK + 3) + rank);
        count += CHUNK;
    }
    MPI_Type_create_struct(CHUNKS, lens, places, columns, &chunks);
    MPI_Type_create_resized(chunks, 0, (MPI_Aint)sizeof(int) * size * CHUNK, &filetype);
    MPI_Type_commit(&filetype);
    int data[CHUNKS * CHUNK], back[CHUNKS * CHUNK];
    for (int n = 0; n < count; n++)
        data[n] = rank * 1000 + n;
    MPI_Status status;
    for (int way = 0; way < 3; way++) {
        OK(MPI_File_set_size(fh, 0));
        OK(MPI_File_set_view(fh, 8, MPI_INT, filetype, "native", info));
        memset(back, 0, sizeof back);
        if (way == 0) {
            OK(MPI_File_write_at(fh, 0, data, count, MPI_INT, &status));
            together();
            OK(MPI_File_read_at(fh, 0, back, count, MPI_INT, &status));
        } else if (way == 1) {
            OK(MPI_File_write_at_all(fh, 0, data, count, MPI_INT, &status));
            OK(MPI_File_read_at_all(fh, 0, back, count, MPI_INT, &status));
        } else {
            /* Writes a part from the middle. */
            OK(MPI_File_write_at_all(fh, 0, data, 3, MPI_INT, &status));
            OK(MPI_File_write_at_all(fh, 3, data + 3, count - 3, MPI_INT, &status));
            OK(MPI_File_read_all(fh, back, 7, MPI_INT, &status));
            OK(MPI_File_read_all(fh, back + 7, count - 7, MPI_INT, &status));
        }
        CHECK(count_of(&status, MPI_INT) == (way == 2 ? count - 7 : count) && memcmp(data, back, sizeof data) == 0);
        together();
        OK(MPI_File_set_view(fh, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
        int wrong = 0, found;
        for (int n = 0; n < count; n += 3) {
            MPI_Offset at = n / CHUNK * size * (CHUNK + 3) + n % CHUNK * size + rank;
            OK(MPI_File_read_at(fh, at, &found, 1, MPI_INT, &status));
            wrong += found != data[n];
        }
        CHECK(wrong == 0);
        together();
    }
    /* The next element begins at the extent, before the last data of the first one. Where elements
       overlap, the later data of the stream stay. */
    OK(MPI_File_set_view(fh, 0, MPI_INT, filetype, "native", info));
    MPI_Offset at;
    OK(MPI_File_get_byte_offset(fh, count, &at));
    CHECK(at == (MPI_Offset)sizeof(int) * (size * CHUNK + rank));
    int twice[2 * CHUNKS * CHUNK], last;
    memcpy(twice, data, sizeof data);
    for (int n = 0; n < count; n++)
        twice[count + n] = rank * 1000 + count + n;
    together();
    OK(MPI_File_write_at_all(fh, 0, twice, 2 * count, MPI_INT, &status));
    OK(MPI_File_read_at_all(fh, 2 * count - 1, &last, 1, MPI_INT, &status));
    CHECK(last == twice[2 * count - 1]);
    OK(MPI_File_read_at_all(fh, count, back, count, MPI_INT, &status));
    CHECK(memcmp(back, twice + count, sizeof back) == 0);
    together();
    MPI_Type_free(&column);
    MPI_Type_free(&chunks);
    MPI_Type_free(&filetype);
}

static void errors(void)
{
    MPI_Datatype raw, backwards;
    int lens[2] = {1, 1}, places[2] = {3, 0};
    MPI_Type_vector(2, 1, 2, MPI_INT, &raw);
    FAILS(MPI_ERR_TYPE, MPI_File_set_view(fh, 0, MPI_INT, raw, "native", MPI_INFO_NULL));
    MPI_Type_indexed(2, lens, places, MPI_INT, &backwards);
    MPI_Type_commit(&backwards);
    FAILS(MPI_ERR_TYPE, MPI_File_set_view(fh, 0, MPI_INT, backwards, "native", MPI_INFO_NULL));
    FAILS(MPI_ERR_TYPE, MPI_File_set_view(fh, 0, MPI_INT, MPI_BYTE, "native", MPI_INFO_NULL));
    FAILS(MPI_ERR_ARG, MPI_File_set_view(fh, -2, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    FAILS(MPI_ERR_ARG, MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    FAILS(MPI_ERR_UNSUPPORTED_DATAREP, MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "strange", MPI_INFO_NULL));
    if (size > 1) {
        FAILS(MPI_ERR_NOT_SAME, MPI_File_set_view(fh, 0, rank ? MPI_INT : MPI_BYTE, MPI_INT, "native", MPI_INFO_NULL));
        FAILS(MPI_ERR_NOT_SAME, MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, rank ? "native" : "internal", MPI_INFO_NULL));
        FAILS(MPI_ERR_TYPE, MPI_File_set_view(fh, 0, MPI_INT, rank == size - 1 ? backwards : MPI_INT, "native",
            MPI_INFO_NULL));
    }
    OK(MPI_File_set_view(fh, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    char bytes[8], datarep[MPI_MAX_DATAREP_STRING];
    FAILS(MPI_ERR_IO, MPI_File_write_at(fh, 0, bytes, 3, MPI_BYTE, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_ARG, MPI_File_write_at(fh, INT64_MAX / 2, bytes, 1, MPI_INT, MPI_STATUS_IGNORE));
    MPI_Offset disp;
    MPI_Datatype etype, filetype;
    MPI_Aint extent;
    OK(MPI_File_get_view(fh, &disp, &etype, &filetype, datarep));
    CHECK(disp == 8 && etype == MPI_INT && filetype == MPI_INT && strcmp(datarep, "native") == 0);
    OK(MPI_File_get_type_extent(fh, MPI_DOUBLE, &extent));
    CHECK(extent == 8);
    MPI_Type_free(&raw);
    MPI_Type_free(&backwards);
}

int main(int argc, char **argv)
{
    start_file(&argc, &argv, "views");
    fh = fresh(MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Info infos[3] = {MPI_INFO_NULL};
    MPI_Info_create(&infos[1]);
    MPI_Info_set(infos[1], "romio_cb_write", "enable");
    MPI_Info_set(infos[1], "romio_cb_read", "enable");
    MPI_Info_set(infos[1], "cb_buffer_size", "4096");
    MPI_Info_set(infos[1], "romio_ds_write", "enable");
    MPI_Info_create(&infos[2]);
    MPI_Info_set(infos[2], "cb_nodes", "3");
    MPI_Info_set(infos[2], "collective_buffering", "enable");
    for (int info = 0; info < 3; info++)
        for (int way = 0; way < 5; way++) {
            interleaved(1, 7, 1001, way, infos[info]);
            interleaved(16, 3, 5000, way, infos[info]);
            interleaved(1000, 1, 3333, way, infos[info]);
        }
    for (int info = 0; info < 3; info++)
        beyond_the_extent(infos[info]);
    errors();
    OK(MPI_File_close(&fh));
    snprintf(path + strlen(path), 20, "-%d", rank);
    OK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh));
    random_state += rank;
    for (int n = 0; n < 100; n++)
        anything();
    OK(MPI_File_close(&fh));
    MPI_Info_free(&infos[1]);
    MPI_Info_free(&infos[2]);
    MPI_Finalize();
    return result();
}
