//! The values of the ABI.

use core::ffi::c_void;

include!(concat!(env!("OUT_DIR"), "/constants.rs"));

/// The send buffer that says: the data are in the receive buffer.
pub const MPI_IN_PLACE: *const c_void = core::ptr::without_provenance(1);
/// The buffer that says: the library provides it.
pub const MPI_BUFFER_AUTOMATIC: *const c_void = core::ptr::without_provenance(2);
/// The weights that say: there are none.
pub const MPI_UNWEIGHTED: usize = 10;
/// The weights of no edges.
pub const MPI_WEIGHTS_EMPTY: usize = 11;
