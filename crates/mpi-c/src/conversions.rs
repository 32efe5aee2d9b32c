//! Conversion of handles to integers and back (MPI 5.0, §19.3.5). All values fit into an `int`, and most ABIs
//! leave them unchanged.

use core::ffi::c_int;

use layout::fortran::{READS_FIELDS, number_in_fortran, value_in_c};

use crate::fortran::{prepare_handle, prepare_number};
use crate::handle::Handle;

/// `MPI_Comm_toint` and the corresponding functions of other handles.
pub fn to_int<H: Handle>(handle: H) -> c_int {
    if READS_FIELDS {
        prepare_number(handle);
    }
    number_in_fortran(handle.value())
}

/// `MPI_Comm_fromint` and the corresponding functions of other handles.
pub fn from_int<H: Handle>(value: c_int) -> H {
    let handle = H::of(value_in_c(H::NAME, value));
    if READS_FIELDS {
        prepare_handle(handle);
    }
    handle
}
