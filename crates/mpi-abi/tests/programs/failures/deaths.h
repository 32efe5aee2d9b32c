/* Common start of programs whose ranks die at random moments. */
#include "../check.h"
#include <mpi-ext.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

static unsigned long state;

static unsigned below(unsigned limit)
{
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(state >> 33) % limit;
}

static void die(int signal)
{
    (void)signal;
    kill(getpid(), SIGKILL);
}

/* Chooses a random moment of death for all ranks but one. */
static void choose_death(unsigned long seed, unsigned within_ms)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    state = seed;
    unsigned survivor = below((unsigned)size), after_us = 0;
    for (int n = 0; n <= rank; n++)
        after_us = 1 + below(1000 * within_ms);
    if ((unsigned)rank == survivor)
        return;
    struct itimerval timer = {{0, 0}, {after_us / 1000000, after_us % 1000000}};
    signal(SIGALRM, die);
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* Returns true for success. Only a failed process or a revocation may explain an error. */
static int went_well(int code, const char *what)
{
    int class = MPI_SUCCESS;
    if (code == MPI_SUCCESS)
        return 1;
    MPI_Error_class(code, &class);
    if (class != MPIX_ERR_PROC_FAILED && class != MPIX_ERR_REVOKED) {
        char text[MPI_MAX_ERROR_STRING];
        int len;
        MPI_Error_string(code, text, &len);
        failures++;
        fprintf(stderr, "%s: error class %d: %s\n", what, class, text);
    }
    return 0;
}

#define STEP(call) do { if (!went_well((call), #call)) return 0; } while (0)
