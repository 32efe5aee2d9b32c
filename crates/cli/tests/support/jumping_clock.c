/* The system's clock, which returns another year at each call. Clocks that only go on, like the monotonic
   clock, are unchanged. Loaded before a program (LD_PRELOAD). */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static unsigned looks;

static long jump(long seconds) {
    static const long years[] = {0, 30, -30, 5, -50, 1, -1, 12};
    unsigned look = __atomic_fetch_add(&looks, 1, __ATOMIC_RELAXED) + (unsigned)getpid();
    return seconds + 31557600 * years[look % 8] + (look % 8 == 0 ? 3 : 0);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI))
        time->tv_sec = jump(time->tv_sec);
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec time;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &time) != 0) return -1;
    now->tv_sec = time.tv_sec;
    now->tv_usec = time.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *where) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    if (where) *where = now.tv_sec;
    return now.tv_sec;
}
