//! A vector lent by its owner.
//!
//! Never frees memory that may still be written: a vector that is dropped while lent is leaked.

use std::ptr::NonNull;

use bytemuck::Pod;

use super::{InBuffer, Lent, OutBuffer};

/// A vector that can be lent; leaked, not freed, when dropped while lent.
pub struct Owned<T: Pod> {
    items: Vec<T>,
    lent: bool,
}

impl<T: Pod> Owned<T> {
    /// Makes a vector that can be lent.
    pub fn new(items: Vec<T>) -> Self {
        Self { items, lent: false }
    }

    /// Returns the items' bytes, while they are not lent.
    pub fn bytes(&mut self) -> &mut [u8] {
        assert!(!self.lent, "the buffer is lent");
        bytemuck::cast_slice_mut(&mut self.items)
    }

    fn lend(&mut self) -> Lent {
        let bytes = self.bytes();
        let (start, len) = (NonNull::from_mut(bytes).cast::<u8>(), bytes.len());
        self.lent = true;
        Lent::one(start, len, start.as_ptr().cast())
    }

    /// Lends the items as bytes to be sent.
    pub fn lend_out(&mut self) -> OutBuffer {
        OutBuffer(self.lend())
    }

    /// Lends the items as memory to be filled.
    pub fn lend_in(&mut self) -> InBuffer {
        InBuffer(self.lend())
    }

    fn returned(&mut self, lent: Lent) {
        assert!(self.lent, "a buffer came back that was not lent");
        lent.assert_returned_to(self.items.as_ptr().cast());
        self.lent = false;
    }

    /// Takes the token back: the operation has ended.
    pub fn take_back_out(&mut self, buffer: OutBuffer) {
        self.returned(buffer.0);
    }

    /// Takes the token back: the operation has ended.
    pub fn take_back_in(&mut self, buffer: InBuffer) {
        self.returned(buffer.0);
    }

    /// Returns the items, while they are not lent.
    pub fn into_items(mut self) -> Vec<T> {
        assert!(!self.lent, "the buffer is lent");
        std::mem::take(&mut self.items)
    }
}

impl<T: Pod> Drop for Owned<T> {
    fn drop(&mut self) {
        if self.lent {
            std::mem::forget(std::mem::take(&mut self.items));
        }
    }
}
