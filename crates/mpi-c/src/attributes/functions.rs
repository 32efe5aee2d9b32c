//! Functions of the program's that are called when a value is copied or deleted.

use core::ffi::{c_int, c_void};
use std::sync::Arc;

use canele_mpi::Error;
use canele_mpi::attribute::{Copy, Delete};

use super::Value;
use crate::constants::MPI_SUCCESS;
use crate::program_call::call_program;

/// The object's handle, the key, the state, the value, where the new one goes, and whether there is one.
type CallCopy = unsafe extern "C-unwind" fn(usize, c_int, Value, Value, *mut c_void, *mut c_int) -> c_int;
/// The object's handle, the key, the value, the state.
type CallDelete = unsafe extern "C-unwind" fn(usize, c_int, Value, Value) -> c_int;

/// A function that copies, or one of the constants that say what to do.
#[repr(transparent)]
#[derive(Clone, core::marker::Copy)]
pub struct CopyFunction(*const c_void);

/// A function that deletes, or the constant that says that nothing is to be done.
#[repr(transparent)]
#[derive(Clone, core::marker::Copy)]
pub struct DeleteFunction(*const c_void);

impl CopyFunction {
    /// As the semantics call it.
    pub fn called(self, extra_state: Value) -> Copy {
        let function = match self.0.addr() {
            // MPI_NULL_COPY_FN, and MPI_DUP_FN where it is not a function of the library.
            0 => return Arc::new(|_, _, _| Ok(None)),
            1 => return Arc::new(|_, _, value| Ok(Some(value))),
            // SAFETY: any other value is a function of this type, as the standard says.
            _ => unsafe { core::mem::transmute::<*const c_void, CallCopy>(self.0) },
        };
        let state = extra_state.expose_provenance();
        Arc::new(move |object, keyval, value| {
            let (state, value) = (address(state), address(value));
            let (mut copied, mut flag): (Value, c_int) = (core::ptr::null_mut(), 0);
            let into = (&raw mut copied).cast();
            // SAFETY: the program gave this function for such calls; both results live during it.
            let code = call_program("a function that copies attributes", || unsafe {
                function(object, keyval, state, value, into, &raw mut flag)
            });
            if code != MPI_SUCCESS {
                return Err(Error::given(code, "the function that copies an attribute"));
            }
            Ok((flag != 0).then(|| copied.expose_provenance()))
        })
    }
}

impl DeleteFunction {
    /// As the semantics call it.
    pub fn called(self, extra_state: Value) -> Delete {
        if self.0.is_null() {
            return Arc::new(|_, _, _| Ok(()));
        }
        // SAFETY: a value that is not null is a function of this type, as the standard says.
        let function = unsafe { core::mem::transmute::<*const c_void, CallDelete>(self.0) };
        let state = extra_state.expose_provenance();
        Arc::new(move |object, keyval, value| {
            // SAFETY: the program gave this function for such calls.
            let call = || unsafe { function(object, keyval, address(value), address(state)) };
            match call_program("a function that deletes attributes", call) {
                MPI_SUCCESS => Ok(()),
                code => Err(Error::given(code, "the function that deletes an attribute")),
            }
        })
    }
}

fn address(value: usize) -> Value {
    core::ptr::with_exposed_provenance_mut(value)
}
