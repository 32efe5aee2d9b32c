//! Functions beyond the standard that C++ libraries call in the C library: Open MPI's `libmpi_cxx.so.40` and
//! MPICH's `libmpicxx.so.12`. Their bindings are those that MPI 3.0 removed.
//!
//! C cannot call a function of the program in C++. A function of the C++ library calls it instead. MPICH's
//! library makes an object with the program's function, and then names its own function that calls it. With
//! Open MPI's, C sees the following functions for each object of the program:
//!
//! | object of the program | function that C calls |
//! |---|---|
//! | an error handler | a function for the kind of object, with the program's function as the last argument |
//! | an operation | the function given at creation, with the program's function as the last argument |
//! | an attribute key | functions with a state of the C++ library, which is freed with the key |

use core::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Arc, OnceLock};

use canele_mpi::attribute::{Copy, Delete};
use canele_mpi::{Class, Error};
use layout::cplusplus::function;
use layout::fortran::fields;

use crate::attributes::languages::Proxies;
use crate::attributes::{CopyFunction, DeleteFunction, ObjectKind, Value, create_keyval_of};
use crate::errhandlers::{caller_of, handle_of_call};
use crate::error::{CallResult, Failed};
use crate::fortran::prepare_comm;
use crate::handle::{MPI_Comm, MPI_Errhandler, MPI_File, MPI_Op, MPI_Win, ObjectHandle};
use crate::operations::{Language, OperationCaller, UserFunction};
use crate::pointer::Out;
use crate::table::{self, HANDLES};

/// A kind of object with error handlers.
#[derive(Clone, core::marker::Copy)]
pub enum Handled {
    /// Communicators.
    Comm,
    /// Windows.
    Win,
    /// Files.
    File,
}

/// An error handler of the program, which only the C++ library can call.
pub type CPlusPlusErrhandler = unsafe extern "C-unwind" fn();

/// MPICH's function that calls an error handler: the number of the kind of object, a pointer to its handle, a
/// pointer to the code, the handler.
pub type ErrhandlerCaller = unsafe extern "C-unwind" fn(c_int, *mut c_void, *mut c_int, CPlusPlusErrhandler);

/// The place for MPICH's function that calls a handler, which is named after the handler was made.
pub(crate) type CallerPlace = Arc<OnceLock<ErrhandlerCaller>>;

/// The C++ library's function that calls an error handler: the object, the code, a text, the handler.
type Caller = unsafe extern "C-unwind" fn(*mut c_void, *mut c_int, *const c_char, CPlusPlusErrhandler);
/// The C++ library's function that throws an exception: the object, the code.
type Thrower = unsafe extern "C-unwind" fn(*mut c_void, *mut c_int, ...);

impl Handled {
    fn caller(self) -> &'static CStr {
        match self {
            Self::Comm => c"ompi_mpi_cxx_comm_errhandler_invoke",
            Self::Win => c"ompi_mpi_cxx_win_errhandler_invoke",
            Self::File => c"ompi_mpi_cxx_file_errhandler_invoke",
        }
    }

    fn thrower(self) -> &'static CStr {
        match self {
            Self::Comm => c"ompi_mpi_cxx_comm_throw_excptn_fctn",
            Self::Win => c"ompi_mpi_cxx_win_throw_excptn_fctn",
            Self::File => c"ompi_mpi_cxx_file_throw_excptn_fctn",
        }
    }

    /// Returns MPICH's number of this kind.
    fn number(self) -> c_int {
        match self {
            Self::Comm => 0,
            Self::File => 1,
            Self::Win => 2,
        }
    }

    /// Calls a handler of the program in C++, by MPICH's function, with the handle of this value.
    pub(crate) fn call(
        self,
        caller: ErrhandlerCaller,
        value: usize,
        code: &mut c_int,
        handler: CPlusPlusErrhandler,
    ) {
        // SAFETY: the library named its function for this handler, which is for objects of this kind; the
        // arguments live during the call. An exception passes.
        self.with_place(value, |object| unsafe { caller(self.number(), object, code, handler) });
    }

    /// Calls a function with a pointer to the handle of this value.
    fn with_place(self, value: usize, call: impl FnOnce(*mut c_void)) {
        match self {
            Self::Comm => call(core::ptr::from_mut(&mut MPI_Comm::of(value)).cast()),
            Self::Win => call(core::ptr::from_mut(&mut MPI_Win::of(value)).cast()),
            Self::File => call(core::ptr::from_mut(&mut MPI_File::of(value)).cast()),
        }
    }
}

