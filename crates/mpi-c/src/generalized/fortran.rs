//! Generalized requests with functions in Fortran. These take arguments by address, the last of which is the
//! code. After the start of a request, a call or a mark declares that its functions are in Fortran.

use core::ffi::{c_int, c_void};
use std::cell::Cell;
use std::sync::Arc;

use canele_mpi::{Result, fail};
use canele_sys::atomic::{AtomicBool, Ordering::Relaxed};
use layout::fortran::fields;

use super::{GrequestCancel, GrequestFree, GrequestQuery};
use crate::handle::MPI_Request;
use crate::status::MPI_Status;

thread_local! {
    /// The request that this thread started last, and true if its functions are in Fortran.
    pub static STARTED: Cell<Option<(MPI_Request, Arc<AtomicBool>)>> = const { Cell::new(None) };
}

/// Declares that the functions of this request, which the thread has just started, are in Fortran.
///
/// # Errors
/// Fails if it is not the request started last.
pub fn set_fortran(request: MPI_Request) -> Result<()> {
    match STARTED.take() {
        Some((started, is_fortran)) if started == request => is_fortran.store(true, Relaxed),
        _ => {
            fail!(Request, "the generalized request was not started by this thread's last MPI_GREQUEST_START")
        }
    }
    Ok(())
}

/// Reads the mark that the Fortran library has set, if the request is the one that this thread started last.
pub fn read_mark(request: MPI_Request) {
    let is_it = |(started, _): &(MPI_Request, _)| *started == request;
    if let Some((_, is_fortran)) = STARTED.take().filter(is_it)
        && fields::is_fortran_request(request.value())
    {
        is_fortran.store(true, Relaxed);
    }
}

type Query = unsafe extern "C-unwind" fn(*mut c_void, *mut MPI_Status, *mut c_int);
type Free = unsafe extern "C-unwind" fn(*mut c_void, *mut c_int);
type Cancel = unsafe extern "C-unwind" fn(*mut c_void, *mut c_int, *mut c_int);

/// Calls a query function.
///
/// # Safety
/// The function is in Fortran and takes this state.
pub unsafe fn query(function: GrequestQuery, state: *mut c_void, status: *mut MPI_Status) -> c_int {
    let mut code = 0;
    // SAFETY: as the caller says; both places live during the call.
    unsafe {
        let function = core::mem::transmute::<GrequestQuery, Query>(function);
        function(state, status, &raw mut code);
    }
    code
}

/// Calls a free function.
///
/// # Safety
/// The conditions of [`query`].
pub unsafe fn free(function: GrequestFree, state: *mut c_void) -> c_int {
    let mut code = 0;
    // SAFETY: as the caller says; the place lives during the call.
    unsafe {
        let function = core::mem::transmute::<GrequestFree, Free>(function);
        function(state, &raw mut code);
    }
    code
}

/// Calls a cancel function.
///
/// # Safety
/// The conditions of [`query`].
pub unsafe fn cancel(function: GrequestCancel, state: *mut c_void, complete: c_int) -> c_int {
    let (mut code, mut complete) = (0, complete);
    // SAFETY: as the caller says; both places live during the call.
    unsafe {
        let function = core::mem::transmute::<GrequestCancel, Cancel>(function);
        function(state, &raw mut complete, &raw mut code);
    }
    code
}
