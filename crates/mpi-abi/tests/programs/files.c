/* Opens, queries, resizes and deletes files; errors go to the file's handler. */
#include "file.h"

static int called;
static MPI_File seen;

static void handler(MPI_File *file, int *code, ...)
{
    (void)code;
    called++;
    seen = *file;
}

static void modes(void)
{
    MPI_File fh = MPI_FILE_NULL;
    int wrong[] = {0, MPI_MODE_RDONLY | MPI_MODE_WRONLY, MPI_MODE_RDWR | MPI_MODE_RDONLY, MPI_MODE_CREATE,
        MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_MODE_RDONLY | MPI_MODE_EXCL, MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL,
        MPI_MODE_RDWR | 1 << 25};
    for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++) {
        FAILS(MPI_ERR_AMODE, MPI_File_open(MPI_COMM_WORLD, path, wrong[n], MPI_INFO_NULL, &fh));
        CHECK(fh == MPI_FILE_NULL);
    }
    FAILS(MPI_ERR_NO_SUCH_FILE, MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
    FAILS(MPI_ERR_BAD_FILE, MPI_File_open(MPI_COMM_WORLD, "", MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
    FAILS(MPI_ERR_BAD_FILE, MPI_File_open(MPI_COMM_WORLD, "/", MPI_MODE_RDONLY, MPI_INFO_NULL, &fh));
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL, MPI_INFO_NULL, &fh));
    int amode;
    OK(MPI_File_get_amode(fh, &amode));
    CHECK(amode == (MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL));
    OK(MPI_File_close(&fh));
    CHECK(fh == MPI_FILE_NULL);
    FAILS(MPI_ERR_FILE_EXISTS,
        MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL, MPI_INFO_NULL, &fh));
    char below[300];
    snprintf(below, sizeof below, "%s/below", path);
    FAILS(MPI_ERR_BAD_FILE, MPI_File_open(MPI_COMM_WORLD, below, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh));
    if (size > 1) {
        FAILS(MPI_ERR_NOT_SAME, MPI_File_open(MPI_COMM_WORLD, path, rank == 0 ? MPI_MODE_RDWR : MPI_MODE_RDONLY,
            MPI_INFO_NULL, &fh));
        FAILS(MPI_ERR_NOT_SAME, MPI_File_open(MPI_COMM_WORLD, rank == 0 ? path : below, MPI_MODE_RDWR,
            MPI_INFO_NULL, &fh));
        FAILS(MPI_ERR_AMODE, MPI_File_open(MPI_COMM_WORLD, path, rank == size - 1 ? 0 : MPI_MODE_RDONLY,
            MPI_INFO_NULL, &fh));
    }
    together();
    if (rank == 0) {
        OK(MPI_File_delete(path, MPI_INFO_NULL));
        FAILS(MPI_ERR_NO_SUCH_FILE, MPI_File_delete(path, MPI_INFO_NULL));
    }
    together();
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
        MPI_INFO_NULL, &fh));
    OK(MPI_File_close(&fh));
    CHECK(access(path, F_OK) != 0);
}

/* The name of a file system may stand before that of a file, as with ROMIO. */
static void prefixes(void)
{
    const char *names[] = {"ufs", "nfs"};
    char prefixed[300];
    MPI_File fh = MPI_FILE_NULL;
    for (int n = 0; n < 2; n++) {
        snprintf(prefixed, sizeof prefixed, "%s:%s", names[n], path);
        OK(MPI_File_open(MPI_COMM_WORLD, prefixed, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &fh));
        OK(MPI_File_close(&fh));
        CHECK(access(path, F_OK) == 0);
        together();
        if (rank == 0)
            OK(MPI_File_delete(prefixed, MPI_INFO_NULL));
        together();
        CHECK(access(path, F_OK) != 0);
    }
    snprintf(prefixed, sizeof prefixed, "zzz:%s", path);
    FAILS(MPI_ERR_NO_SUCH_FILE, MPI_File_open(MPI_COMM_WORLD, prefixed, MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
}

static void sizes(void)
{
    MPI_File fh = fresh(MPI_MODE_RDWR);
    OK(MPI_File_set_size(fh, 1000));
    CHECK(size_of(fh) == 1000);
    OK(MPI_File_preallocate(fh, 500));
    CHECK(size_of(fh) == 1000);
    OK(MPI_File_preallocate(fh, 5000));
    CHECK(size_of(fh) == 5000);
    OK(MPI_File_set_size(fh, 10));
    CHECK(size_of(fh) == 10);
    FAILS(MPI_ERR_ARG, MPI_File_set_size(fh, -1));
    FAILS(MPI_ERR_ARG, MPI_File_preallocate(fh, -1));
    if (size > 1)
        FAILS(MPI_ERR_NOT_SAME, MPI_File_set_size(fh, rank));
    OK(MPI_File_sync(fh));
    int atomic = 7;
    OK(MPI_File_get_atomicity(fh, &atomic));
    CHECK(atomic == 0);
    OK(MPI_File_set_atomicity(fh, 1));
    OK(MPI_File_get_atomicity(fh, &atomic));
    CHECK(atomic == 1);
    MPI_Group group, world;
    int same;
    OK(MPI_File_get_group(fh, &group));
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(group, world, &same);
    CHECK(same == MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    MPI_File other = fh;
    OK(MPI_File_close(&fh));
    FAILS(MPI_ERR_FILE, MPI_File_close(&other));
    FAILS(MPI_ERR_FILE, MPI_File_sync(other));
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh));
    FAILS(MPI_ERR_READ_ONLY, MPI_File_set_size(fh, 0));
    FAILS(MPI_ERR_READ_ONLY, MPI_File_write(fh, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_READ_ONLY, MPI_File_write_all(fh, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&fh));
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_WRONLY, MPI_INFO_NULL, &fh));
    char byte;
    FAILS(MPI_ERR_ACCESS, MPI_File_read(fh, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&fh));
}

