//! What the library of MPI has to know of this Fortran.

use core::ffi::{c_int, c_void};

use crate::mpi::*;

/// Tells the library how this compiler writes true and false, unless it was told before.
///
/// # Safety
/// `truth` and `lie` are values of type LOGICAL with as many bytes as `logical` says.
#[unsafe(no_mangle)] // SAFETY: the prefix is Canelé's, and this crate alone defines the name.
pub unsafe extern "C" fn canele_fort_prepare(logical: c_int, truth: *const c_void, lie: *const c_void) {
    let (mut yes, mut no, mut is_set) = ([0u64; 2], [0u64; 2], 0);
    if !(1..=16).contains(&logical) {
        return;
    }
    // SAFETY: the places have 16 bytes, and the modules pass values of their own.
    unsafe {
        let code = PMPI_Abi_get_fortran_booleans(
            logical,
            yes.as_mut_ptr().cast(),
            no.as_mut_ptr().cast(),
            &mut is_set,
        );
        if code == SUCCESS && is_set == 0 {
            PMPI_Abi_set_fortran_booleans(logical, truth, lie);
        }
    }
}
