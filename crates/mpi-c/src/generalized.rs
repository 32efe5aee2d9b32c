//! Generalized requests: operations that the program starts and completes by functions of its own (MPI 5.0,
//! §13.2).

mod fortran;

use core::ffi::{c_int, c_void};
use std::sync::Arc;

use canele_mpi::generalized::{Functions, Generalized};
use canele_mpi::{Error, Result, Status, fail};
use canele_sys::atomic::{AtomicBool, Ordering::Relaxed};

use layout::fortran::fields;

use crate::constants::MPI_SUCCESS;
use crate::error::CallResult;
use crate::handle::MPI_Request;
use crate::pointer::Out;
use crate::requests;
use crate::status::{MPI_Status, read_status};

pub use fortran::{read_mark, set_fortran};

/// Returns the status of an operation.
pub type GrequestQuery = unsafe extern "C-unwind" fn(*mut c_void, *mut MPI_Status) -> c_int;
/// Frees an operation.
pub type GrequestFree = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;
/// Cancels an operation.
pub type GrequestCancel = unsafe extern "C-unwind" fn(*mut c_void, c_int) -> c_int;

/// The functions of an operation, and their state.
struct Program {
    query: GrequestQuery,
    free: GrequestFree,
    cancel: GrequestCancel,
    state: usize,
    /// True if the three are Fortran functions.
    is_fortran: Arc<AtomicBool>,
}

impl Program {
    fn state(&self) -> *mut c_void {
        core::ptr::with_exposed_provenance_mut(self.state)
    }

    fn is_fortran(&self) -> bool {
        // Relaxed: the thread that started the operation sets it before another thread knows the operation.
        self.is_fortran.load(Relaxed)
    }
}

fn gave(code: c_int, what: &str) -> Result<()> {
    if code == MPI_SUCCESS { Ok(()) } else { Err(Error::given(code, what)) }
}

impl Functions for Program {
    fn query(&self) -> Result<Status> {
        let mut status = MPI_Status::EMPTY;
        // SAFETY: the program gave this function for such calls; the status lives during it.
        let mut call = || unsafe {
            if self.is_fortran() {
                fortran::query(self.query, self.state(), &raw mut status)
            } else {
                (self.query)(self.state(), &raw mut status)
            }
        };
        gave(call(), "the function that says the status")?;
        Ok(read_status(status))
    }

    fn free(&self) -> Result<()> {
        // SAFETY: the program gave this function for such calls.
        let call = || unsafe {
            if self.is_fortran() { fortran::free(self.free, self.state()) } else { (self.free)(self.state()) }
        };
        gave(call(), "the function that frees the operation")
    }

    fn cancel(&self, complete: bool) -> Result<()> {
        // SAFETY: as above.
        let call = || unsafe {
            let complete = c_int::from(complete);
            if self.is_fortran() {
                fortran::cancel(self.cancel, self.state(), complete)
            } else {
                (self.cancel)(self.state(), complete)
            }
        };
        gave(call(), "the function that cancels the operation")
    }
}

/// `MPI_Grequest_start`.
pub fn grequest_start(
    query_fn: Option<GrequestQuery>,
    free_fn: Option<GrequestFree>,
    cancel_fn: Option<GrequestCancel>,
    extra_state: *mut c_void,
    request: Out<MPI_Request>,
) -> CallResult {
    let (Some(query), Some(free), Some(cancel)) = (query_fn, free_fn, cancel_fn) else {
        fail!(Argument, "query_fn, free_fn or cancel_fn is a null pointer: all three are needed");
    };
    let is_fortran = Arc::new(AtomicBool::new(false));
    let state = extra_state.expose_provenance();
    let functions = Program { query, free, cancel, state, is_fortran: is_fortran.clone() };
    let (started, _) = Generalized::start(Box::new(functions));
    crate::fortran::prepare_if_loaded();
    let handle = requests::publish(started)?;
    if fields::are_there() {
        fields::mark_request_as_c(handle.value());
    }
    fortran::STARTED.set(Some((handle, is_fortran)));
    Ok(request.set(handle, "request")?)
}

/// `MPI_Grequest_complete`.
pub fn grequest_complete(request: MPI_Request) -> CallResult {
    Ok(requests::complete(request)?)
}
