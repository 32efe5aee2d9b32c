! Sections of arrays that a request needs until it ends: copies are written back when it completes, in each
! way to complete it.
program requests_with_parts
  use mpi_f08
  implicit none
  ! Bytes of an INTEGER.
  integer, parameter :: length = storage_size(0) / 8
  integer :: rank, size, n, errors, round
  logical :: raised

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  errors = 0
  raised = .false.

  call reductions()
  call ways_to_complete()
  call persistent()
  call arrays_of_types()
  call partitions()
  call blocks_without_one_stride()
  call gaps()
  call errors_at_the_object()

  call MPI_Allreduce(MPI_IN_PLACE, errors, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0 .and. errors == 0) print '(a)', "requests: all is as the standard says"
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

  function ranks()
    integer :: ranks
    ranks = size * (size - 1) / 2
  end function

  subroutine reductions()
    integer, asynchronous :: mine(10), sum(20)
    type(MPI_Request) :: request
    mine = [(n + rank, n = 1, 10)]
    sum = -1
    call MPI_Iallreduce(mine(1:10:2), sum(2:20:2), 5, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    ! Places between and after the elements of the message belong to the program.
    sum(1) = 77
    sum(20) = 78
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(request == MPI_REQUEST_NULL, "a complete request is null")
    call check(all(sum(2:10:2) == size * [1, 3, 5, 7, 9] + ranks()), "MPI_Iallreduce of parts")
    call check(sum(1) == 77 .and. sum(20) == 78 .and. all(sum(3:19:2) == -1), "MPI_Iallreduce leaves what is not its own")
    sum = rank
    call MPI_Iallreduce(MPI_IN_PLACE, sum(20:1:-2), 10, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(sum(20:1:-2) == size - 1) .and. all(sum(1:20:2) == rank), "MPI_Iallreduce in place of a part")
    sum = -1
    call MPI_Ireduce(mine(2:10:2), sum(1:10:2), 5, MPI_INTEGER, MPI_SUM, size - 1, MPI_COMM_WORLD, request)
    if (rank /= size - 1) sum(1) = 79
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    if (rank == size - 1) then
      call check(all(sum(1:10:2) == size * [2, 4, 6, 8, 10] + ranks()), "MPI_Ireduce of parts")
    else
      call check(sum(1) == 79 .and. all(sum(2:20) == -1), "MPI_Ireduce leaves all elsewhere than at the root")
    end if
  end subroutine

  subroutine start(sum, request)
    integer, asynchronous :: sum(:)
    type(MPI_Request), intent(out) :: request
    sum = rank
    call MPI_Iallreduce(MPI_IN_PLACE, sum(1::2), ubound(sum(1::2), 1), MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
  end subroutine

  subroutine ways_to_complete()
    integer, asynchronous :: sums(9, 3)
    type(MPI_Request) :: requests(3)
    integer :: indices(3), outcount, which, done, way
    logical :: flag, is_done(3)
    do way = 1, 7
      do n = 1, 3
        call start(sums(:, n), requests(n))
      end do
      select case (way)
      case (1)
        call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE)
      case (2, 3)
        do done = 1, 3
          flag = way == 2
          if (flag) call MPI_Waitany(3, requests, which, MPI_STATUS_IGNORE)
          do while (.not. flag)
            call MPI_Testany(3, requests, which, flag, MPI_STATUS_IGNORE)
          end do
          call check(all(sums(1::2, which) == ranks()), "MPI_Waitany and MPI_Testany write back")
        end do
      case (4, 5)
        done = 0
        do while (done < 3)
          if (way == 4) call MPI_Waitsome(3, requests, outcount, indices, MPI_STATUSES_IGNORE)
          if (way == 5) call MPI_Testsome(3, requests, outcount, indices, MPI_STATUSES_IGNORE)
          done = done + outcount
          do n = 1, outcount
            call check(all(sums(1::2, indices(n)) == ranks()), "MPI_Waitsome and MPI_Testsome write back")
          end do
        end do
      case (6)
        flag = .false.
        do while (.not. flag)
          call MPI_Testall(3, requests, flag, MPI_STATUSES_IGNORE)
        end do
      case (7)
        is_done = .false.
        do while (.not. all(is_done))
          do n = 1, 3
            call MPI_Request_get_status(requests(n), is_done(n), MPI_STATUS_IGNORE)
            if (is_done(n)) call check(all(sums(1::2, n) == ranks()), "MPI_Request_get_status writes back")
          end do
        end do
        sums(1, 1) = -5
        do n = 1, 3
          flag = .false.
          do while (.not. flag)
            call MPI_Test(requests(n), flag, MPI_STATUS_IGNORE)
          end do
        end do
        call check(sums(1, 1) == -5, "a copy is written back once")
        sums(1, 1) = ranks()
      end select
      call check(all(sums(1::2, :) == ranks()) .and. all(sums(2::2, :) == rank), "all ways write back what was reduced")
      call check(all([(requests(n) == MPI_REQUEST_NULL, n = 1, 3)]), "all requests are null")
    end do
  end subroutine

  subroutine persistent()
    integer, asynchronous :: mine(12), sums(12, 2)
    type(MPI_Request) :: requests(2)
    call MPI_Allreduce_init(mine(1:12:3), sums(2:12:3, 1), 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1))
    call MPI_Allreduce_init(mine(2:12:3), sums(12:2:-3, 2), 4, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, requests(2))
    do round = 1, 3
      mine = [(100 * round + n + rank, n = 1, 12)]
      sums = -round
      if (round == 2) then
        call MPI_Start(requests(1))
        call MPI_Start(requests(2))
        call MPI_Wait(requests(2), MPI_STATUS_IGNORE)
        call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
      else
        call MPI_Startall(2, requests)
        call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      end if
      call check(all(sums(2:12:3, 1) == size * (100 * round + [1, 4, 7, 10]) + ranks()), "MPI_Allreduce_init of parts")
      call check(all(sums(12:2:-3, 2) == 100 * round + [2, 5, 8, 11] + size - 1), "a second persistent request")
      call check(count(sums == -round) == 16, "persistent requests leave the rest")
    end do
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
    call check(requests(1) == MPI_REQUEST_NULL, "a freed request is null")
  end subroutine

  subroutine arrays_of_types()
    integer, asynchronous :: from(2 * size), to(2 * size)
    integer :: counts(size), places(size)
    type(MPI_Datatype) :: types(size)
    type(MPI_Request) :: request
    from = [(100 * rank + n, n = 1, 2 * size)]
    counts = 1
    places = [(length * n, n = 0, size - 1)]
    types = MPI_INTEGER
    to = -1
    call MPI_Ialltoallw(from(1::2), counts, places, types, to(2::2), counts, places, types, MPI_COMM_WORLD, request)
    types = MPI_DATATYPE_NULL
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(to(2::2) == [(100 * n + 2 * rank + 1, n = 0, size - 1)]), "MPI_Ialltoallw of parts")
    call check(all(to(1::2) == -1), "MPI_Ialltoallw leaves what lies between")
    types = MPI_INTEGER
    call MPI_Alltoallw_init(from(1::2), counts, places, types, to(2::2), counts, places, types, MPI_COMM_WORLD, MPI_INFO_NULL, &
      request)
    types = MPI_DATATYPE_NULL
    do round = 1, 2
      from = from + 1000
      call MPI_Start(request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      call check(all(to(2::2) == [(1000 * round + 100 * n + 2 * rank + 1, n = 0, size - 1)]), "MPI_Alltoallw_init of parts")
    end do
    call MPI_Request_free(request)
  end subroutine

  ! A datatype describes sections with one stride; others are copied partition by partition.
  subroutine partitions()
    integer, asynchronous :: from(8, 6), to(8, 6)
    type(MPI_Request) :: requests(2)
    logical :: flag
    integer :: next, before, way, list(2)
    next = mod(rank + 1, size)
    before = mod(rank + size - 1, size)
    do way = 1, 2
      if (way == 1) then
        call MPI_Psend_init(from(1, :), 3, 2_MPI_COUNT_KIND, MPI_INTEGER, next, 1, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1))
        call MPI_Precv_init(to(2, :), 3, 2_MPI_COUNT_KIND, MPI_INTEGER, before, 1, MPI_COMM_WORLD, MPI_INFO_NULL, requests(2))
      else
        call MPI_Psend_init(from(1:5:2, ::3), 3, 2_MPI_COUNT_KIND, MPI_INTEGER, next, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &
          requests(1))
        call MPI_Precv_init(to(2:6:2, ::5), 3, 2_MPI_COUNT_KIND, MPI_INTEGER, before, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &
          requests(2))
      end if
      do round = 1, 2
        to = -1
        from = 0
        call MPI_Startall(2, requests)
        from = reshape([(1000 * rank + 100 * round + n, n = 1, 48)], [8, 6])
        call MPI_Pready(1, requests(1))
        if (round == 1) then
          call MPI_Pready_range(2, 2, requests(1))
          call MPI_Pready(0, requests(1))
        else
          list = [2, 0]
          call MPI_Pready_list(2, list, requests(1))
        end if
        flag = .false.
        do while (.not. flag)
          call MPI_Parrived(requests(2), 1, flag)
        end do
        from = from + 1000 * (before - rank)
        if (way == 1) call check(to(2, 3) == from(1, 3) .and. to(2, 4) == from(1, 4), "a partition of a row has arrived")
        if (way == 2) call check(to(6, 1) == from(5, 1) .and. to(2, 6) == from(1, 4), "a partition of a copy has arrived")
        call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
        if (way == 1) call check(all(to(2, :) == from(1, :)), "all partitions of a row have arrived")
        if (way == 2) call check(all(to(2:6:2, ::5) == from(1:5:2, ::3)), "all partitions of a copy have arrived")
        call check(count(to /= -1) == 6, "partitions leave the rest")
      end do
      call MPI_Request_free(requests(1))
      call MPI_Request_free(requests(2))
    end do
  end subroutine

  subroutine blocks_without_one_stride()
    integer, asynchronous :: mine(2), all_of(5, size), from(5, size), to(2)
    type(MPI_Request) :: request
    mine = [rank, rank + 100]
    all_of = -1
    call MPI_Igather(mine, 2, MPI_INTEGER, all_of(1:3:2, :), 2, MPI_INTEGER, 0, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    if (rank == 0) then
      call check(all(all_of(1, :) == [(n, n = 0, size - 1)]) .and. all(all_of(3, :) == [(n + 100, n = 0, size - 1)]), &
        "MPI_Igather into a part without one stride")
    end if
    call check(all(all_of(2::2, :) == -1), "MPI_Igather leaves the rest")
    from = reshape([(n, n = 1, 5 * size)], [5, size])
    call MPI_Iscatter(from(2:4:2, :), 2, MPI_INTEGER, to, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(to == from(2:4:2, rank + 1)), "MPI_Iscatter of a part without one stride")
  end subroutine

  ! A section of a datatype with gaps, and a request that is freed before it completes.
  subroutine gaps()
    integer, asynchronous :: from(6), to(12), answer
    type(MPI_Datatype) :: every_second
    type(MPI_Request) :: request, other
    call MPI_Type_vector(2, 1, 2, MPI_INTEGER, every_second)
    call MPI_Type_commit(every_second)
    to = -1
    from = [(n, n = 1, 6)]
    call MPI_Irecv(to(1::2), 1, every_second, rank, 1, MPI_COMM_WORLD, request)
    call MPI_Send(from, 2, MPI_INTEGER, rank, 1, MPI_COMM_WORLD)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(to(1) == 1 .and. to(5) == 2 .and. count(to /= -1) == 2, "MPI_Irecv of a datatype with gaps of a part")
    to = -1
    call MPI_Irecv(to(1::2), 1, every_second, rank, 1, MPI_COMM_WORLD, request)
    call MPI_Request_free(request)
    call check(request == MPI_REQUEST_NULL, "a freed request is null at once")
    call MPI_Irecv(answer, 1, MPI_INTEGER, rank, 2, MPI_COMM_WORLD, other)
    call MPI_Send(from, 2, MPI_INTEGER, rank, 1, MPI_COMM_WORLD)
    call MPI_Send(from, 1, MPI_INTEGER, rank, 2, MPI_COMM_WORLD)
    call MPI_Wait(other, MPI_STATUS_IGNORE)
    call check(to(1) == 1 .and. to(5) == 2 .and. count(to /= -1) == 2, "a freed request writes its copy back later")
    to = -1
    call MPI_Irecv(to(1::2), 1, every_second, rank, 3, MPI_COMM_WORLD, request)
    call MPI_Cancel(request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(to == -1), "a cancelled request writes nothing")
    call MPI_Type_free(every_second)
  end subroutine

  subroutine handler(comm, code)
    type(MPI_Comm) :: comm
    integer :: code
    raised = comm /= MPI_COMM_NULL .and. code /= MPI_SUCCESS
  end subroutine

  ! A section that cannot be described, and must not be copied, is an error of the object, with a text.
  subroutine errors_at_the_object()
    integer :: numbers(10), code, class, letters
    character(len=MPI_MAX_ERROR_STRING) :: text
    type(MPI_Comm) :: comm
    type(MPI_Win) :: window
    type(MPI_Request) :: request
    type(MPI_Errhandler) :: errhandler
    integer :: types
    type(MPI_Datatype) :: gaps
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_create_errhandler(handler, errhandler)
    call MPI_Comm_set_errhandler(comm, errhandler)
    call MPI_Win_create(numbers(1::2), 10_MPI_ADDRESS_KIND * length, length, MPI_INFO_NULL, comm, window, code)
    call MPI_Error_class(code, class)
    call MPI_Error_string(code, text, letters)
    call check(raised .and. class == MPI_ERR_BUFFER, "a part as a window is an error of the communicator")
    call check(index(text, "copy it into an array of its own") > 0, "the text says what to do: " // text(1:letters))
    raised = .false.
    call MPI_Type_vector(2, 1, 2, MPI_INTEGER, gaps)
    call MPI_Isend(numbers(1::2), 9, gaps, rank, 1, comm, request, code)
    call MPI_Error_string(code, text, letters)
    call check(raised .and. index(text, "longer than the part") > 0, "a message longer than the part: " // text(1:letters))
    raised = .false.
    call MPI_Isend(numbers(1::2), 1, MPI_DATATYPE_NULL, rank, 1, comm, request, code)
    call MPI_Error_class(code, class)
    call check(raised .and. class == MPI_ERR_TYPE, "no datatype of a part is an error of the communicator")
    call MPI_Win_create(numbers, 10_MPI_ADDRESS_KIND * length, length, MPI_INFO_NULL, MPI_COMM_WORLD, window)
    call MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN)
    call MPI_Win_fence(0, window)
    call MPI_Put(numbers(1::2), 1, gaps, rank, 0_MPI_ADDRESS_KIND, 2, MPI_INTEGER, window, code)
    call MPI_Error_class(code, types)
    call check(types == MPI_ERR_BUFFER, "MPI_Put of a part with gaps is an error of the window")
    call MPI_Win_fence(0, window)
    call MPI_Win_free(window)
    call MPI_Type_free(gaps)
    call MPI_Errhandler_free(errhandler)
    call MPI_Comm_free(comm)
  end subroutine
end program
