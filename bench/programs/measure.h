/* Common parts of the programs beside this file: the time of a measurement, and the format of a figure.
 * A program is called as `program BLOCK_MS QUICK` and prints one line for each figure, on rank 0: "NAME BYTES
 * VALUE UNIT". An operation is repeated in blocks of BLOCK_MS; trials find the number of repetitions and warm
 * up. The figure is the median of the blocks. With QUICK there are fewer blocks and sizes. */
#ifndef MEASURE_H
#define MEASURE_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BLOCKS = 7 };

static int rank, ranks, quick;
static double block_s = 0.01;

/* Runs an operation `count` times; `what` has its arguments. */
typedef void (*operation)(const void *what, long count);

/* Puts this process into a session of its own. Linux gives each session an equal share of a busy processor,
 * but some launchers make one session for all ranks. A process that leads a group cannot begin a session, so
 * it joins its parent's group first. */
static inline void own_session(void) {
    if (getsid(0) == getpid() || setsid() >= 0) return;
    if (setpgid(0, getpgid(getppid())) == 0) setsid();
}

static inline void know(int argc, char **argv) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc > 1) block_s = atof(argv[1]) / 1e3;
    quick = argc > 2 && atoi(argv[2]);
}

static inline void start(int argc, char **argv) {
    own_session();
    MPI_Init(&argc, &argv);
    know(argc, argv);
}

/* Starts a program in which any thread may call MPI at any time. */
static inline void start_with_threads(int argc, char **argv) {
    int provided;
    own_session();
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    know(argc, argv);
    if (provided == MPI_THREAD_MULTIPLE) return;
    if (rank == 0) printf("this library has no MPI_THREAD_MULTIPLE\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static inline int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double median(double *values, int count) {
    qsort(values, count, sizeof *values, ascending);
    return values[count / 2];
}

/* Returns the seconds of one block on the slowest rank, on all ranks. */
static inline double block(operation run, const void *what, long count) {
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    run(what, count);
    double took = MPI_Wtime() - begin;
    double longest;
    MPI_Allreduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return longest;
}

/* Returns nanoseconds of one operation. An interrupted block is too long, so the shortest one so far gives
 * the number of repetitions. */
static inline double measure(operation run, const void *what) {
    double best = 1e9, took[MOST_BLOCKS];
    long count = 1;
    for (;;) {
        double each = block(run, what, count) / count;
        if (each < best) best = each;
        if (count * best >= 0.8 * block_s || count >= 1L << 30) break;
        count = count * 8 * best < block_s ? count * 8 : (long)(block_s / best) + 1;
    }
    int blocks = count * best > 10 * block_s ? 1 : quick || count * best > 2 * block_s ? 3 : MOST_BLOCKS;
    for (int i = 0; i < blocks; i++) took[i] = block(run, what, count) / count;
    return median(took, blocks) * 1e9;
}

static inline void tell(const char *name, long bytes, double value, const char *unit) {
    if (rank == 0) {
        printf("%s %ld %.6g %s\n", name, bytes, value, unit);
        fflush(stdout);
    }
}

/* Ends the job if a result is wrong, because its figures would be meaningless. */
static inline void must_be(long long found, long long expected, const char *what) {
    if (found == expected) return;
    printf("rank %d: %s is %lld, not %lld\n", rank, what, found, expected);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Returns memory of the library or of the program, filled so that every page exists. */
static inline char *buffer(size_t bytes, int allocated) {
    void *memory = NULL;
    if (allocated) MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &memory);
    else memory = malloc(bytes);
    if (!memory) {
        fprintf(stderr, "rank %d: no memory for %zu bytes\n", rank, bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(memory, rank + 1, bytes);
    return memory;
}

#endif
