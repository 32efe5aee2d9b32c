//! Functions beyond the standard that MPICH's Fortran library, `libmpifort.so.12`, calls in the C library.
//! They handle attributes that are numbers, and functions of the program with another calling convention.
//! With them, Fortran programs built for MPICH run with that library over this one.
//!
//! Only the library of MPICH's ABI exports these functions; `layout::fortran` lists the Fortran support of an
//! ABI. The support for Open MPI's Fortran library is in `fields` and `callbacks`.
//!
//! The names and parameters are MPICH's, of its versions 4.0 to 5.0 (`mpir_attr_generic.h`, `mpi.h`).

mod callbacks;
mod fields;

use core::ffi::{c_int, c_void};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use canele_mpi::attribute::Stored;
use canele_mpi::{Class, Errhandler, Error};
use layout::fortran::{SETS_PROXIES, VARIABLES, keyval_in_c};

use crate::attributes::communicators::{store_on_comm, stored_on_comm};
use crate::attributes::datatypes::{store_on_type, stored_on_type};
use crate::attributes::languages::{CopyProxy, DeleteProxy, Proxies, in_c, in_fortran, kind};
use crate::attributes::windows::{predefined, store_on_win, stored_on_win};
use crate::attributes::{Value, predefined_of_comm};
use crate::constants::{MPI_WIN_BASE, MPI_WIN_SIZE};
use crate::errhandlers;
use crate::error::CallResult;
use crate::generalized;
use crate::handle::{
    MPI_Comm, MPI_Datatype, MPI_Errhandler, MPI_File, MPI_Op, MPI_Request, MPI_Session, MPI_Win, ObjectHandle,
};
use crate::operations::{self, ProgramFunction, UserFunctionX};
use crate::pointer::Out;
use crate::program_call::{Destructor, State};

pub use callbacks::{FortranErrhandler, attribute, attribute_set, errhandler_create, keyval_create};
pub(crate) use fields::{prepare_comm, prepare_handle, prepare_if_loaded, prepare_number};

/// Prepares the Fortran library, if it is loaded, and stores the addresses of its variables.
pub(crate) fn predefine() {
    prepare_if_loaded();
    for (name, value) in VARIABLES {
        // SAFETY: the name is a string; a variable of it is that library's and holds an address.
        unsafe {
            let variable = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()).cast::<usize>();
            if !variable.is_null() {
                variable.write(*value);
            }
        }
    }
}

/// User-defined keys whose functions may turn out to be in another language.
static PROXIES: Mutex<Option<HashMap<c_int, Proxies>>> = Mutex::new(None);

/// Notes a new key; a Fortran library may set its proxies later.
pub(crate) fn keyval_made(keyval: c_int, proxies: Proxies) {
    if !SETS_PROXIES {
        return;
    }
    PROXIES.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().insert(keyval, proxies);
}

/// Forgets a freed key; its functions keep their proxies.
pub(crate) fn keyval_freed(keyval: c_int) {
    if !SETS_PROXIES {
        return;
    }
    let mut proxies = PROXIES.lock().unwrap_or_else(PoisonError::into_inner);
    proxies.get_or_insert_default().remove(&keyval);
}

/// `MPII_Keyval_set_proxy`: sets the proxies that call the functions of a key.
pub fn keyval_set_proxy(keyval: c_int, copy: Option<CopyProxy>, delete: Option<DeleteProxy>) -> CallResult {
    let mut proxies = PROXIES.lock().unwrap_or_else(PoisonError::into_inner);
    let (Some(of), Some(copy), Some(delete)) = (proxies.get_or_insert_default().get(&keyval), copy, delete)
    else {
        return Err(Error::new(
            Class::Keyval,
            format!("keyval {keyval} does not exist, or a proxy is a null pointer"),
        )
        .into());
    };
    // The proxies are set once, after the creation; a second call would set the same language.
    let _ = of.set((copy, delete));
    Ok(())
}

/// Converts a value of this kind, as its language sets it.
fn stored(value: Value, of: c_int) -> Stored {
    match of {
        kind::POINTER => Stored::Address(value.expose_provenance()),
        _ => Stored::Integer(value.addr().cast_signed()),
    }
}

/// Stores a value in the form of the language that uses this kind.
fn give(found: Option<Stored>, value: Out<Value>, flag: Out<c_int>, to: c_int) -> CallResult {
    flag.set(c_int::from(found.is_some()), "flag")?;
    let seen = |found| if to == kind::POINTER { in_c(found) } else { in_fortran(found) };
    match found {
        Some(found) => Ok(value.set(seen(found), "attribute_val")?),
        None => Ok(()),
    }
}

/// Stores a predefined attribute: C gets the address of a number, Fortran the number.
///
/// # Safety
/// The number exists and stays valid.
unsafe fn give_number<T: Copy + Into<i64>>(
    at: Value,
    value: Out<Value>,
    flag: Out<c_int>,
    to: c_int,
) -> CallResult {
    // SAFETY: as the caller says.
    let number: i64 = unsafe { at.cast::<T>().read_volatile() }.into();
    let found = match to {
        kind::POINTER => Stored::Address(at.expose_provenance()),
        _ => Stored::Integer(number as isize),
    };
    give(Some(found), value, flag, to)
}

