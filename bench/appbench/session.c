/* Runs a program in a session of its own: session PROGRAM WORDS… The process stays the one that the launcher started. */
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>

int main(int count, char **words)
{
    if (count < 2)
        return 2;
    /* A process that leads a group cannot begin a session, so it joins its parent's group first. */
    if (getpgid(0) == getpid() && getsid(0) != getpid())
        setpgid(0, getpgid(getppid()));
    if (getsid(0) != getpid() && setsid() < 0)
        perror("session: setsid");
    execv(words[1], words + 1);
    perror(words[1]);
    return 127;
}
