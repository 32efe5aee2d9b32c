! Values that go from Fortran to C and back: attributes, an attached buffer, and arguments of a spawn that are
! significant only at the root.
program languages
  use, intrinsic :: iso_c_binding
  use mpi_f08
  implicit none
  interface
    function c_get_attr(comm, key, value, flag) bind(C, name="MPI_Comm_get_attr") result(code)
      import
      integer(c_intptr_t), value :: comm
      integer(c_int), value :: key
      type(c_ptr) :: value
      integer(c_int) :: flag, code
    end function
    function c_set_attr(comm, key, value) bind(C, name="MPI_Comm_set_attr") result(code)
      import
      integer(c_intptr_t), value :: comm
      integer(c_int), value :: key
      type(c_ptr), value :: value
      integer(c_int) :: code
    end function
  end interface
  type(MPI_Comm) :: parent
  integer :: rank, deleted = 0

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_get_parent(parent)
  if (parent == MPI_COMM_NULL) then
    call attributes()
    call buffers()
    call spawned()
    if (rank == 0) print '(a)', "languages: all is as the standard says"
  else
    call child()
  end if
  call MPI_Finalize()

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    print '(a, i0, 2a)', "rank ", rank, ": this does not hold: ", what
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

  subroutine forget(comm, key, value, state, ierror)
    type(MPI_Comm) :: comm
    integer :: key, ierror
    integer(MPI_ADDRESS_KIND) :: value, state
    deleted = deleted + 1
    ierror = MPI_SUCCESS
    if (comm == MPI_COMM_NULL .or. key == MPI_KEYVAL_INVALID .or. state /= 7) ierror = MPI_ERR_OTHER
    if (value == 0) ierror = MPI_ERR_OTHER
  end subroutine

  ! C reads an attribute of Fortran through an address, and Fortran gets the address of an attribute of C (MPI
  ! 5.0, section 19.3.7).
  subroutine attributes()
    integer(MPI_ADDRESS_KIND) :: value
    integer(c_intptr_t), pointer :: seen
    integer(c_int) :: has, code
    integer, target :: mine
    integer :: key, round
    logical :: flag
    type(c_ptr) :: place
    type(MPI_Comm) :: copy
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, forget, key, 7_MPI_ADDRESS_KIND)
    do round = 1, 100
      call MPI_Comm_dup(MPI_COMM_WORLD, copy)
      call MPI_Comm_set_attr(copy, key, -5_MPI_ADDRESS_KIND * round)
      code = c_get_attr(number(copy), int(key, c_int), place, has)
      call c_f_pointer(place, seen)
      call check(code == MPI_SUCCESS .and. has /= 0 .and. seen == -5 * round, "C reads an attribute of Fortran")
      call MPI_Comm_get_attr(copy, key, value, flag)
      call check(flag .and. value == -5 * round, "Fortran reads its own attribute")
      code = c_set_attr(number(copy), int(key, c_int), c_loc(mine))
      call MPI_Comm_get_attr(copy, key, value, flag)
      call check(flag .and. value == transfer(c_loc(mine), value), "Fortran has the address of an attribute of C")
      call MPI_Comm_free(copy)
    end do
    call check(deleted == 200, "each attribute is deleted")
    call MPI_Comm_free_keyval(key)
    call check(key == MPI_KEYVAL_INVALID, "a freed key is invalid")
  end subroutine

  function number(comm)
    type(MPI_Comm), intent(in) :: comm
    integer(c_intptr_t) :: number
    interface
      function fromint(handle) bind(C, name="MPI_Comm_fromint") result(converted)
        import
        integer(c_int), value :: handle
        integer(c_intptr_t) :: converted
      end function
    end interface
    number = fromint(int(comm%MPI_VAL, c_int))
  end function

  subroutine buffers()
    character, target :: memory(2000)
    type(c_ptr) :: place
    integer :: bytes
    call MPI_Buffer_attach(memory, 2000)
    call MPI_Buffer_detach(place, bytes)
    call check(c_associated(place, c_loc(memory)) .and. bytes == 2000, "a buffer is given back")
    call MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0)
    call MPI_Buffer_detach(place, bytes)
    call check(c_associated(place, c_loc(MPI_BUFFER_AUTOMATIC)), "MPI_BUFFER_AUTOMATIC is given back")
  end subroutine

  subroutine spawned()
    type(MPI_Comm) :: children
    character(len=1000) :: command
    character(len=9) :: arguments(4)
    integer :: codes(2), sum
    ! At ranks other than the root no blank string ends the arguments.
    arguments = "garbage.."
    command = "nothing"
    if (rank == 0) then
      arguments = [character(len=9) :: "one", " two", " ", "lost"]
      call get_command_argument(0, command)
    end if
    call MPI_Comm_spawn(command, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, children, codes)
    if (rank == 0) call check(all(codes == MPI_SUCCESS), "both are started")
    call MPI_Allreduce(rank, sum, 1, MPI_INTEGER, MPI_SUM, children)
    call check(sum == 2, "both have two arguments")
    call MPI_Comm_disconnect(children)
  end subroutine

  subroutine child()
    character(len=20) :: first, second
    integer :: has_both, sum
    call get_command_argument(1, first)
    call get_command_argument(2, second)
    has_both = merge(1, 0, command_argument_count() == 2 .and. first == "one" .and. second == "two")
    call MPI_Allreduce(has_both, sum, 1, MPI_INTEGER, MPI_SUM, parent)
    call MPI_Comm_disconnect(parent)
  end subroutine
end program
