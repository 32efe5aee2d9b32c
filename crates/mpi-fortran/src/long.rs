//! Support for an INTEGER of eight bytes: constants that Fortran identifies by address, statuses, and pairs
//! of INTEGER.

use core::ffi::{c_int, c_void};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::buffer::{Buffer, begin};
use crate::descriptor::Descriptor;
use crate::mpi::*;
use crate::place;

/// `MPI_2INTEGER` for long INTEGERs, which is no number of a C handle.
const PAIR: i64 = (1 << 32) + 0x232;

/// Returns C's value of a place.
#[unsafe(no_mangle)] // SAFETY: the prefix is Canelé's, and this crate alone defines the name.
pub extern "C" fn canele_fort_place_long(place: *const c_void, places: *const i64) -> *const c_void {
    place::of_c(place, places)
}

/// Computes the arguments of C's function for a buffer, with a long datatype number (`canele_fort_begin`).
///
/// # Safety
/// The conditions of `canele_fort_begin`. `datatype` is the number of a datatype in Fortran.
#[unsafe(no_mangle)] // SAFETY: as above.
pub unsafe extern "C" fn canele_fort_begin_long(
    buffer: *const Descriptor,
    places: *const i64,
    flags: c_int,
    count: i64,
    datatype: i64,
    made: *mut Buffer,
) -> c_int {
    let datatype = canele_fort_long_type(datatype);
    // SAFETY: the modules pass a descriptor and a place of their own.
    let buffer = unsafe { &*buffer };
    let address = place::of_c(buffer.address(), places);
    // SAFETY: as above.
    begin(buffer, address, flags, count, datatype, unsafe { &mut *made })
}

/// Converts Fortran's numbers to C's; the program may not have set them.
///
/// # Safety
/// Both arrays have `count` elements.
#[unsafe(no_mangle)] // SAFETY: as above.
pub unsafe extern "C" fn canele_fort_narrow(from: *const i64, to: *mut c_int, count: c_int) {
    for n in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: the caller says so.
        unsafe { *to.add(n) = *from.add(n) as c_int };
    }
}

/// Converts C's numbers to Fortran's.
///
/// # Safety
/// Both arrays have `count` elements.
#[unsafe(no_mangle)] // SAFETY: as above.
pub unsafe extern "C" fn canele_fort_widen(from: *const c_int, to: *mut i64, count: c_int) {
    for n in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: the caller says so.
        unsafe { *to.add(n) = i64::from(*from.add(n)) };
    }
}

/// Returns the datatype with a number; the null handle if there is none. MPI reports the error on the ranks
/// where the argument is significant.
#[unsafe(no_mangle)] // SAFETY: as above.
pub extern "C" fn canele_fort_long_type(number: i64) -> Handle {
    match c_int::try_from(number) {
        // SAFETY: any number may be asked about.
        Ok(number) => unsafe { PMPI_Type_fromint(number) },
        Err(_) if number == PAIR => pair().unwrap_or(DATATYPE_NULL),
        Err(_) => DATATYPE_NULL,
    }
}

/// Returns the datatype of two INTEGERs, which is made once; none before MPI is initialised.
fn pair() -> Option<Handle> {
    static MADE: Mutex<Option<Handle>> = Mutex::new(None);
    let mut known = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if known.is_none() {
        let mut made = DATATYPE_NULL;
        // SAFETY: the place is valid.
        let is_made = unsafe {
            PMPI_Type_contiguous_c(2, INTEGER8, &mut made) == SUCCESS
                && PMPI_Type_commit(&mut made) == SUCCESS
        };
        *known = is_made.then_some(made);
    }
    *known
}

/// Returns the operation for `MPI_MINLOC` or `MPI_MAXLOC` with a datatype; pairs of INTEGER use an operation
/// of this library.
#[unsafe(no_mangle)] // SAFETY: as above.
pub extern "C" fn canele_fort_long_op(op: Handle, datatype: Handle) -> Handle {
    static MADE: [OnceLock<Handle>; 2] = [OnceLock::new(), OnceLock::new()];
    let (function, made): (Operation, _) = match op {
        _ if datatype == DATATYPE_NULL || Some(datatype) != pair() => return op,
        MINLOC => (combine::<false>, &MADE[0]),
        MAXLOC => (combine::<true>, &MADE[1]),
        _ => return op,
    };
    *made.get_or_init(|| {
        let mut own = op;
        // SAFETY: the place is valid, and MPI calls the function as an operation is called.
        if unsafe { PMPI_Op_create_c(function, 1, &mut own) } == SUCCESS { own } else { op }
    })
}

type Operation = extern "C" fn(*const [i64; 2], *mut [i64; 2], *const i64, *const Handle);

extern "C" fn combine<const IS_MAX: bool>(
    read: *const [i64; 2],
    written: *mut [i64; 2],
    length: *const i64,
    _: *const Handle,
) {
    // SAFETY: MPI passes the place of a number.
    for n in 0..usize::try_from(unsafe { *length }).unwrap_or(0) {
        // SAFETY: MPI passes as many pairs.
        unsafe { *written.add(n) = chosen(*read.add(n), *written.add(n), IS_MAX) };
    }
}

/// Returns the pair with the greater or smaller value; of equal values, the one with the smaller index.
fn chosen(a: [i64; 2], b: [i64; 2], is_max: bool) -> [i64; 2] {
    let is_first = if is_max { a[0] > b[0] } else { a[0] < b[0] };
    if is_first || (a[0] == b[0] && a[1] < b[1]) { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_decides_between_equal_values() {
        assert_eq!(chosen([1, 9], [2, 0], false), [1, 9]);
        assert_eq!(chosen([1, 9], [2, 0], true), [2, 0]);
        assert_eq!(chosen([5, 2], [5, 1], true), [5, 1]);
        assert_eq!(chosen([5, 1], [5, 2], false), [5, 1]);
    }

    #[test]
    fn numbers_keep_their_sign() {
        let (numbers, mut short, mut long) = ([-1, 7 + (1 << 32)], [0; 2], [0; 2]);
        // SAFETY: all arrays have two elements.
        unsafe {
            canele_fort_narrow(numbers.as_ptr(), short.as_mut_ptr(), 2);
            canele_fort_widen(short.as_ptr(), long.as_mut_ptr(), 2);
        }
        assert_eq!((short, long), ([-1, 7], [-1, 7]));
    }
}
