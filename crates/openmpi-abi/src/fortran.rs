//! What Open MPI's library for Fortran (`libmpi_mpifh.so.40`) asks of the one for C beside functions of MPI: where Fortran's named constants lie, strings, and attributes.
//!
//! With these a program in Fortran that was built for Open MPI runs with that library over this one. Keys of attributes that such a program makes are refused.

mod functions;
mod strings;

use core::ffi::{c_char, c_int, c_void};

use canele_openmpi_c::constants::{
    MPI_COMM_WORLD, MPI_DATATYPE_NULL, MPI_ERR_UNSUPPORTED_OPERATION, MPI_ERRHANDLER_NULL, MPI_SUCCESS,
    MPI_TAG_UB, MPI_TYPECLASS_COMPLEX, MPI_TYPECLASS_INTEGER, MPI_TYPECLASS_REAL, MPI_UNIVERSE_SIZE,
};
use canele_openmpi_c::handle::{MPI_Datatype, MPI_Errhandler};
use canele_openmpi_c::types::{MPI_Status, Out};

use crate::exports::{MPI_Abort, MPI_Comm_get_attr, MPI_Type_match_size};

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
    ompi_errcode_intern_lastused: c_int = 0, "how many codes of errors there are beside those of MPI";
    ompi_errcodes_intern: [usize; 15] = [0; 15], "these codes";
    ompi_registered_datareps: [usize; 8] = [0; 8], "data representations that the library for Fortran keeps";
}

/// `mpi_conversion_fn_null_`: stands for no conversion, and is never called.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn mpi_conversion_fn_null_() {}

/// `ompi_errhandler_invoke`: the code of an error that the library for Fortran has found is what its call gives.
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

/// `ompi_datatype_match_size`: the datatype of a kind with so many bytes; null if there is none.
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

/// A place for a result.
fn place<T>(of: &mut T) -> Out<T> {
    Out::at((&raw mut *of).expose_provenance())
}

/// The value of an attribute that every communicator has, for `MPI_ATTR_GET` and `MPI_COMM_GET_ATTR`; others are not found.
fn predefined(key: c_int) -> Option<c_int> {
    if !(MPI_TAG_UB..=MPI_UNIVERSE_SIZE).contains(&key) {
        return None;
    }
    let (mut value, mut flag) = (core::ptr::null_mut::<c_void>(), 0);
    let code = MPI_Comm_get_attr(MPI_COMM_WORLD, key, place(&mut value), place(&mut flag));
    // SAFETY: the value of such an attribute is the address of a number (MPI 5.0, §9.1.2).
    (code == MPI_SUCCESS && flag != 0).then(|| unsafe { value.cast::<c_int>().read() })
}

macro_rules! attributes {
    ($($get:ident $set:ident $create:ident $number:ty;)*) => {$(
        #[doc = concat!("`", stringify!($get), "`: the value of an attribute that every communicator has.")]
        ///
        /// # Safety
        /// The places for the value and for the flag are there.
        // SAFETY: as above.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $get(
            _attributes: *mut c_void,
            key: c_int,
            value: *mut $number,
            flag: *mut c_int,
        ) -> c_int {
            let found = predefined(key);
            // SAFETY: as the caller says.
            unsafe {
                flag.write(c_int::from(found.is_some()));
                if let Some(found) = found {
                    value.write(<$number>::from(found));
                }
            }
            MPI_SUCCESS
        }

        #[doc = concat!("`", stringify!($set), "`: refused, as there is no key of the program's.")]
        // SAFETY: as above.
        #[unsafe(no_mangle)]
        pub extern "C" fn $set(
            _kind: c_int,
            _object: *mut c_void,
            _attributes: *mut c_void,
            _key: c_int,
            _value: $number,
            _predefined: bool,
        ) -> c_int {
            MPI_ERR_UNSUPPORTED_OPERATION
        }

        #[doc = concat!("`", stringify!($create), "`: refused.")]
        // SAFETY: as above.
        #[unsafe(no_mangle)]
        pub extern "C" fn $create(
            _kind: c_int,
            _copy: *mut c_void,
            _delete: *mut c_void,
            _key: *mut c_int,
            _state: $number,
            _flags: c_int,
            _more: *mut c_void,
        ) -> c_int {
            MPI_ERR_UNSUPPORTED_OPERATION
        }
    )*};
}
attributes! {
    ompi_attr_get_fint ompi_attr_set_fint ompi_attr_create_keyval_fint c_int;
    ompi_attr_get_aint ompi_attr_set_aint ompi_attr_create_keyval_aint i64;
}

/// `ompi_errhandler_create`: refused, as no handler of a program in Fortran is called.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn ompi_errhandler_create(
    _kind: c_int,
    _function: *mut c_void,
    _language: c_int,
) -> MPI_Errhandler {
    MPI_ERRHANDLER_NULL
}
