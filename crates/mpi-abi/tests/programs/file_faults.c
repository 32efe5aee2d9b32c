/* Files that fail: larger than a limit, removed, in a read-only folder, on a full disk. All members of a
 * collective call get the error, and data written earlier stay. */
#include "file.h"
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

enum { MANY = 1 << 16 };
static int data[MANY], back[MANY];

/* Limits files to so many bytes. */
static void limited(rlim_t bytes)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static void quota(void)
{
    MPI_File fh = fresh(MPI_MODE_RDWR);
    MPI_Status status;
    MPI_Request request;
    int last = rank == size - 1;
    signal(SIGXFSZ, SIG_IGN);
    /* Only one member cannot write. */
    if (last)
        limited(1000);
    MPI_Offset at = last ? 2000 : 4 * rank;
    data[0] = 77 + rank;
    FAILS(MPI_ERR_QUOTA, MPI_File_write_at_all(fh, at, data, 1, MPI_INT, &status));
    int code = MPI_File_write_at_all(fh, at, data, 1, MPI_INT, &status), len;
    char text[MPI_MAX_ERROR_STRING], who[30];
    MPI_Error_string(code, text, &len);
    snprintf(who, sizeof who, "rank %d", size - 1);
    CHECK(strstr(text, path) && strstr(text, who));
    OK(MPI_File_iwrite_at_all(fh, at, data, 1, MPI_INT, &request));
    FAILS(MPI_ERR_QUOTA, MPI_Wait(&request, &status));
    OK(MPI_File_write_at_all_begin(fh, at, data, 1, MPI_INT));
    FAILS(MPI_ERR_QUOTA, MPI_File_write_at_all_end(fh, data, &status));
    if (last) {
        FAILS(MPI_ERR_QUOTA, MPI_File_write_at(fh, at, data, 1, MPI_INT, &status));
        OK(MPI_File_iwrite_at(fh, at, data, 1, MPI_INT, &request));
        FAILS(MPI_ERR_QUOTA, MPI_Wait(&request, &status));
    } else {
        /* The other members' data are in the file. */
        OK(MPI_File_read_at(fh, at, back, 1, MPI_INT, &status));
        CHECK(back[0] == 77 + rank);
    }
    limited(RLIM_INFINITY);
    together();
    /* Interleaved parts, written by one member for all. */
    MPI_Datatype part, filetype;
    MPI_Type_vector(MANY, 1, size, MPI_INT, &part);
    MPI_Type_create_resized(part, 0, 4, &filetype);
    MPI_Type_commit(&part);
    OK(MPI_File_set_size(fh, 0));
    OK(MPI_File_set_view(fh, 4 * rank, MPI_INT, part, "native", MPI_INFO_NULL));
    for (int n = 0; n < MANY; n++)
        data[n] = n * size + rank;
    if (rank == 0)
        limited(4096);
    if (size > 1)
        FAILS(MPI_ERR_QUOTA, MPI_File_write_at_all(fh, 0, data, MANY, MPI_INT, &status));
    limited(RLIM_INFINITY);
    together();
    OK(MPI_File_write_at_all(fh, 0, data, MANY, MPI_INT, &status));
    OK(MPI_File_read_at_all(fh, 0, back, MANY, MPI_INT, &status));
    CHECK(count_of(&status, MPI_INT) == MANY && memcmp(data, back, sizeof data) == 0);
    /* The file is cut in half: each member reads up to there. */
    OK(MPI_File_set_size(fh, (MPI_Offset)size * MANY / 2 * 4));
    OK(MPI_File_read_at_all(fh, 0, back, MANY, MPI_INT, &status));
    CHECK(count_of(&status, MPI_INT) == MANY / 2);
    MPI_Type_free(&part);
    MPI_Type_free(&filetype);
    /* A removed name leaves the open file. */
    together();
    if (rank == 0)
        CHECK(unlink(path) == 0);
    together();
    OK(MPI_File_write_at_all(fh, 0, data, 1, MPI_INT, &status));
    OK(MPI_File_sync(fh));
    OK(MPI_File_close(&fh));
    MPI_File again;
    FAILS(MPI_ERR_NO_SUCH_FILE, MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &again));
}

/* Tests a full disk and a read-only one, if this process may mount them. */
static void full(void)
{
    char folder[250], name[300];
    snprintf(folder, sizeof folder, "%s-folder", path);
    int mounted = 0;
    if (rank == 0) {
        mkdir(folder, 0700);
        mounted = mount("none", folder, "tmpfs", 0, "size=64k") == 0;
    }
    MPI_Bcast(&mounted, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (mounted) {
        MPI_File fh;
        MPI_Status status;
        snprintf(name, sizeof name, "%s/file", folder);
        OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
        OK(MPI_File_write_at_all(fh, 4 * rank, &data[rank], 1, MPI_INT, &status));
        FAILS(MPI_ERR_NO_SPACE, MPI_File_write_at_all(fh, 4096 + (MPI_Offset)rank * sizeof data, data, MANY, MPI_INT,
            &status));
        FAILS(MPI_ERR_NO_SPACE, MPI_File_preallocate(fh, 1 << 20));
        OK(MPI_File_read_at_all(fh, 4 * rank, back, 1, MPI_INT, &status));
        CHECK(back[0] == data[rank]);
        OK(MPI_File_close(&fh));
        together();
        if (rank == 0)
            CHECK(mount("none", folder, "tmpfs", MS_REMOUNT | MS_RDONLY, "size=64k") == 0);
        together();
        FAILS(MPI_ERR_READ_ONLY, MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
        together();
        if (rank == 0) {
            FAILS(MPI_ERR_READ_ONLY, MPI_File_delete(name, MPI_INFO_NULL));
            CHECK(umount(folder) == 0);
        }
    }
    if (rank == 0)
        rmdir(folder);
    together();
}

int main(int argc, char **argv)
{
    start_file(&argc, &argv, "faults");
    quota();
    full();
    MPI_Finalize();
    return result();
}