/// `MPII_Comm_set_attr`.
pub fn comm_set_attr(comm: MPI_Comm, keyval: c_int, value: Value, of: c_int) -> CallResult {
    store_on_comm(comm, keyval, stored(value, of))
}

/// `MPII_Comm_get_attr`.
pub fn comm_get_attr(
    comm: MPI_Comm,
    keyval: c_int,
    value: Out<Value>,
    flag: Out<c_int>,
    to: c_int,
) -> CallResult {
    match predefined_of_comm(comm.get()?, keyval_in_c(keyval)) {
        None => give(stored_on_comm(comm, keyval)?, value, flag, to),
        Some(None) => give(None, value, flag, to),
        // SAFETY: the library's own numbers, which stay.
        Some(Some(at)) => unsafe { give_number::<c_int>(at, value, flag, to) },
    }
}

/// `MPII_Type_set_attr`.
pub fn type_set_attr(datatype: MPI_Datatype, keyval: c_int, value: Value, of: c_int) -> CallResult {
    store_on_type(datatype, keyval, stored(value, of))
}

/// `MPII_Type_get_attr`.
pub fn type_get_attr(
    datatype: MPI_Datatype,
    keyval: c_int,
    value: Out<Value>,
    flag: Out<c_int>,
    to: c_int,
) -> CallResult {
    give(stored_on_type(datatype, keyval)?, value, flag, to)
}

/// `MPII_Win_set_attr`.
pub fn win_set_attr(win: MPI_Win, keyval: c_int, value: Value, of: c_int) -> CallResult {
    store_on_win(win, keyval, stored(value, of))
}

/// `MPII_Win_get_attr`.
pub fn win_get_attr(
    win: MPI_Win,
    keyval: c_int,
    value: Out<Value>,
    flag: Out<c_int>,
    to: c_int,
) -> CallResult {
    let key = keyval_in_c(keyval);
    match (predefined(win.get()?, key), key) {
        (None, _) => give(stored_on_win(win, keyval)?, value, flag, to),
        // This attribute is the address of the memory itself.
        (Some(base), MPI_WIN_BASE) => give(Some(Stored::Address(base.expose_provenance())), value, flag, to),
        // SAFETY: the window's own number, which lives as long as the window.
        (Some(at), MPI_WIN_SIZE) => unsafe { give_number::<i64>(at, value, flag, to) },
        // SAFETY: as above, or one of the library's.
        (Some(at), _) => unsafe { give_number::<c_int>(at, value, flag, to) },
    }
}

/// `MPII_Grequest_set_lang_f77`: marks the functions of the operation started last as Fortran functions.
pub fn grequest_set_lang_f77(request: MPI_Request) -> CallResult {
    Ok(generalized::set_fortran(request)?)
}

/// Marks an operation or error handler as Fortran's (`MPII_Op_set_fc`, `MPII_Errhandler_set_fc`); its
/// functions take the arguments of C.
pub fn set_fc<T>(_object: T) -> CallResult {
    Ok(())
}

/// `MPIX_Op_create_x`.
pub fn op_create_x(
    function: Option<UserFunctionX>,
    destructor: Option<Destructor>,
    commute: c_int,
    extra_state: *mut c_void,
    op: Out<MPI_Op>,
) -> CallResult {
    let Some(function) = function else {
        return Err(Error::new(Class::Argument, "the function of the operation is a null pointer").into());
    };
    let state = Arc::new(State::new(extra_state, destructor));
    operations::create(Some(ProgramFunction::WithState(function, state)), commute, op)
}

/// `MPIX_Comm_errhandler_function_x` and the corresponding types.
pub type ErrhandlerFunctionX<T> = unsafe extern "C-unwind" fn(T, c_int, *mut c_void);

fn errhandler_create_x<T: Copy + 'static>(
    function: Option<ErrhandlerFunctionX<T>>,
    destructor: Option<Destructor>,
    extra_state: *mut c_void,
    errhandler: Out<MPI_Errhandler>,
    handle: fn(usize) -> T,
) -> CallResult {
    let Some(function) = function else {
        return Err(Error::new(Class::Argument, "the error handler function is a null pointer").into());
    };
    let state = State::new(extra_state, destructor);
    let call = move |number: usize, code: c_int| {
        // SAFETY: the program gave this function for errors of such objects, and the state with it. An
        // exception passes.
        unsafe { function(handle(number), code, state.get()) };
        code
    };
    let made = errhandlers::handle_of(Arc::new(Errhandler::Call(Arc::new(call))))?;
    Ok(errhandler.set(made, "errhandler")?)
}

macro_rules! errhandlers_with_state {
    ($($(#[$doc:meta])* $name:ident: $of:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(
            function: Option<ErrhandlerFunctionX<$of>>,
            destructor: Option<Destructor>,
            extra_state: *mut c_void,
            errhandler: Out<MPI_Errhandler>,
        ) -> CallResult {
            errhandler_create_x(function, destructor, extra_state, errhandler, $of::of)
        }
    )*};
}
errhandlers_with_state! {
    /// `MPIX_Comm_create_errhandler_x`.
    comm_create_errhandler_x: MPI_Comm;
    /// `MPIX_File_create_errhandler_x`.
    file_create_errhandler_x: MPI_File;
    /// `MPIX_Session_create_errhandler_x`.
    session_create_errhandler_x: MPI_Session;
    /// `MPIX_Win_create_errhandler_x`.
    win_create_errhandler_x: MPI_Win;
}
