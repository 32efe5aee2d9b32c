! The places of statuses that are ignored, as the module mpi and mpif.h have them.
module canele_statuses
  use canele_constants
  implicit none
  integer, target :: MPI_STATUS_IGNORE(MPI_STATUS_SIZE), MPI_STATUSES_IGNORE(MPI_STATUS_SIZE, 1)
  common /canele_status_places/ MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE
end module

! What the procedures share: the interfaces of libcanele_fort, and texts.
module canele_support
  use, intrinsic :: iso_c_binding
  use canele_constants
  implicit none

  ! A buffer as C's functions take it.
  type, bind(C) :: canele_buffer
    type(c_ptr) :: address
    integer(c_int64_t) :: count
    integer(c_intptr_t) :: datatype
    type(c_ptr) :: copy
    integer(c_int) :: made = 0
  end type

  ! MPI_COMM_SELF in C.
  integer(c_intptr_t), parameter :: CANELE_COMM_SELF = 258

  ! The library sets it while a request has resources: copies of parts of arrays, or arrays that C reads.
  integer(c_int) :: canele_live
  common /canele_requests/ canele_live

  interface
    ! Returns the address that C knows for a place: that of MPI_BOTTOM and its kin, or its own.
    function canele_fort_place(place, places) bind(C) result(address)
      import
      type(c_ptr), value :: place
      integer, intent(in) :: places
      type(c_ptr) :: address
    end function
    ! Returns 1 if an address is that of MPI_IN_PLACE.
    function canele_fort_in_place(address) bind(C) result(is_in_place)
      import
      type(c_ptr), value :: address
      integer(c_int) :: is_in_place
    end function
    ! Finds what a function is called with for a buffer; `flags` as in the library.
    function canele_fort_begin(buffer, places, flags, count, datatype, made) bind(C) result(code)
      import
      type(*), dimension(..), intent(in) :: buffer
      integer, intent(in) :: places
      integer(c_int), value :: flags
      integer(c_int64_t), value :: count
      integer(c_int), value :: datatype
      type(canele_buffer), intent(inout) :: made
      integer(c_int) :: code
    end function
    subroutine canele_fort_end(made) bind(C)
      import
      type(canele_buffer), intent(inout) :: made
    end subroutine
    ! Returns the bytes of an element.
    function canele_fort_size(buffer) bind(C) result(bytes)
      import
      type(*), dimension(..), intent(in) :: buffer
      integer(c_int) :: bytes
    end function
    ! Returns a place for a handle that C writes when a request completes; then `number`, an INTEGER of so many bytes, gets its number.
    function canele_fort_later(number, bytes, live) bind(C) result(place)
      import
      integer :: number
      integer(c_int), value :: bytes
      integer(c_int) :: live
      type(c_ptr) :: place
    end function
    subroutine canele_fort_never(place) bind(C)
      import
      type(c_ptr), value :: place
    end subroutine
    ! Ends what canele_fort_begin has begun for a call that gives a request: a copy is added to the resources.
    subroutine canele_fort_end_later(made, resources) bind(C)
      import
      type(canele_buffer), intent(inout) :: made
      type(c_ptr), intent(inout) :: resources
    end subroutine
    ! Returns the place of an array of handles that is added to the resources.
    function canele_fort_array(resources, length) bind(C) result(place)
      import
      type(c_ptr), intent(inout) :: resources
      integer(c_int), value :: length
      type(c_ptr) :: place
    end function
    ! Gives a request its resources.
    subroutine canele_fort_attach(resources, code, request, is_persistent, live) bind(C)
      import
      type(c_ptr), value :: resources
      integer(c_int), value :: code, is_persistent
      integer(c_intptr_t), value :: request
      integer(c_int) :: live
    end subroutine
    ! Takes the resources of requests that a call may complete.
    function canele_fort_take(requests, count) bind(C) result(taken)
      import
      type(c_ptr), value :: requests
      integer(c_int), value :: count
      type(c_ptr) :: taken
    end function
    ! Ends those of complete requests, and gives the others theirs back.
    subroutine canele_fort_complete(taken, requests, asks) bind(C)
      import
      type(c_ptr), value :: taken, requests
      integer(c_int), value :: asks
    end subroutine
    subroutine canele_fort_start(requests, count) bind(C)
      import
      type(c_ptr), value :: requests
      integer(c_int), value :: count
    end subroutine
    function canele_fort_request_free(request) bind(C) result(code)
      import
      integer(c_intptr_t) :: request
      integer(c_int) :: code
    end function
    subroutine canele_fort_finish() bind(C)
    end subroutine
    subroutine canele_fort_ready(request, low, high) bind(C)
      import
      integer(c_intptr_t), value :: request
      integer(c_int), value :: low, high
    end subroutine
    subroutine canele_fort_arrived(request, partition) bind(C)
      import
      integer(c_intptr_t), value :: request
      integer(c_int), value :: partition
    end subroutine
