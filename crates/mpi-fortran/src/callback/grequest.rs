//! Generalized requests (MPI 5.0, section 13.2).

use core::ffi::{c_int, c_void};

use super::{Function, code};

/// The functions of a generalized request, and their state.
struct Request {
    functions: [usize; 3],
    /// The program's `extra_state`: a variable of the program, which its functions may change.
    value: *mut i64,
    /// True if an INTEGER of the program has eight bytes.
    is_long: bool,
}

/// Returns the state of a generalized request: its three functions, and the program's variable.
#[unsafe(no_mangle)] // SAFETY: the prefix is Canelé's, and this crate alone defines the name.
pub extern "C" fn canele_fort_grequest_state(
    query: Function,
    free: Function,
    cancel: Function,
    value: *mut i64,
) -> *mut c_void {
    state([query, free, cancel], value, false)
}

/// Returns the state of a generalized request, for a program whose INTEGER has eight bytes.
#[unsafe(no_mangle)] // SAFETY: as above.
pub extern "C" fn canele_fort_grequest_state_long(
    query: Function,
    free: Function,
    cancel: Function,
    value: *mut i64,
) -> *mut c_void {
    state([query, free, cancel], value, true)
}

fn state(functions: [Function; 3], value: *mut i64, is_long: bool) -> *mut c_void {
    let functions = functions.map(|function| function.expose_provenance());
    Box::into_raw(Box::new(Request { functions, value, is_long })).cast()
}

/// Number of INTEGERs in a status.
const STATUS_SIZE: usize = 8;

type Query = extern "C" fn(*mut Request, *mut c_void) -> c_int;
type Free = extern "C" fn(*mut Request) -> c_int;
type Cancel = extern "C" fn(*mut Request, c_int) -> c_int;

extern "C" fn query(state: *mut Request, status: *mut c_void) -> c_int {
    // SAFETY: MPI passes the state that was made for the request, from one thread at a time.
    let state = unsafe { &*state };
    // SAFETY: the program gave a function that is called like this (MPI_Grequest_query_function).
    let function: extern "C" fn(*mut i64, *mut c_void, *mut i64) =
        unsafe { core::mem::transmute(state.function(0)) };
    let mut ierror = 0;
    if !state.is_long {
        function(state.value, status, &mut ierror);
        return code(ierror);
    }
    // SAFETY: MPI passes a status.
    let status = unsafe { &mut *status.cast::<[c_int; STATUS_SIZE]>() };
    let mut long = status.map(i64::from);
    function(state.value, (&raw mut long).cast(), &mut ierror);
    *status = long.map(|number| number as c_int);
    code(ierror)
}

extern "C" fn free(state: *mut Request) -> c_int {
    // SAFETY: MPI calls this once, and nothing with the state after it.
    let state = unsafe { Box::from_raw(state) };
    // SAFETY: the program gave a function that is called like this (MPI_Grequest_free_function).
    let function: extern "C" fn(*mut i64, *mut i64) = unsafe { core::mem::transmute(state.function(1)) };
    let mut ierror = 0;
    function(state.value, &mut ierror);
    code(ierror)
}

extern "C" fn cancel(state: *mut Request, is_complete: c_int) -> c_int {
    // SAFETY: as in `query`.
    let state = unsafe { &*state };
    // SAFETY: the program gave a function that is called like this (MPI_Grequest_cancel_function).
    let function: extern "C" fn(*mut i64, *mut i64, *mut i64) =
        unsafe { core::mem::transmute(state.function(2)) };
    let (mut logical, mut ierror) = (i64::from(is_complete != 0), 0);
    function(state.value, &mut logical, &mut ierror);
    code(ierror)
}

impl Request {
    /// Returns the address of a function.
    fn function(&self, index: usize) -> Function {
        core::ptr::with_exposed_provenance(self.functions[index])
    }
}

/// Returns the function that C calls to query a request.
#[unsafe(no_mangle)] // SAFETY: as above.
pub extern "C" fn canele_fort_grequest_query() -> *const c_void {
    query as Query as *const c_void
}

/// Returns the function that C calls to free a request.
#[unsafe(no_mangle)] // SAFETY: as above.
pub extern "C" fn canele_fort_grequest_free() -> *const c_void {
    free as Free as *const c_void
}

/// Returns the function that C calls to cancel a request.
#[unsafe(no_mangle)] // SAFETY: as above.
pub extern "C" fn canele_fort_grequest_cancel() -> *const c_void {
    cancel as Cancel as *const c_void
}
