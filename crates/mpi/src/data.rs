//! What a call sends or receives: memory of the program, and how it lies there.

use canele_sys::buffer::Raw;

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
    pub fn bytes(&self) -> Result<usize> {
        self.of.total_bytes(self.count)
    }
}
