! Numbers, arrays of numbers, statuses and functions of the program if options make an INTEGER eight bytes
! long. The program also holds with four bytes.
module functions_of_the_program
  use mpi
  implicit none
  integer :: copied = 0, deleted = 0, raised = 0, queried = 0, freed = 0
contains
  subroutine add(invec, inoutvec, length, datatype)
    integer :: length, datatype
    integer :: invec(length), inoutvec(length)
    inoutvec = invec + inoutvec
    if (datatype /= MPI_INTEGER) inoutvec = -1
  end subroutine

  subroutine copy(comm, key, state, value, new, flag, ierror)
    integer :: comm, key, ierror
    integer(MPI_ADDRESS_KIND) :: state, value, new
    logical :: flag
    new = value + state
    flag = .true.
    copied = copied + 1
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, comm /= MPI_COMM_NULL .and. key /= MPI_KEYVAL_INVALID)
  end subroutine

  subroutine forget(comm, key, value, state, ierror)
    integer :: comm, key, ierror
    integer(MPI_ADDRESS_KIND) :: state, value
    deleted = deleted + 1
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, comm /= MPI_COMM_NULL .and. key /= MPI_KEYVAL_INVALID)
    if (state /= 3 .or. value <= 0) ierror = MPI_ERR_OTHER
  end subroutine

  subroutine handle(comm, code)
    integer :: comm, code
    if (comm /= MPI_COMM_NULL) raised = code
  end subroutine

  subroutine query(state, status, ierror)
    integer(MPI_ADDRESS_KIND) :: state
    integer :: status(MPI_STATUS_SIZE), ierror
    status(MPI_SOURCE) = 11
    status(MPI_TAG) = -12
    call MPI_Status_set_elements(status, MPI_INTEGER, int(state), ierror)
    call MPI_Status_set_cancelled(status, .false., ierror)
    queried = queried + 1
  end subroutine

  subroutine free_state(state, ierror)
    integer(MPI_ADDRESS_KIND) :: state
    integer :: ierror
    freed = freed + int(state)
    ierror = MPI_SUCCESS
  end subroutine

  subroutine cancel(state, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: state
    logical :: complete
    integer :: ierror
    if (complete) state = -1
    ierror = MPI_SUCCESS
  end subroutine
end module

module checks
  implicit none
  integer :: rank, size, errors = 0
  logical, parameter :: is_long = storage_size(0) == 64
contains
  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    errors = errors + 1
    print '(a, i0, 2a)', "rank ", rank, ": this does not hold: ", what
  end subroutine
end module

program long_integers
  use mpi
  use checks
  implicit none
  integer :: parent, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  call MPI_Comm_get_parent(parent, ierr)
  if (parent == MPI_COMM_NULL) then
    call as_the_first()
  else
    call as_a_child()
  end if
  call MPI_Finalize(ierr)
  if (errors /= 0) error stop 1

contains

  subroutine as_the_first()
    call messages()
    call requests_at_once()
    call collectives()
    call groups_and_topologies()
    call datatypes()
    call callbacks()
    call numbers_too_long()
    call by_the_header(errors)
    call by_mpi_f08()
    call spawned()
    call MPI_Allreduce(MPI_IN_PLACE, errors, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    if (rank == 0 .and. errors == 0) print '(a)', "long integers: all is as the standard says"
  end subroutine

  subroutine as_a_child()
    integer :: sum
    call MPI_Allreduce(0, sum, 1, MPI_INTEGER, MPI_SUM, parent, ierr)
    call check(sum > 0, "parents are there")
    call MPI_Comm_disconnect(parent, ierr)
  end subroutine

  subroutine messages()
    integer :: status(MPI_STATUS_SIZE), next, before, sent(3), got(3), received, length, attribute
    integer(MPI_ADDRESS_KIND) :: value
    logical :: flag
    next = mod(rank + 1, size)
    before = mod(rank + size - 1, size)
    sent = [rank, -rank, huge(0)]
    got = 0
    call MPI_Sendrecv(sent, 3, MPI_INTEGER, next, 7, got, 3, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, ierr)
    call check(ierr == MPI_SUCCESS .and. all(got == [before, -before, huge(0)]), "numbers arrive whole")
    call check(status(MPI_SOURCE) == before .and. status(MPI_TAG) == 7, "a status has the source and the tag")
    call MPI_Get_count(status, MPI_INTEGER, received, ierr)
    call check(received == 3, "MPI_Get_count")
    call MPI_Test_cancelled(status, flag, ierr)
    call check(.not. flag, "MPI_Test_cancelled")
    call MPI_Type_size(MPI_INTEGER, length, ierr)
    call check(length == storage_size(0) / 8, "MPI_INTEGER is as long as an INTEGER")
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierr)
    call check(flag .and. value >= 32767, "MPI_TAG_UB")
    call MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, attribute, flag, ierr)
    call check(flag .and. attribute == value, "MPI_TAG_UB as MPI 1 had it")
    call MPI_Probe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, status, ierr)
    call check(status(MPI_SOURCE) == MPI_PROC_NULL .and. status(MPI_TAG) == MPI_ANY_TAG, &
      "a status of no process has negative numbers")
  end subroutine

  subroutine requests_at_once()
    integer :: requests(4), statuses(MPI_STATUS_SIZE, 4), indices(4), n, outcount, got(2), done, which
    logical :: flag
    do n = 1, 2
      call MPI_Irecv(got(n), 1, MPI_INTEGER, rank, n, MPI_COMM_WORLD, requests(n), ierr)
      call MPI_Isend(10 * n, 1, MPI_INTEGER, rank, n, MPI_COMM_WORLD, requests(2 + n), ierr)
    end do
    statuses = -9
    call MPI_Waitall(4, requests, statuses, ierr)
    call check(all(got == [10, 20]) .and. all(requests == MPI_REQUEST_NULL), "MPI_Waitall")
    call check(all(statuses(MPI_TAG, 1:2) == [1, 2]) .and. all(statuses(MPI_SOURCE, 1:2) == rank), "MPI_Waitall has statuses")
    call check(all(statuses(MPI_ERROR, :) == -9), "MPI_Waitall leaves errors as they are")
    do n = 1, 2
      call MPI_Irecv(got(n), 1, MPI_INTEGER, rank, n, MPI_COMM_WORLD, requests(n), ierr)
      call MPI_Isend(30 * n, 1, MPI_INTEGER, rank, n, MPI_COMM_WORLD, requests(2 + n), ierr)
    end do
    done = 0
    do while (done < 4)
      call MPI_Waitsome(4, requests, outcount, indices, statuses, ierr)
      do n = 1, outcount
        if (indices(n) <= 2) call check(statuses(MPI_TAG, n) == indices(n), "MPI_Waitsome has statuses")
      end do
      done = done + outcount
    end do
    call check(all(got == [30, 60]), "MPI_Waitsome")
    call MPI_Waitsome(4, requests, outcount, indices, MPI_STATUSES_IGNORE, ierr)
    call check(outcount == MPI_UNDEFINED, "MPI_Waitsome of no request")
    call MPI_Testany(4, requests, which, flag, MPI_STATUS_IGNORE, ierr)
    call check(flag .and. which == MPI_UNDEFINED, "MPI_Testany of no request")
    call MPI_Testall(4, requests, flag, MPI_STATUSES_IGNORE, ierr)
    call check(flag, "MPI_Testall of no request")
  end subroutine

  subroutine collectives()
    integer :: counts(size), places(size), bytes(size), types(size), mine(rank + 1), all_of(size * (size + 1) / 2), n, request
    integer :: sent(size), got(size), pair(2, 2), best(2, 2), length
    length = storage_size(0) / 8
    mine = rank
    counts = [(n, n = 1, size)]
    places = [(n * (n - 1) / 2, n = 1, size)]
    all_of = -1
    call MPI_Gatherv(mine, rank + 1, MPI_INTEGER, all_of, counts, places, MPI_INTEGER, size - 1, MPI_COMM_WORLD, ierr)
    if (rank == size - 1) call check(all([(all(all_of(places(n) + 1:places(n) + n) == n - 1), n = 1, size)]), "MPI_Gatherv")
    all_of = -1
    call MPI_Iallgatherv(mine, rank + 1, MPI_INTEGER, all_of, counts, places, MPI_INTEGER, MPI_COMM_WORLD, request, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    call check(all([(all(all_of(places(n) + 1:places(n) + n) == n - 1), n = 1, size)]), "MPI_Iallgatherv")
    counts = 1
    bytes = [(length * n, n = 0, size - 1)]
    types = MPI_INTEGER
    sent = [(100 * rank + n, n = 0, size - 1)]
    call MPI_Alltoallw(sent, counts, bytes, types, got, counts, bytes, types, MPI_COMM_WORLD, ierr)
    call check(all(got == [(100 * n + rank, n = 0, size - 1)]), "MPI_Alltoallw")
    got = -1
    call MPI_Ialltoallw(sent, counts, bytes, types, got, counts, bytes, types, MPI_COMM_WORLD, request, ierr)
    types = MPI_DATATYPE_NULL
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    call check(all(got == [(100 * n + rank, n = 0, size - 1)]), "MPI_Ialltoallw")
    got = sent
    call MPI_Alltoallw(MPI_IN_PLACE, counts, bytes, types, got, counts, bytes, [(MPI_INTEGER, n = 1, size)], MPI_COMM_WORLD, ierr)
    call check(all(got == [(100 * n + rank, n = 0, size - 1)]), "MPI_Alltoallw in place")
    pair(:, 1) = [mod(rank, 2), rank]
    pair(:, 2) = [5, rank]
    call MPI_Allreduce(pair, best, 2, MPI_2INTEGER, MPI_MAXLOC, MPI_COMM_WORLD, ierr)
    call check(ierr == MPI_SUCCESS .and. all(best(:, 1) == min(1, size - 1)) .and. all(best(:, 2) == [5, 0]), &
      "MPI_MAXLOC of MPI_2INTEGER")
    call MPI_Allreduce(MPI_IN_PLACE, pair, 2, MPI_2INTEGER, MPI_MINLOC, MPI_COMM_WORLD, ierr)
    call check(all(pair(:, 1) == 0) .and. all(pair(:, 2) == [5, 0]), "MPI_MINLOC of MPI_2INTEGER")
    call MPI_Type_size(MPI_2INTEGER, n, ierr)
    call check(n == 2 * length, "MPI_2INTEGER has two INTEGERs")
  end subroutine

  subroutine groups_and_topologies()
    double precision :: real_one = 1
    integer :: world, group, ranks(1), others(2), ranges(3, 1), dims(2), coords(2), comm, graph, n, newrank
    integer :: sources(2), targets(2), weights(2), indegree, outdegree, edges(size), indx(size), nodes
    logical :: periods(2), is_weighted
    call MPI_Comm_group(MPI_COMM_WORLD, world, ierr)
    ranges(:, 1) = [0, size - 1, 2]
    call MPI_Group_range_incl(world, 1, ranges, group, ierr)
    call MPI_Group_size(group, n, ierr)
    call check(n == (size + 1) / 2, "MPI_Group_range_incl")
    ranks = size - 1
    call MPI_Group_incl(world, 1, ranks, group, ierr)
    call MPI_Group_translate_ranks(group, 1, [0], world, others, ierr)
    call check(others(1) == size - 1, "MPI_Group_incl and MPI_Group_translate_ranks")
    call MPI_Group_translate_ranks(world, 1, [size - 1], group, others, ierr)
    call check(others(1) == 0, "MPI_Group_translate_ranks")
    dims = [0, 1]
    call MPI_Dims_create(size, 2, dims, ierr)
    call check(all(dims == [size, 1]), "MPI_Dims_create")
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.true., .false.], .false., comm, ierr)
    ! The old content of an array that MPI writes has no effect, in either half of its numbers.
    dims = transfer(real_one, dims(1))
    coords = dims
    call MPI_Cart_get(comm, 2, dims, periods, coords, ierr)
    call check(all(dims == [size, 1]) .and. periods(1) .and. .not. periods(2) .and. coords(1) == rank, "MPI_Cart_get")
    call MPI_Cart_rank(comm, [size + rank, 0], newrank, ierr)
    call check(newrank == rank, "MPI_Cart_rank")
    coords = transfer(real_one, dims(1))
    call MPI_Cart_coords(comm, size - 1, 2, coords, ierr)
    call check(all(coords == [size - 1, 0]), "MPI_Cart_coords")
    call MPI_Comm_free(comm, ierr)
    sources = mod(rank + size - 1, size)
    targets = mod(rank + 1, size)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, [5], 1, targets, [6], MPI_INFO_NULL, .false., graph, ierr)
    weights = -1
    sources = -1
    targets = -1
    call MPI_Dist_graph_neighbors_count(graph, indegree, outdegree, is_weighted, ierr)
    call MPI_Dist_graph_neighbors(graph, 1, sources, weights, 1, targets, MPI_UNWEIGHTED, ierr)
    call check(indegree == 1 .and. is_weighted .and. sources(1) == mod(rank + size - 1, size), "MPI_Dist_graph_neighbors")
    call check(all(weights == [5, -1]) .and. targets(2) == -1, "weights of a graph")
    call MPI_Comm_free(graph, ierr)
    call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [rank], [1], [mod(rank + 1, size)], MPI_UNWEIGHTED, MPI_INFO_NULL, .false., &
      graph, ierr)
    call MPI_Dist_graph_neighbors_count(graph, indegree, outdegree, is_weighted, ierr)
    call check(outdegree == 1 .and. .not. is_weighted, "MPI_Dist_graph_create")
    call MPI_Comm_free(graph, ierr)
    indx = [(n, n = 1, size)]
    edges = [(mod(n, size), n = 1, size)]
    call MPI_Graph_create(MPI_COMM_WORLD, size, indx, edges, .false., graph, ierr)
    indx = 0
    edges = -1
    call MPI_Graph_get(graph, size, size, indx, edges, ierr)
    call check(all(indx == [(n, n = 1, size)]) .and. all(edges == [(mod(n, size), n = 1, size)]), "MPI_Graph_get")
    call MPI_Graph_neighbors(graph, rank, 1, others, ierr)
    call check(others(1) == mod(rank + 1, size), "MPI_Graph_neighbors")
    call MPI_Graphdims_get(graph, nodes, n, ierr)
    call check(nodes == size, "MPI_Graphdims_get")
    call MPI_Comm_free(graph, ierr)
  end subroutine

  subroutine datatypes()
    integer :: of, integers(9), types(9), ni, na, nd, combiner, position, packed(20), n, from(6)
    integer(MPI_ADDRESS_KIND) :: addresses(9)
    call MPI_Type_indexed(2, [1, 2], [0, 3], MPI_INTEGER, of, ierr)
    call MPI_Type_commit(of, ierr)
    call MPI_Type_get_envelope(of, ni, na, nd, combiner, ierr)
    call check(combiner == MPI_COMBINER_INDEXED, "MPI_Type_get_envelope")
    call MPI_Type_size(of, n, ierr)
    call check(n == 3 * (storage_size(0) / 8), "MPI_Type_indexed")
    from = [(n, n = 1, 6)]
    position = 0
    packed = -1
    call MPI_Pack(from, 1, of, packed, 20 * (storage_size(0) / 8), position, MPI_COMM_WORLD, ierr)
    call check(position == 3 * (storage_size(0) / 8) .and. all(packed(1:3) == [1, 4, 5]) .and. packed(4) == -1, "MPI_Pack")
    call MPI_Type_free(of, ierr)
    call check(of == MPI_DATATYPE_NULL, "MPI_Type_free")
    call MPI_Type_create_f90_integer(9, of, ierr)
    call MPI_Type_get_envelope(of, ni, na, nd, combiner, ierr)
    call MPI_Type_get_contents(of, 9, 0, 0, integers, addresses, types, ierr)
    call check(combiner == MPI_COMBINER_F90_INTEGER .and. integers(1) == 9, "MPI_Type_get_contents")
  end subroutine

  subroutine callbacks()
    use functions_of_the_program
    integer :: op, sum(2), key, comm, errhandler, request, status(MPI_STATUS_SIZE), n
    integer(MPI_ADDRESS_KIND) :: state, value
    logical :: flag
    call MPI_Op_create(add, .true., op, ierr)
    call MPI_Allreduce([rank, -rank], sum, 2, MPI_INTEGER, op, MPI_COMM_WORLD, ierr)
    call check(all(sum == size * (size - 1) / 2 * [1, -1]), "an operation of the program")
    call MPI_Op_free(op, ierr)
    call MPI_Comm_create_keyval(copy, forget, key, 3_MPI_ADDRESS_KIND, ierr)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, key, 4_MPI_ADDRESS_KIND + huge(0_4), ierr)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    call MPI_Comm_get_attr(comm, key, value, flag, ierr)
    call check(flag .and. value == 7_MPI_ADDRESS_KIND + huge(0_4) .and. copied == 1, "an attribute is copied")
    call MPI_Comm_create_errhandler(handle, errhandler, ierr)
    call MPI_Comm_set_errhandler(comm, errhandler, ierr)
    call MPI_Send(rank, 1, MPI_INTEGER, size, 1, comm, ierr)
    call check(raised == ierr .and. ierr /= MPI_SUCCESS, "an error handler is called")
    call MPI_Comm_free(comm, ierr)
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, key, ierr)
    call check(deleted == 2, "attributes are deleted")
    state = 5
    call MPI_Grequest_start(query, free_state, cancel, state, request, ierr)
    call MPI_Grequest_complete(request, ierr)
    call MPI_Wait(request, status, ierr)
    call MPI_Get_count(status, MPI_INTEGER, n, ierr)
    call check(queried == 1 .and. freed == 5 .and. n == 5, "a generalized request")
    call check(status(MPI_SOURCE) == 11 .and. status(MPI_TAG) == -12, "the status of a generalized request")
  end subroutine

  ! A number that C's int cannot hold is an error, and is not cut. Numbers are shifted at run time if INTEGER
  ! has room for them.
  subroutine numbers_too_long()
    integer :: comm, far, requests(1), class, got
    if (.not. is_long) return
    far = ishft(1, 32)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, ierr)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierr)
    call MPI_Send(rank, 1, MPI_INTEGER, far, 1, comm, ierr)
    call MPI_Error_class(ierr, class, got)
    call check(class == MPI_ERR_RANK, "a rank that is too long")
    call MPI_Send(rank, 1, MPI_INTEGER, rank, far + 1, comm, ierr)
    call MPI_Error_class(ierr, class, got)
    call check(class == MPI_ERR_TAG, "a tag that is too long")
    call MPI_Send(rank, 1, MPI_INTEGER + far, rank, 1, comm, ierr)
    call MPI_Error_class(ierr, class, got)
    call check(class == MPI_ERR_TYPE, "a datatype that is too long")
    call MPI_Group_incl(MPI_GROUP_EMPTY, 1, [far], class, ierr)
    call check(ierr /= MPI_SUCCESS, "a rank of an array that is too long")
    requests = MPI_REQUEST_NULL + far
    call MPI_Waitall(1, requests, MPI_STATUSES_IGNORE, ierr)
    call check(ierr /= MPI_SUCCESS, "a request that is too long")
    call MPI_Comm_rank(MPI_COMM_WORLD + far, got, ierr)
    call check(ierr /= MPI_SUCCESS, "a communicator that is too long")
    call MPI_Send(rank, -far, MPI_INTEGER, rank, 1, comm, ierr)
    call MPI_Error_class(ierr, class, got)
    call check(class == MPI_ERR_COUNT, "a count that is negative")
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL, ierr)
    call MPI_Comm_free(comm, ierr)
  end subroutine

  subroutine spawned()
    integer :: children, codes(2), sum, n
    character(len=1000) :: command
    call get_command_argument(0, command)
    codes = -1
    call MPI_Comm_spawn(command, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, children, codes, ierr)
    call check(all(codes == MPI_SUCCESS), "codes of a spawn")
    call MPI_Allreduce(rank + 1, sum, 1, MPI_INTEGER, MPI_SUM, children, ierr)
    call MPI_Comm_remote_size(children, n, ierr)
    call check(n == 2, "two are spawned")
    call MPI_Comm_disconnect(children, ierr)
  end subroutine
