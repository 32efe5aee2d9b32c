//! What MPICH's header declares beside functions of the standard: constants that are variables, and the function that copies an attribute.

use core::ffi::{c_int, c_void};

use canele_mpich_c::constants as value;

/// A pointer whose value alone counts: nothing is ever read through it.
#[repr(transparent)]
pub struct Mark(*const c_void);

// SAFETY: a number that never changes.
unsafe impl Sync for Mark {}

impl Mark {
    const fn new(value: usize) -> Self {
        Self(core::ptr::without_provenance(value))
    }
}

macro_rules! marks {
    ($($name:ident = $value:expr;)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of MPICH's header.")]
        // SAFETY: the name is MPI's, and this crate alone defines it.
        #[unsafe(no_mangle)]
        #[allow(non_upper_case_globals)] // The name is MPICH's.
        pub static $name: Mark = Mark::new($value);
    )*};
}
marks! {
    MPI_UNWEIGHTED = value::MPI_UNWEIGHTED;
    MPI_WEIGHTS_EMPTY = value::MPI_WEIGHTS_EMPTY;
    MPI_T_PVAR_ALL_HANDLES = value::MPI_T_PVAR_ALL_HANDLES;
    MPI_F08_STATUS_IGNORE = value::MPI_STATUS_IGNORE;
    MPI_F08_STATUSES_IGNORE = value::MPI_STATUS_IGNORE;
}

/// `MPI_F_STATUS_IGNORE`: MPICH's library for Fortran stores here what stands for it there. Nothing here looks at it.
// SAFETY: the name is MPI's, and this crate alone defines it.
#[unsafe(no_mangle)]
pub static mut MPI_F_STATUS_IGNORE: *mut c_int = ignored();
/// `MPI_F_STATUSES_IGNORE`, as `MPI_F_STATUS_IGNORE`.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub static mut MPI_F_STATUSES_IGNORE: *mut c_int = ignored();

const fn ignored() -> *mut c_int {
    core::ptr::without_provenance_mut(value::MPI_STATUS_IGNORE)
}

/// `MPI_DUP_FN` and its likes: the copy of an attribute has the same value.
///
/// # Safety
/// The places for the value and for the flag are there, as the standard says.
// SAFETY: the name is MPICH's, and this crate alone defines it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIR_Dup_fn(
    _object: c_int,
    _keyval: c_int,
    _extra_state: *mut c_void,
    value: *mut c_void,
    copy: *mut *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        copy.write(value);
        flag.write(1);
    }
    value::MPI_SUCCESS
}
