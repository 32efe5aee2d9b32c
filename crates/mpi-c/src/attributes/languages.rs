//! Attribute values in the languages (MPI 5.0, §19.3.7), and the calls of functions in other languages.

use core::ffi::{c_int, c_void};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use canele_mpi::attribute::Stored;

use super::Value;

/// The place of each number that Fortran has set and C has read by its address; places are never freed.
static PLACES: Mutex<Option<HashMap<isize, &'static isize>>> = Mutex::new(None);

/// Returns the value for C.
pub fn in_c(value: Stored) -> Value {
    match value {
        Stored::Address(address) => core::ptr::with_exposed_provenance_mut(address),
        Stored::Integer(number) => {
            let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
            let places = places.get_or_insert_default();
            let place: &'static isize = places.entry(number).or_insert_with(|| Box::leak(Box::new(number)));
            (&raw const *place).cast_mut().cast()
        }
    }
}

/// Returns the value for Fortran: the bits of a number.
pub fn in_fortran(value: Stored) -> Value {
    match value {
        Stored::Address(address) => core::ptr::with_exposed_provenance_mut(address),
        Stored::Integer(number) => core::ptr::without_provenance_mut(number.cast_unsigned()),
    }
}

/// The kinds of values in MPICH's Fortran and C++ libraries, with their numbers.
pub mod kind {
    use core::ffi::c_int;

    use canele_mpi::attribute::Stored;

    /// An address.
    pub const POINTER: c_int = 0;
    /// A number as wide as an address.
    pub const AINT: c_int = 1;

    /// Returns the kind of a value.
    pub fn of(value: Stored) -> c_int {
        match value {
            Stored::Address(_) => POINTER,
            Stored::Integer(_) => AINT,
        }
    }
}

/// Calls a copy function of the program in its language. The arguments are the function, the object's handle,
/// the key, the state, the kind of the value, the value, the place of the new value, and that of the flag.
pub type CopyProxy = unsafe extern "C-unwind" fn(
    *const c_void,
    c_int,
    c_int,
    Value,
    c_int,
    Value,
    *mut Value,
    *mut c_int,
) -> c_int;
/// Calls a delete function of the program in its language: the function, the object's handle, the key, the
/// kind of the value, the value, the state.
pub type DeleteProxy = unsafe extern "C-unwind" fn(*const c_void, c_int, c_int, c_int, Value, Value) -> c_int;

/// The proxies that call the functions of a key in another language; they are set after its creation.
pub type Proxies = Arc<OnceLock<(CopyProxy, DeleteProxy)>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_places_that_stay_and_addresses_are_numbers() {
        let [first, other] = [7, -7].map(|number| in_c(Stored::Integer(number)));
        // SAFETY: both are places of numbers, which stay.
        assert_eq!(unsafe { [first, other].map(|place| place.cast::<isize>().read()) }, [7, -7]);
        assert_eq!(in_c(Stored::Integer(7)), first);
        assert_eq!(in_fortran(Stored::Integer(-1)).addr(), usize::MAX);
        assert_eq!([in_c, in_fortran].map(|seen| seen(Stored::Address(48)).addr()), [48, 48]);
    }
}
