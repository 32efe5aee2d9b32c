/* Files: opening, sizes, access at explicit offsets and by pointers, errors. */
#include "files.h"

char path[200];

void new_path(void)
{
    int process = (int)getpid();
    MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "/tmp/conformance-%d", process);
    unlink(path);
    MPI_Barrier(MPI_COMM_WORLD);
}

MPI_File opened(int mode)
{
    MPI_File file = MPI_FILE_NULL;
    int code = MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file);
    if (code != MPI_SUCCESS)
        say_code("MPI_File_open", code);
    return file;
}

void content(const char *what)
{
    static char bytes[4096];
    FILE *file;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        file = fopen(path, "rb");
        size_t n = file == NULL ? 0 : fread(bytes, 1, sizeof bytes, file);
        if (file != NULL)
            fclose(file);
        say("%s: %zu bytes", what, n);
        say_bytes(what, bytes, (int)n);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

void say_count(const char *what, const MPI_Status *status, MPI_Datatype datatype)
{
    int count = -1;
    MPI_Get_count(status, datatype, &count);
    say("%s: count %d", what, count);
}

static void say_size(const char *what, MPI_File file)
{
    MPI_Offset bytes = -1;
    MPI_File_get_size(file, &bytes);
    say("%s: %lld bytes", what, (long long)bytes);
}

static void opening(void)
{
    MPI_File file;
    MPI_Group group;
    MPI_Errhandler found;
    int mode, n, how, atomic;
    MPI_File_get_errhandler(MPI_FILE_NULL, &found);
    say("errors return: %d", found == MPI_ERRORS_RETURN);
    CODE(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    CODE(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    CODE(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
    CODE(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &file));
    CODE(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL, MPI_INFO_NULL, &file));
    MPI_File_get_amode(file, &mode);
    say("mode: %d", mode == (MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL));
    MPI_File_get_group(file, &group);
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(group, world, &how);
    say("group: %s", relation(how));
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    MPI_File_get_errhandler(file, &found);
    say("errors return: %d", found == MPI_ERRORS_RETURN);
    MPI_File_get_atomicity(file, &atomic);
    say("atomic: %d", atomic);
    say_size("new", file);
    CODE(MPI_File_set_size(file, 100));
    say_size("set", file);
    CODE(MPI_File_preallocate(file, 300));
    say_size("preallocated", file);
    CODE(MPI_File_preallocate(file, 50));
    say_size("preallocated", file);
    CODE(MPI_File_set_size(file, 10));
    say_size("cut", file);
    CODE(MPI_File_sync(file));
    CODE(MPI_File_close(&file));
    say("null: %d", file == MPI_FILE_NULL);
    CODE(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL, MPI_INFO_NULL, &file));
    CODE(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    CODE(MPI_File_write_at(file, 0, &mode, 1, MPI_INT, MPI_STATUS_IGNORE));
    CODE(MPI_File_close(&file));
    CODE(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    CODE(MPI_File_read_at(file, 0, &mode, 1, MPI_INT, MPI_STATUS_IGNORE));
    CODE(MPI_File_close(&file));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        CODE(MPI_File_delete(path, MPI_INFO_NULL));
        CODE(MPI_File_delete(path, MPI_INFO_NULL));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    static const char nowhere[] = "/tmp/conformance-no-such-folder/file";
    CODE(MPI_File_open(MPI_COMM_SELF, nowhere, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
    file = opened(MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE);
    MPI_File_close(&file);
    n = access(path, F_OK);
    say("deleted: %d", n != 0);
}

static void offsets(void)
{
    MPI_File file = opened(MPI_MODE_RDWR | MPI_MODE_CREATE);
    MPI_Status status;
    MPI_Request requests[2];
    MPI_Offset at;
    int from[6], got[6] = {0}, wrong = 0;
    for (int n = 0; n < 6; n++)
        from[n] = 100 * rank + n;
    CODE(MPI_File_write_at(file, 24 * rank, from, 3, MPI_INT, &status));
    say_count("written", &status, MPI_INT);
    CODE(MPI_File_write_at_all(file, 24 * rank + 12, from + 3, 3, MPI_INT, &status));
    say_count("written by all", &status, MPI_INT);
    content("written");
    int next = (rank + 1) % size;
    CODE(MPI_File_read_at(file, 24 * next, got, 6, MPI_INT, &status));
    say_count("read", &status, MPI_INT);
    say_ints("read", got, 6);
    CODE(MPI_File_read_at_all(file, 24 * size - 8, got, 6, MPI_INT, &status));
    say_count("read across the end", &status, MPI_INT);
    say_ints("read across the end", got, 2);
    CODE(MPI_File_read_at(file, 24 * size + 80, got, 6, MPI_INT, &status));
    say_count("read behind the end", &status, MPI_INT);
    CODE(MPI_File_read_at(file, -1, got, 1, MPI_INT, &status));
    CODE(MPI_File_write_at(file, 0, got, -1, MPI_INT, &status));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_iwrite_at(file, 24 * size + 8 * rank, from, 2, MPI_INT, &requests[0]);
    MPI_File_iread_at(file, 24 * next, got, 6, MPI_INT, &requests[1]);
    CODE(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    say_ints("read meanwhile", got, 6);
    MPI_File_iwrite_at_all(file, 32 * size + 4 * rank, from, 1, MPI_INT, &requests[0]);
    MPI_Wait(&requests[0], &status);
    say_count("written by all", &status, MPI_INT);
    content("more");
    CODE(MPI_File_write_at_all_begin(file, 4 * rank, from + 5, 1, MPI_INT));
    CODE(MPI_File_write_at_all_end(file, from + 5, &status));
    say_count("split", &status, MPI_INT);
    MPI_Barrier(MPI_COMM_WORLD);
    CODE(MPI_File_read_at_all_begin(file, 0, got, size, MPI_INT));
    CODE(MPI_File_read_at_all_end(file, got, &status));
    say_ints("split", got, size);
    MPI_File_seek(file, 8, MPI_SEEK_SET);
    MPI_File_get_position(file, &at);
    say("position: %lld", (long long)at);
    MPI_File_seek(file, -4, MPI_SEEK_CUR);
    MPI_File_get_position(file, &at);
    say("position: %lld", (long long)at);
    MPI_File_seek(file, -16, MPI_SEEK_END);
    MPI_File_get_position(file, &at);
    say("from the end: %lld", (long long)at);
    CODE(MPI_File_seek(file, -100000, MPI_SEEK_CUR));
    MPI_File_seek(file, 4 * rank, MPI_SEEK_SET);
    for (int n = 0; n < 3; n++) {
        MPI_File_read(file, got, 1, MPI_INT, &status);
        say("read: %d", got[0]);
    }
    MPI_File_get_position(file, &at);
    say("position: %lld", (long long)at);
    MPI_Barrier(MPI_COMM_WORLD);
    CODE(MPI_File_set_atomicity(file, 1));
    MPI_File_get_atomicity(file, &wrong);
    say("atomic: %d", wrong);
    MPI_File_write_at(file, 0, from, 6, MPI_INT, &status);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at(file, 0, got, 6, MPI_INT, &status);
    wrong = 0;
    for (int n = 0; n < 6; n++)
        wrong += got[n] != got[0] + n;
    say("of one writer: %d", wrong == 0);
    MPI_File_close(&file);
}

void files(void)
{
    new_path();
    opening();
    offsets();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        unlink(path);
}

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

void pointers(void)
{
    MPI_File file;
    MPI_Status status;
    MPI_Request request;
    MPI_Offset at;
    int mine[3] = {rank, 10 + rank, 20 + rank}, got[16], found = -1;
    new_path();
    file = opened(MPI_MODE_RDWR | MPI_MODE_CREATE);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    CODE(MPI_File_write_ordered(file, mine, rank + 1 > 3 ? 3 : rank + 1, MPI_INT, &status));
    say_count("ordered", &status, MPI_INT);
    content("ordered");
    MPI_File_get_position_shared(file, &at);
    say("position: %lld", (long long)at);
    MPI_Barrier(MPI_COMM_WORLD);
    CODE(MPI_File_write_shared(file, mine + 1, 1, MPI_INT, &status));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_get_position_shared(file, &at);
    say("position: %lld", (long long)at);
    MPI_File_read_at(file, at - size, got, size, MPI_INT, &status);
    qsort(got, (size_t)size, sizeof *got, ascending);
    say_ints("shared", got, size);
    MPI_Barrier(MPI_COMM_WORLD);
    CODE(MPI_File_seek_shared(file, 1, MPI_SEEK_SET));
    MPI_File_get_position_shared(file, &at);
    say("position: %lld", (long long)at);
    MPI_Barrier(MPI_COMM_WORLD);
    CODE(MPI_File_read_shared(file, &found, 1, MPI_INT, &status));
    MPI_Allgather(&found, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD);
    qsort(got, (size_t)size, sizeof *got, ascending);
    say_ints("read by some order", got, size);
    CODE(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    CODE(MPI_File_read_ordered(file, &found, 1, MPI_INT, &status));
    say("read in order: %d", found);
    CODE(MPI_File_seek_shared(file, 0, MPI_SEEK_END));
    CODE(MPI_File_write_ordered_begin(file, mine + 2, 1, MPI_INT));
    CODE(MPI_File_write_ordered_end(file, mine + 2, &status));
    MPI_Barrier(MPI_COMM_WORLD);
    say_size("split", file);
    MPI_Barrier(MPI_COMM_WORLD);
    CODE(MPI_File_seek_shared(file, -size, MPI_SEEK_CUR));
    CODE(MPI_File_read_ordered_begin(file, &found, 1, MPI_INT));
    CODE(MPI_File_read_ordered_end(file, &found, &status));
    say("split: %d", found);
    MPI_File_iwrite_shared(file, mine, 1, MPI_INT, &request);
    MPI_Wait(&request, &status);
    say_count("later", &status, MPI_INT);
    MPI_Barrier(MPI_COMM_WORLD);
    say_size("all", file);
    CODE(MPI_File_seek_shared(file, -size, MPI_SEEK_END));
    MPI_File_iread_shared(file, &found, 1, MPI_INT, &request);
    MPI_Wait(&request, &status);
    MPI_Allreduce(MPI_IN_PLACE, &found, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    say("sum: %d", found);
    MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        unlink(path);
}
