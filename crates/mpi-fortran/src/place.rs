//! Constants that Fortran knows by their place.

use core::ffi::{c_int, c_void};

use crate::mpi::{BUFFER_AUTOMATIC, IN_PLACE, UNWEIGHTED, WEIGHTS_EMPTY};

/// What C knows for each INTEGER of the common block `canele_places`, in its order. The fourth is `MPI_ERRCODES_IGNORE`.
const PLACES: [usize; 6] = [0, IN_PLACE, BUFFER_AUTOMATIC, 0, UNWEIGHTED, WEIGHTS_EMPTY];

/// Bytes of the common block with statuses: `MPI_STATUS_IGNORE` and `MPI_STATUSES_IGNORE`.
const STATUSES: usize = 2 * 8 * size_of::<c_int>();

/// Returns what C knows for an address, which may be one of the constants in the common block that begins at `places`.
pub fn of_c(address: *const c_void, places: *const c_int) -> *const c_void {
    let distance = address.addr().wrapping_sub(places.addr());
    match PLACES.get(distance / size_of::<c_int>()) {
        None => address,
        Some(value) => core::ptr::without_provenance(*value),
    }
}

/// Returns what C knows for a place.
#[unsafe(no_mangle)] // SAFETY: the prefix is Canelé's, and this crate alone defines the name.
pub extern "C" fn canele_fort_place(place: *const c_void, places: *const c_int) -> *const c_void {
    of_c(place, places)
}

/// Returns 1 if an address is that of `MPI_IN_PLACE` in C.
#[unsafe(no_mangle)] // SAFETY: as above.
pub extern "C" fn canele_fort_in_place(address: *const c_void) -> c_int {
    c_int::from(address.addr() == IN_PLACE)
}

/// Returns the address of a status, null for one that is ignored.
#[unsafe(no_mangle)] // SAFETY: as above.
pub extern "C" fn canele_fort_status(status: *mut c_void, ignored: *const c_void) -> *mut c_void {
    if status.addr() == ignored.addr() { core::ptr::null_mut() } else { status }
}

/// Returns the address of statuses, null for those that are ignored by either constant.
#[unsafe(no_mangle)] // SAFETY: as above.
pub extern "C" fn canele_fort_statuses(statuses: *mut c_void, ignored: *const c_void) -> *mut c_void {
    // MPI_STATUSES_IGNORE lies behind MPI_STATUS_IGNORE, and each procedure compares with its own.
    if statuses.addr().wrapping_sub(ignored.addr()) < STATUSES / 2 { core::ptr::null_mut() } else { statuses }
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

    #[test]
    fn ignored_statuses_have_no_address() {
        let mut block = [0 as c_int; 24];
        let place = |n: usize, block: &mut [c_int; 24]| (&raw mut block[n]).cast::<c_void>();
        let (single, many, other) = (place(0, &mut block), place(8, &mut block), place(16, &mut block));
        assert!(canele_fort_status(single, single).is_null());
        assert!(canele_fort_statuses(many, many).is_null());
        assert_eq!(canele_fort_status(other, single), other);
        assert_eq!(canele_fort_statuses(other, many), other);
    }
}
