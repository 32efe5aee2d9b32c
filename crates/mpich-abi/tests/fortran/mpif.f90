! Differences of Fortran from C, by `mpif.h`: addresses that stand for constants, attributes that are numbers,
! functions of the program, strings, truth values, statuses in arrays.
module functions
  implicit none
  include 'mpif.h'
  integer :: errors_seen = 0, copied = 0, deleted = 0, freed = 0
contains
  subroutine halves(invec, inoutvec, len, datatype)
    integer :: len, datatype, n
    integer :: invec(len), inoutvec(len)
    if (datatype /= MPI_INTEGER) stop 'the operation is called for another datatype'
    do n = 1, len
      inoutvec(n) = 10 * invec(n) + inoutvec(n)
    end do
  end subroutine

  subroutine handler(comm, code)
    integer :: comm, code, class, ierr
    call MPI_ERROR_CLASS(code, class, ierr)
    if (comm == MPI_COMM_WORLD .and. class == MPI_ERR_RANK) errors_seen = errors_seen + 1
  end subroutine

  subroutine copy(comm, keyval, extra_state, value_in, value_out, flag, ierror)
    integer :: comm, keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, value_in, value_out
    logical :: flag
    copied = copied + 1
    value_out = value_in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine

  subroutine remove(comm, keyval, value, extra_state, ierror)
    integer :: comm, keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: value, extra_state
    deleted = deleted + 1
    ierror = MPI_SUCCESS
  end subroutine

  subroutine query(extra_state, status, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer :: status(MPI_STATUS_SIZE), ierror
    status(MPI_SOURCE) = int(extra_state)
    status(MPI_TAG) = 77
    call MPI_STATUS_SET_ELEMENTS(status, MPI_INTEGER, 3, ierror)
    call MPI_STATUS_SET_CANCELLED(status, .false., ierror)
  end subroutine

  subroutine release(extra_state, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    freed = freed + 1
    ierror = MPI_SUCCESS
  end subroutine

  subroutine withdraw(extra_state, complete, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    ierror = MPI_SUCCESS
  end subroutine
end module

program main
  use functions
  implicit none
  integer :: me, size, ierr, next, previous, n, length, other
  integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2), requests(2), flags(2)
  integer :: numbers(4), sums(4), op, errhandler, keyval, request, blocks(2), types(2), datatype, info, handle, window
  integer(kind=MPI_ADDRESS_KIND) :: value, state, displacements(2), base, extent
  integer(kind=MPI_OFFSET_KIND) :: place
  character(len=MPI_MAX_ERROR_STRING) :: text
  character(len=40) :: name
  double precision :: real_number, other_real
  logical :: flag

  call MPI_INIT(ierr)
  call MPI_COMM_RANK(MPI_COMM_WORLD, me, ierr)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, size, ierr)
  next = mod(me + 1, size)
  previous = mod(me + size - 1, size)

  ! Statuses, and the constants that are addresses.
  numbers = [me, me + 1, me + 2, me + 3]
  call MPI_IRECV(sums, 4, MPI_INTEGER, previous, 5, MPI_COMM_WORLD, requests(1), ierr)
  call MPI_ISEND(numbers, 4, MPI_INTEGER, next, 5, MPI_COMM_WORLD, requests(2), ierr)
  call MPI_WAITALL(2, requests, statuses, ierr)
  call expect(statuses(MPI_SOURCE, 1) == previous .and. statuses(MPI_TAG, 1) == 5, 'status')
  call MPI_GET_COUNT(statuses(1, 1), MPI_INTEGER, n, ierr)
  call expect(n == 4 .and. sums(4) == previous + 3, 'ring')
  call MPI_SENDRECV(numbers, 1, MPI_INTEGER, next, 6, other, 1, MPI_INTEGER, previous, 6, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  call expect(other == previous, 'MPI_STATUS_IGNORE')
  call MPI_WAITALL(0, requests, MPI_STATUSES_IGNORE, ierr)
  sums = numbers
  call MPI_ALLREDUCE(MPI_IN_PLACE, sums, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call expect(sums(1) == size * (size - 1) / 2, 'MPI_IN_PLACE')

  ! Absolute addresses from MPI_BOTTOM.
  real_number = 2.5d0
  call MPI_GET_ADDRESS(numbers, displacements(1), ierr)
  call MPI_GET_ADDRESS(real_number, displacements(2), ierr)
  blocks = [2, 1]
  types = [MPI_INTEGER, MPI_DOUBLE_PRECISION]
  call MPI_TYPE_CREATE_STRUCT(2, blocks, displacements, types, datatype, ierr)
  call MPI_TYPE_COMMIT(datatype, ierr)
  numbers = -1
  if (me == 0) numbers = [8, 9, 10, 11]
  if (me == 0) real_number = 7.25d0
  call MPI_BCAST(MPI_BOTTOM, 1, datatype, 0, MPI_COMM_WORLD, ierr)
  call expect(numbers(2) == 9 .and. real_number == 7.25d0, 'MPI_BOTTOM')
  call MPI_TYPE_FREE(datatype, ierr)

  ! Functions of the program.
  call MPI_OP_CREATE(halves, .false., op, ierr)
  other = me + 1
  call MPI_ALLREDUCE(other, n, 1, MPI_INTEGER, op, MPI_COMM_WORLD, ierr)
  call expect(size /= 3 .or. n == 123, 'MPI_OP_CREATE')
  call MPI_OP_FREE(op, ierr)
  call MPI_COMM_CREATE_ERRHANDLER(handler, errhandler, ierr)
  call MPI_COMM_SET_ERRHANDLER(MPI_COMM_WORLD, errhandler, ierr)
  call MPI_SEND(other, 1, MPI_INTEGER, size, 1, MPI_COMM_WORLD, ierr)
  call expect(ierr /= MPI_SUCCESS .and. errors_seen == 1, 'MPI_COMM_CREATE_ERRHANDLER')
  call MPI_ERROR_STRING(ierr, text, length, ierr)
  call expect(length > 0 .and. text(length + 1:) == ' ', 'MPI_ERROR_STRING')
  call MPI_COMM_SET_ERRHANDLER(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, ierr)

  ! Attributes.
  call MPI_COMM_GET_ATTR(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierr)
  call expect(flag .and. value >= 32767, 'MPI_TAG_UB')
  state = 1000
  call MPI_COMM_CREATE_KEYVAL(copy, remove, keyval, state, ierr)
  value = -5
  call MPI_COMM_SET_ATTR(MPI_COMM_WORLD, keyval, value, ierr)
  call MPI_COMM_DUP(MPI_COMM_WORLD, handle, ierr)
  call MPI_COMM_GET_ATTR(handle, keyval, value, flag, ierr)
  call expect(flag .and. value == 995 .and. copied == 1, 'copy of an attribute')
  call MPI_COMM_FREE(handle, ierr)
  call expect(deleted == 1, 'end of an attribute')
  call MPI_COMM_DELETE_ATTR(MPI_COMM_WORLD, keyval, ierr)
  call MPI_COMM_FREE_KEYVAL(keyval, ierr)
  call expect(deleted == 2 .and. keyval == MPI_KEYVAL_INVALID, 'MPI_COMM_FREE_KEYVAL')
  call MPI_KEYVAL_CREATE(MPI_DUP_FN, MPI_NULL_DELETE_FN, keyval, n, ierr)
  call MPI_ATTR_PUT(MPI_COMM_WORLD, keyval, -42, ierr)
  call MPI_COMM_DUP(MPI_COMM_WORLD, handle, ierr)
  call MPI_ATTR_GET(handle, keyval, n, flag, ierr)
  call expect(flag .and. n == -42, 'MPI_DUP_FN')
  call MPI_COMM_FREE(handle, ierr)
  call MPI_ATTR_DELETE(MPI_COMM_WORLD, keyval, ierr)

  ! Generalized requests.
  state = 4
  call MPI_GREQUEST_START(query, release, withdraw, state, request, ierr)
  call MPI_GREQUEST_COMPLETE(request, ierr)
  call MPI_WAIT(request, status, ierr)
  call MPI_GET_COUNT(status, MPI_INTEGER, n, ierr)
  call expect(status(MPI_SOURCE) == 4 .and. status(MPI_TAG) == 77 .and. n == 3 .and. freed == 1, 'MPI_GREQUEST_START')

  ! Strings and truth values.
  call MPI_INFO_CREATE(info, ierr)
  call MPI_INFO_SET(info, ' key ', ' with blanks  ', ierr)
  call MPI_INFO_GET(info, 'key', len(name), name, flag, ierr)
  call expect(flag .and. name == 'with blanks', 'MPI_INFO_GET')
  call MPI_INFO_FREE(info, ierr)
  call MPI_COMM_SET_NAME(MPI_COMM_WORLD, 'a world', ierr)
  call MPI_COMM_GET_NAME(MPI_COMM_WORLD, name, length, ierr)
  call expect(length == 7 .and. name == 'a world', 'MPI_COMM_GET_NAME')
  call MPI_INITIALIZED(flag, ierr)
  call expect(flag, 'MPI_INITIALIZED')

  ! Indices count from one.
  requests = MPI_REQUEST_NULL
  call MPI_ISEND(me, 1, MPI_INTEGER, 0, 9, MPI_COMM_SELF, requests(2), ierr)
  call MPI_RECV(other, 1, MPI_INTEGER, 0, 9, MPI_COMM_SELF, MPI_STATUS_IGNORE, ierr)
  call MPI_WAITANY(2, requests, n, MPI_STATUS_IGNORE, ierr)
  call expect(n == 2, 'MPI_WAITANY')
  call MPI_WAITSOME(2, requests, n, flags, MPI_STATUSES_IGNORE, ierr)
  call expect(n == MPI_UNDEFINED, 'MPI_WAITSOME')

  ! Windows and files.
  call MPI_TYPE_GET_EXTENT(MPI_DOUBLE_PRECISION, base, extent, ierr)
  call expect(base == 0 .and. extent == 8, 'MPI_TYPE_GET_EXTENT')
  call MPI_WIN_CREATE(real_number, extent, 8, MPI_INFO_NULL, MPI_COMM_WORLD, window, ierr)
  call MPI_WIN_GET_ATTR(window, MPI_WIN_SIZE, value, flag, ierr)
  call expect(flag .and. value == 8, 'MPI_WIN_SIZE')
  call MPI_WIN_GET_ATTR(window, MPI_WIN_BASE, value, flag, ierr)
  call MPI_GET_ADDRESS(real_number, base, ierr)
  call expect(flag .and. value == base, 'MPI_WIN_BASE')
  other_real = me
  value = 0
  call MPI_WIN_FENCE(0, window, ierr)
  call MPI_PUT(other_real, 1, MPI_DOUBLE_PRECISION, next, value, 1, MPI_DOUBLE_PRECISION, window, ierr)
  call MPI_WIN_FENCE(0, window, ierr)
  call expect(real_number == previous, 'MPI_PUT')
  call MPI_WIN_FREE(window, ierr)
  call MPI_FILE_OPEN(MPI_COMM_WORLD, 'mpif.data', MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, &
                     MPI_INFO_NULL, handle, ierr)
  call expect(ierr == MPI_SUCCESS, 'MPI_FILE_OPEN')
  place = 8 * me
  call MPI_FILE_WRITE_AT_ALL(handle, place, other_real, 1, MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE, ierr)
  place = 8 * next
  call MPI_FILE_SYNC(handle, ierr)
  call MPI_BARRIER(MPI_COMM_WORLD, ierr)
  call MPI_FILE_READ_AT(handle, place, real_number, 1, MPI_DOUBLE_PRECISION, status, ierr)
  call expect(real_number == next, 'MPI_FILE_READ_AT')
  call MPI_FILE_CLOSE(handle, ierr)

  if (me == 0) print '(a)', 'mpif.h: all is as the standard says'
  call MPI_FINALIZE(ierr)
contains
  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (.not. holds) then
      print '(a, i0, 2a)', 'rank ', me, ': not as the standard says: ', what
      call MPI_ABORT(MPI_COMM_WORLD, 1, ierr)
    end if
  end subroutine
end program
