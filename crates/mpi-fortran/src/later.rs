//! Handles that C writes when a request completes, as for `MPI_Comm_idup`.

use core::ffi::c_int;

use crate::mpi::{Handle, PMPI_Comm_toint};
use crate::request::{keep_later, take_later};

/// A handle that C will write, and the program's INTEGER for it.
pub struct Later {
    handle: *mut Handle,
    number: Number,
}

/// An INTEGER of the program.
#[derive(Clone, Copy)]
enum Number {
    Short(*mut c_int),
    Long(*mut i64),
}

impl Number {
    /// # Safety
    /// The variable is valid.
    unsafe fn write(self, number: c_int) {
        // SAFETY: the caller says so.
        unsafe {
            match self {
                Self::Short(place) => place.write(number),
                Self::Long(place) => place.write(i64::from(number)),
            }
        }
    }
}

// SAFETY: the thread that holds the lock of the table uses the places, and no other.
unsafe impl Send for Later {}

/// `MPI_COMM_NULL`.
const COMM_NULL: c_int = 0x100;
/// The values that a place may hold until C writes the handle. Some libraries write the null handle first.
const NOTHING: [Handle; 2] = [0, COMM_NULL as Handle];

/// Returns a place for a handle that C writes when a request completes.
///
/// # Safety
/// `number` is an INTEGER of as many bytes that stays valid until then, `word` that of the modules.
#[unsafe(no_mangle)] // SAFETY: the prefix is Canelé's, and this crate alone defines the name.
pub unsafe extern "C" fn canele_fort_later(
    number: *mut c_int,
    bytes: c_int,
    word: *mut c_int,
) -> *mut Handle {
    let number = if bytes == 8 { Number::Long(number.cast()) } else { Number::Short(number) };
    // SAFETY: the modules pass a variable of the program.
    unsafe { number.write(COMM_NULL) };
    let handle = Box::into_raw(Box::new(NOTHING[0]));
    keep_later(Later { handle, number }, word);
    handle
}

/// Frees a place after a failed call, because C will not write it.
#[unsafe(no_mangle)] // SAFETY: as above.
pub extern "C" fn canele_fort_never(handle: *mut Handle) {
    for later in take_later(|later| later.handle == handle) {
        // SAFETY: the place was made above, and is in no list any more.
        unsafe { later.free() };
    }
}

/// Stores the number of each handle that C has written in the program's variable.
pub fn settle() {
    // SAFETY: the place is kept until it is taken out of the list; C writes it before the call returns that
    // completes its request.
    for later in take_later(|later| !NOTHING.contains(&unsafe { later.handle.read_volatile() })) {
        // SAFETY: the place is in no list any more. C has written a handle, and the program's variable is
        // valid until its request is complete.
        unsafe { later.number.write(PMPI_Comm_toint(later.free())) };
    }
}

impl Later {
    /// Frees the place and returns its handle.
    ///
    /// # Safety
    /// The place is in no list.
    unsafe fn free(&self) -> Handle {
        // SAFETY: `canele_fort_later` has made the place.
        *unsafe { Box::from_raw(self.handle) }
    }
}
