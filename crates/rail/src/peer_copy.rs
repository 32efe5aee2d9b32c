//! Copies between the memory of this process and that of a peer's process.

use canele_mem::buffer::{InShare, OutShare};
use canele_sys::ids::LinkId;

use crate::Rail;

/// The ends of a message that copy it from process to process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyingEnds {
    /// Only the receiver copies: it reads.
    Receiver,
    /// Both copy: the receiver reads from the front, the sender writes from the back.
    Both,
}

/// A rail on which one end can copy from and to the memory of the other's process. A sender that prefers this
/// announces its message with the address; then the receiver copies, or both ends do. The defaults are those
/// of a rail that cannot.
pub trait PeerCopy: Rail {
    /// Returns the ends that should copy a message of `_bytes` bytes from this process to the peer. `None`
    /// means that packets are better. A sender that follows this announces the message. If only the receiver
    /// copies, the sender calls [`PeerCopy::note_offer`].
    #[inline]
    fn prefers_peer_copy(&mut self, _link: LinkId, _bytes: usize) -> Option<CopyingEnds> {
        None
    }

    /// Notes that a message was announced for the peer to copy.
    #[inline]
    fn note_offer(&mut self, _link: LinkId) {}

    /// Returns true if both ends should copy a message of `_bytes` bytes, in either direction. The sender
    /// asks before it sends without a handshake; the receiver of an announced message decides by it.
    #[inline]
    fn prefers_both_ends(&mut self, _link: LinkId, _bytes: usize) -> bool {
        false
    }

    /// Fills `_into` from these stretches (address, length) of the peer's memory. They are part of an offered
    /// message of `_message` bytes. Returns false if it failed; then the content of `_into` is undefined.
    fn copy_from_peer(
        &mut self,
        _link: LinkId,
        _from: &[(u64, usize)],
        _message: usize,
        _into: InShare,
    ) -> bool {
        false
    }

    /// Returns true if this rank may write into the memory of the peer, as far as it knows.
    fn can_copy_to_peer(&mut self, _link: LinkId) -> bool {
        false
    }

    /// Writes `_from` to these stretches (address, length) of the peer's memory, which the peer has lent for
    /// this. Returns false if it failed; then their content is undefined.
    fn copy_to_peer(&mut self, _link: LinkId, _into: &[(u64, usize)], _from: OutShare) -> bool {
        false
    }
}
