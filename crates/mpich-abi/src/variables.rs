//! Symbols of MPICH's header and library beyond standard functions: constants that are variables, the
//! attribute copy function, and texts that describe the library.

use core::ffi::{c_int, c_void};

use canele_mpich_c::constants as value;

/// A pointer used as a number; it is never dereferenced.
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

/// `MPI_F_STATUS_IGNORE`: MPICH's Fortran library stores its value here; this library does not read it.
// SAFETY: the name is MPI's, and this crate alone defines it.
#[unsafe(no_mangle)]
pub static mut MPI_F_STATUS_IGNORE: *mut c_int = ignored();
/// `MPI_F_STATUSES_IGNORE`: the value for arrays, like `MPI_F_STATUS_IGNORE`.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub static mut MPI_F_STATUSES_IGNORE: *mut c_int = ignored();

const fn ignored() -> *mut c_int {
    core::ptr::without_provenance_mut(value::MPI_STATUS_IGNORE)
}

/// `MPI_DUP_FN` and the corresponding constants: copies an attribute value unchanged.
///
/// # Safety
/// The places of value and flag are valid, as the standard requires.
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

macro_rules! texts {
    ($($name:ident = $text:literal;)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of MPICH 4.0 and older, as text of C.")]
        // SAFETY: the name is MPICH's, and this crate alone defines it. The text never changes.
        #[unsafe(no_mangle)]
        #[allow(non_upper_case_globals)] // The name is MPICH's.
        pub static $name: [u8; $text.len()] = *$text;
    )*};
}
// The formats match the `mpichversion` programs of those releases. The dynamic linker copies such a variable
// into a program, which has the size of the text in its original library. So no text is longer than MPICH's.
texts! {
    MPII_Version_string = b"5.0\0";
    MPII_Version_date = b"not recorded\0";
    MPII_Version_ABI = b"12:0:0\0";
    MPII_Version_device = b"canele\0";
    MPII_Version_configure = b"\0";
    MPII_Version_CC = b"cc\0";
    MPII_Version_CXX = b"\0";
    MPII_Version_F77 = b"\0";
    MPII_Version_FC = b"\0";
    MPII_Version_custom = b"\0";
}
