/* Common parts of the tests of files. */
#include "conformance.h"

#include <unistd.h>

/* The file of all ranks. */
extern char path[200];

/* Makes a path that is new to this machine. */
void new_path(void);
/* Opens the file on all ranks; an error adds a line. */
MPI_File opened(int mode);
/* Rank 0 adds a line with the content of the file, as the system reads it. */
void content(const char *what);
void say_count(const char *what, const MPI_Status *status, MPI_Datatype datatype);
