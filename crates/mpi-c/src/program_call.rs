//! Calls of the program's functions: error handlers, operations, functions of attributes and of generalized
//! requests.
//!
//! A function in C++ may throw an exception; the function types use `C-unwind`. If the library holds no lock
//! and no partial state, it calls the function directly, and the exception reaches the program's MPI call.
//! This holds for error handlers, attribute functions, functions of generalized requests, and the operation
//! of `MPI_Reduce_local`. No exception can pass a collective, a conversion of a file or a destructor. These
//! use [`call_program`], which ends the process with a text.

use core::ffi::c_void;

use crate::constants::MPI_ERR_OTHER;
use crate::library::{self, Aborted};

/// Ends the process if it is dropped, that is if an exception leaves the function.
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

/// Calls a function of the program that no exception may leave; `what` names it with its article.
pub fn call_program<T>(what: &'static str, call: impl FnOnce() -> T) -> T {
    let on_exception = AbortOnException(what);
    let result = call();
    core::mem::forget(on_exception);
    result
}

/// Frees a state.
pub type Destructor = unsafe extern "C-unwind" fn(*mut c_void);

/// The state of a program's function, and the function that frees it.
pub struct State {
    state: usize,
    destructor: Option<Destructor>,
}

impl State {
    /// Makes a state that `destructor` frees after its last use.
    pub fn new(state: *mut c_void, destructor: Option<Destructor>) -> Self {
        Self { state: state.expose_provenance(), destructor }
    }

    /// Returns the state.
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
