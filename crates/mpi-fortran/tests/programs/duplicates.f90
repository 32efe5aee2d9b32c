! Communicators that exist when a request completes, and procedures that C does not have, in mpi_f08.
program duplicates
  use mpi_f08
  implicit none
  ! The module brings no names of iso_c_binding.
  integer, parameter :: c_double = 5
  type(MPI_Comm) :: copies(4)
  type(MPI_Request) :: requests(4)
  integer :: rank, world_rank, n, bytes
  logical :: is_done
  real, asynchronous :: x(c_double)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, world_rank)
  do n = 1, 3
    call MPI_Comm_idup(MPI_COMM_WORLD, copies(n), requests(n))
  end do
  call MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, copies(4), requests(4))
  call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE)
  is_done = .false.
  do while (.not. is_done)
    call MPI_Test(requests(4), is_done, MPI_STATUS_IGNORE)
  end do
  do n = 1, 4
    call MPI_Comm_rank(copies(n), rank)
    if (rank /= world_rank) error stop 1
    call MPI_Barrier(copies(n))
    call MPI_Comm_free(copies(n))
  end do
  call MPI_Pcontrol(1)
  x = 1
  call MPI_F_sync_reg(x)
  call PMPI_Sizeof(x, bytes)
  if (bytes /= 4 .or. any(x /= 1)) error stop 2
  if (world_rank == 0) print '(a)', "duplicates: all is as the standard says"
  call MPI_Finalize()
end program
