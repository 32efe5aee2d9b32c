/* Common parts of the conformance program: lines of each rank, and names of the standard's constants. Lines
   leave out values that the standard leaves to the implementation: handles and codes, texts, order of
   arrivals. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int size, rank;

/* Adds a line to those of this rank. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Adds a line of numbers. */
void say_ints(const char *what, const int *numbers, int n);
void say_doubles(const char *what, const double *numbers, int n);
void say_bytes(const char *what, const void *bytes, int n);
/* Adds a line with the class of the error that a call returned. */
void say_code(const char *call, int code);
/* Returns the communicators' relation in words. */
const char *relation(int result);
/* Adds a line with source, tag, count, and whether the operation was cancelled. */
void say_status(const char *what, const MPI_Status *status, MPI_Datatype datatype);

#define CODE(call) say_code(#call, call)

void blocking(void);
void nonblocking(void);
void persistent(void);
void datatypes(void);
void contents(void);
void packing(void);
void groups(void);
void communicators(void);
void intercommunicators(void);
void topologies(void);
void neighbours(void);
void collectives(void);
void uneven(void);
void operations(void);
void attributes(void);
void infos(void);
void errors(void);
void windows(void);
void sharing(void);
void onesided(void);
void files(void);
void views(void);
void pointers(void);
void processes(void);
void tools(void);

/* Runs the part of a process that was started by another one; returns 0 in any other process. */
int is_child(int argc, char **argv);
