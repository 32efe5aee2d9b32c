/* Files by the system's calls: `io BLOCK_MS QUICK DIRECTORY MEGABYTES`. One process writes and reads the file contiguously, which
 * bounds collective access, and 4 processes a part each, which bounds that of each rank alone. */
#include "limit.h"

enum { RANKS = 4, CALL = 4 << 20 };

static char path[4096];
static int64_t total;
static char *data;
static struct shared { atomic_int ready; _Atomic double took[RANKS]; } *all;

struct transfer { const char *name; int block, writes, syncs, processes; };

static void fail(const char *call) {
    fprintf(stderr, "%s of %s: %s\n", call, path, strerror(errno));
    exit(1);
}

/* Returns the seconds in which one of the processes transfers its part. */
static double transfer(const struct transfer *t, int64_t from, int64_t bytes) {
    int file = open(path, t->writes ? O_CREAT | O_WRONLY : O_RDONLY, 0600);
    if (file < 0) fail("open");
    atomic_fetch_add(&all->ready, 1);
    while (atomic_load(&all->ready) < t->processes) sched_yield();
    double begin = now();
    for (int64_t done = 0; done < bytes;) {
        int64_t most = bytes - done < CALL ? bytes - done : CALL;
        ssize_t n = t->writes ? pwrite(file, data, most, from + done) : pread(file, data, most, from + done);
        if (n <= 0) fail(t->writes ? "pwrite" : "pread");
        done += n;
    }
    if (t->syncs && fsync(file)) fail("fsync");
    double took = now() - begin;
    close(file);
    return took;
}

static double once(const struct transfer *t) {
    double longest = 0;
    if (t->writes && unlink(path) && errno != ENOENT) fail("unlink");
    atomic_store(&all->ready, 0);
    for (int i = 0; i < t->processes; i++) {
        pid_t child = fork();
        if (child < 0) fail("fork");
        if (child == 0) {
            bind_to(i);
            atomic_store(&all->took[i], transfer(t, total / t->processes * i, total / t->processes));
            _exit(0);
        }
    }
    for (int i = 0, status; i < t->processes; i++) {
        if (wait(&status) < 0 || status) exit(1);
    }
    for (int i = 0; i < t->processes; i++) longest = atomic_load(&all->took[i]) > longest ? atomic_load(&all->took[i]) : longest;
    return longest;
}

int main(int argc, char **argv) {
    start(argc, argv);
    snprintf(path, sizeof path, "%s/canele-peers-io", argc > 3 ? argv[3] : ".");
    total = (argc > 4 ? atol(argv[4]) : 64) * (int64_t)(1 << 20) / RANKS / 4096 * 4096 * RANKS;
    all = shared_memory(sizeof *all);
    data = malloc(CALL);
    memset(data, 1, CALL);
    static const struct transfer every[] = {
        {"own-write", 0, 1, 0, RANKS}, {"own-read", 0, 0, 0, RANKS}, {"own-write-fsync", 0, 1, 1, RANKS},
        {"write", 4096, 1, 0, 1},      {"read", 4096, 0, 0, 1},      {"write-fsync", 4096, 1, 1, 1},
    };
    double took[3];
    int times = quick ? 1 : 3;
    once(&every[0]);
    for (size_t i = 0; i < sizeof every / sizeof *every; i++) {
        for (int j = 0; j < times; j++) took[j] = once(&every[i]);
        double speed = total / median(took, times) / 1e9;
        tell(every[i].name, every[i].block, speed, "GB/s");
        /* The bound does not depend on the blocks. */
        if (every[i].block && !every[i].syncs) tell(every[i].name, 64, speed, "GB/s");
    }
    unlink(path);
    return 0;
}
