//! Symbols beyond MPI functions that Open MPI's Fortran library (`libmpi_mpifh.so.40`) uses from the C
//! library: addresses of Fortran's named constants, strings, and attributes.
//!
//! With these, a Fortran program built for Open MPI runs with that library over this one. The fields that the
//! library accesses through handles are in `canele_openmpi_layout::fortran::fields`.

pub(crate) mod attributes;
mod functions;
mod infos;
mod strings;

use core::ffi::{c_char, c_int, c_void};

use canele_openmpi_c::constants::{
    MPI_COMM_WORLD, MPI_DATATYPE_NULL, MPI_ERRHANDLER_NULL, MPI_TYPECLASS_COMPLEX, MPI_TYPECLASS_INTEGER,
    MPI_TYPECLASS_REAL,
};
use canele_openmpi_c::cplusplus::CPlusPlusErrhandler;
use canele_openmpi_c::fortran::{FortranErrhandler, errhandler_create};
use canele_openmpi_c::handle::{MPI_Datatype, MPI_Errhandler};
use canele_openmpi_c::types::{MPI_Status, Out};
use canele_openmpi_layout::cplusplus::is_loaded as is_cplusplus_loaded;

use crate::cplusplus;
use crate::exports::{MPI_Abort, MPI_Type_match_size};

macro_rules! variables {
    ($($name:ident: $of:ty = $value:expr, $what:literal;)*) => {$(
        #[doc = concat!("`", stringify!($name), "`: ", $what, ".")]
        // SAFETY: the name is Open MPI's, and this crate alone defines it; so for all names below.
        #[unsafe(no_mangle)]
        #[allow(non_upper_case_globals)] // The name is Open MPI's.
        pub static mut $name: $of = $value;
    )*};
}
variables! {
    mpi_fortran_bottom_: [c_int; 1] = [0], "the address that is `MPI_BOTTOM` in Fortran, where the program has no common block of that name";
    mpi_fortran_in_place_: [c_int; 1] = [0], "the same of `MPI_IN_PLACE`";
    mpi_fortran_unweighted_: [c_int; 1] = [0], "the same of `MPI_UNWEIGHTED`";
    mpi_fortran_weights_empty_: [c_int; 1] = [0], "the same of `MPI_WEIGHTS_EMPTY`";
    mpi_fortran_argv_null_: [c_int; 1] = [0], "the same of `MPI_ARGV_NULL`";
    mpi_fortran_argvs_null_: [c_int; 1] = [0], "the same of `MPI_ARGVS_NULL`";
    mpi_fortran_errcodes_ignore_: [c_int; 1] = [0], "the same of `MPI_ERRCODES_IGNORE`";
    mpi_fortran_status_ignore_: [c_int; 6] = [0; 6], "the same of `MPI_STATUS_IGNORE`";
    mpi_fortran_statuses_ignore_: [c_int; 6] = [0; 6], "the same of `MPI_STATUSES_IGNORE`";
    ompi_status_empty: MPI_Status = MPI_Status::EMPTY, "a status of nothing";
    ompi_mpi_param_check: bool = false, "whether the library for Fortran checks arguments: the one for C does";
    ompi_mpi_state: c_int = 2, "that MPI is initialised, for a library that does not check it";
    ompi_instance_count: c_int = 1, "the number of sessions that are open, for the library of 5.0, which asks whether there is one";
    ompi_errcode_intern_lastused: c_int = 0, "how many codes of errors there are beside those of MPI";
    ompi_errcodes_intern: [usize; 15] = [0; 15], "these codes";
    ompi_registered_datareps: DatarepList = DatarepList::EMPTY, "data representations that the library for Fortran keeps";
}

/// A list of Open MPI: an object's two words, a sentinel element, and the length. The Fortran library appends
/// to it.
#[repr(C)]
pub struct DatarepList {
    object: [usize; 2],
    sentinel_object: [usize; 2],
    next: *mut c_void,
    previous: *mut c_void,
    is_free: usize,
    elements: usize,
}

