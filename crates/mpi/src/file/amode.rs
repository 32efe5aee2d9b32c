//! Access modes of files (MPI 5.0, §14.2.1), and their valid combinations.

use crate::{Result, fail};

/// The bits of an access mode, as the program gives them.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct AmodeBits {
    /// `MPI_MODE_RDONLY`.
    pub read_only: bool,
    /// `MPI_MODE_RDWR`.
    pub read_write: bool,
    /// `MPI_MODE_WRONLY`.
    pub write_only: bool,
    /// `MPI_MODE_CREATE`.
    pub create: bool,
    /// `MPI_MODE_EXCL`.
    pub exclusive: bool,
    /// `MPI_MODE_DELETE_ON_CLOSE`.
    pub delete_on_close: bool,
    /// `MPI_MODE_UNIQUE_OPEN`.
    pub unique_open: bool,
    /// `MPI_MODE_SEQUENTIAL`.
    pub sequential: bool,
    /// `MPI_MODE_APPEND`.
    pub append: bool,
}

/// An access mode that the standard permits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Amode(AmodeBits);

impl Amode {
    /// Checks an access mode.
    ///
    /// # Errors
    /// Fails unless exactly one of reading, writing and both is set. Fails if a read-only file is to be
    /// created, or if a sequential file is opened for both.
    pub fn new(bits: AmodeBits) -> Result<Self> {
        let access = [bits.read_only, bits.read_write, bits.write_only];
        let ways = access.iter().filter(|way| **way).count();
        if ways != 1 {
            fail!(
                AccessMode,
                "amode has {ways} of MPI_MODE_RDONLY, MPI_MODE_RDWR and MPI_MODE_WRONLY: give exactly one"
            );
        }
        if bits.read_only && (bits.create || bits.exclusive) {
            fail!(
                AccessMode,
                "amode has MPI_MODE_RDONLY with MPI_MODE_CREATE or MPI_MODE_EXCL: a file that is only read cannot be created"
            );
        }
        if bits.read_write && bits.sequential {
            fail!(
                AccessMode,
                "amode has MPI_MODE_RDWR with MPI_MODE_SEQUENTIAL: a sequential file is either read or written"
            );
        }
        Ok(Self(bits))
    }

    /// Returns the bits.
    pub fn bits(self) -> AmodeBits {
        self.0
    }

    /// Returns true if data may be read.
    pub fn reads(self) -> bool {
        !self.0.write_only
    }

    /// Returns true if data may be written.
    pub fn writes(self) -> bool {
        !self.0.read_only
    }

    /// Returns a number that differs for different modes.
    pub(super) fn number(self) -> i64 {
        let AmodeBits {
            read_only,
            read_write,
            write_only,
            create,
            exclusive,
            delete_on_close,
            unique_open,
            sequential,
            append,
        } = self.0;
        let bits = [
            read_only,
            read_write,
            write_only,
            create,
            exclusive,
            delete_on_close,
            unique_open,
            sequential,
            append,
        ];
        bits.iter().fold(0, |number, bit| number << 1 | i64::from(*bit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Class;

    #[test]
    fn modes_that_contradict_themselves_are_refused() {
        let read = AmodeBits { read_only: true, ..AmodeBits::default() };
        let both = AmodeBits { read_write: true, ..AmodeBits::default() };
        let write = AmodeBits { write_only: true, ..AmodeBits::default() };
        for bits in [
            AmodeBits::default(),
            AmodeBits { read_write: true, ..read },
            AmodeBits { write_only: true, ..read },
            AmodeBits { write_only: true, ..both },
            AmodeBits { create: true, ..read },
            AmodeBits { exclusive: true, ..read },
            AmodeBits { sequential: true, ..both },
        ] {
            assert_eq!(Amode::new(bits).unwrap_err().class, Class::AccessMode, "{bits:?}");
        }
        let good = [
            read,
            both,
            write,
            AmodeBits { sequential: true, ..read },
            AmodeBits { create: true, exclusive: true, append: true, ..both },
            AmodeBits { sequential: true, delete_on_close: true, unique_open: true, ..write },
        ];
        let modes: Vec<_> = good.iter().map(|bits| Amode::new(*bits).unwrap()).collect();
        assert_eq!(
            modes.iter().map(|mode| mode.reads()).collect::<Vec<_>>(),
            [true, true, false, true, true, false]
        );
        assert_eq!(
            modes.iter().map(|mode| mode.writes()).collect::<Vec<_>>(),
            [false, true, true, false, true, true]
        );
        let mut numbers: Vec<_> = modes.iter().map(|mode| mode.number()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), good.len());
    }
}
