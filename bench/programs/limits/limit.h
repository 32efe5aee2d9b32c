/* Common parts of the limits. A limit has bare loops in place of the MPI program of its name. It takes the
 * same arguments, and prints the figures that it bounds under the same names. */
#ifndef LIMIT_H
#define LIMIT_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_BLOCKS = 7 };

static double block_s = 0.01;
static int quick;

static inline double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

/* Binds this process to the processor of a rank, like launchers that bind ranks to cores in turn. */
static inline void bind_to(int number) {
    cpu_set_t have, one;
    sched_getaffinity(0, sizeof have, &have);
    number %= CPU_COUNT(&have);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &have) && number-- == 0) CPU_SET(i, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static inline void *shared_memory(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    memset(at, 0, bytes);
    return at;
}

static inline int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double median(double *values, int count) {
    qsort(values, count, sizeof *values, ascending);
    return values[count / 2];
}

static inline void start(int argc, char **argv) {
    if (argc > 1) block_s = atof(argv[1]) / 1e3;
    quick = argc > 2 && atoi(argv[2]);
}

static inline void tell(const char *name, long bytes, double value, const char *unit) {
    printf("%s %ld %.6g %s\n", name, bytes, value, unit);
    fflush(stdout);
}

static inline void must_be(long long found, long long expected, const char *what) {
    if (found == expected) return;
    fprintf(stderr, "%s is %lld, not %lld\n", what, found, expected);
    exit(1);
}

#endif
