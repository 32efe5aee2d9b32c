/* Starting 4 processes with fork and exec, until each has said so through a pipe and, as "disconnect", until all have ended: the
 * limit of MPI_Comm_spawn. */
#include "limit.h"

enum { CHILDREN = 4, TIMES = 5, QUICK_TIMES = 3, SAYS = 3, HEARS = 4 };

static void once(char *program, double *until_started, double *until_ended) {
    int said[2], told[2];
    char byte;
    double begin = now();
    if (pipe(said) || pipe(told)) exit(1);
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        if (child < 0) exit(1);
        if (child > 0) continue;
        close(told[1]);
        /* Descriptors above the two fixed numbers, so that neither of these is overwritten too early. */
        int says = fcntl(said[1], F_DUPFD, 10), hears = fcntl(told[0], F_DUPFD, 10);
        if (dup2(says, SAYS) < 0 || dup2(hears, HEARS) < 0) _exit(1);
        for (int other = HEARS + 1; other < 16; other++) close(other);
        execl("/proc/self/exe", program, "child", NULL);
        _exit(1);
    }
    for (int i = 0; i < CHILDREN; i++) must_be(read(said[0], &byte, 1), 1, "what a child has said");
    *until_started = (now() - begin) * 1e3;
    close(told[1]);
    for (int i = 0, status; i < CHILDREN; i++) must_be(wait(&status) > 0 && status == 0, 1, "that a child ends well");
    *until_ended = (now() - begin) * 1e3;
    close(said[0]);
    close(said[1]);
    close(told[0]);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "child") == 0) {
        char byte = 1;
        /* The end of the other pipe tells all processes to end. */
        return write(SAYS, &byte, 1) != 1 || read(HEARS, &byte, 1) != 0;
    }
    start(argc, argv);
    double started[TIMES], ended[TIMES];
    int times = quick ? QUICK_TIMES : TIMES;
    for (int i = 0; i < times; i++) once(argv[0], &started[i], &ended[i]);
    tell("spawn", 0, median(started, times), "ms");
    tell("disconnect", 0, median(ended, times), "ms");
    return 0;
}
