//! Calls of the program's functions: error handlers, operations, functions of attributes and of generalized requests.
//!
//! Such a function in C++ may throw an exception; the functions have types with `C-unwind`. Where the library holds no lock and has nothing
//! half done, the function is called as it is, and the exception passes to the program's call of MPI: error handlers, functions of
//! attributes and of generalized requests, the operation of `MPI_Reduce_local`. From within a collective, a conversion of a file or a
//! destructor no exception can pass. Those call the function by [`call_program`], which ends the process with a text.

use core::ffi::c_void;

use crate::constants::MPI_ERR_OTHER;
use crate::library::{self, Aborted};

/// Ends the process if it is dropped: an exception leaves the function.
struct AbortOnException(&'static str);

impl Drop for AbortOnException {
    fn drop(&mut self) {
        let text = format!(
            "{} of the program threw an exception, which cannot pass through the library from there: catch it in that function",
            self.0
        );
        library::abort(&text, MPI_ERR_OTHER, Aborted::All)
    }
}

/// Calls a function of the program, which is named with its article, where no exception can pass.
pub fn call_program<T>(what: &'static str, call: impl FnOnce() -> T) -> T {
    let on_exception = AbortOnException(what);
    let result = call();
    core::mem::forget(on_exception);
    result
}

/// Frees a state.
pub type Destructor = unsafe extern "C-unwind" fn(*mut c_void);

/// What a function of the program's is called with, and what frees that at last.
pub struct State {
    state: usize,
    destructor: Option<Destructor>,
}

impl State {
    /// A state that `destructor` frees when its last user is gone.
    pub fn new(state: *mut c_void, destructor: Option<Destructor>) -> Self {
        Self { state: state.expose_provenance(), destructor }
    }

    /// The state.
    pub fn get(&self) -> *mut c_void {
        core::ptr::with_exposed_provenance_mut(self.state)
    }
}

impl Drop for State {
    fn drop(&mut self) {
        if let Some(destructor) = self.destructor {
            // SAFETY: it was given for this state, which is not used from here on.
            call_program("a function that frees a state", || unsafe { destructor(self.get()) });
        }
    }
}
