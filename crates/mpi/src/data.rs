//! What a call sends or receives: memory of the program, and how it lies there.

use std::sync::Arc;

use canele_mem::buffer::{Raw, RawMut, Readable};

use crate::Result;
use crate::datatype::Datatype;

/// `count` elements of a datatype in the program's memory, which is a [`Raw`] to be read or a [`RawMut`] to be written.
#[derive(Clone, Copy)]
pub struct Data<'a, M = Raw> {
    /// The memory, counted from the address the program gave; it spans all elements.
    pub raw: M,
    /// How many elements.
    pub count: usize,
    /// Of which type.
    pub of: &'a Datatype,
}

/// Elements to be written.
pub type DataMut<'a> = Data<'a, RawMut>;

impl<M: Readable> Data<'_, M> {
    /// Bytes of data.
    ///
    /// # Errors
    /// More than can be counted.
    #[inline]
    pub fn bytes(&self) -> Result<usize> {
        self.of.total_bytes(self.count)
    }
}

/// The same beyond the call, with the datatype kept.
#[derive(Clone)]
pub struct Elements<M = Raw> {
    /// As in [`Data`].
    pub raw: M,
    /// How many.
    pub count: usize,
    /// Of which type.
    pub of: Arc<Datatype>,
}

/// Elements to be written.
pub type ElementsMut = Elements<RawMut>;

impl Elements {
    /// The elements.
    pub fn data(&self) -> Data<'_> {
        Data { raw: self.raw, count: self.count, of: &self.of }
    }
}