/// Makes an error handler whose function is in C++.
///
/// # Errors
/// Fails if the C++ library is not loaded, handles can have no memory to which it writes, or all handles are
/// used.
pub fn errhandler_create(of: Handled, handler: CPlusPlusErrhandler) -> canele_mpi::Result<MPI_Errhandler> {
    let caller = function(of.caller());
    if caller.is_null() {
        return Err(Error::new(
            Class::Other,
            "libmpi_cxx.so.40 is not loaded, which calls error handlers in C++",
        ));
    }
    fields::reserve().map_err(|text| Error::new(Class::NoMemory, text))?;
    // SAFETY: the library's function of this name is of this type.
    let caller = unsafe { core::mem::transmute::<*const c_void, Caller>(caller) };
    handle_of_call(move |value, mut code| {
        // SAFETY: the library gave the handler for errors of such objects; the arguments live during the
        // call. An exception passes.
        of.with_place(value, |object| unsafe { caller(object, &raw mut code, c"".as_ptr(), handler) });
        code
    })
}

/// Throws an exception for an error of an object, like `MPI::ERRORS_THROW_EXCEPTIONS`. Without Open MPI's C++
/// library it returns the code: MPICH's library asks for the handler after an error, and throws itself.
pub(crate) fn throw(value: usize, mut code: c_int) -> c_int {
    let of = match HANDLES.kind(value) {
        Some(table::ObjectKind::Comm) => Handled::Comm,
        Some(table::ObjectKind::Window) => Handled::Win,
        _ => Handled::File,
    };
    let thrower = function(of.thrower());
    if !thrower.is_null() {
        // SAFETY: the library's function of this name is of this type; the arguments live during the call.
        // The exception passes.
        of.with_place(value, |object| unsafe {
            let thrower = core::mem::transmute::<*const c_void, Thrower>(thrower);
            thrower(object, &raw mut code);
        });
    }
    code
}

/// Sets the program's function of an operation, which the C++ library's function calls.
pub fn op_set_function(op: MPI_Op, of_program: Option<UserFunction>) {
    if let (Some(op), Some(of_program)) = (op.find(), of_program) {
        op.set_language(Language::CPlusPlus(of_program));
    }
}

/// `MPII_Op_set_cxx`: sets MPICH's function that calls the program's function of an operation.
///
/// # Errors
/// Fails if the operation does not exist, or the function is a null pointer.
pub fn op_set_caller(op: MPI_Op, caller: Option<OperationCaller>) -> CallResult {
    let op = op.get()?;
    let Some(caller) = caller else {
        return Err(no_caller("operations"));
    };
    op.set_language(Language::CalledByCPlusPlus(caller));
    Ok(())
}

/// `MPII_Errhandler_set_cxx`: sets MPICH's function that calls an error handler of the program.
///
/// # Errors
/// Fails if the handler does not exist or is no function of the program in C++, or if the function is a null
/// pointer.
pub fn errhandler_set_caller(errhandler: MPI_Errhandler, caller: Option<ErrhandlerCaller>) -> CallResult {
    let Some(place) = caller_of(errhandler)? else {
        return Err(Error::new(
            Class::Errhandler,
            "the error handler was not made with a function for communicators, windows or files",
        )
        .into());
    };
    let Some(caller) = caller else {
        return Err(no_caller("error handlers"));
    };
    // The library has one such function, so a second call sets the same.
    let _ = place.set(caller);
    Ok(())
}

fn no_caller(of: &str) -> Failed {
    Error::new(Class::Argument, format!("the C++ library's function that calls {of} is a null pointer"))
        .into()
}

/// Memory that the C++ library has allocated for a key, freed with the key.
struct KeyMemory(usize);

impl Drop for KeyMemory {
    fn drop(&mut self) {
        // SAFETY: the library gave the memory up when it made the key, and its functions are not called any
        // more.
        unsafe { libc::free(core::ptr::with_exposed_provenance_mut(self.0)) };
    }
}

/// Makes a key for attributes of a kind of object, with functions of the C++ library. The key frees `memory`
/// when it is freed.
///
/// # Errors
/// Fails if handles can have no memory, which the C++ library reads, or if all keys are used.
pub fn keyval_create(
    of: ObjectKind,
    (copy, delete): (CopyFunction, DeleteFunction),
    keyval: Out<c_int>,
    extra_state: Value,
    memory: *mut c_void,
) -> CallResult {
    fields::reserve().map_err(|text| Error::new(Class::NoMemory, text))?;
    let proxies = Proxies::default();
    let (copy, delete) = (copy.called(extra_state, &proxies), delete.called(extra_state, &proxies));
    let memory = Arc::new(KeyMemory(memory.expose_provenance()));
    let kept = memory.clone();
    let prepare = move |object| {
        if matches!(of, ObjectKind::Communicator) {
            prepare_comm(MPI_Comm::of(object));
        }
    };
    let copy: Copy = Arc::new(move |object, keyval, value| {
        let _kept = &kept;
        prepare(object);
        copy(object, keyval, value)
    });
    let delete: Delete = Arc::new(move |object, keyval, value| {
        let _kept = &memory;
        prepare(object);
        delete(object, keyval, value)
    });
    Ok(keyval.set(create_keyval_of(of, copy, delete)?, "keyval")?)
}
