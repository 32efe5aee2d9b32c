//! Symbols of Open MPI's header beyond standard functions: attribute copy and delete functions, which are
//! numbers in other ABIs, and queries of accelerators.

use core::ffi::{c_int, c_void};

use canele_openmpi_c::constants::MPI_SUCCESS;

/// The place of a copied attribute value.
type Copied = *mut *mut c_void;

macro_rules! functions {
    ($($null_copy:ident $dup:ident $null_delete:ident;)*) => {$(
        #[doc = concat!("`", stringify!($null_copy), "`: nothing is copied.")]
        ///
        /// # Safety
        /// The place for the flag is there, as the standard says.
        // SAFETY: the name is Open MPI's, and this crate alone defines it; so for all names below.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $null_copy(
            _object: *const c_void,
            _keyval: c_int,
            _extra_state: *mut c_void,
            _value: *mut c_void,
            _copy: Copied,
            flag: *mut c_int,
        ) -> c_int {
            // SAFETY: as the caller says.
            unsafe { flag.write(0) };
            MPI_SUCCESS
        }

        #[doc = concat!("`", stringify!($dup), "`: the copy of an attribute has the same value.")]
        ///
        /// # Safety
        /// The places for the value and for the flag are there, as the standard says.
        // SAFETY: as above.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $dup(
            _object: *const c_void,
            _keyval: c_int,
            _extra_state: *mut c_void,
            value: *mut c_void,
            copy: Copied,
            flag: *mut c_int,
        ) -> c_int {
            // SAFETY: as the caller says.
            unsafe {
                copy.write(value);
                flag.write(1);
            }
            MPI_SUCCESS
        }

        #[doc = concat!("`", stringify!($null_delete), "`: nothing is to be done.")]
        // SAFETY: as above.
        #[unsafe(no_mangle)]
        pub extern "C" fn $null_delete(
            _object: *const c_void,
            _keyval: c_int,
            _value: *mut c_void,
            _extra_state: *mut c_void,
        ) -> c_int {
            MPI_SUCCESS
        }
    )*};
}
functions! {
    OMPI_C_MPI_NULL_COPY_FN OMPI_C_MPI_DUP_FN OMPI_C_MPI_NULL_DELETE_FN;
    OMPI_C_MPI_COMM_NULL_COPY_FN OMPI_C_MPI_COMM_DUP_FN OMPI_C_MPI_COMM_NULL_DELETE_FN;
    OMPI_C_MPI_TYPE_NULL_COPY_FN OMPI_C_MPI_TYPE_DUP_FN OMPI_C_MPI_TYPE_NULL_DELETE_FN;
    OMPI_C_MPI_WIN_NULL_COPY_FN OMPI_C_MPI_WIN_DUP_FN OMPI_C_MPI_WIN_NULL_DELETE_FN;
}

/// `MPIX_Query_cuda_support`: reports no support for accelerator memory.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn MPIX_Query_cuda_support() -> c_int {
    0
}

/// `MPIX_Query_rocm_support`: reports no support, like [`MPIX_Query_cuda_support`].
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn MPIX_Query_rocm_support() -> c_int {
    0
}
