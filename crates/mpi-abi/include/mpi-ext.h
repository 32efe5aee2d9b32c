/* What Canelé has beyond MPI 5.0: process failures, by the names and meanings of the proposal User Level Failure Mitigation.
 * A program that uses it runs on this library alone; it asks for `canele run --on-failure continue`.
 * Generated from the tables in crates/mpi-tables/tables. */
#ifndef CANELE_MPI_EXT_H
#define CANELE_MPI_EXT_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPIX_ERR_PROC_FAILED 101
#define MPIX_ERR_PROC_FAILED_PENDING 102
#define MPIX_ERR_REVOKED 103
#define MPIX_FT 508
#define MPIX_C_FLOAT16 MPI_ABI_POINTER(MPI_Datatype, 0x00000ff4)
#define MPIX_BFLOAT16 MPI_ABI_POINTER(MPI_Datatype, 0x00000ff5)

int MPIX_Comm_ack_failed(MPI_Comm comm, int num_to_ack, int *num_acked);
int MPIX_Comm_agree(MPI_Comm comm, int *flag);
int MPIX_Comm_failure_ack(MPI_Comm comm);
int MPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *failedgrp);
int MPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *failedgrp);
int MPIX_Comm_iagree(MPI_Comm comm, int *flag, MPI_Request *request);
int MPIX_Comm_is_revoked(MPI_Comm comm, int *flag);
int MPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request);
int MPIX_Comm_revoke(MPI_Comm comm);
int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *newcomm);
int MPIX_File_is_revoked(MPI_File file, int *flag);
int MPIX_File_revoke(MPI_File file);
int MPIX_Win_get_failed(MPI_Win win, MPI_Group *failedgrp);
int MPIX_Win_is_revoked(MPI_Win win, int *flag);
int MPIX_Win_revoke(MPI_Win win);
int PMPIX_Comm_ack_failed(MPI_Comm comm, int num_to_ack, int *num_acked);
int PMPIX_Comm_agree(MPI_Comm comm, int *flag);
int PMPIX_Comm_failure_ack(MPI_Comm comm);
int PMPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *failedgrp);
int PMPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *failedgrp);
int PMPIX_Comm_iagree(MPI_Comm comm, int *flag, MPI_Request *request);
int PMPIX_Comm_is_revoked(MPI_Comm comm, int *flag);
int PMPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request);
int PMPIX_Comm_revoke(MPI_Comm comm);
int PMPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *newcomm);
int PMPIX_File_is_revoked(MPI_File file, int *flag);
int PMPIX_File_revoke(MPI_File file);
int PMPIX_Win_get_failed(MPI_Win win, MPI_Group *failedgrp);
int PMPIX_Win_is_revoked(MPI_Win win, int *flag);
int PMPIX_Win_revoke(MPI_Win win);

#ifdef __cplusplus
}
#endif

#endif
