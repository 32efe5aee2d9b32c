//! How the way to a peer is opened.

use canele_sys::membarrier::Fencing;

use crate::shm::fetch::SingleCopy;

/// How a link is opened.
#[derive(Clone, Copy)]
pub struct LinkOptions {
    /// How this rank orders its packets before its look whether the peer sleeps.
    pub fencing: Fencing,
    /// Whether messages are copied from memory to memory.
    pub single_copy: SingleCopy,
    /// The payload ring begins again at its start when it is empty.
    pub rewinds: bool,
    /// Lines of short packets are moved to the cache that both ranks share.
    pub demotes: bool,
}
