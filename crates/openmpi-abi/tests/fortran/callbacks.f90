! Functions of a Fortran program over Open MPI's own library for Fortran: of attributes, error handlers,
! operations, data representations.
module functions
    use mpi
    implicit none
    integer :: copies = 0, deletes = 0, errors = 0, last_code = 0, last_object = 0, seen_type = 0, asked = 0
contains
    subroutine copy(object, key, state, value, new, flag, error)
        integer :: object, key, error
        integer(kind=MPI_ADDRESS_KIND) :: state, value, new
        logical :: flag
        new = value + state
        flag = .true.
        copies = copies + 1
        last_object = object
        error = MPI_SUCCESS
    end subroutine

    subroutine delete(object, key, value, state, error)
        integer :: object, key, error
        integer(kind=MPI_ADDRESS_KIND) :: value, state
        deletes = deletes + int(mod(value, 1000_MPI_ADDRESS_KIND) + state)
        last_object = object
        error = MPI_SUCCESS
    end subroutine

    subroutine refuse(object, key, value, state, error)
        integer :: object, key, error
        integer(kind=MPI_ADDRESS_KIND) :: value, state
        error = MPI_ERR_OTHER
    end subroutine

    ! The functions of MPI 1, whose values are of type INTEGER.
    subroutine old_copy(object, key, state, value, new, flag, error)
        integer :: object, key, state, value, new, error
        logical :: flag
        new = -value - state
        flag = value /= 7
        error = MPI_SUCCESS
    end subroutine

    subroutine old_delete(object, key, value, state, error)
        integer :: object, key, value, state, error
        deletes = deletes + value + state
        error = MPI_SUCCESS
    end subroutine

    subroutine on_error(object, code)
        integer :: object, code
        integer :: error
        errors = errors + 1
        last_object = object
        call MPI_Error_class(code, last_code, error)
    end subroutine

    subroutine combine(in, inout, n, of)
        integer :: n, of, in(*), inout(*)
        integer :: size, error
        seen_type = of
        call MPI_Type_size(of, size, error)
        if (of == MPI_INTEGER) then
            inout(1:n) = max(in(1:n), inout(1:n))
        else
            ! A pair: the sum and the minimum.
            inout(1:2 * n:2) = in(1:2 * n:2) + inout(1:2 * n:2)
            inout(2:2 * n:2) = min(in(2:2 * n:2), inout(2:2 * n:2))
        end if
        if (size /= 4 .and. size /= 8) inout(1) = -1
    end subroutine

    subroutine extent_of(of, extent, state, error)
        integer :: of, error
        integer(kind=MPI_ADDRESS_KIND) :: extent, state
        asked = asked + 1
        extent = 4
        error = MPI_SUCCESS
    end subroutine

    ! In the file numbers are negative.
    subroutine to_file(user, of, count, file, position, state, error)
        integer :: user(*), of, count, file(*), error
        integer(kind=MPI_OFFSET_KIND) :: position
        integer(kind=MPI_ADDRESS_KIND) :: state
        file(1:count) = -user(position + 1:position + count) - int(state)
        error = MPI_SUCCESS
    end subroutine

    subroutine from_file(user, of, count, file, position, state, error)
        integer :: user(*), of, count, file(*), error
        integer(kind=MPI_OFFSET_KIND) :: position
        integer(kind=MPI_ADDRESS_KIND) :: state
        user(position + 1:position + count) = -file(1:count) - int(state)
        error = MPI_SUCCESS
    end subroutine
end module

program callbacks
    use mpi
    use functions
    implicit none
    integer :: error, rank, ranks

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    call attributes_of_communicators
    call attributes_of_mpi_1
    call attributes_of_datatypes
    call attributes_of_windows
    call error_handlers
    call operations
    call representations
    call MPI_Finalize(error)
