! Sections of arrays as buffers of mpi_f08: received elements equal the sent ones, and places between them are
! unchanged.
program sections
  use mpi_f08
  implicit none
  ! Bytes of an INTEGER.
  integer, parameter :: length = storage_size(0) / 8
  integer :: rank, size, next, before, n, errors
  logical :: is_supported

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  next = mod(rank + 1, size)
  before = mod(rank + size - 1, size)
  errors = 0
  is_supported = MPI_SUBARRAYS_SUPPORTED .and. MPI_ASYNC_PROTECTS_NONBLOCKING
  call check(is_supported, "parts of arrays are supported")

  call vectors()
  call matrices()
  call backwards()
  call components()
  call wider_and_narrower()
  call collectives()
  call windows()
  call large_counts()

  call MPI_Allreduce(MPI_IN_PLACE, errors, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0 .and. errors == 0) print '(a)', "sections: all is as the standard says"
  call MPI_Finalize()
  if (errors /= 0) error stop 1

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    errors = errors + 1
    print '(a, i0, 2a)', "rank ", rank, ": this does not hold: ", what
  end subroutine

  ! Sends every third element and receives into every second place, by all calls.
  subroutine vectors()
    integer, asynchronous :: from(30), to(20)
    type(MPI_Request) :: requests(2)
    type(MPI_Status) :: status
    integer :: received, round
    from = [(100 * rank + n, n = 1, 30)]

    to = -1
    call MPI_Sendrecv(from(1:30:3), 10, MPI_INTEGER, next, 1, to(2:20:2), 10, MPI_INTEGER, before, 1, &
      MPI_COMM_WORLD, status)
    call MPI_Get_elements(status, MPI_INTEGER, received)
    call check(received == 10, "ten numbers have come")
    call check(all(to(2:20:2) == 100 * before + [(n, n = 1, 30, 3)]), "MPI_Sendrecv of parts")
    call check(all(to(1:20:2) == -1), "MPI_Sendrecv leaves what lies between")

    to = -1
    call MPI_Irecv(to(1:20:2), 10, MPI_INTEGER, before, 2, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(from(2:30:3), 10, MPI_INTEGER, next, 2, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call check(all(to(1:20:2) == 100 * before + [(n, n = 2, 30, 3)]), "MPI_Isend and MPI_Irecv of parts")
    call check(all(to(2:20:2) == -1), "MPI_Irecv leaves what lies between")

    to = -1
    call MPI_Recv_init(to(1:20:2), 10, MPI_INTEGER, before, 3, MPI_COMM_WORLD, requests(1))
    call MPI_Send_init(from(1:10), 10, MPI_INTEGER, next, 3, MPI_COMM_WORLD, requests(2))
    do round = 1, 3
      from(1:10) = from(1:10) + 1000
      call MPI_Startall(2, requests)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      call check(all(to(1:20:2) == 100 * before + 1000 * round + [(n, n = 1, 10)]), "persistent requests of parts")
    end do
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
    call check(requests(1) == MPI_REQUEST_NULL, "a freed request is null")

    ! Fewer elements than the section has, and none.
    to = -1
    call MPI_Sendrecv(from(1:30:3), 4, MPI_INTEGER, next, 4, to(2:20:2), 10, MPI_INTEGER, before, 4, &
      MPI_COMM_WORLD, status)
    call MPI_Get_elements(status, MPI_INTEGER, received)
    call check(received == 4 .and. to(8) /= -1 .and. to(10) == -1, "a count shorter than the part")
    call MPI_Sendrecv(from(1:30:3), 0, MPI_INTEGER, next, 5, to(2:20:2), 0, MPI_INTEGER, before, 5, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Sendrecv_replace(from(30:1:-1), 30, MPI_INTEGER, next, 6, before, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(from(30) == 100 * before + 30, "MPI_Sendrecv_replace of an array backwards")
  end subroutine

  ! Blocks of matrices of two and three dimensions, whose last row is incomplete.
  subroutine matrices()
    double precision :: from(7, 9), to(7, 9), cube(4, 5, 6), seen(4, 5, 6)
    integer :: i, j, k
    forall (i = 1:7, j = 1:9) from(i, j) = 1000 * rank + 10 * i + j
    forall (i = 1:4, j = 1:5, k = 1:6) cube(i, j, k) = 1000 * rank + 100 * i + 10 * j + k
    to = -1
    call MPI_Sendrecv(from(2:6:2, 3:8), 18, MPI_DOUBLE_PRECISION, next, 1, &
      to(1:3, 1:9:1), 18, MPI_DOUBLE_PRECISION, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(to(1:3, 1:6) == from(2:6:2, 3:8) + 1000 * (before - rank)), "a block of a matrix")
    call check(all(to(4:7, :) == -1) .and. all(to(1:3, 7:9) == -1), "a block leaves the rest")
    to = -1
    call MPI_Sendrecv(from(2:6:2, 3:8), 17, MPI_DOUBLE_PRECISION, next, 1, &
      to(7:3:-2, 1:6), 17, MPI_DOUBLE_PRECISION, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(to(7:3:-2, 1:5) == from(2:6:2, 3:7) + 1000 * (before - rank)), "a block without its last element")
    call check(to(3, 6) == -1 .and. to(5, 6) == from(4, 8) + 1000 * (before - rank), "the last row is not whole")
    seen = -1
    call MPI_Sendrecv(cube(1:4:3, 2:5:3, 6:1:-2), 12, MPI_DOUBLE_PRECISION, next, 2, &
      seen(2:3, 1:5:4, 2:6:2), 12, MPI_DOUBLE_PRECISION, before, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(seen(2:3, 1:5:4, 2:6:2) == cube(1:4:3, 2:5:3, 6:1:-2) + 1000 * (before - rank)), "a part of a cube")
    call check(count(seen /= -1) == 12, "a part of a cube leaves the rest")
  end subroutine

  subroutine backwards()
    complex :: from(12), to(12)
    from = [(cmplx(rank, n), n = 1, 12)]
    to = 0
    call MPI_Sendrecv(from(12:2:-2), 6, MPI_COMPLEX, next, 1, to(1:12:2), 6, MPI_COMPLEX, before, 1, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(to(1:12:2) == [(cmplx(before, n), n = 12, 2, -2)]), "complex numbers backwards")
  end subroutine

  ! One component of each element of an array of a derived type, and strings.
  subroutine components()
    type :: point
      sequence
      double precision :: x
      integer :: number
      integer :: color
    end type
    type(point) :: from(8), to(8)
    character(len=3) :: words(6), heard(6)
    from%x = [(0.5d0 * n + rank, n = 1, 8)]
    from%number = [(n, n = 1, 8)]
    from%color = 7
    to%x = -1
    to%number = -1
    to%color = -1
    call MPI_Sendrecv(from%x, 8, MPI_DOUBLE_PRECISION, next, 1, to%x, 8, MPI_DOUBLE_PRECISION, before, 1, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Sendrecv(from(1:8:2)%number, 4, MPI_INTEGER, next, 2, to(8:2:-2)%color, 4, MPI_INTEGER, before, 2, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(to%x == [(0.5d0 * n + before, n = 1, 8)]), "a component of each element")
    call check(all(to%number == -1) .and. all(to(8:2:-2)%color == [1, 3, 5, 7]), "components of every second element")
    words = [character(len=3) :: "abc", "def", "ghi", "jkl", "mno", "pqr"]
    heard = "..."
    call MPI_Sendrecv(words(1:6:2), 9, MPI_CHARACTER, next, 3, heard(2:6:2), 9, MPI_CHARACTER, before, 3, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(heard == [character(len=3) :: "...", "abc", "...", "ghi", "...", "mno"]), "texts")
  end subroutine

  ! Datatypes longer and shorter than an element, and one with gaps.
  subroutine wider_and_narrower()
    integer :: from(24), to(24)
    complex :: pairs(6)
    type(MPI_Datatype) :: three, gaps
    from = [(100 * rank + n, n = 1, 24)]
    call MPI_Type_contiguous(3, MPI_INTEGER, three)
    call MPI_Type_vector(2, 1, 2, MPI_INTEGER, gaps)
    call MPI_Type_commit(three)
    call MPI_Type_commit(gaps)
    to = -1
    call MPI_Sendrecv(from(1:24:2), 4, three, next, 1, to(2:24:2), 12, MPI_INTEGER, before, 1, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(to(2:24:2) == [(100 * before + n, n = 1, 24, 2)]), "a datatype of three elements")
    pairs = 0
    call MPI_Sendrecv([real :: 1, 2, 3, 4, 5, 6], 6, MPI_REAL, next, 2, pairs(1:6:2), 6, MPI_REAL, before, 2, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(pairs == [(1, 2), (0, 0), (3, 4), (0, 0), (5, 6), (0, 0)]), "a datatype of half an element")
    to = -1
    call MPI_Sendrecv(from(1:24:2), 1, gaps, next, 3, to(1:2), 2, MPI_INTEGER, before, 3, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(to(1) == 100 * before + 1 .and. to(2) == 100 * before + 5, "a datatype with gaps of a part")
    call MPI_Type_free(three)
    call MPI_Type_free(gaps)
    call check(three == MPI_DATATYPE_NULL, "a freed datatype is null")
  end subroutine

  ! Sections in collectives: as datatypes, and copied if an operation combines elements.
  subroutine collectives()
    integer :: mine(10), sum(20), all_of(2, 2 * size), counts(size), places(size), sent(3 * size), got(6 * size)
    type(MPI_Request) :: request
    mine = [(n + rank, n = 1, 10)]
    sum = -1
    call MPI_Allreduce(mine(1:10:2), sum(2:10:2), 5, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(all(sum(2:10:2) == size * [1, 3, 5, 7, 9] + size * (size - 1) / 2), "MPI_Allreduce of parts")
    call check(all(sum(1:11:2) == -1), "MPI_Allreduce leaves what lies between")
    call MPI_Allreduce(MPI_IN_PLACE, mine(1:10:3), 4, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD)
    call check(all(mine(1:10:3) == size - 1 + [1, 4, 7, 10]) .and. mine(2) == 2 + rank, "MPI_Allreduce in place of a part")
    all_of = -1
    call MPI_Allgather(rank, 1, MPI_INTEGER, all_of(2, 1:size), 1, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(all_of(2, 1:size) == [(n, n = 0, size - 1)]), "MPI_Allgather into a row")
    call MPI_Bcast(sum(1:19:2), 10, MPI_INTEGER, size - 1, MPI_COMM_WORLD)
    if (rank == size - 1) sum(1:19:2) = [(n, n = 1, 10)]
    call MPI_Ibcast(sum(1:19:2), 10, MPI_INTEGER, size - 1, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(sum(1:19:2) == [(n, n = 1, 10)]), "MPI_Ibcast of a part")
    counts = 3
    places = [(3 * n, n = 0, size - 1)]
    sent = [(100 * rank + n, n = 1, 3 * size)]
    got = -1
    call MPI_Alltoallv(sent, counts, places, MPI_INTEGER, got(1:6 * size:2), counts, places, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(got(1:6 * size:2) == [(100 * ((n - 1) / 3) + 3 * rank + mod(n - 1, 3) + 1, n = 1, 3 * size)]), &
      "MPI_Alltoallv into a part")
    call check(all(got(2:6 * size:2) == -1), "MPI_Alltoallv leaves what lies between")
    got = -1
    call MPI_Ialltoallv(sent(3 * size:1:-1), counts, places, MPI_INTEGER, got(1:6 * size:2), counts, places, MPI_INTEGER, &
      MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(got(1:6 * size:2) == [(100 * ((n - 1) / 3) + 3 * (size - rank) - mod(n - 1, 3), n = 1, 3 * size)]), &
      "MPI_Ialltoallv of an array backwards")
    all_of = -1
    call MPI_Igather(sent(2), 2, MPI_INTEGER, all_of(1, :), 2, MPI_INTEGER, 0, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    if (rank == 0) call check(all(all_of(1, :) == [(100 * ((n - 1) / 2) + 2 + mod(n - 1, 2), n = 1, 2 * size)]), &
      "MPI_Igather into a row")
    call check(all(all_of(2, :) == -1), "MPI_Igather leaves what lies between")
  end subroutine

  subroutine windows()
    integer, target :: memory(10)
    integer :: mine(10)
    type(MPI_Win) :: window
    memory = -1
    mine = [(100 * rank + n, n = 1, 10)]
    call MPI_Win_create(memory, 10_MPI_ADDRESS_KIND * length, length, MPI_INFO_NULL, MPI_COMM_WORLD, window)
    call MPI_Win_fence(0, window)
    call MPI_Put(mine(1:10:2), 5, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, 5, MPI_INTEGER, window)
    call MPI_Win_fence(0, window)
    call check(all(memory(1:5) == 100 * before + [1, 3, 5, 7, 9]), "MPI_Put of a part")
    call MPI_Win_fence(0, window)
    mine = 1
    call MPI_Accumulate(mine(1:10:2), 5, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, 5, MPI_INTEGER, MPI_SUM, window)
    call MPI_Win_fence(0, window)
    call check(all(memory(1:5) == 100 * before + [2, 4, 6, 8, 10]), "MPI_Accumulate of a part")
    mine = 0
    call MPI_Get(mine(2:10:2), 5, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, 5, MPI_INTEGER, window)
    call MPI_Win_fence(0, window)
    call check(all(mine(2:10:2) == 100 * rank + [2, 4, 6, 8, 10]) .and. mine(1) == 0, "MPI_Get into a part")
    call MPI_Win_free(window)
  end subroutine

  ! Counts of MPI_COUNT_KIND select the procedures with _c.
  subroutine large_counts()
    integer :: from(10), to(10)
    integer(MPI_COUNT_KIND) :: bytes
    type(MPI_Status) :: status
    from = rank
    to = -1
    call MPI_Sendrecv(from(1:10:2), 5_MPI_COUNT_KIND, MPI_INTEGER, next, 1, to(1:10:2), 5_MPI_COUNT_KIND, MPI_INTEGER, &
      before, 1, MPI_COMM_WORLD, status)
    call MPI_Get_elements(status, MPI_BYTE, bytes)
    call check(bytes == 5 * length .and. all(to(1:10:2) == before), "large counts")
    call MPI_Type_size(MPI_DOUBLE_PRECISION, bytes)
    call check(bytes == 8, "MPI_Type_size of a large count")
  end subroutine
end program
