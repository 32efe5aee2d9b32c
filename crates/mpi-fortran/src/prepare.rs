//! The properties of this Fortran compiler that the MPI library needs.

use core::ffi::{c_int, c_void};

use crate::mpi::*;

/// Sets the compiler's values of true and false in the library, unless they are set.
///
/// # Safety
/// `truth` and `lie` are LOGICAL values of `logical` bytes.
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