impl DatarepList {
    /// An empty list; the sentinel is also the element behind the last one.
    const EMPTY: Self = {
        let sentinel = (&raw mut ompi_registered_datareps).cast::<c_void>().wrapping_byte_add(16);
        Self {
            object: [0; 2],
            sentinel_object: [0; 2],
            next: sentinel,
            previous: sentinel,
            is_free: 1,
            elements: 0,
        }
    };
}

const _: () =
    assert!(core::mem::offset_of!(DatarepList, sentinel_object) == 16 && size_of::<DatarepList>() == 64);

macro_rules! ignored {
    ($($name:ident: $stands_for:ident;)*) => {$(
        #[doc = concat!("`", stringify!($name), "`: the address that stands for this constant in Fortran.")]
        // SAFETY: as above.
        #[unsafe(no_mangle)]
        pub static mut $name: *mut c_int = (&raw mut $stands_for).cast();
    )*};
}
ignored! {
    MPI_F_STATUS_IGNORE: mpi_fortran_status_ignore_;
    MPI_F_STATUSES_IGNORE: mpi_fortran_statuses_ignore_;
    MPI_F08_STATUS_IGNORE: mpi_fortran_status_ignore_;
    MPI_F08_STATUSES_IGNORE: mpi_fortran_statuses_ignore_;
}

/// `mpi_conversion_fn_null_`: represents no conversion, and is never called.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn mpi_conversion_fn_null_() {}

/// `ompi_errhandler_invoke`: returns the code of an error that the Fortran library has found.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn ompi_errhandler_invoke(
    _handler: *mut c_void,
    _object: *mut c_void,
    _kind: c_int,
    code: c_int,
    _message: *const c_char,
) -> c_int {
    code
}

/// `ompi_mpi_errors_are_fatal_comm_handler`: ends the job.
///
/// # Safety
/// `code` points to a number, or is null.
// SAFETY: as above. Callers pass more arguments, which are not looked at.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompi_mpi_errors_are_fatal_comm_handler(_comm: *mut c_void, code: *const c_int) {
    // SAFETY: as the caller says.
    let code = unsafe { code.as_ref() }.copied().unwrap_or(1);
    MPI_Abort(MPI_COMM_WORLD, code);
}

/// `ompi_datatype_match_size`: returns the datatype of a kind with this size in bytes; null if there is none.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn ompi_datatype_match_size(bytes: c_int, kind: u16, _language: u16) -> MPI_Datatype {
    let class = match kind & 0x3000 {
        0x1000 => MPI_TYPECLASS_INTEGER,
        0x2000 => MPI_TYPECLASS_REAL,
        _ => MPI_TYPECLASS_COMPLEX,
    };
    let mut found = MPI_DATATYPE_NULL;
    MPI_Type_match_size(class, bytes, place(&mut found));
    found
}

/// Returns the place of a result.
fn place<T>(of: &mut T) -> Out<T> {
    Out::at((&raw mut *of).expose_provenance())
}

/// The languages of error handlers, in Open MPI's numbering. Fortran is 2 in release 4.1; in 5.0, which has no
/// C++ library, it is 1.
const IN_C: c_int = 0;
const IN_CPLUSPLUS_OR_FORTRAN: c_int = 1;

/// `ompi_errhandler_create`: makes a handler with a Fortran or C++ function; returns null on failure. No
/// other language calls it; the Fortran library passes all kinds of objects alike.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn ompi_errhandler_create(
    kind: c_int,
    function: Option<FortranErrhandler>,
    language: c_int,
) -> MPI_Errhandler {
    let made = match (language, function) {
        (IN_C, _) => None,
        (IN_CPLUSPLUS_OR_FORTRAN, Some(function)) if is_cplusplus_loaded() => {
            // SAFETY: a function in C++ is only passed to the library that has given it.
            let function =
                unsafe { core::mem::transmute::<FortranErrhandler, CPlusPlusErrhandler>(function) };
            cplusplus::errhandler(kind, function)
        }
        _ => errhandler_create(function).ok(),
    };
    made.unwrap_or(MPI_ERRHANDLER_NULL)
}
