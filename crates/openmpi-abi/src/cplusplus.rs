//! Symbols beyond MPI functions that Open MPI's C++ library (`libmpi_cxx.so.40`) uses from the C library.
//!
//! C++ programs are linked with that library even if they do not use its bindings, which MPI 3.0 removed.
//! Without these symbols they would not start.

use core::ffi::{c_char, c_int, c_void};

use canele_openmpi_c::attributes::{CopyFunction, DeleteFunction};
use canele_openmpi_c::constants::MPI_ERR_ARG;
use canele_openmpi_c::cplusplus::{
    CPlusPlusErrhandler, Handled, errhandler_create, keyval_create, op_set_function,
};
use canele_openmpi_c::error::On;
use canele_openmpi_c::handle::{MPI_Errhandler, MPI_Op};
use canele_openmpi_c::operations::UserFunction;
use canele_openmpi_c::types::Out;

use crate::fortran::attributes::{code, kind};

/// Returns a C++ handler for objects of a kind in Open MPI's numbering; none for an unknown kind or a
/// failure.
pub fn errhandler(kind: c_int, function: CPlusPlusErrhandler) -> Option<MPI_Errhandler> {
    let of = match kind {
        1 => Handled::Comm,
        2 => Handled::Win,
        3 => Handled::File,
        _ => return None,
    };
    errhandler_create(of, function).ok()
}

/// `ompi_op_set_cxx_callback`: sets the program's function of an operation, which the C++ library's function
/// calls.
// SAFETY: the name is Open MPI's, and this crate alone defines it; so for all names below.
#[unsafe(no_mangle)]
pub extern "C" fn ompi_op_set_cxx_callback(op: MPI_Op, function: Option<UserFunction>) {
    op_set_function(op, function);
}

/// `ompi_attr_create_keyval`: makes a key with functions of the C++ library; `memory` is freed with the key.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompi_attr_create_keyval(
    of: c_int,
    copy: CopyFunction,
    delete: DeleteFunction,
    keyval: Out<c_int>,
    extra_state: *mut c_void,
    _flags: c_int,
    memory: *mut c_void,
) -> c_int {
    let Some(of) = kind(of) else { return MPI_ERR_ARG };
    code(
        "a call that makes a key",
        On::Nothing,
        keyval_create(of, (copy, delete), keyval, extra_state, memory),
    )
}

/// A class of Open MPI's objects: its constructors and destructors, own and inherited.
#[repr(C)]
pub struct ObjectClass {
    name: *const c_char,
    parent: *const ObjectClass,
    construct: Option<unsafe extern "C" fn(*mut c_void)>,
    destruct: Option<unsafe extern "C" fn(*mut c_void)>,
    epoch: c_int,
    depth: c_int,
    constructors: *const Option<unsafe extern "C" fn(*mut c_void)>,
    destructors: *const Option<unsafe extern "C" fn(*mut c_void)>,
    bytes: usize,
}

// SAFETY: nothing writes to the class below.
unsafe impl Sync for ObjectClass {}

/// An empty list of functions.
static NO_FUNCTIONS: [Option<unsafe extern "C" fn(*mut c_void)>; 1] = [None];

/// Size of a list element in bytes: the object's two words, two neighbours, and the membership flag.
const LIST_ITEM_BYTES: usize = 40;

/// `opal_list_item_t_class`: the class of list elements.
// SAFETY: as above.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)] // The name is Open MPI's.
pub static opal_list_item_t_class: ObjectClass = ObjectClass {
    name: c"opal_list_item_t".as_ptr(),
    parent: core::ptr::null(),
    construct: None,
    destruct: None,
    epoch: EPOCH,
    depth: 1,
    constructors: NO_FUNCTIONS.as_ptr(),
    destructors: NO_FUNCTIONS.as_ptr(),
    bytes: LIST_ITEM_BYTES,
};

const EPOCH: c_int = 1;

/// `opal_class_init_epoch`: marks a class with this number as initialised.
// SAFETY: as above.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)] // The name is Open MPI's.
pub static opal_class_init_epoch: c_int = EPOCH;

/// `opal_uses_threads`: true if object counts are changed atomically. The library's own objects belong to
/// data representations, which are made once.
// SAFETY: as above.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)] // The name is Open MPI's.
pub static opal_uses_threads: bool = false;

/// `opal_class_initialize`: initialises a class. The library has one, of list elements without functions of
/// their own.
///
/// # Safety
/// The class is there.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opal_class_initialize(class: *mut ObjectClass) {
    // SAFETY: as the caller says; the library calls this before it makes the first object of the class.
    let class = unsafe { &mut *class };
    (class.constructors, class.destructors) = (NO_FUNCTIONS.as_ptr(), NO_FUNCTIONS.as_ptr());
    class.epoch = EPOCH;
}
