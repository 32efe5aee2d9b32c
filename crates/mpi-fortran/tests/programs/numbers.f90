! The module mpi: handles are of type INTEGER, and the types of mpi_f08 are known.
program numbers
  use mpi
  implicit none
  integer :: copy, request, ierr, rank, world_rank
  type(MPI_Comm) :: typed

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, world_rank, ierr)
  call MPI_Comm_idup(MPI_COMM_WORLD, copy, request, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  call MPI_Comm_rank(copy, rank, ierr)
  if (rank /= world_rank .or. request /= MPI_REQUEST_NULL) error stop 1
  typed%MPI_VAL = copy
  if (typed /= MPI_Comm(copy)) error stop 2
  call MPI_Pcontrol(1)
  call MPI_Comm_free(copy, ierr)
  if (copy /= MPI_COMM_NULL) error stop 3
  if (world_rank == 0) print '(a)', "numbers: all is as the standard says"
  call MPI_Finalize(ierr)
end program
