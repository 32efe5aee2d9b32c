/* What is beyond MPI 5.0 by Open MPI's ABI: process failures, and questions about memory of accelerators.
 * Generated from the tables in crates/mpi-tables/tables. */
#ifndef CANELE_MPI_EXT_H
#define CANELE_MPI_EXT_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OMPI_HAVE_MPI_EXT 1
#define OMPI_HAVE_MPI_EXT_CUDA 1
#define OMPI_HAVE_MPI_EXT_FTMPI 1
#define OMPI_HAVE_MPI_EXT_ROCM 1
#define MPIX_CUDA_AWARE_SUPPORT 0
#define MPIX_ROCM_AWARE_SUPPORT 0
int MPIX_Query_cuda_support(void);
int MPIX_Query_rocm_support(void);
#define MPIX_ERR_PROC_FAILED 75
#define MPIX_ERR_PROC_FAILED_PENDING 76
#define MPIX_ERR_REVOKED 77
#define MPIX_FT 12
#define MPIX_C_FLOAT16 MPI_ABI_POINTER(MPI_Datatype, &ompi_mpi_short_float)
#define MPIX_BFLOAT16 MPI_ABI_POINTER(MPI_Datatype, &ompi_mpi_bfloat16)

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
