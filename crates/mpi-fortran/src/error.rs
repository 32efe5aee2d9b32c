//! Errors that this library detects: their codes and texts, and the objects on which they are raised.

use core::ffi::{CStr, c_int};
use std::sync::OnceLock;

use crate::mpi::*;

/// Returns the error code of a buffer with gaps that neither a datatype nor a copy can replace.
pub fn refused() -> c_int {
    static CODE: OnceLock<c_int> = OnceLock::new();
    of_a_buffer(
        &CODE,
        c"a part of an array whose elements do not lie beside each other cannot be the buffer here: \
copy it into an array of its own, or describe it by a datatype",
    )
}

/// Returns the error code of a message longer than the array part that is its buffer.
pub fn is_longer() -> c_int {
    static CODE: OnceLock<c_int> = OnceLock::new();
    of_a_buffer(
        &CODE,
        c"the message is longer than the part of an array that is its buffer: \
pass a longer part, or a smaller count",
    )
}

/// Returns an error code of class `MPI_ERR_BUFFER` with a text; it is made once.
fn of_a_buffer(code: &OnceLock<c_int>, text: &CStr) -> c_int {
    *code.get_or_init(|| {
        let mut code = ERR_BUFFER;
        // SAFETY: the place is valid and the text ends with a zero.
        let is_made = unsafe {
            PMPI_Add_error_code(ERR_BUFFER, &mut code) == SUCCESS
                && PMPI_Add_error_string(code, text.as_ptr()) == SUCCESS
        };
        if is_made { code } else { ERR_BUFFER }
    })
}

/// Raises an error on a communicator.
#[unsafe(no_mangle)] // SAFETY: the prefix is Canelé's, and this crate alone defines the name.
pub extern "C" fn canele_fort_raise_comm(comm: Handle, code: c_int) {
    // SAFETY: MPI checks the handle.
    unsafe { PMPI_Comm_call_errhandler(comm, code) };
}

/// Raises an error on a window.
#[unsafe(no_mangle)] // SAFETY: as above.
pub extern "C" fn canele_fort_raise_win(win: Handle, code: c_int) {
    // SAFETY: as above.
    unsafe { PMPI_Win_call_errhandler(win, code) };
}

/// Raises an error on a file.
#[unsafe(no_mangle)] // SAFETY: as above.
pub extern "C" fn canele_fort_raise_file(file: Handle, code: c_int) {
    // SAFETY: as above.
    unsafe { PMPI_File_call_errhandler(file, code) };
}

/// Raises an error on a session.
#[unsafe(no_mangle)] // SAFETY: as above.
pub extern "C" fn canele_fort_raise_session(session: Handle, code: c_int) {
    // SAFETY: as above.
    unsafe { PMPI_Session_call_errhandler(session, code) };
}
