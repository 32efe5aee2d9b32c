! Functions of attributes that MPI defines, and those that stand for none.
recursive subroutine MPI_COMM_DUP_FN(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
  use canele_constants
  implicit none
  integer :: oldcomm, comm_keyval, ierror
  integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
  logical :: flag
  attribute_val_out = attribute_val_in
  flag = .true.
  ierror = MPI_SUCCESS
end subroutine

recursive subroutine MPI_WIN_DUP_FN(oldwin, win_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
  use canele_constants
  implicit none
  integer :: oldwin, win_keyval, ierror
  integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
  logical :: flag
  attribute_val_out = attribute_val_in
  flag = .true.
  ierror = MPI_SUCCESS
end subroutine

recursive subroutine MPI_TYPE_DUP_FN(oldtype, type_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
  use canele_constants
  implicit none
  integer :: oldtype, type_keyval, ierror
  integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
  logical :: flag
  attribute_val_out = attribute_val_in
  flag = .true.
  ierror = MPI_SUCCESS
end subroutine

recursive subroutine MPI_DUP_FN(oldcomm, keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
  use canele_constants
  implicit none
  integer :: oldcomm, keyval, extra_state, attribute_val_in, attribute_val_out, ierror
  logical :: flag
  attribute_val_out = attribute_val_in
  flag = .true.
  ierror = MPI_SUCCESS
end subroutine

recursive subroutine MPI_COMM_NULL_COPY_FN(old, keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
  use canele_constants
  implicit none
  integer :: old, keyval, ierror
  integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
  logical :: flag
  flag = .false.
  ierror = MPI_SUCCESS
end subroutine

recursive subroutine MPI_COMM_NULL_DELETE_FN(object, keyval, attribute_val, extra_state, ierror)
  use canele_constants
  implicit none
  integer :: object, keyval, ierror
  integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state
  ierror = MPI_SUCCESS
end subroutine

recursive subroutine MPI_WIN_NULL_COPY_FN(old, keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
  use canele_constants
  implicit none
  integer :: old, keyval, ierror
  integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
  logical :: flag
  flag = .false.
  ierror = MPI_SUCCESS
end subroutine

recursive subroutine MPI_WIN_NULL_DELETE_FN(object, keyval, attribute_val, extra_state, ierror)
  use canele_constants
  implicit none
  integer :: object, keyval, ierror
  integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state
  ierror = MPI_SUCCESS
end subroutine

recursive subroutine MPI_TYPE_NULL_COPY_FN(old, keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
  use canele_constants
  implicit none
  integer :: old, keyval, ierror
  integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
  logical :: flag
  flag = .false.
  ierror = MPI_SUCCESS
end subroutine

recursive subroutine MPI_TYPE_NULL_DELETE_FN(object, keyval, attribute_val, extra_state, ierror)
  use canele_constants
  implicit none
  integer :: object, keyval, ierror
  integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state
  ierror = MPI_SUCCESS
end subroutine

recursive subroutine MPI_NULL_COPY_FN(oldcomm, keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
  use canele_constants
  implicit none
  integer :: oldcomm, keyval, extra_state, attribute_val_in, attribute_val_out, ierror
  logical :: flag
  flag = .false.
  ierror = MPI_SUCCESS
end subroutine

recursive subroutine MPI_NULL_DELETE_FN(comm, keyval, attribute_val, extra_state, ierror)
  use canele_constants
  implicit none
  integer :: comm, keyval, attribute_val, extra_state, ierror
  ierror = MPI_SUCCESS
end subroutine

! These two are known by their places and never called.
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
