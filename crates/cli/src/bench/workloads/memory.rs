//! Where the messages of a workload lie: private memory, or a region. The one place that knows how each
//! is sent and received.

use super::super::Failure;
use super::super::case::Buffers;
use canele::{Endpoint, Flow, Rank, Region, Tag};

/// The memory of one rank's messages.
pub enum Memory {
    Private(Vec<u8>),
    Region(Region),
}

impl Memory {
    /// Room for messages of up to `bytes`.
    pub fn new(endpoint: &Endpoint, buffers: Buffers, bytes: usize) -> Result<Memory, Failure> {
        match buffers {
            Buffers::Private => Ok(Memory::Private(vec![1; bytes])),
            Buffers::Region => Ok(Memory::Region(endpoint.region(bytes.max(1))?)),
        }
    }

    /// Sends the first `bytes`.
    #[inline(always)]
    pub fn send(&self, flow: &Flow, to: Rank, tag: Tag, bytes: usize) -> Result<(), Failure> {
        match self {
            Memory::Private(memory) => flow.send(to, tag, &memory[..bytes])?,
            Memory::Region(region) => flow.send_region(to, tag, region.part(0..bytes)?)?,
        }
        Ok(())
    }

    /// Receives into the first `bytes`.
    #[inline(always)]
    pub fn receive(&mut self, flow: &Flow, from: Rank, tag: Tag, bytes: usize) -> Result<(), Failure> {
        match self {
            Memory::Private(memory) => flow.recv(from, tag, &mut memory[..bytes])?,
            Memory::Region(region) => flow.recv_region(from, tag, region.part(0..bytes)?)?,
        };
        Ok(())
    }
}
