//! Options of a link.

use canele_sys::membarrier::Fencing;

use crate::shm::fetch::SingleCopy;

/// Options with which a link is opened.
#[derive(Clone, Copy)]
pub struct LinkOptions {
    /// The fence between a packet and the check if the peer sleeps.
    pub fencing: Fencing,
    /// The policy for copying messages from memory to memory.
    pub single_copy: SingleCopy,
    /// The payload ring restarts at its start when it is empty.
    pub rewinds: bool,
    /// Lines of short packets are moved to the cache that both ranks share.
    pub demotes: bool,
}
