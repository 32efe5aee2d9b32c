! Requests in Fortran over Open MPI's own library for it: persistent ones, generalized ones, collectives with a datatype for each rank, groups.
module work
    use mpi
    implicit none
    integer :: queries = 0, frees = 0, cancels = 0
contains
    subroutine query(state, status, error)
        integer(kind=MPI_ADDRESS_KIND) :: state
        integer :: status(MPI_STATUS_SIZE), error
        call MPI_Status_set_elements(status, MPI_INTEGER, int(state), error)
        call MPI_Status_set_cancelled(status, .false., error)
        status(MPI_SOURCE) = 17
        status(MPI_TAG) = 18
        queries = queries + 1
        error = MPI_SUCCESS
    end subroutine

    subroutine release(state, error)
        integer(kind=MPI_ADDRESS_KIND) :: state
        integer :: error
        frees = frees + int(state)
        error = MPI_SUCCESS
    end subroutine

    subroutine cancel(state, complete, error)
        integer(kind=MPI_ADDRESS_KIND) :: state
        logical :: complete
        integer :: error
        cancels = cancels + int(state)
        if (complete) cancels = cancels + 1000
        error = MPI_SUCCESS
    end subroutine
end module

program requests
    use mpi
    use work
    implicit none
    integer :: error, rank, ranks

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    call persistent
    call many_at_a_time
    call generalized
    call datatype_each(MPI_COMM_WORLD, ranks)
    call between_two_halves
    call groups
    call MPI_Finalize(error)
