//! Copies between this process and the memory of a peer's.

use canele_mem::buffer::{InShare, OutShare};
use canele_sys::ids::LinkId;

use crate::Rail;

/// Which ends of a message copy it from process to process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyingEnds {
    /// The receiver alone, which reads.
    Receiver,
    /// The receiver, which reads from the front, and the sender, which writes from the back.
    Both,
}

/// A rail one end of which can copy from and to the memory of the other's process. A sender that prefers this announces its message with
/// the address, and the receiver copies, or both do. The defaults are those of a rail that cannot.
pub trait PeerCopy: Rail {
    /// Returns by which ends a message of so many bytes had better be copied from the memory of this process to the peer's; `None` if the
    /// peer had better get it in packets. A sender that follows this announces the message. If the receiver is to copy alone, it says so by
    /// [`PeerCopy::note_offer`].
    #[inline]
    fn prefers_peer_copy(&mut self, _link: LinkId, _bytes: usize) -> Option<CopyingEnds> {
        None
    }

    /// Notes that a message was announced for the peer to copy.
    #[inline]
    fn note_offer(&mut self, _link: LinkId) {}

    /// Returns whether both ends had better copy a message of so many bytes, in either direction. The sender asks before it sends a message
    /// unasked, and the receiver of an announced one decides by it.
    #[inline]
    fn prefers_both_ends(&mut self, _link: LinkId, _bytes: usize) -> bool {
        false
    }

    /// Fills `into` with these stretches (address, length) of the peer's memory, part of a message of `message` bytes which it has offered.
    /// Returns whether it could; if not, what `into` holds is unknown.
    fn copy_from_peer(
        &mut self,
        _link: LinkId,
        _from: &[(u64, usize)],
        _message: usize,
        _into: InShare,
    ) -> bool {
        false
    }

    /// Returns whether this rank may write into the memory of the peer, as far as it knows.
    fn can_copy_to_peer(&mut self, _link: LinkId) -> bool {
        false
    }

    /// Writes `from` to these stretches (address, length) of the peer's memory, which it has lent for this. Returns whether it could; if not,
    /// what they hold is unknown.
    fn copy_to_peer(&mut self, _link: LinkId, _into: &[(u64, usize)], _from: OutShare) -> bool {
        false
    }
}