static void hints(void)
{
    MPI_Info info, used;
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "65536");
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_Info_set(info, "striping_unit", "4096");
    MPI_Info_set(info, "nonsense", "1");
    MPI_File fh;
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, info, &fh));
    char value[300];
    int flag, room;
    struct { const char *key, *value; } expected[] = {{"cb_buffer_size", "65536"}, {"romio_cb_write", "enable"},
        {"striping_unit", "4096"}, {"filename", path}, {"cb_nodes", "1"}, {"nonsense", NULL}};
    OK(MPI_File_get_info(fh, &used));
    for (size_t n = 0; n < sizeof expected / sizeof *expected; n++) {
        room = sizeof value;
        MPI_Info_get_string(used, expected[n].key, &room, value, &flag);
        CHECK(flag == (expected[n].value != NULL));
        CHECK(!flag || strcmp(value, expected[n].value) == 0);
    }
    MPI_Info_free(&used);
    MPI_Info_set(info, "cb_nodes", "2");
    OK(MPI_File_set_info(fh, info));
    OK(MPI_File_get_info(fh, &used));
    room = sizeof value;
    MPI_Info_get_string(used, "cb_nodes", &room, value, &flag);
    CHECK(flag && atoi(value) == (size < 2 ? size : 2));
    MPI_Info_free(&used);
    MPI_Info_free(&info);
    OK(MPI_File_close(&fh));
}

static void handlers(void)
{
    MPI_File fh = fresh(MPI_MODE_RDWR);
    MPI_Errhandler own, got;
    OK(MPI_File_get_errhandler(fh, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    OK(MPI_File_create_errhandler(handler, &own));
    OK(MPI_File_set_errhandler(fh, own));
    FAILS(MPI_ERR_ARG, MPI_File_seek(fh, -1, MPI_SEEK_SET));
    CHECK(called == 1 && seen == fh);
    OK(MPI_File_call_errhandler(fh, MPI_ERR_IO));
    CHECK(called == 2 && seen == fh);
    FAILS(MPI_ERR_FILE, MPI_File_seek(MPI_FILE_NULL, 0, MPI_SEEK_SET));
    CHECK(called == 2);
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, own));
    MPI_File none = fh;
    FAILS(MPI_ERR_AMODE, MPI_File_open(MPI_COMM_WORLD, path, 0, MPI_INFO_NULL, &none));
    CHECK(called == 3 && seen == MPI_FILE_NULL && none == MPI_FILE_NULL);
    MPI_File other;
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &other));
    FAILS(MPI_ERR_ARG, MPI_File_seek(other, -1, MPI_SEEK_SET));
    CHECK(called == 4 && seen == other);
    OK(MPI_File_close(&other));
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    OK(MPI_Errhandler_free(&own));
    OK(MPI_File_set_errhandler(fh, MPI_ERRORS_RETURN));
    char text[MPI_MAX_ERROR_STRING];
    int len, code = MPI_File_seek(fh, 5, 12345);
    OK(MPI_Error_string(code, text, &len));
    CHECK(strstr(text, "MPI_File_seek") && strstr(text, "12345"));
    CHECK(MPI_File_fromint(MPI_File_toint(fh)) == fh);
    OK(MPI_File_close(&fh));
}

static void communicators(void)
{
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    char name[300];
    snprintf(name, sizeof name, "%s-%d", path, rank % 2);
    MPI_File fh, alone;
    OK(MPI_File_open(half, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh));
    MPI_Comm_free(&half);
    snprintf(name, sizeof name, "%s-alone-%d", path, rank);
    OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
        &alone));
    OK(MPI_File_set_size(alone, rank));
    CHECK(size_of(alone) == rank);
    OK(MPI_File_close(&alone));
    OK(MPI_File_set_size(fh, rank % 2));
    CHECK(size_of(fh) == rank % 2);
    OK(MPI_File_close(&fh));
}

int main(int argc, char **argv)
{
    start_file(&argc, &argv, "files");
    modes();
    prefixes();
    sizes();
    hints();
    handlers();
    communicators();
    together();
    if (rank == 0)
        OK(MPI_File_delete(path, MPI_INFO_NULL));
    MPI_Finalize();
    return result();
}