contains
    include 'expect.inc'

    subroutine attributes_of_communicators
        integer :: key, null_key, dup_key, refusing, comm, other
        integer(kind=MPI_ADDRESS_KIND) :: value
        logical :: flag
        call MPI_Comm_create_keyval(copy, delete, key, 3_MPI_ADDRESS_KIND, error)
        call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, null_key, 0_MPI_ADDRESS_KIND, error)
        call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, dup_key, 0_MPI_ADDRESS_KIND, error)
        call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse, refusing, 0_MPI_ADDRESS_KIND, error)
        call MPI_Comm_dup(MPI_COMM_WORLD, comm, error)
        call MPI_Comm_get_attr(comm, key, value, flag, error)
        call expect(.not. flag, 1)
        call MPI_Comm_set_attr(comm, key, -70000000000_MPI_ADDRESS_KIND, error)
        call MPI_Comm_set_attr(comm, null_key, 8_MPI_ADDRESS_KIND, error)
        call MPI_Comm_set_attr(comm, dup_key, -9_MPI_ADDRESS_KIND, error)
        call MPI_Comm_get_attr(comm, key, value, flag, error)
        call expect(flag .and. value == -70000000000_MPI_ADDRESS_KIND, 2)
        call MPI_Comm_dup(comm, other, error)
        call expect(copies == 1 .and. last_object == comm, 3)
        call MPI_Comm_get_attr(other, key, value, flag, error)
        call expect(flag .and. value == -69999999997_MPI_ADDRESS_KIND, 4)
        call MPI_Comm_get_attr(other, null_key, value, flag, error)
        call expect(.not. flag, 5)
        call MPI_Comm_get_attr(other, dup_key, value, flag, error)
        call expect(flag .and. value == -9, 6)
        call MPI_Comm_set_attr(other, key, 40_MPI_ADDRESS_KIND, error)
        call MPI_Comm_delete_attr(other, key, error)
        call MPI_Comm_get_attr(other, key, value, flag, error)
        call expect(.not. flag, 7)
        ! If a delete function fails, the attribute stays.
        call MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN, error)
        call MPI_Comm_set_attr(other, refusing, 1_MPI_ADDRESS_KIND, error)
        call MPI_Comm_delete_attr(other, refusing, error)
        call expect(error /= MPI_SUCCESS, 8)
        call MPI_Comm_get_attr(other, refusing, value, flag, error)
        call expect(flag .and. value == 1, 9)
        call MPI_Comm_free(comm, error)
        print '(a,i0,a,2i8)', 'rank ', rank, ': copies, deletes', copies, deletes
        call MPI_Comm_free_keyval(key, error)
        call expect(key == MPI_KEYVAL_INVALID, 10)
        call MPI_Comm_free_keyval(null_key, error)
        call MPI_Comm_free_keyval(dup_key, error)
        ! A predefined communicator has attributes of the program, too.
        call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND, error)
        call MPI_Comm_set_attr(MPI_COMM_SELF, key, 77_MPI_ADDRESS_KIND, error)
        call MPI_Comm_get_attr(MPI_COMM_SELF, key, value, flag, error)
        call expect(flag .and. value == 77, 11)
        call MPI_Comm_get_attr(MPI_COMM_WORLD, key, value, flag, error)
        call expect(.not. flag, 12)
        call MPI_Comm_delete_attr(MPI_COMM_SELF, key, error)
        call MPI_Comm_free_keyval(key, error)
    end subroutine

    subroutine attributes_of_mpi_1
        integer :: key, comm, other, value
        integer(kind=MPI_ADDRESS_KIND) :: wide
        logical :: flag
        external :: MPI_Keyval_create, MPI_Attr_put, MPI_Attr_get, MPI_Attr_delete, MPI_Keyval_free
        deletes = 0
        call MPI_Comm_dup(MPI_COMM_SELF, comm, error)
        call MPI_Keyval_create(old_copy, old_delete, key, 5, error)
        call MPI_Attr_put(comm, key, 20, error)
        call MPI_Comm_dup(comm, other, error)
        call MPI_Attr_get(other, key, value, flag, error)
        call expect(flag .and. value == -25, 20)
        call MPI_Comm_get_attr(other, key, wide, flag, error)
        call expect(flag .and. wide == -25, 21)
        call MPI_Attr_delete(other, key, error)
        call MPI_Comm_free(other, error)
        call MPI_Attr_put(comm, key, 7, error)
        call MPI_Comm_dup(comm, other, error)
        call MPI_Attr_get(other, key, value, flag, error)
        call expect(.not. flag, 22)
        call MPI_Comm_free(other, error)
        call MPI_Comm_free(comm, error)
        call MPI_Keyval_free(key, error)
        print '(a,i0,a,i8)', 'rank ', rank, ': deletes of MPI 1', deletes
    end subroutine

    subroutine attributes_of_datatypes
        integer :: key, of, other
        integer(kind=MPI_ADDRESS_KIND) :: value
        logical :: flag
        copies = 0
        deletes = 0
        call MPI_Type_create_keyval(copy, delete, key, 4_MPI_ADDRESS_KIND, error)
        call MPI_Type_contiguous(3, MPI_INTEGER, of, error)
        call MPI_Type_set_attr(of, key, 100_MPI_ADDRESS_KIND, error)
        call MPI_Type_get_attr(of, key, value, flag, error)
        call expect(flag .and. value == 100, 30)
        call MPI_Type_dup(of, other, error)
        call expect(last_object == of, 31)
        call MPI_Type_get_attr(other, key, value, flag, error)
        call expect(flag .and. value == 104, 32)
        call MPI_Type_free(of, error)
        call MPI_Type_delete_attr(other, key, error)
        call MPI_Type_free(other, error)
        call MPI_Type_set_attr(MPI_DOUBLE_PRECISION, key, 6_MPI_ADDRESS_KIND, error)
        call MPI_Type_get_attr(MPI_DOUBLE_PRECISION, key, value, flag, error)
        call expect(flag .and. value == 6, 33)
        call MPI_Type_get_attr(MPI_INTEGER, key, value, flag, error)
        call expect(.not. flag, 34)
        call MPI_Type_delete_attr(MPI_DOUBLE_PRECISION, key, error)
        call MPI_Type_free_keyval(key, error)
        print '(a,i0,a,2i8)', 'rank ', rank, ': copies, deletes of datatypes', copies, deletes
    end subroutine

    subroutine attributes_of_windows
        integer :: key, win, flavor
        integer(kind=MPI_ADDRESS_KIND) :: value, base
        logical :: flag
        deletes = 0
        call MPI_Win_allocate(40_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, error)
        call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete, key, 2_MPI_ADDRESS_KIND, error)
        call MPI_Win_get_attr(win, key, value, flag, error)
        call expect(.not. flag, 40)
        call MPI_Win_set_attr(win, key, 55_MPI_ADDRESS_KIND, error)
        call MPI_Win_get_attr(win, key, value, flag, error)
        call expect(flag .and. value == 55, 41)
        call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag, error)
        call expect(flag .and. value == 40, 42)
        call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, value, flag, error)
        call expect(flag .and. value == 4, 43)
        call MPI_Win_get_attr(win, MPI_WIN_BASE, value, flag, error)
        call expect(flag .and. value == base, 44)
        call MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, value, flag, error)
        flavor = int(value)
        call expect(flag .and. flavor == MPI_WIN_FLAVOR_ALLOCATE, 45)
        call MPI_Win_free(win, error)
        call MPI_Win_free_keyval(key, error)
        print '(a,i0,a,i8)', 'rank ', rank, ': deletes of windows', deletes
    end subroutine

    subroutine error_handlers
        integer :: handler, given, comm, win, memory(1), file
        character(len=20) :: name
        integer(kind=MPI_ADDRESS_KIND) :: base
        call MPI_Comm_create_errhandler(on_error, handler, error)
        call MPI_Comm_dup(MPI_COMM_WORLD, comm, error)
        call MPI_Comm_set_errhandler(comm, handler, error)
        call MPI_Comm_get_errhandler(comm, given, error)
        call expect(given == handler, 50)
        call MPI_Send(memory, 1, MPI_INTEGER, ranks, 0, comm, error)
        call expect(errors == 1 .and. last_object == comm .and. last_code == MPI_ERR_RANK, 51)
        call MPI_Comm_call_errhandler(comm, MPI_ERR_TOPOLOGY, error)
        call expect(errors == 2 .and. last_code == MPI_ERR_TOPOLOGY, 52)
        call MPI_Errhandler_free(handler, error)
        call expect(handler == MPI_ERRHANDLER_NULL, 53)
        call MPI_Send(memory, 1, MPI_INTEGER, ranks, 0, comm, error)
        call expect(errors == 3, 54)
        call MPI_Comm_free(comm, error)
        call MPI_Win_create_errhandler(on_error, handler, error)
        call MPI_Win_allocate(4_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, error)
        call MPI_Win_set_errhandler(win, handler, error)
        call MPI_Win_call_errhandler(win, MPI_ERR_OTHER, error)
        call expect(errors == 4 .and. last_object == win .and. last_code == MPI_ERR_OTHER, 55)
        call MPI_Win_free(win, error)
        call MPI_Errhandler_free(handler, error)
        call MPI_File_create_errhandler(on_error, handler, error)
        write (name, '(a,i0)') 'file of rank ', rank
        call MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, &
            MPI_INFO_NULL, file, error)
        call MPI_File_set_errhandler(file, handler, error)
        call MPI_File_call_errhandler(file, MPI_ERR_IO, error)
        call expect(errors == 5 .and. last_object == file .and. last_code == MPI_ERR_IO, 56)
        call MPI_File_close(file, error)
        call MPI_Errhandler_free(handler, error)
        print '(a,i0,a,i8)', 'rank ', rank, ': errors', errors
    end subroutine

    subroutine operations
        integer :: op, pair, got(4), one(2)
        logical :: commutes
        call MPI_Type_contiguous(2, MPI_INTEGER, pair, error)
        call MPI_Type_commit(pair, error)
        call MPI_Op_create(combine, .true., op, error)
        call MPI_Op_commutative(op, commutes, error)
        call expect(commutes, 60)
        call MPI_Allreduce([rank, -rank, 2 * rank, rank + 10], got, 2, pair, op, MPI_COMM_WORLD, error)
        ! The function need not be called on each rank.
        call expect(any(seen_type == [0, pair]), 61)
        seen_type = 0
        print '(a,i0,a,4i8)', 'rank ', rank, ': pairs', got
        call MPI_Allreduce([rank, -rank], one, 2, MPI_INTEGER, op, MPI_COMM_WORLD, error)
        call expect(any(seen_type == [0, MPI_INTEGER]) .and. all(one == [ranks - 1, 0]), 62)
        one = [3, 4]
        call MPI_Reduce_local([5, 1], one, 1, pair, op, error)
        call expect(all(one == [8, 1]) .and. seen_type == pair, 63)
        call MPI_Op_free(op, error)
        call MPI_Type_free(pair, error)
        ! An operation of C after one of the program.
        call MPI_Allreduce(rank, got(1), 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
        call expect(got(1) == ranks * (ranks - 1) / 2, 64)
    end subroutine

    subroutine representations
        integer :: first, second, length, file, numbers(3)
        integer(kind=MPI_ADDRESS_KIND), save :: state = 2
        character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
        character(len=20) :: name
        call MPI_Register_datarep('one of the program', MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_of, state, first)
        call MPI_Register_datarep('another one', from_file, to_file, extent_of, state, second)
        ! Open MPI's own library does not support the program's representations.
        call MPI_Get_library_version(version, length, error)
        if (index(version, 'Open MPI') == 1 .and. index(version, 'Canel') == 0) return
        call expect(first == MPI_SUCCESS .and. second == MPI_SUCCESS, 70)
        write (name, '(a,i0)') 'file of rank ', rank
        call MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, &
            MPI_INFO_NULL, file, error)
        call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'another one', MPI_INFO_NULL, error)
        call MPI_File_write_at(file, 0_MPI_OFFSET_KIND, [5, 6, 7], 3, MPI_INTEGER, MPI_STATUS_IGNORE, error)
        call expect(error == MPI_SUCCESS .and. asked > 0, 71)
        call MPI_File_read_at(file, 1_MPI_OFFSET_KIND, numbers, 2, MPI_INTEGER, MPI_STATUS_IGNORE, error)
        call expect(all(numbers(1:2) == [6, 7]), 72)
        call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, error)
        call MPI_File_read_at(file, 0_MPI_OFFSET_KIND, numbers, 3, MPI_INTEGER, MPI_STATUS_IGNORE, error)
        call expect(all(numbers == [-7, -8, -9]), 73)
        call MPI_File_close(file, error)
    end subroutine
end program
