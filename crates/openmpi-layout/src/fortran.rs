//! Support for Open MPI's Fortran libraries beyond functions: constant handles have numbers of their own
//! there, counted from 0 for each kind.

use core::ffi::{CStr, c_int};

use crate::handle::CONSTANT_ROWS;
use crate::objects::OBJECTS;

pub mod fields;

mod numbers {
    include!(concat!(env!("OUT_DIR"), "/fortran.rs"));
}
use numbers::NUMBERS;

/// True if the Fortran library accesses fields of objects through their handles.
pub const READS_FIELDS: bool = true;

/// Variables of the Fortran library, by name, that get addresses of this ABI.
pub const VARIABLES: &[(&CStr, usize)] = &[];

/// True if the Fortran library declares by calls of its own how the functions of a key are called.
pub const SETS_PROXIES: bool = false;

/// Returns the C key of an attribute's Fortran key: the same number.
pub fn keyval_in_c(keyval: c_int) -> c_int {
    keyval
}

/// Upper limit of the Fortran numbers of constants.
const MOST: usize = 80;

/// Marks a constant without a number, or a number without a constant.
const NONE: u16 = u16::MAX;

/// The Fortran numbers, by the numbers of the constants.
static IN_FORTRAN: [u16; CONSTANT_ROWS] = {
    let (mut all, mut n) = ([NONE; CONSTANT_ROWS], 0);
    while n < NUMBERS.len() {
        all[NUMBERS[n].2] = NUMBERS[n].1 as u16;
        n += 1;
    }
    all
};

/// The kinds of handles, each of which is numbered separately.
const KINDS: [&str; 11] = [
    "MPI_Comm",
    "MPI_Datatype",
    "MPI_Op",
    "MPI_Request",
    "MPI_Group",
    "MPI_Info",
    "MPI_Errhandler",
    "MPI_Win",
    "MPI_File",
    "MPI_Message",
    "MPI_Session",
];

/// The numbers of the constants of a kind, by their Fortran numbers.
static IN_C: [[u16; MOST]; KINDS.len()] = {
    let (mut all, mut n) = ([[NONE; MOST]; KINDS.len()], 0);
    while n < NUMBERS.len() {
        all[kind(NUMBERS[n].0)][NUMBERS[n].1] = NUMBERS[n].2 as u16;
        n += 1;
    }
    all
};

/// Returns the index of a kind in [`KINDS`].
#[inline(always)]
const fn kind(name: &str) -> usize {
    let mut at = 0;
    while !are_equal(KINDS[at].as_bytes(), name.as_bytes()) {
        at += 1;
    }
    at
}

const fn are_equal(one: &[u8], other: &[u8]) -> bool {
    let (mut same, mut n) = (one.len() == other.len(), 0);
    while same && n < one.len() {
        same = one[n] == other[n];
        n += 1;
    }
    same
}

/// Returns the Fortran number of a handle with this value; -1 for a constant that Fortran lacks. The number
/// of an object is its value.
#[inline]
pub fn number_in_fortran(value: usize) -> c_int {
    match IN_FORTRAN.get(value) {
        Some(&NONE) => -1,
        Some(number) => c_int::from(*number),
        None => value as c_int,
    }
}

/// Returns the C value of a handle with this Fortran number; 0, which is no handle, if there is none.
#[inline]
pub fn value_in_c(of: &str, number: c_int) -> usize {
    let number = number as usize;
    match IN_C[kind(of)].get(number) {
        Some(&NONE) => 0,
        Some(value) => usize::from(*value),
        None if (CONSTANT_ROWS..OBJECTS).contains(&number) => number,
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constants::*;

    #[test]
    fn constants_have_the_numbers_of_open_mpi_in_fortran_and_back() {
        assert_eq!(
            [MPI_COMM_WORLD, MPI_COMM_SELF, MPI_COMM_NULL].map(|of| number_in_fortran(of.value())),
            [0, 1, 2]
        );
        assert_eq!(
            [MPI_INTEGER, MPI_DOUBLE_PRECISION, MPI_BYTE].map(|of| number_in_fortran(of.value())),
            [7, 17, 1]
        );
        assert_eq!(
            (number_in_fortran(MPI_LOGICAL16.value()), number_in_fortran(MPI_ERRORS_ABORT.value())),
            (77, 3)
        );
        assert_eq!(value_in_c("MPI_Comm", 0), MPI_COMM_WORLD.value());
        assert_eq!(value_in_c("MPI_Datatype", 17), MPI_DOUBLE_PRECISION.value());
        assert_eq!(value_in_c("MPI_Op", 3), MPI_SUM.value());
        assert_eq!(value_in_c("MPI_Request", 0), MPI_REQUEST_NULL.value());
        for (of, number, value) in NUMBERS {
            assert_eq!(value_in_c(of, number as c_int), value, "{of} {number}");
        }
    }

    #[test]
    fn objects_have_their_values_and_what_is_no_handle_has_none() {
        for value in [CONSTANT_ROWS, (1 << 30) - 1] {
            assert_eq!(
                (number_in_fortran(value), value_in_c("MPI_Comm", value as c_int)),
                (value as c_int, value)
            );
        }
        for number in [3, 79, 80, 4095, 1 << 30, c_int::MAX, -1, c_int::MIN] {
            assert_eq!(value_in_c("MPI_Comm", number), 0, "{number}");
        }
        assert_eq!(number_in_fortran(MPI_STATUS_IGNORE), -1);
    }
}
