//! Calls of the program's functions: error handlers, operations, functions of attributes and of generalized requests.
//!
//! Such a function in C++ may throw an exception. Calls of MPI are C, through which no exception passes, so the process ends with a
//! text instead. The functions have types with `C-unwind`, so that the exception gets as far as here.

use core::ffi::c_void;

use crate::constants::MPI_ERR_OTHER;
use crate::library::{self, Aborted};

/// Ends the process if it is dropped: an exception leaves the function.
struct AbortOnException {
    what: &'static str,
    instead: &'static str,
}

impl Drop for AbortOnException {
    fn drop(&mut self) {
        let Self { what, instead } = self;
        let text = format!(
            "{what} of the program threw an exception, which cannot pass through a call of MPI: {instead}"
        );
        library::abort(&text, MPI_ERR_OTHER, Aborted::All)
    }
}

/// Calls a function of the program, which is named with its article.
pub fn call_program<T>(what: &'static str, call: impl FnOnce() -> T) -> T {
    call_program_or(what, "catch it in that function", call)
}

/// As [`call_program`], with what the program can do instead.
pub fn call_program_or<T>(what: &'static str, instead: &'static str, call: impl FnOnce() -> T) -> T {
    let on_exception = AbortOnException { what, instead };
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
            // SAFETY: it was given for this state, which nobody uses from here on.
            call_program("a function that frees a state", || unsafe { destructor(self.get()) });
        }
    }
}
