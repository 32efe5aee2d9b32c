//! Attribute values that Fortran has set. C reads each at an address (MPI 5.0, section 19.3.7), so each is
//! stored at a place of its own.

use core::ffi::c_int;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The places in use, by address.
static PLACES: Mutex<BTreeMap<usize, Box<i64>>> = Mutex::new(BTreeMap::new());

/// Returns a new place with a value. Its first half is the value as an `int`.
pub fn keep(value: i64) -> *const i64 {
    let place = Box::new(value);
    let address = &raw const *place;
    PLACES.lock().unwrap_or_else(PoisonError::into_inner).insert(address.addr(), place);
    address
}

/// Returns the value at a place; none for another address, which is an attribute set by C.
pub fn value(address: usize) -> Option<i64> {
    PLACES.lock().unwrap_or_else(PoisonError::into_inner).get(&address).map(|place| **place)
}

/// Frees a place.
pub fn forget(address: usize) {
    PLACES.lock().unwrap_or_else(PoisonError::into_inner).remove(&address);
}

/// Returns a new place with a value.
#[unsafe(no_mangle)] // SAFETY: the prefix is Canelé's, and this crate alone defines the name.
pub extern "C" fn canele_fort_keep(value: i64) -> *const i64 {
    keep(value)
}

/// Frees the place of an attribute that was not set.
#[unsafe(no_mangle)] // SAFETY: as above.
pub extern "C" fn canele_fort_forget(place: *const c_int) {
    forget(place.addr());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_known_until_it_is_given_back() {
        let place = keep(-7);
        // SAFETY: the place is kept.
        assert_eq!(unsafe { *place }, -7);
        assert_eq!(value(place.addr()), Some(-7));
        forget(place.addr());
        assert_eq!(value(place.addr()), None);
    }
}
