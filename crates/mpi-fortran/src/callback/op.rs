//! Operations of the program (MPI 5.0, section 6.9.5).

use core::ffi::{c_int, c_void};

use super::Function;
use super::slot::{SLOTS, Slots, instances};
use crate::mpi::{Handle, PMPI_Type_toint};

static OPS: Slots = Slots::new();
static LARGE_OPS: Slots = Slots::new();

type Op = extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut Handle);
type LargeOp = extern "C" fn(*mut c_void, *mut c_void, *mut i64, *mut Handle);

static CALLED: [Op; SLOTS] = instances!(call as Op);
static LARGE_CALLED: [LargeOp; SLOTS] = instances!(call_large as LargeOp);

extern "C" fn call<const SLOT: usize>(
    read: *mut c_void,
    written: *mut c_void,
    length: *mut c_int,
    of: *mut Handle,
) {
    // SAFETY: MPI passes valid places.
    let (length, of) = unsafe { (i64::from(*length), *of) };
    combine(OPS.get(SLOT), read, written, length, of);
}

extern "C" fn call_large<const SLOT: usize>(
    read: *mut c_void,
    written: *mut c_void,
    length: *mut i64,
    of: *mut Handle,
) {
    // SAFETY: as above.
    let (length, of) = unsafe { (*length, *of) };
    combine(LARGE_OPS.get(SLOT), read, written, length, of);
}

fn combine(function: Function, read: *mut c_void, written: *mut c_void, mut length: i64, of: Handle) {
    // SAFETY: the program gave a function that is called like this (MPI_User_function).
    let function: extern "C" fn(*mut c_void, *mut c_void, *mut i64, *mut i64) =
        unsafe { core::mem::transmute(function) };
    // SAFETY: MPI passes a handle.
    let mut number = i64::from(unsafe { PMPI_Type_toint(of) });
    function(read, written, &mut length, &mut number);
}

/// Returns the function that C calls for an operation; null if no slot is free.
#[unsafe(no_mangle)] // SAFETY: the prefix is Canelé's, and this crate alone defines the name.
pub extern "C" fn canele_fort_op(function: Function) -> *const c_void {
    OPS.of(function).map_or(core::ptr::null(), |slot| CALLED[slot] as *const c_void)
}

/// Returns the function that C calls for an operation with large counts (`MPI_User_function_c`); null if no
/// slot is free.
#[unsafe(no_mangle)] // SAFETY: as above.
pub extern "C" fn canele_fort_op_c(function: Function) -> *const c_void {
    LARGE_OPS.of(function).map_or(core::ptr::null(), |slot| LARGE_CALLED[slot] as *const c_void)
}
