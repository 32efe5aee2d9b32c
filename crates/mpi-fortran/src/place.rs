//! Constants that Fortran identifies by address.

use core::ffi::{c_int, c_void};

use crate::mpi::{BUFFER_AUTOMATIC, IN_PLACE, UNWEIGHTED, WEIGHTS_EMPTY};

/// C's value for each INTEGER of the common block `canele_places`, in order. The fourth is
/// `MPI_ERRCODES_IGNORE`.
const PLACES: [usize; 6] = [0, IN_PLACE, BUFFER_AUTOMATIC, 0, UNWEIGHTED, WEIGHTS_EMPTY];

/// Returns C's value of an address, which may be one of the constants in the common block that begins at
/// `places`.
pub fn of_c<Integer>(address: *const c_void, places: *const Integer) -> *const c_void {
    let distance = address.addr().wrapping_sub(places.addr());
    match PLACES.get(distance / size_of::<Integer>()) {
        None => address,
        Some(value) => core::ptr::without_provenance(*value),
    }
}

/// Returns C's value of a place.
#[unsafe(no_mangle)] // SAFETY: the prefix is Canelé's, and this crate alone defines the name.
pub extern "C" fn canele_fort_place(place: *const c_void, places: *const c_int) -> *const c_void {
    of_c(place, places)
}

/// Returns 1 if an address is that of `MPI_IN_PLACE` in C.
#[unsafe(no_mangle)] // SAFETY: as above.
pub extern "C" fn canele_fort_in_place(address: *const c_void) -> c_int {
    c_int::from(address.addr() == IN_PLACE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_known_in_the_order_of_the_common_block() {
        let block = [0 as c_int; 7];
        let known: Vec<usize> =
            block[..6].iter().map(|place| of_c((&raw const *place).cast(), block.as_ptr()).addr()).collect();
        assert_eq!(known, [0, 1, 2, 0, 10, 11]);
        let other = (&raw const block[6]).cast();
        assert_eq!(of_c(other, block.as_ptr()), other, "what lies behind the block is a buffer");
        let before = core::ptr::without_provenance(block.as_ptr().addr() - 4);
        assert_eq!(of_c(before, block.as_ptr()), before);
    }
}
