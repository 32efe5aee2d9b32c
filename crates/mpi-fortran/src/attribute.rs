//! Predefined attributes: C gets the address of their value, Fortran the value (MPI 5.0, section 19.3.7).

use core::ffi::c_int;

use crate::kept;

/// Kinds of objects with predefined attributes; datatypes have none.
const COMM: c_int = 0;
const WIN: c_int = 1;

/// The keys from `MPI_TAG_UB` to `MPI_UNIVERSE_SIZE`.
const COMM_NUMBERS: core::ops::RangeInclusive<c_int> = 501..=507;
/// `MPI_WIN_DISP_UNIT`, `MPI_WIN_CREATE_FLAVOR` and `MPI_WIN_MODEL`. `MPI_WIN_BASE` is an address in both
/// languages.
const WIN_NUMBERS: [c_int; 3] = [602, 604, 605];
/// `MPI_WIN_SIZE`.
const WIN_SIZE: c_int = 603;

/// Returns the value of an attribute for Fortran.
///
/// # Safety
/// `value` is the result of C's function for this key of an object of this kind.
#[unsafe(no_mangle)] // SAFETY: the prefix is Canelé's, and this crate alone defines the name.
pub unsafe extern "C" fn canele_fort_attribute(kind: c_int, key: c_int, value: isize) -> isize {
    if let Some(value) = kept::value(value.cast_unsigned()) {
        return value as isize;
    }
    let place = core::ptr::with_exposed_provenance::<c_int>(value.cast_unsigned());
    let is_a_place = value != 0;
    match kind {
        // SAFETY: MPI gives the address of an int for these keys.
        COMM if is_a_place && COMM_NUMBERS.contains(&key) => unsafe { *place as isize },
        // SAFETY: as above.
        WIN if is_a_place && WIN_NUMBERS.contains(&key) => unsafe { *place as isize },
        // SAFETY: MPI gives the address of an MPI_Aint.
        WIN if is_a_place && key == WIN_SIZE => unsafe { *place.cast::<isize>() },
        _ => value,
    }
}
