//! Support for MPICH's Fortran library beyond functions.

use core::ffi::{CStr, c_int};

#[path = "../../mpi-layout/src/fortran_numbers.rs"]
mod numbers;
pub use numbers::{READS_FIELDS, fields, number_in_fortran, value_in_c};

use crate::constants::{MPI_TAG_UB, MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY, MPI_WIN_BASE};

/// Variables of the Fortran library, by name, that get addresses of this ABI: the module `mpi_f08` compares
/// weights with them.
pub const VARIABLES: &[(&CStr, usize)] =
    &[(c"MPIR_C_MPI_UNWEIGHTED", MPI_UNWEIGHTED), (c"MPIR_C_MPI_WEIGHTS_EMPTY", MPI_WEIGHTS_EMPTY)];

/// True if the Fortran library declares by calls of its own how the functions of a key are called.
pub const SETS_PROXIES: bool = true;

/// Returns the C key of an attribute's Fortran key. The Fortran key of a predefined attribute is the next,
/// even number; user-defined keys are equal.
pub fn keyval_in_c(keyval: c_int) -> c_int {
    let is_predefined = [MPI_TAG_UB, MPI_WIN_BASE].iter().any(|first| keyval & !0xff == first & !0xff);
    if is_predefined && keyval % 2 == 0 { keyval - 1 } else { keyval }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constants::MPI_KEYVAL_INVALID;

    #[test]
    fn predefined_keys_have_two_numbers_and_those_of_the_program_one() {
        assert_eq!((MPI_TAG_UB, MPI_WIN_BASE), (0x6440_0001, 0x6600_0001));
        assert_eq!(
            [0x6440_0001, 0x6440_0002, 0x6440_000e].map(keyval_in_c),
            [0x6440_0001, 0x6440_0001, 0x6440_000d]
        );
        assert_eq!([0x6600_0004, 0x6600_0009].map(keyval_in_c), [0x6600_0003, 0x6600_0009]);
        assert_eq!([4096, 4097, MPI_KEYVAL_INVALID].map(keyval_in_c), [4096, 4097, MPI_KEYVAL_INVALID]);
    }
}
