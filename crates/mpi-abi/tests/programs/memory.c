/* Memory that the library allocates: pieces, windows of any size, their real memory, and failures when memory
   is used up. */
#include "check.h"
#include <dirent.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECES 20000
#define MB (1L << 20)
#define GB (1L << 30)

static int rank, size;

/* Returns the number of descriptors that this process has open. */
static int descriptors(void)
{
    int n = 0;
    DIR *all = opendir("/proc/self/fd");
    while (all != NULL && readdir(all) != NULL)
        n++;
    if (all != NULL)
        closedir(all);
    return n;
}

/* Returns the bytes of shared memory that are real for this process. */
static long shared(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*d %*d %ld", &pages) != 1)
        CHECK(!"statm can be read");
    if (file != NULL)
        fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

/* Any number of pieces takes no descriptor, and each belongs to the program until it is freed. */
static void pieces(void)
{
    static int *all[PIECES];
    int *first, intact = 1;
    OK(MPI_Alloc_mem(64, MPI_INFO_NULL, &first));
    int before = descriptors();
    for (int i = 0; i < PIECES; i++) {
        OK(MPI_Alloc_mem(i % 200 * 4 + 4, MPI_INFO_NULL, &all[i]));
        for (int n = 0; n <= i % 200; n++)
            all[i][n] = i;
    }
    CHECK(descriptors() <= before + 4);
    for (int i = 0; i < PIECES; i += 2)
        OK(MPI_Free_mem(all[i]));
    for (int i = 1; i < PIECES; i += 2) {
        for (int n = 0; n <= i % 200; n++)
            intact &= all[i][n] == i;
        OK(MPI_Free_mem(all[i]));
    }
    CHECK(intact);
    FAILS(MPI_ERR_BASE, MPI_Free_mem(all[1]));
    FAILS(MPI_ERR_BASE, MPI_Free_mem(first + 1));
    FAILS(MPI_ERR_BASE, MPI_Free_mem(&intact));
    OK(MPI_Free_mem(first));
    FAILS(MPI_ERR_BASE, MPI_Free_mem(first));
}

/* The hint is respected, and impossible sizes are refused. */
static void hints(void)
{
    MPI_Info info;
    void *base, *other;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", "65536"));
    OK(MPI_Alloc_mem(3, MPI_INFO_NULL, &other));
    OK(MPI_Alloc_mem(3, info, &base));
    CHECK((uintptr_t)base % 65536 == 0 && base != other);
    OK(MPI_Free_mem(base));
    OK(MPI_Free_mem(other));
    OK(MPI_Info_free(&info));
    FAILS(MPI_ERR_NO_MEM, MPI_Alloc_mem(INT64_MAX, MPI_INFO_NULL, &base));
    FAILS(MPI_ERR_NO_MEM, MPI_Alloc_mem(1L << 50, MPI_INFO_NULL, &base));
}

/* Touched pages are given back to the system, though the piece may be used again. */
static void given_back(void)
{
    char *base;
    for (int round = 0; round < 2; round++) {
        OK(MPI_Alloc_mem(256 * MB, MPI_INFO_NULL, &base));
        long before = shared();
        memset(base, 1, 80 * MB);
        CHECK(shared() >= before + 80 * MB);
        OK(MPI_Free_mem(base));
        CHECK(shared() <= before + 8 * MB);
    }
}

/* A peer that reads many pieces, one after the other, has one mapping for all. */
static void sent(void)
{
    enum { BYTES = 500000 };
    static char into[BYTES];
    int after_first = 0;
    if (size < 2 || rank > 1)
        return;
    for (int i = 0; i < 60; i++) {
        char *piece, *hole;
        OK(MPI_Alloc_mem(BYTES + 100 * i, MPI_INFO_NULL, &piece));
        OK(MPI_Alloc_mem(64, MPI_INFO_NULL, &hole));
        memset(piece, i, BYTES);
        if (rank == 0)
            OK(MPI_Send(piece, BYTES, MPI_CHAR, 1, 0, MPI_COMM_WORLD));
        else
            OK(MPI_Recv(i % 2 ? into : piece, BYTES, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (rank == 1)
            CHECK((i % 2 ? into : piece)[BYTES - 1] == i);
        OK(MPI_Free_mem(piece));
        OK(MPI_Free_mem(hole));
        if (i == 9)
            after_first = descriptors();
    }
    CHECK(descriptors() <= after_first + 2);
}

/* Small windows are zero at first, even in memory that was used before, and take no descriptors. */
static void small_windows(void)
{
    MPI_Win wins[100];
    int *base, right = (rank + 1) % size, before = 0, are_zero = 1;
    for (int round = 0; round < 2; round++)
        for (int kind = 0; kind < 3; kind++) {
            for (int i = 0; i < 100; i++) {
                if (kind == 0)
                    OK(MPI_Win_allocate(400, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &wins[i]));
                else if (kind == 1)
                    OK(MPI_Win_allocate_shared(400, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &wins[i]));
                else
                    OK(MPI_Win_create(base = calloc(100, 4), 400, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &wins[i]));
                for (int n = 0; n < 100; n++)
                    are_zero &= base[n] == 0;
                if (kind != 2)
                    FAILS(MPI_ERR_BASE, MPI_Free_mem(base));
                OK(MPI_Win_fence(0, wins[i]));
                OK(MPI_Put(&i, 1, MPI_INT, right, 99, 1, MPI_INT, wins[i]));
                OK(MPI_Win_fence(0, wins[i]));
                CHECK(base[99] == i);
                if (round == 0 && kind == 0 && i == 0)
                    before = descriptors();
            }
            for (int i = 0; i < 100; i++) {
                int flag, *of_program;
                OK(MPI_Win_get_attr(wins[i], MPI_WIN_BASE, &of_program, &flag));
                OK(MPI_Win_free(&wins[i]));
                if (kind == 2)
                    free(of_program);
            }
        }
    CHECK(are_zero);
    CHECK(descriptors() <= before + 4);
}

/* A window may be far larger than memory; only touched pages are real. */
static void sparse_windows(void)
{
    MPI_Win win;
    char *base, seen = 0;
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    long before = shared(), places[] = {0, 37 * GB + 5, 100 * GB - 1};
    OK(MPI_Win_allocate(100 * GB, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_lock_all(0, win));
    for (int i = 0; i < 3; i++) {
        char value = (char)(10 * rank + i + 1);
        OK(MPI_Put(&value, 1, MPI_CHAR, right, places[i], 1, MPI_CHAR, win));
    }
    OK(MPI_Win_flush_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < 3; i++) {
        CHECK(base[places[i]] == (char)(10 * left + i + 1));
        OK(MPI_Get(&seen, 1, MPI_CHAR, right, places[i], 1, MPI_CHAR, win));
        OK(MPI_Win_flush(right, win));
        CHECK(seen == (char)(10 * rank + i + 1));
    }
    OK(MPI_Win_unlock_all(win));
    CHECK(shared() <= before + 16 * MB);
    OK(MPI_Win_free(&win));
    OK(MPI_Win_allocate_shared(rank == 0 ? 100 * GB : 4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    base[100] = 1;
    OK(MPI_Win_free(&win));
}

/* A forked child shares the memory, but can neither allocate nor free any. */
static void forked(void)
{
    int *base, status = 1;
    void *other;
    OK(MPI_Alloc_mem(64, MPI_INFO_NULL, &base));
    *base = 1;
    pid_t child = fork();
    if (child == 0) {
        *base = 2;
        _exit(MPI_Alloc_mem(64, MPI_INFO_NULL, &other) != MPI_SUCCESS && MPI_Free_mem(base) != MPI_SUCCESS ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0 && *base == 2);
    OK(MPI_Free_mem(base));
}

/* Makes windows until no rank can take another descriptor: all members get the error, and can go on. */
static void exhausted(void)
{
    enum { MOST = 300 };
    static MPI_Win wins[MOST];
    int *base, n, code = MPI_SUCCESS, same[2], right = (rank + 1) % size;
    for (n = 0; n < MOST && code == MPI_SUCCESS; n++)
        code = MPI_Win_allocate(2 * MB, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &wins[n]);
    FAILS(MPI_ERR_NO_MEM, code);
    CHECK(n > 3 && n < MOST);
    same[0] = n - 1;
    same[1] = -same[0];
    OK(MPI_Allreduce(MPI_IN_PLACE, same, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    CHECK(same[0] == -same[1]);
    FAILS(MPI_ERR_NO_MEM, MPI_Win_allocate(2 * MB, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &wins[n - 1]));
    for (int i = 0; i < n - 1; i++)
        OK(MPI_Win_free(&wins[i]));
    OK(MPI_Win_allocate(2 * MB, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &wins[0]));
    OK(MPI_Win_fence(0, wins[0]));
    OK(MPI_Put(&rank, 1, MPI_INT, right, 7, 1, MPI_INT, wins[0]));
    OK(MPI_Win_fence(0, wins[0]));
    CHECK(base[7] == (rank + size - 1) % size);
    OK(MPI_Win_free(&wins[0]));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    if (argc > 1) {
        exhausted();
    } else {
        pieces();
        hints();
        given_back();
        sent();
        small_windows();
        sparse_windows();
        forked();
    }
    MPI_Finalize();
    return result();
}
