/* What the parts about files share. */
#include "conformance.h"

#include <unistd.h>

/* The file of all ranks. */
extern char path[200];

/* Makes that a path that is new to this machine. */
void new_path(void);
/* The file, opened by all; what fails is said. */
MPI_File opened(int mode);
/* What lies in the file, as the system reads it, said by rank 0. */
void content(const char *what);
void say_count(const char *what, const MPI_Status *status, MPI_Datatype datatype);
