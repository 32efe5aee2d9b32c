! The module mpi_f08 over Open MPI's own library for it: the calls of the other programs, here with types in
! place of numbers.
module functions
    use mpi_f08
    implicit none
    integer :: copies = 0, errors = 0
    type(MPI_Comm) :: last_comm
    type(MPI_Datatype) :: seen_type
contains
    subroutine copy(comm, key, state, value, new, flag, error)
        type(MPI_Comm) :: comm
        integer :: key, error
        integer(kind=MPI_ADDRESS_KIND) :: state, value, new
        logical :: flag
        new = 2 * value + state
        flag = .true.
        copies = copies + 1
        last_comm = comm
        error = MPI_SUCCESS
    end subroutine

    subroutine on_error(comm, code)
        type(MPI_Comm) :: comm
        integer :: code
        errors = errors + 1
        last_comm = comm
    end subroutine

    subroutine combine(in, inout, n, of)
        use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
        type(c_ptr), value :: in, inout
        integer :: n
        type(MPI_Datatype) :: of
        integer, pointer :: from(:), to(:)
        call c_f_pointer(in, from, [2 * n])
        call c_f_pointer(inout, to, [2 * n])
        seen_type = of
        to = to + from
        if (of == MPI_INTEGER) to = 0
    end subroutine
end module

program f08
    use mpi_f08
    use functions
    implicit none
    integer :: rank, ranks, n, round, key, got, sums(2), error
    integer, allocatable :: send(:), recv(:), counts(:), at(:)
    integer(kind=MPI_ADDRESS_KIND) :: value
    logical :: flag
    type(MPI_Comm) :: comm, other
    type(MPI_Request) :: requests(2), before(2)
    type(MPI_Datatype) :: pair
    type(MPI_Datatype), allocatable :: types(:)
    type(MPI_Op) :: op
    type(MPI_Errhandler) :: handler
    type(MPI_Group) :: all_ranks, some
    type(MPI_Status) :: statuses(2)

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)

    call MPI_Recv_init(got, 1, MPI_INTEGER, mod(rank + ranks - 1, ranks), 3, MPI_COMM_WORLD, requests(1))
    call MPI_Send_init(round, 1, MPI_INTEGER, mod(rank + 1, ranks), 3, MPI_COMM_WORLD, requests(2))
    before = requests
    do round = 1, 300
        call MPI_Startall(2, requests)
        call MPI_Waitall(2, requests, statuses)
        call expect(requests(1) == before(1) .and. requests(2) == before(2), 1)
        call expect(got == round .and. statuses(1)%MPI_SOURCE == mod(rank + ranks - 1, ranks), 2)
    end do
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
    call expect(requests(1) == MPI_REQUEST_NULL, 3)

    allocate (send(ranks), recv(ranks), counts(ranks), at(ranks), types(ranks))
    counts = 1
    types = MPI_INTEGER
    at = [(4 * n, n = 0, ranks - 1)]
    send = [(100 * rank + n, n = 1, ranks)]
    call MPI_Alltoallw(send, counts, at, types, recv, counts, at, types, MPI_COMM_WORLD)
    print '(a,i0,a,40i5)', 'rank ', rank, ': alltoallw', recv

    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, key, 3_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(comm, key, 20_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(comm, other)
    call MPI_Comm_get_attr(other, key, value, flag)
    call expect(flag .and. value == 43 .and. copies == 1 .and. last_comm == comm, 4)
    call MPI_Comm_free(other)

    call MPI_Comm_create_errhandler(on_error, handler)
    call MPI_Comm_set_errhandler(comm, handler)
    call MPI_Send(got, 1, MPI_INTEGER, ranks, 0, comm, error)
    call expect(error /= MPI_SUCCESS .and. errors == 1 .and. last_comm == comm, 5)
    call MPI_Errhandler_free(handler)
    call MPI_Comm_free_keyval(key)
    call MPI_Comm_free(comm)

    call MPI_Type_contiguous(2, MPI_INTEGER, pair)
    call MPI_Type_commit(pair)
    call MPI_Op_create(combine, .true., op)
    sums = [1, 2]
    call MPI_Reduce_local([rank, rank + 10], sums, 1, pair, op)
    call expect(all(sums == [rank + 1, rank + 12]) .and. seen_type == pair, 6)
    call MPI_Allreduce([rank, 1], sums, 1, pair, op, MPI_COMM_WORLD)
    print '(a,i0,a,2i5)', 'rank ', rank, ': sums', sums
    call MPI_Op_free(op)
    call MPI_Type_free(pair)

    call MPI_Comm_group(MPI_COMM_WORLD, all_ranks)
    call MPI_Group_incl(all_ranks, 1, [ranks - 1], some)
    call MPI_Group_size(some, n)
    call expect(n == 1, 7)
    call MPI_Group_free(some)
    call MPI_Group_free(all_ranks)
    call MPI_Finalize()
contains
    subroutine expect(holds, which)
        logical, intent(in) :: holds
        integer, intent(in) :: which
        if (.not. holds) then
            print *, 'rank', rank, ': check', which, 'does not hold'
            call MPI_Abort(MPI_COMM_WORLD, which)
        end if
    end subroutine
end program
