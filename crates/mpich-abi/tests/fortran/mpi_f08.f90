! Differences of the module `mpi_f08`: handles and statuses are types, and sections of arrays are passed
! without a copy.
module functions
  use mpi_f08
  implicit none
  integer :: errors_seen = 0
contains
  subroutine halves(invec, inoutvec, len, datatype)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: invec, inoutvec
    integer :: len, n
    type(MPI_Datatype) :: datatype
    integer, pointer :: first(:), second(:)
    call c_f_pointer(invec, first, [len])
    call c_f_pointer(inoutvec, second, [len])
    if (datatype /= MPI_INTEGER) stop 'the operation is called for another datatype'
    do n = 1, len
      second(n) = 10 * first(n) + second(n)
    end do
  end subroutine

  subroutine handler(comm, code)
    type(MPI_Comm) :: comm
    integer :: code
    if (comm == MPI_COMM_WORLD .and. code /= MPI_SUCCESS) errors_seen = errors_seen + 1
  end subroutine
end module

program main
  use functions
  implicit none
  integer :: me, size, next, previous, n, ierr, matrix(4, 3), column(3), number, version, subversion
  type(MPI_Status) :: status, statuses(2)
  type(MPI_Request) :: requests(2)
  type(MPI_Datatype) :: datatype
  type(MPI_Comm) :: part
  type(MPI_Op) :: op
  type(MPI_Errhandler) :: errhandler
  type(MPI_Group) :: group
  character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: text
  logical :: flag

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  next = mod(me + 1, size)
  previous = mod(me + size - 1, size)
  call MPI_Get_version(version, subversion)
  call MPI_Get_library_version(text, n)
  call expect(version >= 4 .and. index(text(:n), 'Canel') > 0, 'MPI_Get_library_version')

  ! A row of a matrix is not contiguous.
  matrix = 10 * me
  matrix(2, :) = [1, 2, 3] + me
  call MPI_Irecv(column, 3, MPI_INTEGER, previous, 5, MPI_COMM_WORLD, requests(1))
  call MPI_Type_vector(3, 1, 4, MPI_INTEGER, datatype)
  call MPI_Type_commit(datatype)
  call MPI_Isend(matrix(2, 1), 1, datatype, next, 5, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, statuses)
  call expect(all(column == [1, 2, 3] + previous), 'MPI_Type_vector')
  call MPI_Get_count(statuses(1), MPI_INTEGER, n)
  call expect(n == 3 .and. statuses(1)%MPI_SOURCE == previous .and. statuses(1)%MPI_TAG == 5, 'MPI_Status')
  call MPI_Type_free(datatype)
  if (size > 1 .and. me == 0) call MPI_Send(matrix(2, :), 3, MPI_INTEGER, 1, 6, MPI_COMM_WORLD)
  if (me == 1) call MPI_Recv(matrix(3, :), 3, MPI_INTEGER, 0, 6, MPI_COMM_WORLD, status)
  if (me == 1) call expect(all(matrix(3, :) == [1, 2, 3]) .and. matrix(4, 1) == 10, 'parts of arrays')

  number = me
  call MPI_Allreduce(MPI_IN_PLACE, number, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD)
  call expect(number == size - 1, 'MPI_IN_PLACE')
  call MPI_Op_create(halves, .false., op)
  call MPI_Allreduce(me + 1, number, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
  call expect(size /= 3 .or. number == 123, 'MPI_Op_create')
  call MPI_Op_free(op)

  call MPI_Comm_split(MPI_COMM_WORLD, mod(me, 2), -me, part)
  call MPI_Comm_rank(part, n)
  call MPI_Comm_group(part, group)
  call MPI_Group_size(group, number)
  call expect(number == (size + 1 - mod(me, 2)) / 2 .and. n == (number - 1) - me / 2, 'MPI_Comm_split')
  call MPI_Group_free(group)
  call MPI_Comm_free(part)
  call expect(part == MPI_COMM_NULL, 'MPI_COMM_NULL')

  call MPI_Comm_create_errhandler(handler, errhandler)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler)
  call MPI_Send(number, 1, MPI_INTEGER, size, 1, MPI_COMM_WORLD, ierr)
  call expect(ierr /= MPI_SUCCESS .and. errors_seen == 1, 'MPI_Comm_create_errhandler')
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
  call MPI_Errhandler_free(errhandler)

  call MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE)
  call expect(.not. flag, 'MPI_Iprobe')
  call MPI_Barrier(MPI_COMM_WORLD)
  if (me == 0) print '(a)', 'mpi_f08: all is as the standard says'
  call MPI_Finalize()
contains
  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (.not. holds) then
      print '(a, i0, 2a)', 'rank ', me, ': not as the standard says: ', what
      call MPI_Abort(MPI_COMM_WORLD, 1)
    end if
  end subroutine
end program
