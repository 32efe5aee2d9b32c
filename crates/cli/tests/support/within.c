/* Starts a program under conditions: `within block | ignore-child | deny NAME ERRNO | files EXTRA LIMIT | file-size BYTES -- PROGRAM …`. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALL(name) {#name, SYS_##name}
static const struct { const char *name; long number; } CALLS[] = {
    CALL(bind), CALL(close_range), CALL(clone3), CALL(connect), CALL(dup3), CALL(epoll_create1), CALL(epoll_ctl),
    CALL(epoll_pwait), CALL(eventfd2), CALL(fallocate), CALL(fcntl), CALL(fgetxattr), CALL(fstat), CALL(ftruncate), CALL(futex),
    CALL(getdents64), CALL(getpid), CALL(getppid), CALL(getrandom), CALL(getsockopt), CALL(ioctl), CALL(kill), CALL(listen),
    CALL(madvise), CALL(membarrier), CALL(memfd_create), CALL(newfstatat), CALL(pidfd_open), CALL(pipe2), CALL(ppoll),
    CALL(prctl), CALL(pread64), CALL(prlimit64), CALL(readlinkat), CALL(recvfrom), CALL(recvmsg), CALL(rt_sigaction),
    CALL(rt_sigprocmask), CALL(sched_getaffinity), CALL(sched_setaffinity), CALL(sched_yield), CALL(sendmsg), CALL(sendto),
    CALL(setpgid), CALL(setsockopt), CALL(shutdown), CALL(sigaltstack), CALL(socket), CALL(socketpair), CALL(statx), CALL(tgkill),
    CALL(uname), CALL(wait4), CALL(waitid),
};
enum { CALL_COUNT = sizeof CALLS / sizeof *CALLS };

static void fails(const char *what)
{
    perror(what);
    exit(99);
}

static void deny(const char *name, int error)
{
    int n = 0;
    while (n < CALL_COUNT && strcmp(CALLS[n].name, name) != 0)
        n++;
    if (n == CALL_COUNT)
        fails(name);
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)CALLS[n].number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        fails("a filter of system calls");
}

static void limit(int which, rlim_t to)
{
    struct rlimit both = {to, to};
    if (setrlimit(which, &both) != 0)
        fails("setrlimit");
}

int main(int count, char **words)
{
    (void)count;
    if (words[1] != NULL && strcmp(words[1], "calls") == 0) {
        for (int n = 0; n < CALL_COUNT; n++)
            puts(CALLS[n].name);
        return 0;
    }
    for (words++; *words != NULL && strcmp(*words, "--") != 0; words++) {
        if (strcmp(*words, "block") == 0) {
            sigset_t all;
            sigfillset(&all);
            sigprocmask(SIG_SETMASK, &all, NULL);
        } else if (strcmp(*words, "ignore-child") == 0) {
            signal(SIGCHLD, SIG_IGN);
        } else if (strcmp(*words, "files") == 0) {
            for (int n = atoi(*++words); n > 0; n--)
                if (open("/dev/null", O_RDONLY) < 0)
                    fails("/dev/null");
            limit(RLIMIT_NOFILE, (rlim_t)atoi(*++words));
        } else if (strcmp(*words, "file-size") == 0) {
            limit(RLIMIT_FSIZE, (rlim_t)atoi(*++words));
        } else if (strcmp(*words, "deny") == 0) {
            const char *name = *++words;
            deny(name, strcmp(*++words, "ENOSYS") == 0 ? ENOSYS : EPERM);
        }
    }
    if (*words == NULL || words[1] == NULL)
        return 98;
    execv(words[1], words + 1);
    /* The program reports it itself if it may not execute the other one. */
    return 97;
}