end program

! Calls by mpif.h, without interfaces.
subroutine by_the_header(errors)
  implicit none
  include 'mpif.h'
  integer :: errors, rank, size, ierr, status(MPI_STATUS_SIZE), got, counts(64), places(64), n, all_of(64)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, size, ierr)
  call MPI_SENDRECV(rank, 1, MPI_INTEGER, rank, 3, got, 1, MPI_INTEGER, rank, 3, MPI_COMM_WORLD, status, ierr)
  if (got /= rank .or. status(MPI_TAG) /= 3) errors = errors + 1
  call MPI_REDUCE(MPI_IN_PLACE, got, 0, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_SELF, ierr)
  counts = 1
  places = [(n, n = 0, 63)]
  call MPI_ALLGATHERV(rank, 1, MPI_INTEGER, all_of, counts, places, MPI_INTEGER, MPI_COMM_WORLD, ierr)
  if (any(all_of(1:size) /= [(n, n = 0, size - 1)])) errors = errors + 1
  call MPI_RECV(got, 1, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  if (ierr /= MPI_SUCCESS) errors = errors + 1
end subroutine

subroutine by_mpi_f08()
  use mpi_f08
  use checks
  implicit none
  type(MPI_Status) :: status
  type(MPI_Request) :: requests(2)
  type(MPI_Datatype) :: types(2)
  integer, asynchronous :: from(6), to(6)
  integer :: n, counts(size), places(size), all_of(size), received, old(MPI_STATUS_SIZE)
  integer(MPI_COUNT_KIND) :: many
  from = [(rank * 100 + n, n = 1, 6)]
  to = -1
  call MPI_Irecv(to(2::2), 3, MPI_INTEGER, rank, 5, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(from(1::2), 3, MPI_INTEGER, rank, 5, MPI_COMM_WORLD, requests(2))
  call MPI_Wait(requests(1), status)
  call MPI_Wait(requests(2), MPI_STATUS_IGNORE)
  call check(all(to(2::2) == from(1::2)) .and. all(to(1::2) == -1), "parts of arrays")
  call check(status%MPI_SOURCE == rank .and. status%MPI_TAG == 5, "a status of mpi_f08")
  call MPI_Get_count(status, MPI_INTEGER, received)
  call check(received == 3, "MPI_Get_count of mpi_f08")
  many = 0
  call MPI_Get_elements_x(status, MPI_INTEGER, many)
  call check(many == 3, "MPI_Get_elements_x")
  call MPI_Status_f082f(status, old)
  call check(old(MPI_TAG) == 5, "MPI_Status_f082f")
  to = 0
  call MPI_Iallreduce(from(1::2), to(1::2), 3, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, requests(1))
  call MPI_Wait(requests(1), status)
  call check(all(to(1::2) == (size - 1) * 100 + [1, 3, 5]), "MPI_Iallreduce of parts")
  ! A section of pairs, in reverse order.
  from = [1, rank, 2, rank, 3, rank]
  call MPI_Sendrecv(from(6:1:-1), 3, MPI_2INTEGER, rank, 1, to, 3, MPI_2INTEGER, rank, 1, MPI_COMM_WORLD, status)
  call check(all(to == [rank, 3, rank, 2, rank, 1]), "MPI_2INTEGER of a part")
  types = MPI_INTEGER
  call MPI_Allreduce(MPI_IN_PLACE, from, 3, MPI_2INTEGER, MPI_MINLOC, MPI_COMM_WORLD)
  call check(all(from == [1, 0, 2, 0, 3, 0]), "MPI_MINLOC of mpi_f08")
  counts = 1
  places = [(n, n = 0, size - 1)]
  call MPI_Allgatherv(rank, 1, MPI_INTEGER, all_of, counts, places, MPI_INTEGER, MPI_COMM_WORLD)
  call check(all(all_of == places), "MPI_Allgatherv of mpi_f08")
end subroutine
