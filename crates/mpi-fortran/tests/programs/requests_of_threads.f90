! Two threads test requests with copies at the same time: while one takes its copy out of the table, the other
! must still find its own.
module threads
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  type(MPI_Comm) :: comms(2)
  integer, target :: numbers(2) = [1, 2]
  integer :: size, wrong(2) = 0
  interface
    function pthread_create(thread, attributes, routine, argument) bind(C) result(code)
      import
      integer(c_intptr_t) :: thread
      type(c_ptr), value :: attributes, argument
      type(c_funptr), value :: routine
      integer(c_int) :: code
    end function
    function pthread_join(thread, value) bind(C) result(code)
      import
      integer(c_intptr_t), value :: thread
      type(c_ptr), value :: value
      integer(c_int) :: code
    end function
  end interface
contains
  recursive function work(argument) bind(C) result(nothing)
    type(c_ptr), value :: argument
    type(c_ptr) :: nothing
    integer, pointer :: which
    integer, asynchronous :: mine(20), sum(20)
    integer :: round
    type(MPI_Request) :: request
    logical :: complete
    call c_f_pointer(argument, which)
    do round = 1, 500
      mine = round
      sum = -1
      call MPI_Iallreduce(mine(1:20:2), sum(1:20:2), 10, MPI_INTEGER, MPI_SUM, comms(which), request)
      complete = .false.
      do while (.not. complete)
        call MPI_Test(request, complete, MPI_STATUS_IGNORE)
      end do
      if (any(sum(1:20:2) /= size * round) .or. any(sum(2:20:2) /= -1)) wrong(which) = wrong(which) + 1
    end do
    nothing = c_null_ptr
  end function
end module

program requests_of_threads
  use threads
  implicit none
  integer :: provided, rank, n
  integer(c_intptr_t) :: made(2)
  integer(c_int) :: code
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  do n = 1, 2
    call MPI_Comm_dup(MPI_COMM_WORLD, comms(n))
  end do
  if (provided == MPI_THREAD_MULTIPLE) then
    do n = 1, 2
      code = pthread_create(made(n), c_null_ptr, c_funloc(work), c_loc(numbers(n)))
      if (code /= 0) error stop 2
    end do
    do n = 1, 2
      code = pthread_join(made(n), c_null_ptr)
    end do
  end if
  call MPI_Finalize()
  if (any(wrong /= 0)) then
    print '(a, i0, a, i0, a)', "rank ", rank, ": ", sum(wrong), " sums are wrong"
    error stop 1
  end if
  if (rank == 0) print '(a)', "requests of threads: all is as the standard says"
end program