contains
    include 'expect.inc'

    ! Requests that are started many times keep their numbers, in each call that waits or tests.
    subroutine persistent
        integer, parameter :: rounds = 700
        integer :: round, requests(2), before(2), got, sent, n, places(2), at, total
        integer :: statuses(MPI_STATUS_SIZE, 2), status(MPI_STATUS_SIZE)
        logical :: flag
        call MPI_Recv_init(got, 1, MPI_INTEGER, mod(rank + ranks - 1, ranks), 3, MPI_COMM_WORLD, requests(1), error)
        call MPI_Send_init(sent, 1, MPI_INTEGER, mod(rank + 1, ranks), 3, MPI_COMM_WORLD, requests(2), error)
        before = requests
        total = 0
        do round = 1, rounds
            sent = 1000 * rank + round
            got = -1
            call MPI_Startall(2, requests, error)
            call expect(all(requests == before), 1)
            select case (mod(round, 7))
            case (0)
                call MPI_Waitall(2, requests, statuses, error)
                call expect(statuses(MPI_TAG, 1) == 3, 2)
            case (1)
                call MPI_Wait(requests(1), status, error)
                call MPI_Wait(requests(2), MPI_STATUS_IGNORE, error)
                call expect(status(MPI_SOURCE) == mod(rank + ranks - 1, ranks), 3)
            case (2)
                do n = 1, 2
                    call MPI_Waitany(2, requests, at, status, error)
                    call expect(at == 1 .or. at == 2, 4)
                end do
            case (3)
                n = 0
                do while (n < 2)
                    call MPI_Waitsome(2, requests, at, places, statuses, error)
                    n = n + at
                end do
            case (4)
                flag = .false.
                do while (.not. flag)
                    call MPI_Testall(2, requests, flag, statuses, error)
                end do
            case (5)
                n = 0
                do while (n < 2)
                    call MPI_Testsome(2, requests, at, places, statuses, error)
                    n = n + at
                end do
            case (6)
                do n = 1, 2
                    flag = .false.
                    do while (.not. flag)
                        if (n == 1) then
                            call MPI_Testany(1, requests(2:2), at, flag, status, error)
                        else
                            call MPI_Test(requests(1), flag, status, error)
                        end if
                    end do
                end do
            end select
            call expect(all(requests == before), 5)
            call expect(got == 1000 * mod(rank + ranks - 1, ranks) + round, 6)
            total = total + got
        end do
        call MPI_Request_free(requests(1), error)
        call MPI_Request_free(requests(2), error)
        call expect(all(requests == MPI_REQUEST_NULL), 7)
        print '(a,i0,a,i0)', 'rank ', rank, ': persistent requests got ', total
    end subroutine

    ! Many requests at once, ordinary and persistent: the first kind becomes null, the second kind does not.
    subroutine many_at_a_time
        integer, parameter :: pairs = 40
        integer :: n, round, requests(4 * pairs), numbers(4 * pairs), there
        do n = 1, pairs
            call MPI_Recv_init(numbers(n), 1, MPI_INTEGER, mod(rank + ranks - 1, ranks), n, MPI_COMM_WORLD, &
                requests(n), error)
            call MPI_Send_init(numbers(pairs + n), 1, MPI_INTEGER, mod(rank + 1, ranks), n, MPI_COMM_WORLD, &
                requests(pairs + n), error)
        end do
        do round = 1, 20
            numbers(pairs + 1:2 * pairs) = [(rank + round * n, n = 1, pairs)]
            numbers(3 * pairs + 1:4 * pairs) = [(rank - round * n, n = 1, pairs)]
            call MPI_Startall(2 * pairs, requests, error)
            do n = 1, pairs
                call MPI_Irecv(numbers(2 * pairs + n), 1, MPI_INTEGER, mod(rank + ranks - 1, ranks), 100 + n, MPI_COMM_WORLD, &
                    requests(2 * pairs + n), error)
                call MPI_Isend(numbers(3 * pairs + n), 1, MPI_INTEGER, mod(rank + 1, ranks), 100 + n, MPI_COMM_WORLD, &
                    requests(3 * pairs + n), error)
            end do
            call MPI_Waitall(4 * pairs, requests, MPI_STATUSES_IGNORE, error)
            there = mod(rank + ranks - 1, ranks)
            call expect(all(requests(1:2 * pairs) /= MPI_REQUEST_NULL), 10)
            call expect(all(requests(2 * pairs + 1:) == MPI_REQUEST_NULL), 11)
            call expect(all(numbers(1:pairs) == [(there + round * n, n = 1, pairs)]), 12)
            call expect(all(numbers(2 * pairs + 1:3 * pairs) == [(there - round * n, n = 1, pairs)]), 13)
        end do
        do n = 1, 2 * pairs
            call MPI_Request_free(requests(n), error)
        end do
    end subroutine

    subroutine generalized
        integer(kind=MPI_ADDRESS_KIND) :: state
        integer :: request, status(MPI_STATUS_SIZE), n, round
        logical :: flag
        state = 5
        do round = 1, 3
            call MPI_Grequest_start(query, release, cancel, state, request, error)
            call MPI_Test(request, flag, status, error)
            call expect(.not. flag .and. request /= MPI_REQUEST_NULL, 20)
            if (round == 2) call MPI_Cancel(request, error)
            call MPI_Grequest_complete(request, error)
            if (round == 3) call MPI_Cancel(request, error)
            call MPI_Wait(request, status, error)
            call MPI_Get_elements(status, MPI_INTEGER, n, error)
            call expect(request == MPI_REQUEST_NULL .and. n == 5, 21)
            call expect(status(MPI_SOURCE) == 17 .and. status(MPI_TAG) == 18, 22)
        end do
        print '(a,i0,a,3i6)', 'rank ', rank, ': queries, frees, cancels', queries, frees, cancels
    end subroutine

    ! A datatype for each rank: each rank sends another number of columns.
    subroutine datatype_each(comm, others)
        integer, intent(in) :: comm, others
        integer :: send(0:3 * others), recv(0:3 * others), counts(others), at(others), to(others), from(others)
        integer :: again(0:3 * others), vector, n, request, mine, length
        character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
        call MPI_Comm_rank(comm, mine, error)
        call MPI_Type_vector(2, 1, 2, MPI_INTEGER, vector, error)
        call MPI_Type_commit(vector, error)
        counts = 1
        at = [(12 * (n - 1), n = 1, others)]
        ! The first rank gets one number, the others two; so the first rank receives single numbers.
        to = vector
        to(1) = MPI_INTEGER
        from = vector
        if (mine == 0) from = MPI_INTEGER
        send = [(100 * rank + n, n = 0, 3 * others)]
        recv = -1
        call MPI_Alltoallw(send, counts, at, to, recv, counts, at, from, comm, error)
        print '(a,i0,a,40i5)', 'rank ', rank, ': alltoallw ', recv
        ! Open MPI's own library of this version crashes in this call.
        call MPI_Get_library_version(version, length, error)
        if (index(version, 'Open MPI v4.') /= 1) then
            again = -1
            call MPI_Ialltoallw(send, counts, at, to, again, counts, at, from, comm, request, error)
            call MPI_Wait(request, MPI_STATUS_IGNORE, error)
            call expect(request == MPI_REQUEST_NULL .and. all(again == recv), 30)
        end if
        call MPI_Type_free(vector, error)
    end subroutine

    ! The remote group of an inter-communicator gives the number of ranks.
    subroutine between_two_halves
        integer :: half, inter, others
        call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half, error)
        call MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - mod(rank, 2), 9, inter, error)
        call MPI_Comm_remote_size(inter, others, error)
        call each_of_one_type(inter, others)
        call MPI_Comm_free(inter, error)
        call MPI_Comm_free(half, error)
    end subroutine

    subroutine each_of_one_type(comm, others)
        integer, intent(in) :: comm, others
        integer :: send(others), recv(others), n
        send = [(100 * rank + n, n = 1, others)]
        call MPI_Alltoallw(send, [(1, n = 1, others)], [(4 * n, n = 0, others - 1)], [(MPI_INTEGER, n = 1, others)], &
            recv, [(1, n = 1, others)], [(4 * n, n = 0, others - 1)], [(MPI_INTEGER, n = 1, others)], comm, error)
        print '(a,i0,a,40i5)', 'rank ', rank, ': between halves', recv
    end subroutine

    subroutine groups
        integer :: all, some, other, size, result
        call MPI_Comm_group(MPI_COMM_WORLD, all, error)
        call MPI_Group_incl(all, 1, [ranks - 1], some, error)
        call MPI_Group_size(some, size, error)
        call expect(size == 1, 40)
        call MPI_Group_excl(all, 1, [ranks - 1], other, error)
        call MPI_Group_size(other, size, error)
        call expect(size == ranks - 1, 41)
        call MPI_Group_free(other, error)
        call MPI_Group_union(all, some, other, error)
        call MPI_Group_compare(all, other, result, error)
        call expect(result == MPI_IDENT, 42)
        call MPI_Group_free(other, error)
        call MPI_Group_difference(some, all, other, error)
        call expect(other == MPI_GROUP_EMPTY, 43)
        call MPI_Group_intersection(some, all, other, error)
        call MPI_Group_compare(some, other, result, error)
        call expect(result == MPI_IDENT, 44)
        call MPI_Group_free(other, error)
        call MPI_Group_free(some, error)
        call MPI_Group_free(all, error)
    end subroutine
end program
