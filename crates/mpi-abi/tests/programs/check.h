/* Common start of all programs here: checks that print the place of a failure. */
#pragma once
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static inline void check(int holds, const char *claim, const char *file, int line)
{
    if (!holds) {
        failures++;
        fprintf(stderr, "%s:%d: this does not hold: %s\n", file, line, claim);
    }
}

static inline void check_class(int code, int expected, const char *call, const char *file, int line)
{
    int class = -1, len = 0;
    char text[MPI_MAX_ERROR_STRING] = "";
    MPI_Error_class(code, &class);
    if (class != expected) {
        failures++;
        MPI_Error_string(code, text, &len);
        fprintf(stderr, "%s:%d: %s: error class %d, not %d: %s\n", file, line, call, class, expected, text);
    }
}

/* Checks that the condition holds. */
#define CHECK(condition) check((condition) != 0, #condition, __FILE__, __LINE__)
/* Checks that the call succeeds. */
#define OK(call) check_class((call), MPI_SUCCESS, #call, __FILE__, __LINE__)
/* Checks that the call fails with an error of this class. */
#define FAILS(class, call) check_class((call), (class), #call, __FILE__, __LINE__)

/* Initialises MPI with errors returned. */
static inline void start(int *argc, char ***argv)
{
    int provided;
    /* With the variable set the program asks for threads, so that its communicators lie on lanes. */
    if (getenv("ASKS_FOR_THREADS") != NULL)
        MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
    else
        MPI_Init(argc, argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

/* Prints that the program has passed, if it has, and returns the exit status. */
static inline int result(void)
{
    if (failures == 0)
        printf("passed\n");
    return failures != 0;
}
