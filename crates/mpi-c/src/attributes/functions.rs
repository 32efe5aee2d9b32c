//! Functions of the program that copy or delete attribute values.

use core::ffi::{c_int, c_void};
use std::sync::Arc;

use canele_mpi::Error;
use canele_mpi::attribute::{Copy, Delete, Stored};
use layout::fortran::number_in_fortran;
use layout::{HandleNumber, in_program};

use super::Value;
use super::languages::{Proxies, in_c, in_fortran, kind};
use crate::constants::MPI_SUCCESS;

/// A copy function: the object's handle, the key, the state, the value, the place of the new value, and that
/// of the flag.
type CallCopy =
    unsafe extern "C-unwind" fn(HandleNumber, c_int, Value, Value, *mut c_void, *mut c_int) -> c_int;
/// A delete function: the object's handle, the key, the value, the state.
type CallDelete = unsafe extern "C-unwind" fn(HandleNumber, c_int, Value, Value) -> c_int;

/// A copy function, or one of the constants for it.
#[repr(transparent)]
#[derive(Clone, core::marker::Copy)]
pub struct CopyFunction(*const c_void);

/// A delete function, or the constant that deletes nothing.
#[repr(transparent)]
#[derive(Clone, core::marker::Copy)]
pub struct DeleteFunction(*const c_void);

impl CopyFunction {
    /// Returns the function in the form that `canele-mpi` calls.
    pub fn called(self, extra_state: Value, proxies: &Proxies) -> Copy {
        let function = match self.0.addr() {
            // MPI_NULL_COPY_FN, and MPI_DUP_FN unless the library exports it as a function.
            0 => return Arc::new(|_, _, _| Ok(None)),
            1 => return Arc::new(|_, _, value| Ok(Some(value))),
            // SAFETY: any other value is a function of this type, as the standard says; in another language
            // it is called by a proxy alone.
            _ => unsafe { core::mem::transmute::<*const c_void, CallCopy>(self.0) },
        };
        let (state, proxies) = (extra_state.expose_provenance(), proxies.clone());
        Arc::new(move |object, keyval, value| {
            let (state, seen) = (in_c(Stored::Address(state)), in_c(value));
            let (mut copied, mut flag): (Value, c_int) = (core::ptr::null_mut(), 0);
            let code = match proxies.get() {
                // SAFETY: the program gave this function for such calls; both results live during it. An
                // exception passes.
                None => unsafe {
                    function(in_program(object), keyval, state, seen, (&raw mut copied).cast(), &raw mut flag)
                },
                // SAFETY: the function's own language gave the proxy, and the program the function; both
                // results live during the call.
                Some((proxy, _)) => unsafe {
                    let (function, handle) = (function as *const c_void, number_in_fortran(object));
                    let (of, value) = (kind::of(value), in_fortran(value));
                    proxy(function, handle, keyval, state, of, value, &raw mut copied, &raw mut flag)
                },
            };
            if code != MPI_SUCCESS {
                return Err(Error::given(code, "the function that copies an attribute"));
            }
            let copy = match value {
                Stored::Integer(_) if proxies.get().is_some() => {
                    Stored::Integer(copied.expose_provenance().cast_signed())
                }
                // The value is copied unchanged, with its language.
                _ if copied == seen => value,
                _ => Stored::Address(copied.expose_provenance()),
            };
            Ok((flag != 0).then_some(copy))
        })
    }
}

impl DeleteFunction {
    /// Returns the function in the form that `canele-mpi` calls.
    pub fn called(self, extra_state: Value, proxies: &Proxies) -> Delete {
        if self.0.is_null() {
            return Arc::new(|_, _, _| Ok(()));
        }
        // SAFETY: a value that is not null is a function of this type, as the standard says; in another
        // language it is called by a proxy alone.
        let function = unsafe { core::mem::transmute::<*const c_void, CallDelete>(self.0) };
        let (state, proxies) = (extra_state.expose_provenance(), proxies.clone());
        Arc::new(move |object, keyval, value| {
            let state = in_c(Stored::Address(state));
            let code = match proxies.get() {
                // SAFETY: the program gave this function for such calls. An exception passes.
                None => unsafe { function(in_program(object), keyval, in_c(value), state) },
                // SAFETY: the function's own language gave the proxy, and the program the function.
                Some((_, proxy)) => unsafe {
                    let (function, handle) = (function as *const c_void, number_in_fortran(object));
                    proxy(function, handle, keyval, kind::of(value), in_fortran(value), state)
                },
            };
            match code {
                MPI_SUCCESS => Ok(()),
                code => Err(Error::given(code, "the function that deletes an attribute")),
            }
        })
    }
}
