//! Values of attributes that Fortran has set. C reads an attribute of Fortran at a place (MPI 5.0, section 19.3.7), so each has one.

use core::ffi::c_int;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The places that are in use, by their addresses.
static PLACES: Mutex<BTreeMap<usize, Box<i64>>> = Mutex::new(BTreeMap::new());

/// Returns a place that has a value. Its first half is the value as an `int`.
pub fn keep(value: i64) -> *const i64 {
    let place = Box::new(value);
    let address = &raw const *place;
    PLACES.lock().unwrap_or_else(PoisonError::into_inner).insert(address.addr(), place);
    address
}

/// The value at a place, none for what is no place: C has set such an attribute.
pub fn value(address: usize) -> Option<i64> {
    PLACES.lock().unwrap_or_else(PoisonError::into_inner).get(&address).map(|place| **place)
}

/// Gives a place back.
pub fn forget(address: usize) {
    PLACES.lock().unwrap_or_else(PoisonError::into_inner).remove(&address);
}

/// Returns a place that has a value.
#[unsafe(no_mangle)] // SAFETY: the prefix is Canelé's, and this crate alone defines the name.
pub extern "C" fn canele_fort_keep(value: i64) -> *const i64 {
    keep(value)
}

/// Gives the place of an attribute back that was not set.
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
