//! Memory of peers that is read and written without their help.

use canele_mem::buffer::RegionAddress;
use canele_mem::chunk_counter::ChunkCounter;
use canele_mem::window::Window;
use canele_sys::ids::{LinkId, Rank};

use crate::Rail;

/// How many transfers of one link can be copied by both ends at once.
pub const CHUNK_COUNTERS: usize = 8;

/// What a look at a peer's region gives.
pub enum Reach<'a> {
    /// The memory itself.
    Here(Window<'a>),
    /// Not known yet; the rail has noted that it is wanted. Try again later.
    Wanted,
    /// There is no such region (any more), or the range lies outside of it.
    Refused,
}

/// A rail whose peers may share memory. The defaults are those of a rail whose peers share none.
pub trait OneSided: Rail {
    /// Returns the link through which the memory of a peer is reached, open or not; `None` if its memory cannot be reached.
    fn memory_link(&self, _peer: Rank) -> Option<LinkId> {
        None
    }

    /// Returns `len` bytes of a region of the peer, for copying in either direction. Memory is there whether the link is open or not.
    fn reach(&mut self, _link: LinkId, _place: RegionAddress, _len: usize) -> Reach<'_> {
        Reach::Refused
    }

    /// Returns `len` bytes of a region of this rank, for what a peer asked to be written there.
    fn own(&mut self, _place: RegionAddress, _len: usize) -> Option<Window<'_>> {
        None
    }

    /// Returns a counter that both ends of a link see, number `index` of [`CHUNK_COUNTERS`], on the side of the link's receiver
    /// (`mine`: packets arrive here) or sender.
    fn chunk_counter(&mut self, _link: LinkId, _mine: bool, _index: usize) -> Option<&ChunkCounter> {
        None
    }
}
