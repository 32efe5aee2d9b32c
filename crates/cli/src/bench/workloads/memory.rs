//! The memory of a workload's messages: private memory, or a region. Only this module knows how each is sent
//! and received.

use super::super::Failure;
use super::super::case::Buffers;
use canele::{Endpoint, Error, Flow, Rank, Region, Tag};

/// The memory of one rank's messages.
pub enum Memory {
    Private(Vec<u8>),
    Region(Region),
}

/// The memory of one message. The measuring loops are compiled for each kind, so they contain no branch for
/// it.
pub trait BenchMessage {
    fn send(&self, flow: &Flow, to: Rank, tag: Tag) -> Result<(), Error>;
    fn receive(&mut self, flow: &Flow, from: Rank, tag: Tag) -> Result<(), Error>;
}

/// An operation on a message of either kind.
pub trait Act {
    fn on(self, message: &mut impl BenchMessage) -> Result<f64, Failure>;
}

impl Memory {
    /// Makes memory for messages of up to `bytes`, with every page touched.
    pub fn new(endpoint: &Endpoint, buffers: Buffers, bytes: usize) -> Result<Memory, Failure> {
        match buffers {
            Buffers::Private => Ok(Memory::Private(vec![1; bytes])),
            Buffers::Region => {
                let region = endpoint.region(bytes.max(1))?;
                region.write(0, &vec![1u8; bytes])?;
                Ok(Memory::Region(region))
            }
        }
    }

    /// Does the operation with the first `bytes`.
    pub fn act(&mut self, bytes: usize, act: impl Act) -> Result<f64, Failure> {
        match self {
            Memory::Private(memory) => act.on(&mut &mut memory[..bytes]),
            Memory::Region(region) => act.on(&mut RegionStart { region, bytes }),
        }
    }
}

impl BenchMessage for &mut [u8] {
    #[inline(always)]
    fn send(&self, flow: &Flow, to: Rank, tag: Tag) -> Result<(), Error> {
        flow.send(to, tag, self)
    }

    #[inline(always)]
    fn receive(&mut self, flow: &Flow, from: Rank, tag: Tag) -> Result<(), Error> {
        flow.recv(from, tag, self).map(drop)
    }
}

/// The beginning of a region.
struct RegionStart<'a> {
    region: &'a Region,
    bytes: usize,
}

impl BenchMessage for RegionStart<'_> {
    #[inline(always)]
    fn send(&self, flow: &Flow, to: Rank, tag: Tag) -> Result<(), Error> {
        flow.send_region(to, tag, self.region, 0..self.bytes)
    }

    #[inline(always)]
    fn receive(&mut self, flow: &Flow, from: Rank, tag: Tag) -> Result<(), Error> {
        flow.recv_region(from, tag, self.region, 0..self.bytes).map(drop)
    }
}
