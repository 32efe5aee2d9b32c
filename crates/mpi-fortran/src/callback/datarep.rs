//! Data representations (MPI 5.0, section 14.5.3). Their states live until the end of the process, like the
//! representations.

use core::ffi::{c_int, c_void};

use super::{Function, State, code};
use crate::mpi::{Handle, PMPI_Type_toint};

type Extent = extern "C" fn(Handle, *mut isize, *mut State) -> c_int;
type Conversion = extern "C" fn(*mut c_void, Handle, c_int, *mut c_void, i64, *mut State) -> c_int;
type LargeConversion = extern "C" fn(*mut c_void, Handle, i64, *mut c_void, i64, *mut State) -> c_int;

/// The indices of the functions in the state.
const READ: usize = 0;
const WRITE: usize = 1;
const EXTENT: usize = 2;

/// Returns the state of a data representation: its three functions, and the program's value.
#[unsafe(no_mangle)] // SAFETY: the prefix is Canelé's, and this crate alone defines the name.
pub extern "C" fn canele_fort_datarep_state(
    read: Function,
    write: Function,
    extent: Function,
    value: i64,
) -> *mut c_void {
    let functions = [read, write, extent].map(|function| function.expose_provenance());
    Box::into_raw(Box::new(State { functions, value, is_old: false })).cast()
}

impl State {
    fn function(&self, which: usize) -> Function {
        core::ptr::with_exposed_provenance(self.functions[which])
    }
}

extern "C" fn extent(datatype: Handle, extent: *mut isize, state: *mut State) -> c_int {
    // SAFETY: MPI passes the state that was registered, a handle and a valid place.
    let (state, mut number) = unsafe { (&*state, i64::from(PMPI_Type_toint(datatype))) };
    // SAFETY: the program gave a function that is called like this (MPI_Datarep_extent_function).
    let function: extern "C" fn(*mut i64, *mut isize, *mut i64, *mut i64) =
        unsafe { core::mem::transmute(state.function(EXTENT)) };
    let (mut value, mut ierror) = (state.value, 0);
    function(&mut number, extent, &mut value, &mut ierror);
    code(ierror)
}

extern "C" fn convert<const WHICH: usize>(
    user: *mut c_void,
    datatype: Handle,
    count: c_int,
    file: *mut c_void,
    position: i64,
    state: *mut State,
) -> c_int {
    convert_large::<WHICH>(user, datatype, i64::from(count), file, position, state)
}

extern "C" fn convert_large<const WHICH: usize>(
    user: *mut c_void,
    datatype: Handle,
    mut count: i64,
    file: *mut c_void,
    mut position: i64,
    state: *mut State,
) -> c_int {
    type Of = extern "C" fn(*mut c_void, *mut i64, *mut i64, *mut c_void, *mut i64, *mut i64, *mut i64);
    // SAFETY: as in `extent`.
    let (state, mut number) = unsafe { (&*state, i64::from(PMPI_Type_toint(datatype))) };
    // SAFETY: the program gave a function that is called like this (MPI_Datarep_conversion_function).
    let function: Of = unsafe { core::mem::transmute(state.function(WHICH)) };
    let (mut value, mut ierror) = (state.value, 0);
    function(user, &mut number, &mut count, file, &mut position, &mut value, &mut ierror);
    code(ierror)
}

/// Returns the function that C calls for the extent of a datatype in a file.
#[unsafe(no_mangle)] // SAFETY: as above.
pub extern "C" fn canele_fort_datarep_extent() -> *const c_void {
    extent as Extent as *const c_void
}

/// Returns the function that C calls to convert; null for no conversion.
#[unsafe(no_mangle)] // SAFETY: as above.
pub extern "C" fn canele_fort_datarep_conversion(is_read: c_int, is_null: c_int) -> *const c_void {
    match (is_null, is_read) {
        (0, 0) => convert::<WRITE> as Conversion as *const c_void,
        (0, _) => convert::<READ> as Conversion as *const c_void,
        _ => core::ptr::null(),
    }
}

/// Returns the function that C calls to convert with large counts (`MPI_Datarep_conversion_function_c`); null
/// for no conversion.
#[unsafe(no_mangle)] // SAFETY: as above.
pub extern "C" fn canele_fort_datarep_conversion_c(is_read: c_int, is_null: c_int) -> *const c_void {
    match (is_null, is_read) {
        (0, 0) => convert_large::<WRITE> as LargeConversion as *const c_void,
        (0, _) => convert_large::<READ> as LargeConversion as *const c_void,
        _ => core::ptr::null(),
    }
}
