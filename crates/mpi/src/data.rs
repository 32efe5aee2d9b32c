//! The data of a call: memory of the program and its layout.

use std::sync::Arc;

use canele_mem::buffer::{Raw, RawMut, Readable};

use crate::Result;
use crate::datatype::Datatype;

/// `count` elements of a datatype in the program's memory: a [`Raw`] to read or a [`RawMut`] to write.
#[derive(Clone, Copy)]
pub struct Data<'a, M = Raw> {
    /// The memory, counted from the program's address; it spans all elements.
    pub raw: M,
    /// Number of elements.
    pub count: usize,
    /// The datatype of the elements.
    pub of: &'a Datatype,
}

/// Elements to be written.
pub type DataMut<'a> = Data<'a, RawMut>;

impl<M: Readable> Data<'_, M> {
    /// Returns the length of the data in bytes.
    ///
    /// # Errors
    /// Fails if the number does not fit.
    #[inline]
    pub fn bytes(&self) -> Result<usize> {
        self.of.total_bytes(self.count)
    }
}

/// Elements that outlive the call; they share ownership of the datatype.
#[derive(Clone)]
pub struct Elements<M = Raw> {
    /// The memory ([`Data::raw`]).
    pub raw: M,
    /// Number of elements.
    pub count: usize,
    /// The datatype of the elements.
    pub of: Arc<Datatype>,
}

/// Elements to be written.
pub type ElementsMut = Elements<RawMut>;

impl Elements {
    /// Returns the elements for one call.
    pub fn data(&self) -> Data<'_> {
        Data { raw: self.raw, count: self.count, of: &self.of }
    }
}
