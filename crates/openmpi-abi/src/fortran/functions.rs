//! The attribute copy and delete functions in Fortran, under each symbol name of the compilers. Calls refuse
//! their keys.

use core::ffi::c_int;

/// `.false.` and `.true.` in gfortran and most other compilers.
const FALSE: c_int = 0;
const TRUE: c_int = 1;

macro_rules! copies_nothing {
    ($($($name:ident)*: $value:ty;)*) => {$($(
        #[doc = concat!("`", stringify!($name), "`: nothing is copied.")]
        ///
        /// # Safety
        /// The last two places are there.
        // SAFETY: the name is MPI's, and this crate alone defines it; so for all names below.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            _object: *const c_int,
            _key: *const c_int,
            _state: *const $value,
            _value: *const $value,
            _copy: *mut $value,
            flag: *mut c_int,
            error: *mut c_int,
        ) {
            // SAFETY: as the caller says.
            unsafe {
                flag.write(FALSE);
                error.write(0);
            }
        }
    )*)*};
}

macro_rules! copies {
    ($($($name:ident)*: $value:ty;)*) => {$($(
        #[doc = concat!("`", stringify!($name), "`: the copy has the same value.")]
        ///
        /// # Safety
        /// The value and the last three places are there.
        // SAFETY: as above.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            _object: *const c_int,
            _key: *const c_int,
            _state: *const $value,
            value: *const $value,
            copy: *mut $value,
            flag: *mut c_int,
            error: *mut c_int,
        ) {
            // SAFETY: as the caller says.
            unsafe {
                copy.write(value.read());
                flag.write(TRUE);
                error.write(0);
            }
        }
    )*)*};
}

macro_rules! deletes_nothing {
    ($($($name:ident)*: $value:ty;)*) => {$($(
        #[doc = concat!("`", stringify!($name), "`: nothing is to be done.")]
        ///
        /// # Safety
        /// The last place is there.
        // SAFETY: as above.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            _object: *const c_int,
            _key: *const c_int,
            _value: *const $value,
            _state: *const $value,
            error: *mut c_int,
        ) {
            // SAFETY: as the caller says.
            unsafe { error.write(0) };
        }
    )*)*};
}

copies_nothing! {
    MPI_NULL_COPY_FN mpi_null_copy_fn mpi_null_copy_fn_ mpi_null_copy_fn__: c_int;
    MPI_COMM_NULL_COPY_FN mpi_comm_null_copy_fn mpi_comm_null_copy_fn_ mpi_comm_null_copy_fn__: i64;
    MPI_TYPE_NULL_COPY_FN mpi_type_null_copy_fn mpi_type_null_copy_fn_ mpi_type_null_copy_fn__: i64;
    MPI_WIN_NULL_COPY_FN mpi_win_null_copy_fn mpi_win_null_copy_fn_ mpi_win_null_copy_fn__: i64;
}

copies! {
    MPI_DUP_FN mpi_dup_fn mpi_dup_fn_ mpi_dup_fn__: c_int;
    MPI_COMM_DUP_FN mpi_comm_dup_fn mpi_comm_dup_fn_ mpi_comm_dup_fn__: i64;
    MPI_TYPE_DUP_FN mpi_type_dup_fn mpi_type_dup_fn_ mpi_type_dup_fn__: i64;
    MPI_WIN_DUP_FN mpi_win_dup_fn mpi_win_dup_fn_ mpi_win_dup_fn__: i64;
}

deletes_nothing! {
    MPI_NULL_DELETE_FN mpi_null_delete_fn mpi_null_delete_fn_ mpi_null_delete_fn__: c_int;
    MPI_COMM_NULL_DELETE_FN mpi_comm_null_delete_fn mpi_comm_null_delete_fn_ mpi_comm_null_delete_fn__: i64;
    MPI_TYPE_NULL_DELETE_FN mpi_type_null_delete_fn mpi_type_null_delete_fn_ mpi_type_null_delete_fn__: i64;
    MPI_WIN_NULL_DELETE_FN mpi_win_null_delete_fn mpi_win_null_delete_fn_ mpi_win_null_delete_fn__: i64;
}
