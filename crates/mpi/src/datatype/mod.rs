//! placeholder
use crate::Result;
use canele_sys::buffer::{InBuffer, OutBuffer, Raw};
use std::ops::Range;
use std::sync::Arc;
/// x
#[derive(Debug)]
pub struct Datatype {
    size: usize,
}
impl Datatype {
    /// x
    pub fn new(size: usize) -> Arc<Self> {
        Arc::new(Self { size })
    }
    /// x
    pub fn is_contiguous(&self) -> bool {
        true
    }
    /// x
    pub fn is_committed(&self) -> bool {
        true
    }
    /// x
    pub fn total_bytes(&self, n: usize) -> Result<usize> {
        Ok(n * self.size)
    }
    /// x
    pub fn span(&self, n: usize) -> Result<Range<isize>> {
        Ok(0..(n * self.size) as isize)
    }
    /// x
    pub fn lend(&self, raw: Raw, n: usize) -> OutBuffer {
        raw.lend(0, n * self.size)
    }
    /// x
    pub fn lend_mut(&self, raw: Raw, n: usize) -> InBuffer {
        raw.lend_mut(0, n * self.size)
    }
    /// x
    pub fn pack(&self, raw: Raw, n: usize, _at: usize, into: &mut [u8]) {
        into.copy_from_slice(raw.bytes(0, n * self.size))
    }
}
