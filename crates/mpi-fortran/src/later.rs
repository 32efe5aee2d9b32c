//! Handles that C writes when a request completes, as those of `MPI_Comm_idup`.

use core::ffi::c_int;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::mpi::{Handle, PMPI_Comm_toint};

/// A handle that C will write, and the program's INTEGER for its number.
struct Later {
    handle: *mut Handle,
    number: *mut c_int,
}

// SAFETY: the thread that holds the lock of the list uses the places, and no other.
unsafe impl Send for Later {}

static LATER: Mutex<Vec<Later>> = Mutex::new(Vec::new());
/// Set when there was one: programs without any need no lock.
static WAS_USED: OnceLock<()> = OnceLock::new();

/// `MPI_COMM_NULL`.
const COMM_NULL: c_int = 0x100;
/// What a place has until C writes it. A library may write the null handle at first.
const NOTHING: [Handle; 2] = [0, COMM_NULL as Handle];

/// Returns a place for a handle that C writes when a request completes.
///
/// # Safety
/// `number` stays valid until then.
#[unsafe(no_mangle)] // SAFETY: the prefix is Canelé's, and this crate alone defines the name.
pub unsafe extern "C" fn canele_fort_later(number: *mut c_int) -> *mut Handle {
    // SAFETY: the modules pass a variable of the program.
    unsafe { number.write(COMM_NULL) };
    let handle = Box::into_raw(Box::new(NOTHING[0]));
    let mut later = LATER.lock().unwrap_or_else(PoisonError::into_inner);
    later.push(Later { handle, number });
    WAS_USED.get_or_init(|| ());
    handle
}

/// Takes a place back that C will not write: the call has failed.
#[unsafe(no_mangle)] // SAFETY: as above.
pub extern "C" fn canele_fort_never(handle: *mut Handle) {
    take(|later| later.handle == handle);
}

/// Gives the program the numbers of handles that C has written.
#[unsafe(no_mangle)] // SAFETY: as above.
pub extern "C" fn canele_fort_settle() {
    if WAS_USED.get().is_none() {
        return;
    }
    // SAFETY: the place is kept until it is taken out of the list; C writes it before the call returns that completes its request.
    let settled = take(|later| !NOTHING.contains(&unsafe { later.handle.read_volatile() }));
    for (handle, number) in settled {
        // SAFETY: C has written a handle, and the program's variable is valid until its request is complete.
        unsafe { number.write(PMPI_Comm_toint(handle)) };
    }
}

/// Takes the places out of the list of which a condition holds. Returns what is in them, and the variables.
fn take(mut which: impl FnMut(&Later) -> bool) -> Vec<(Handle, *mut c_int)> {
    let mut list = LATER.lock().unwrap_or_else(PoisonError::into_inner);
    let (taken, kept): (Vec<Later>, Vec<Later>) = list.drain(..).partition(|later| which(later));
    *list = kept;
    // SAFETY: the places were made by `canele_fort_later`, and are in no list any more.
    taken.into_iter().map(|later| (*unsafe { Box::from_raw(later.handle) }, later.number)).collect()
}
