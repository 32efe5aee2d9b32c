/* What is beyond MPI 5.0, as by the other ABIs: the mpi.h of MPICH's declares it.
 * Generated from the tables in crates/mpi-tables/tables. */
#ifndef CANELE_MPI_EXT_H
#define CANELE_MPI_EXT_H

#include <mpi.h>

#endif
