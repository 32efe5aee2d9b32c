//! What a call sends or receives: memory of the program, and how it lies there.

use canele_sys::buffer::{InBuffer, OutBuffer, Raw};

use crate::Result;
use crate::datatype::Datatype;

/// `count` elements of a datatype in the program's memory.
#[derive(Clone, Copy)]
pub struct Data<'a> {
    /// The memory, counted from the address the program gave; it spans all elements.
    pub raw: Raw,
    /// How many elements.
    pub count: usize,
    /// Of which type.
    pub of: &'a Datatype,
}

impl Data<'_> {
    /// Bytes of data.
    ///
    /// # Errors
    /// More than can be counted.
    #[inline]
    pub fn len(&self) -> Result<usize> {
        self.of.total_bytes(self.count)
    }

    /// Lends it to be sent.
    pub(crate) fn lend(&self) -> OutBuffer {
        self.of.lend(self.raw, self.count)
    }

    /// Lends it to be filled.
    pub(crate) fn lend_mut(&self) -> InBuffer {
        self.of.lend_mut(self.raw, self.count)
    }
}