RAISE
LONG
    ! Returns 1 at the root of a collective.
    function canele_fort_is_root(comm, root) bind(C) result(is_root)
      import
      integer(c_int), value :: comm, root
      integer(c_int) :: is_root
    end function
    function canele_fort_peers(comm) bind(C) result(peers)
      import
      integer(c_int), value :: comm
      integer(c_int) :: peers
    end function
    function canele_fort_neighbors(comm, outgoing) bind(C) result(neighbors)
      import
      integer(c_int), value :: comm, outgoing
      integer(c_int) :: neighbors
    end function
    function canele_fort_dimensions(comm) bind(C) result(dimensions)
      import
      integer(c_int), value :: comm
      integer(c_int) :: dimensions
    end function
    ! Returns the place of a value: C reads attributes of Fortran there.
    function canele_fort_keep(value) bind(C) result(place)
      import
      integer(c_intptr_t), value :: value
      type(c_ptr) :: place
    end function
    subroutine canele_fort_forget(place) bind(C)
      import
      type(c_ptr), value :: place
    end subroutine
    ! Returns the value of an attribute as Fortran has it: the predefined ones are places in C.
    function canele_fort_attribute(kind, keyval, value) bind(C) result(number)
      import
      integer(c_int), value :: kind, keyval
      integer(c_intptr_t), value :: value
      integer(c_intptr_t) :: number
    end function
    function canele_fort_attribute_state(copy, delete, state, is_old) bind(C) result(made)
      import
      type(c_funptr), value :: copy, delete
      integer(c_intptr_t), value :: state
      integer(c_int), value :: is_old
      type(c_ptr) :: made
    end function
    function canele_fort_grequest_state(query, free, cancel, state) bind(C) result(made)
      import
      type(c_funptr), value :: query, free, cancel
      integer(c_intptr_t) :: state
      type(c_ptr) :: made
    end function
    function canele_fort_datarep_state(read, write, extent, state) bind(C) result(made)
      import
      type(c_funptr), value :: read, write, extent
      integer(c_intptr_t), value :: state
      type(c_ptr) :: made
    end function
    ! Returns the strings of an array of texts, as many as `how_many` says, or up to a blank one if that is negative.
    function canele_fort_texts(texts, nothing, length, how_many) bind(C) result(strings)
      import
      character(kind=c_char), intent(in) :: texts(*), nothing(*)
      integer(c_int), value :: length, how_many
      type(c_ptr) :: strings
    end function
    subroutine canele_fort_free_texts(strings) bind(C)
      import
      type(c_ptr), value :: strings
    end subroutine
    function canele_fort_text_lists(texts, nothing, length, how_many) bind(C) result(lists)
      import
      character(kind=c_char), intent(in) :: texts(*), nothing(*)
      integer(c_int), value :: length, how_many
      type(c_ptr) :: lists
    end function
    subroutine canele_fort_free_text_lists(lists, how_many) bind(C)
      import
      type(c_ptr), value :: lists
      integer(c_int), value :: how_many
    end subroutine
    subroutine canele_fort_prepare(logical_size, truth, lie) bind(C)
      import
      integer(c_int), value :: logical_size
      type(*), intent(in) :: truth, lie
    end subroutine
CALLBACKS
CONVERSIONS
  end interface

contains

  ! Copies a string of C: blanks follow it.
  recursive subroutine canele_copy_text(from, to)
    character(kind=c_char), intent(in) :: from(*)
    character(len=*), intent(out) :: to
    integer :: n
    to = ' '
    do n = 1, len(to)
      if (from(n) == c_null_char) exit
      to(n:n) = from(n)
    end do
  end subroutine

  ! Tells the library of MPI how this compiler writes true and false.
  recursive subroutine canele_prepare()
    logical :: truth, lie
    truth = .true.
    lie = .false.
    call canele_fort_prepare(int(storage_size(truth) / 8, c_int), truth, lie)
  end subroutine
end module

