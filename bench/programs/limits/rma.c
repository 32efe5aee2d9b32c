/* Loads, stores and atomics in memory that two processes share: the limit of one-sided communication on one host. */
#include "limit.h"

enum { LONG = 1 << 20, LINES = 512 };

typedef struct { _Alignas(64) _Atomic int64_t value; } line;

/* Lines that one process writes and the other one writes back. */
static line *asked, *answered;
static line *cell, *counter, *lock, *lines;
static char *many;

typedef void (*operation)(long count);

static void put(long count) {
    for (long i = 0; i < count; i++) {
        atomic_store_explicit(&cell->value, i, memory_order_relaxed);
        atomic_thread_fence(memory_order_seq_cst);
    }
}

static void fetch_and_add(long count) {
    for (long i = 0; i < count; i++) atomic_fetch_add(&counter->value, 1);
}

static void locked_put(long count) {
    for (long i = 0; i < count; i++) {
        int64_t unlocked = 0;
        while (!atomic_compare_exchange_weak(&lock->value, &unlocked, 1)) unlocked = 0;
        atomic_store_explicit(&cell->value, i, memory_order_relaxed);
        atomic_store_explicit(&lock->value, 0, memory_order_release);
    }
}

static char *from;

static void put_long(long count) {
    for (long i = 0; i < count; i++) {
        memcpy(many, from, LONG);
        atomic_thread_fence(memory_order_seq_cst);
    }
}

static void accumulate_long(long count) {
    double *restrict to = (double *)many;
    const double *restrict add = (const double *)from;
    for (long i = 0; i < count; i++) {
        for (int j = 0; j < LONG / 8; j++) to[j] += add[j];
        atomic_thread_fence(memory_order_seq_cst);
    }
}

/* Returns nanoseconds of one operation. */
static double measure(operation run) {
    double took[MOST_BLOCKS], each = 1e9;
    long count = 1;
    for (;;) {
        double begin = now();
        run(count);
        double this_time = (now() - begin) / count;
        if (this_time < each) each = this_time;
        if (count * each >= 0.8 * block_s || count >= 1L << 30) break;
        count = count * 8 * each < block_s ? count * 8 : (long)(block_s / each) + 1;
    }
    int blocks = quick ? 3 : MOST_BLOCKS;
    for (int i = 0; i < blocks; i++) {
        double begin = now();
        run(count);
        took[i] = (now() - begin) / count;
    }
    return median(took, blocks) * 1e9;
}

/* Runs the other process: writes all lines each time it is asked to. */
static void write_lines(void) {
    for (int64_t pass = 1;; pass++) {
        int64_t wanted;
        while ((wanted = atomic_load_explicit(&asked->value, memory_order_acquire)) < pass && wanted >= 0);
        if (wanted < 0) _exit(0);
        for (int i = 0; i < LINES; i++) atomic_store_explicit(&lines[i].value, (pass << 32) + i, memory_order_relaxed);
        atomic_store_explicit(&answered->value, pass, memory_order_release);
    }
}

/* Returns nanoseconds of a load of a line that the other processor has just written; each address follows
   from the previous value. */
static double get(void) {
    static double took[4096];
    int passes = 0;
    double begin = now();
    while (passes < 4096 && (passes <= 8 || now() - begin < block_s * MOST_BLOCKS)) {
        int64_t pass = passes + 1, off = 0;
        atomic_store_explicit(&asked->value, pass, memory_order_release);
        while (atomic_load_explicit(&answered->value, memory_order_acquire) < pass);
        double at = now();
        for (int i = 0; i < LINES; i++) {
            int64_t which = i * 37 % LINES;
            off = atomic_load_explicit(&lines[which + off].value, memory_order_relaxed) - (pass << 32) - which;
        }
        took[passes++] = (now() - at) / LINES;
        must_be(off, 0, "the error of the last value");
    }
    return median(took, passes) * 1e9;
}

int main(int argc, char **argv) {
    start(argc, argv);
    asked = shared_memory(4096);
    answered = asked + 2;
    cell = asked + 4;
    counter = asked + 6;
    lock = asked + 8;
    lines = shared_memory(LINES * sizeof *lines);
    many = shared_memory(LONG);
    pid_t other = fork();
    if (other < 0) {
        perror("fork");
        return 1;
    }
    bind_to(other == 0);
    if (other == 0) write_lines();
    from = malloc(LONG);
    for (int i = 0; i < LONG / 8; i++) ((double *)from)[i] = i;
    tell("put", 8, measure(put), "ns");
    tell("get", 8, get(), "ns");
    tell("fetch_and_op", 8, measure(fetch_and_add), "ns");
    tell("put", LONG, measure(put_long), "ns");
    memset(many, 0, LONG);
    tell("accumulate", LONG, measure(accumulate_long), "ns");
    tell("lock", 8, measure(locked_put), "ns");
    atomic_store(&asked->value, -1);
    waitpid(other, NULL, 0);
    return 0;
}
