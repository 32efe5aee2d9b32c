//! Functions of the program with Fortran's calling convention: arguments by address, handles as numbers, the
//! code last.

use core::ffi::{c_int, c_void};

use canele_mpi::attribute::ObjectKind;
use canele_mpi::{Class, Error};
use layout::fortran::number_in_fortran;

use crate::attributes::languages::{Proxies, kind};
use crate::attributes::{self, CopyFunction, DeleteFunction, Value};
use crate::errhandlers;
use crate::error::{CallResult, Failed};
use crate::handle::{MPI_Comm, MPI_Datatype, MPI_Errhandler, MPI_Win};
use crate::pointer::Out;
use crate::table::HANDLES;

use super::{comm_get_attr, comm_set_attr, type_get_attr, type_set_attr, win_get_attr, win_set_attr};

/// An attribute value in Fortran: `INTEGER`, as in MPI 1, or `INTEGER(KIND=MPI_ADDRESS_KIND)`.
pub trait AttributeNumber: Copy + Default + 'static {
    /// Returns the number that an address represents.
    fn of(value: Value) -> Self;
    /// Returns the address that represents the number.
    fn value(self) -> Value;
}

impl AttributeNumber for c_int {
    fn of(value: Value) -> Self {
        value.addr() as Self
    }

    fn value(self) -> Value {
        i64::from(self).value()
    }
}

impl AttributeNumber for i64 {
    fn of(value: Value) -> Self {
        value.addr() as Self
    }

    fn value(self) -> Value {
        core::ptr::without_provenance_mut(self as usize)
    }
}

/// A copy function: the object, the key, the state, the value, the new value, the flag, the code.
type FortranCopy<N> = unsafe extern "C-unwind" fn(
    *const c_int,
    *const c_int,
    *const N,
    *const N,
    *mut N,
    *mut c_int,
    *mut c_int,
);
/// A delete function: the object, the key, the value, the state, the code.
type FortranDelete<N> =
    unsafe extern "C-unwind" fn(*const c_int, *const c_int, *const N, *const N, *mut c_int);

/// Calls a copy function in Fortran.
unsafe extern "C-unwind" fn copy_proxy<N: AttributeNumber>(
    function: *const c_void,
    object: c_int,
    keyval: c_int,
    state: Value,
    _kind: c_int,
    value: Value,
    copy: *mut Value,
    flag: *mut c_int,
) -> c_int {
    let (mut copied, mut code) = (N::default(), 0);
    let (state, value) = (N::of(state), N::of(value));
    // SAFETY: the function was given as one of Fortran with these arguments, all of which live during the
    // call; the last two places are there.
    unsafe {
        let function = core::mem::transmute::<*const c_void, FortranCopy<N>>(function);
        function(
            &raw const object,
            &raw const keyval,
            &raw const state,
            &raw const value,
            &raw mut copied,
            flag,
            &raw mut code,
        );
        copy.write(copied.value());
    }
    code
}

/// Calls a delete function in Fortran.
unsafe extern "C-unwind" fn delete_proxy<N: AttributeNumber>(
    function: *const c_void,
    object: c_int,
    keyval: c_int,
    _kind: c_int,
    value: Value,
    state: Value,
) -> c_int {
    let mut code = 0;
    let (state, value) = (N::of(state), N::of(value));
    // SAFETY: the function was given as one of Fortran with these arguments, all of which live during the
    // call.
    unsafe {
        let function = core::mem::transmute::<*const c_void, FortranDelete<N>>(function);
        function(&raw const object, &raw const keyval, &raw const value, &raw const state, &raw mut code);
    }
    code
}

/// Makes a key for attributes of a kind of object, with functions in Fortran.
pub fn keyval_create<N: AttributeNumber>(
    of: ObjectKind,
    copy: CopyFunction,
    delete: DeleteFunction,
    keyval: Out<c_int>,
    extra_state: N,
) -> CallResult {
    let proxies = Proxies::default();
    let _ = proxies.set((copy_proxy::<N>, delete_proxy::<N>));
    let made = attributes::create_keyval(of, copy, delete, extra_state.value(), &proxies)?;
    Ok(keyval.set(made, "keyval")?)
}

/// Sets an attribute of the object of this kind whose handle has this value.
pub fn attribute_set<N: AttributeNumber>(
    of: ObjectKind,
    object: usize,
    keyval: c_int,
    value: N,
) -> CallResult {
    let value = value.value();
    match of {
        ObjectKind::Communicator => comm_set_attr(MPI_Comm::of(object), keyval, value, kind::AINT),
        ObjectKind::Datatype => type_set_attr(MPI_Datatype::of(object), keyval, value, kind::AINT),
        ObjectKind::Window => win_set_attr(MPI_Win::of(object), keyval, value, kind::AINT),
    }
}

/// Returns an attribute of the object whose handle has this value, if it is set.
///
/// # Errors
/// Fails if the object or the key does not exist.
pub fn attribute<N: AttributeNumber>(
    object: usize,
    keyval: c_int,
) -> core::result::Result<Option<N>, Failed> {
    use crate::table::ObjectKind::{Comm, Datatype, Window};
    let (mut value, mut flag): (Value, c_int) = (core::ptr::null_mut(), 0);
    let (value_at, flag_at) = (place(&mut value), place(&mut flag));
    match HANDLES.kind(object) {
        Some(Comm) => comm_get_attr(MPI_Comm::of(object), keyval, value_at, flag_at, kind::AINT),
        Some(Datatype) => type_get_attr(MPI_Datatype::of(object), keyval, value_at, flag_at, kind::AINT),
        Some(Window) => win_get_attr(MPI_Win::of(object), keyval, value_at, flag_at, kind::AINT),
        _ => {
            Err(Error::new(Class::Argument, "the object whose attribute is asked for does not exist").into())
        }
    }?;
    Ok((flag != 0).then(|| N::of(value)))
}

/// Returns the place of a result.
fn place<T>(of: &mut T) -> Out<T> {
    Out::at((&raw mut *of).expose_provenance())
}

/// An error handler in Fortran: the object, the code.
pub type FortranErrhandler = unsafe extern "C-unwind" fn(*mut c_int, *mut c_int);

/// Makes an error handler whose function is in Fortran.
pub fn errhandler_create(function: Option<FortranErrhandler>) -> canele_mpi::Result<MPI_Errhandler> {
    let Some(function) = function else {
        return Err(Error::new(Class::Argument, "the error handler function is a null pointer"));
    };
    let call = move |number: usize, code: c_int| {
        let (mut object, mut code) = (number_in_fortran(number), code);
        // SAFETY: the program gave this function for errors of such objects; both arguments live during the
        // call. An exception passes.
        unsafe { function(&raw mut object, &raw mut code) };
        code
    };
    errhandlers::handle_of_call(call)
}
