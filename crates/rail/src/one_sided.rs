//! Access to the memory of peers without their help.

use canele_mem::buffer::RegionAddress;
use canele_mem::chunk_counter::ChunkCounter;
use canele_mem::window::Window;
use canele_sys::ids::{LinkId, Rank};

use crate::Rail;

/// Number of transfers of one link that both ends can copy at once.
pub const CHUNK_COUNTERS: usize = 8;

/// The result of a request for a peer's region.
pub enum Reach<'a> {
    /// The memory itself.
    Here(Window<'a>),
    /// The region is not known yet, and the rail has noted the request. Try again later.
    Wanted,
    /// The region does not exist (any more), or the range lies outside of it.
    Refused,
}

/// A rail whose peers may share memory. The defaults are those of a rail whose peers share none.
pub trait OneSided: Rail {
    /// Returns the link through which a peer's memory is reached, open or not; `None` if it cannot be
    /// reached.
    fn memory_link(&self, _peer: Rank) -> Option<LinkId> {
        None
    }

    /// Returns `len` bytes of a region of the peer, for copying in either direction. The memory is mapped
    /// even if the link is not open.
    fn reach(&mut self, _link: LinkId, _place: RegionAddress, _len: usize) -> Reach<'_> {
        Reach::Refused
    }

    /// Returns `len` bytes of a region of this rank, for a peer's request to write there.
    fn own(&mut self, _place: RegionAddress, _len: usize) -> Option<Window<'_>> {
        None
    }

    /// Returns the counter `index` of [`CHUNK_COUNTERS`], which both ends of a link see. With `mine` it is
    /// the counter of the direction in which packets arrive here.
    fn chunk_counter(&mut self, _link: LinkId, _mine: bool, _index: usize) -> Option<&ChunkCounter> {
        None
    }
}
