/* Files: `io BLOCK_MS QUICK DIRECTORY MEGABYTES`. Every rank has an equal part of the bytes of one file, which is removed afterwards.
 *
 *   write, read              collective, through a view of blocks of so many bytes, every rank its own one in turn; 16 MB of a
 *                            rank in one call
 *   write-fsync              the same with MPI_File_sync
 *   own-write, own-read      of each rank alone: its part is contiguous, 4 MB in one call
 *   own-write-fsync          the same with MPI_File_sync
 *
 * A file is new for each write. The page cache holds the bytes that are read, as far as there is room. After
 * the timed transfers of a kind one more is checked: the value of each word of the file follows from its
 * place. The check of a write reads the file by the system's calls; the check of a read compares the received
 * words. */
#include "measure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>

enum { CALL = 16 << 20, OWN_CALL = 4 << 20 };

static char path[4096];
static int64_t total, part;
static uint64_t *words;

static uint64_t word_at(int64_t place) {
    return (uint64_t)(place + 1) * 0x9E3779B97F4A7C15u;
}

static void must_succeed(int code, const char *call) {
    char text[MPI_MAX_ERROR_STRING];
    int length;
    if (code == MPI_SUCCESS) return;
    MPI_Error_string(code, text, &length);
    printf("rank %d: %s: %s\n", rank, call, text);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Returns the place in the file of a byte of this rank's data, which lies in blocks; 0 means contiguous. */
static int64_t place(int64_t at, int block) {
    return block ? at / block * block * ranks + (int64_t)rank * block + at % block : rank * part + at;
}

static void fill(int64_t from, int64_t bytes, int block) {
    for (int64_t i = 0; i < bytes; i += 8) words[i / 8] = word_at(place(from + i, block));
}

static void compare(int64_t from, int64_t bytes, int block, const char *what) {
    int64_t wrong = 0;
    for (int64_t i = 0; i < bytes; i += 8) wrong += words[i / 8] != word_at(place(from + i, block));
    must_be(wrong, 0, what);
}

/* Compares this rank's contiguous part of the file with the right values, read by the system's calls. */
static void compare_file(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    int file = open(path, O_RDONLY);
    for (int64_t from = 0; from < part; from += CALL) {
        int64_t bytes = part - from < CALL ? part - from : CALL, got = 0;
        while (got < bytes) {
            ssize_t n = pread(file, (char *)words + got, bytes - got, rank * part + from + got);
            if (n <= 0) break;
            got += n;
        }
        must_be(got, bytes, "what there is of the file in bytes");
        compare(from, bytes, 0, "the number of wrong words in the file");
    }
    close(file);
    MPI_Barrier(MPI_COMM_WORLD);
}

struct transfer { const char *name; int block, writes, syncs; };

/* Makes one call. If `checked`, it writes the right words, or checks the words that it reads. */
static void call(MPI_File file, const struct transfer *t, int64_t from, int64_t bytes, int checked) {
    int (*read)(MPI_File, void *, int, MPI_Datatype, MPI_Status *) = t->block ? MPI_File_read_all : MPI_File_read;
    int (*write)(MPI_File, const void *, int, MPI_Datatype, MPI_Status *) = t->block ? MPI_File_write_all : MPI_File_write;
    MPI_Status status;
    if (checked && t->writes) fill(from, bytes, t->block);
    if (checked && !t->writes) memset(words, 0, bytes);
    int code = t->writes ? write(file, words, bytes / 8, MPI_UINT64_T, &status) : read(file, words, bytes / 8, MPI_UINT64_T, &status);
    must_succeed(code, t->name);
    if (checked && !t->writes) compare(from, bytes, t->block, "the number of wrong words that were read");
}

/* Returns the seconds in which all bytes are transferred, on the slowest rank. */
static double once(const struct transfer *t, int checked) {
    MPI_File file;
    MPI_Datatype view;
    int64_t most = t->block ? CALL : OWN_CALL;
    if (t->writes && rank == 0 && unlink(path) && errno != ENOENT) must_be(errno, 0, "the error of unlink");
    MPI_Barrier(MPI_COMM_WORLD);
    int mode = t->writes ? MPI_MODE_CREATE | MPI_MODE_WRONLY : MPI_MODE_RDONLY;
    must_succeed(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file), "MPI_File_open");
    if (t->block) {
        MPI_Type_vector(1, t->block, t->block, MPI_BYTE, &view);
        MPI_Datatype whole;
        MPI_Type_create_resized(view, 0, (MPI_Aint)t->block * ranks, &whole);
        MPI_Type_commit(&whole);
        must_succeed(MPI_File_set_view(file, (MPI_Offset)rank * t->block, MPI_BYTE, whole, "native", MPI_INFO_NULL), "MPI_File_set_view");
        MPI_Type_free(&whole);
        MPI_Type_free(&view);
    } else {
        must_succeed(MPI_File_seek(file, rank * part, MPI_SEEK_SET), "MPI_File_seek");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime(), longest;
    for (int64_t from = 0; from < part; from += most) call(file, t, from, part - from < most ? part - from : most, checked);
    if (t->syncs) must_succeed(MPI_File_sync(file), "MPI_File_sync");
    double took = MPI_Wtime() - begin;
    must_succeed(MPI_File_close(&file), "MPI_File_close");
    MPI_Allreduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (checked && t->writes) compare_file();
    return longest;
}

int main(int argc, char **argv) {
    start(argc, argv);
    snprintf(path, sizeof path, "%s/canele-peers-io", argc > 3 ? argv[3] : ".");
    part = (argc > 4 ? atol(argv[4]) : 64) * (int64_t)(1 << 20) / ranks / 4096 * 4096;
    total = part * ranks;
    words = (uint64_t *)buffer(CALL, 0);
    static const struct transfer all[] = {
        {"own-write", 0, 1, 0}, {"own-read", 0, 0, 0}, {"own-write-fsync", 0, 1, 1}, {"write", 4096, 1, 0}, {"read", 4096, 0, 0},
        {"write-fsync", 4096, 1, 1}, {"write", 64, 1, 0}, {"read", 64, 0, 0},
    };
    double took[3];
    int times = quick ? 1 : 3;
    /* Memory of the page cache may be new to this machine, so the first transfer is not timed. */
    once(&all[0], 0);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        for (int j = 0; j < times; j++) took[j] = once(&all[i], 0);
        tell(all[i].name, all[i].block, total / median(took, times) / 1e9, "GB/s");
        once(&all[i], 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) unlink(path);
    free(words);
    MPI_Finalize();
    return 0;
}
