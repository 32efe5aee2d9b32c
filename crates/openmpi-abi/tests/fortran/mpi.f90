! Fortran over Open MPI's own library for it: numbers of handles, common blocks, strings, statuses,
! operations, attributes that every communicator has.
program calls
    use mpi
    implicit none
    integer :: error, rank, ranks, total, got, length, op, comm, info, request, status(MPI_STATUS_SIZE), both(2)
    double precision :: x(4)
    integer(kind=MPI_ADDRESS_KIND) :: bound
    logical :: flag
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=20) :: told
    external :: largest

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    x = rank + 1
    call MPI_Allreduce(MPI_IN_PLACE, x, 4, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, error)
    call MPI_Sendrecv(rank, 1, MPI_INTEGER, mod(rank + 1, ranks), 5, got, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, &
        MPI_COMM_WORLD, status, error)
    call MPI_Get_count(status, MPI_INTEGER, length, error)
    call expect(got == mod(rank + ranks - 1, ranks) .and. status(MPI_SOURCE) == got .and. status(MPI_TAG) == 5 .and. length == 1, 1)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, bound, flag, error)
    call expect(flag .and. bound >= 32767, 2)
    call MPI_Op_create(largest, .true., op, error)
    call MPI_Allreduce(rank + 1, got, 1, MPI_INTEGER, op, MPI_COMM_WORLD, error)
    call expect(got == ranks, 3)
    call MPI_Op_free(op, error)
    call expect(op == MPI_OP_NULL, 4)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, error)
    call MPI_Comm_set_name(comm, '  a name of Fortran  ', error)
    call MPI_Comm_get_name(comm, name, length, error)
    call expect(name == 'a name of Fortran' .and. length == 17, 5)
    call MPI_Info_create(info, error)
    call MPI_Info_set(info, 'key', 'value', error)
    call MPI_Info_get(info, 'key', 20, told, flag, error)
    call expect(flag .and. told == 'value', 6)
    call MPI_Info_free(info, error)
    call MPI_Irecv(got, 1, MPI_INTEGER, MPI_PROC_NULL, 0, comm, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call expect(request == MPI_REQUEST_NULL, 7)
    both = [rank, -rank]
    call MPI_Bcast(both, 1, MPI_2INTEGER, ranks - 1, comm, error)
    call expect(both(1) == ranks - 1 .and. both(2) == 1 - ranks, 8)
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, error)
    call MPI_Send(got, 1, MPI_INTEGER, ranks, 0, comm, error)
    call expect(error /= MPI_SUCCESS, 9)
    call MPI_Comm_free(comm, error)
    call expect(comm == MPI_COMM_NULL, 10)
    if (rank == 0) print '(a,i0,a,i0,a,f4.1)', 'ranks ', ranks, ', sum ', total, ', largest ', x(1)
    call MPI_Finalize(error)
contains
    include 'expect.inc'
end program

subroutine largest(in, inout, n, of)
    integer :: n, of, in(n), inout(n)
    inout = max(in, inout)
end subroutine
