//! Options of a link.

use canele_sys::membarrier::Fencing;

use crate::shm::fetch::SingleCopy;

/// Options with which a link is opened.
#[derive(Clone, Copy)]
pub struct LinkOptions {
    /// The fence between the store of a packet and the load of the peer's sleep word.
    pub fencing: Fencing,
    /// The policy for copying messages from memory to memory.
    pub single_copy: SingleCopy,
    /// True if the payload ring restarts at its start when it is empty.
    pub rewinds: bool,
    /// True if lines of short packets are moved to the cache that both ranks share.
    pub demotes: bool,
}
