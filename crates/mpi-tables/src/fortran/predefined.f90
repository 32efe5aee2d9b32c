! What C has no function for.

! The first two are known by their places and never called.
recursive subroutine MPI_CONVERSION_FN_NULL(userbuf, datatype, count, filebuf, position, extra_state, ierror)
  use canele_constants
  implicit none
  type(*), dimension(*) :: userbuf, filebuf
  integer :: datatype, count, ierror
  integer(MPI_OFFSET_KIND) :: position
  integer(MPI_ADDRESS_KIND) :: extra_state
  ierror = MPI_ERR_CONVERSION
end subroutine

recursive subroutine MPI_CONVERSION_FN_NULL_C(userbuf, datatype, count, filebuf, position, extra_state, ierror)
  use canele_constants
  implicit none
  type(*), dimension(*) :: userbuf, filebuf
  integer :: datatype, ierror
  integer(MPI_COUNT_KIND) :: count
  integer(MPI_OFFSET_KIND) :: position
  integer(MPI_ADDRESS_KIND) :: extra_state
  ierror = MPI_ERR_CONVERSION
end subroutine

! Statuses of both modules are the same eight numbers.
recursive subroutine MPI_Status_f2f08(f_status, f08_status, ierror)
  use canele_constants
  implicit none
  integer, intent(in) :: f_status(MPI_STATUS_SIZE)
  integer, intent(out) :: f08_status(MPI_STATUS_SIZE)
  integer, optional, intent(out) :: ierror
  f08_status = f_status
  if (present(ierror)) ierror = MPI_SUCCESS
end subroutine

recursive subroutine MPI_Status_f082f(f08_status, f_status, ierror)
  use canele_constants
  implicit none
  integer, intent(in) :: f08_status(MPI_STATUS_SIZE)
  integer, intent(out) :: f_status(MPI_STATUS_SIZE)
  integer, optional, intent(out) :: ierror
  f_status = f08_status
  if (present(ierror)) ierror = MPI_SUCCESS
end subroutine

recursive subroutine MPI_Sizeof(x, size, ierror)
  use canele_support
  implicit none
  type(*), dimension(..), intent(in) :: x
  integer, intent(out) :: size
  integer, optional, intent(out) :: ierror
  size = canele_fort_size(x)
  if (present(ierror)) ierror = MPI_SUCCESS
end subroutine

! Nothing happens here: a compiler must think that the buffer may have changed.
recursive subroutine MPI_F_sync_reg(buf)
  implicit none
  type(*), dimension(*) :: buf
end subroutine

recursive subroutine MPI_F_sync_reg_f08ts(buf)
  implicit none
  type(*), dimension(..), asynchronous :: buf
end subroutine
