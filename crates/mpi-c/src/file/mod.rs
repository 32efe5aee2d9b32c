//! Files (MPI 5.0, chapter 14).

pub mod access;
pub mod datarep;
pub mod open;
pub mod split;
pub mod view;

use canele_mpi::file::{AmodeBits, Whence};
use canele_mpi::{Result, fail};
use core::ffi::c_int;

use crate::constants::*;

/// Selects the field of a bit.
type Field = fn(&mut AmodeBits) -> &mut bool;

/// The bits of an access mode, with their fields.
const AMODE: [(c_int, Field); 9] = [
    (MPI_MODE_RDONLY, |bits| &mut bits.read_only),
    (MPI_MODE_RDWR, |bits| &mut bits.read_write),
    (MPI_MODE_WRONLY, |bits| &mut bits.write_only),
    (MPI_MODE_CREATE, |bits| &mut bits.create),
    (MPI_MODE_EXCL, |bits| &mut bits.exclusive),
    (MPI_MODE_DELETE_ON_CLOSE, |bits| &mut bits.delete_on_close),
    (MPI_MODE_UNIQUE_OPEN, |bits| &mut bits.unique_open),
    (MPI_MODE_SEQUENTIAL, |bits| &mut bits.sequential),
    (MPI_MODE_APPEND, |bits| &mut bits.append),
];

/// Converts a number to bits.
fn amode_bits(amode: c_int) -> Result<AmodeBits> {
    let mut bits = AmodeBits::default();
    let known = AMODE.iter().fold(0, |known, (bit, _)| known | bit);
    if amode & !known != 0 {
        fail!(AccessMode, "amode is {amode}: it has bits other than those of MPI_MODE_ constants of files");
    }
    for (bit, field) in AMODE {
        *field(&mut bits) = amode & bit != 0;
    }
    Ok(bits)
}

/// Converts bits to a number.
fn amode_number(mut bits: AmodeBits) -> c_int {
    AMODE.iter().filter(|(_, field)| *field(&mut bits)).fold(0, |number, (bit, _)| number | bit)
}

/// Converts the origin of a seek.
fn whence(whence: c_int) -> Result<Whence> {
    Ok(match whence {
        MPI_SEEK_SET => Whence::Set,
        MPI_SEEK_CUR => Whence::Current,
        MPI_SEEK_END => Whence::End,
        _ => fail!(Argument, "whence is {whence}: it must be MPI_SEEK_SET, MPI_SEEK_CUR or MPI_SEEK_END"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_have_their_bits() {
        for (bit, _) in AMODE {
            assert_eq!(amode_number(amode_bits(bit).unwrap()), bit);
        }
        let some = MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_APPEND;
        assert_eq!(amode_number(amode_bits(some).unwrap()), some);
        assert!(amode_bits(some | 1 << 25).is_err() && amode_bits(-1).is_err());
    }
}
