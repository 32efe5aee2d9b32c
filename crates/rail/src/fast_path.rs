//! Short cuts of a driver that take fewer steps or fewer copies than the methods of [`Rail`].

use canele_mem::buffer::{InShare, OutShare};
use canele_mem::window::Window;
use canele_sys::ids::LinkId;

use crate::{Busy, Class, Header, Packet, Rail};

/// The result of [`FastPath::try_post`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TryPost {
    /// Nothing was sent. [`Rail::claim`] tells if there is room.
    Left,
    /// The packet was sent.
    Posted,
    /// The packet was sent and the peer sleeps: [`FastPath::wake`] wakes it.
    PostedToSleeper,
}

/// Decides if [`FastPath::try_take`] takes a packet. It is a trait and not a closure so that the compiler can
/// inline it.
pub trait TakeIf {
    /// Returns true if it takes the packet. Then it has read the `inline` bytes and the `bulk`, which is
    /// empty if there is none.
    fn accept(&mut self, header: Header, inline: Window<'_>, bulk: Window<'_>) -> bool;
}

/// The result of [`FastPath::try_take`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TryTake {
    /// There is no packet.
    Nothing,
    /// The packet was accepted and released.
    Taken,
    /// The packet is still there, for [`Rail::poll`].
    Left,
}

/// Short cuts through a rail. Each has a default made of the methods of [`Rail`]; a driver writes those that
/// measure faster.
pub trait FastPath: Rail {
    /// Finds the links on which packets may have arrived, for [`FastPath::ready`].
    #[inline(always)]
    fn find_ready(&mut self) {}

    /// Returns the links that [`FastPath::find_ready`] found last, or all links if the rail checks a link
    /// without a system call. A pass polls these links alone; a caller that waits for one peer polls its link
    /// directly.
    #[inline(always)]
    fn ready(&self) -> &[LinkId] {
        self.incoming()
    }

    /// Returns true if it is known at once that [`Rail::poll`] would return nothing and that the link needs
    /// no other work.
    #[inline(always)]
    fn is_idle(&self, _link: LinkId) -> bool {
        false
    }

    /// Returns true if a packet of a message without bulk can be claimed now. If not, the rail reports work
    /// to its owner once it can, as after a refused claim.
    fn admits_message(&mut self, link: LinkId) -> bool {
        self.claim(link, 0, Class::Message).is_ok()
    }

    /// Returns true if `packets` packets with a bulk of at most `bulk` bytes each can be claimed and sent in
    /// a row now. A rail that cannot tell returns false.
    fn has_room(&mut self, _link: LinkId, _packets: usize, _bulk: usize) -> bool {
        false
    }

    /// Claims, fills and commits a packet without bulk in one step: `bytes` lie beside the header.
    fn post(&mut self, link: LinkId, header: Header, bytes: &[u8]) -> Result<(), Busy> {
        let slot = self.claim(link, 0, Class::Message)?;
        slot.inline.write(0, bytes);
        self.commit(link, header);
        Ok(())
    }

    /// Does [`FastPath::post`] if that takes few instructions now. Allowed only on links for which
    /// [`FastPath::is_short`] is true.
    #[inline(always)]
    fn try_post(&mut self, link: LinkId, header: Header, bytes: &[u8]) -> TryPost {
        self.post(link, header, bytes).map_or(TryPost::Left, |()| TryPost::Posted)
    }

    /// Wakes the peer of a link after [`TryPost::PostedToSleeper`]. Without this call a sleeping peer may
    /// never read the packet.
    fn wake(&mut self, _link: LinkId) {}

    /// Returns true if a packet takes few instructions on a link, so that callers may inline their work
    /// there.
    #[inline(always)]
    fn is_short(&self, _link: LinkId) -> bool {
        true
    }

    /// Claims, fills and commits a packet of a message in one step. The packet has only a `bulk`, of at least
    /// one byte.
    fn post_bulk(&mut self, link: LinkId, header: Header, bulk: &[u8]) -> Result<(), Busy> {
        let slot = self.claim(link, bulk.len(), Class::Message)?;
        slot.bulk.write(0, bulk);
        self.commit(link, header);
        Ok(())
    }

    /// Does [`FastPath::post_bulk`] from memory that was lent to this library. The rail holds `bulk` until
    /// the packet has left.
    fn post_share(
        &mut self,
        link: LinkId,
        header: Header,
        bulk: impl FnOnce() -> OutShare,
        len: usize,
    ) -> Result<(), Busy> {
        let slot = self.claim(link, len, Class::Message)?;
        bulk().copy_to(slot.bulk);
        self.commit(link, header);
        Ok(())
    }

    /// Sends a packet without copying its bulk. The rail keeps `bulk` until the peer's library has the packet
    /// or the link is gone. `beside` has `header.inline_len` bytes, at most [`crate::MAX_INLINE_WITH_BULK`].
    /// A rail that does not lend copies.
    fn lend(
        &mut self,
        link: LinkId,
        header: Header,
        beside: &[u8],
        bulk: impl FnOnce() -> OutShare,
        len: usize,
    ) -> Result<(), Busy> {
        let slot = self.claim(link, len, Class::Stream)?;
        slot.inline.write(0, beside);
        bulk().copy_to(slot.bulk);
        self.commit(link, header);
        Ok(())
    }

    /// Polls and releases a packet in one step if `accept` takes it. `accept` sees the header, the
    /// `header.inline_len` bytes beside it and the bulk. A packet that [`FastPath::peek_bulk`] shows, or
    /// whose bulk was received directly, is left for [`Rail::poll`].
    fn try_take(&mut self, link: LinkId, accept: &mut impl TakeIf) -> TryTake {
        let accepted = match self.poll(link) {
            Ok(None) => return if self.asks_for_place(link) { TryTake::Left } else { TryTake::Nothing },
            Ok(Some(Packet { header, inline, bulk, direct_bytes: 0 })) => inline
                .part(0, header.inline_len as usize)
                .is_some_and(|inline| accept.accept(header, inline, bulk)),
            _ => false,
        };
        if !accepted {
            return TryTake::Left;
        }
        self.release(link);
        TryTake::Taken
    }

    /// Does [`FastPath::try_take`] for a packet without bulk if that takes few instructions now. Returns true
    /// if the packet was taken; otherwise the packet is still there. Allowed only on links for which
    /// [`FastPath::is_short`] is true.
    #[inline(always)]
    fn take_short(&mut self, link: LinkId, accept: &mut impl TakeIf) -> bool {
        self.try_take(link, accept) == TryTake::Taken
    }

    /// Takes successive packets without bulk as long as `accept` takes them. Allowed only on links for which
    /// [`FastPath::is_short`] is true.
    #[inline(always)]
    fn take_short_run(&mut self, link: LinkId, accept: &mut impl TakeIf) {
        self.take_run(link, accept);
    }

    /// Takes successive packets by [`FastPath::try_take`] as long as `accept` takes them.
    #[inline(always)]
    fn take_run(&mut self, link: LinkId, accept: &mut impl TakeIf) {
        while self.try_take(link, accept) == TryTake::Taken {}
    }

    /// Returns true if [`FastPath::peek_bulk`] shows a packet now.
    #[inline(always)]
    fn asks_for_place(&mut self, _link: LinkId) -> bool {
        false
    }

    /// Shows the oldest packet, without its bulk, and the length of that bulk. [`Rail::poll`] does not return
    /// such a packet yet, because a large part of its bulk has not arrived.
    fn peek_bulk(&mut self, _link: LinkId) -> Option<(Packet<'_>, usize)> {
        None
    }

    /// Receives the whole bulk of the packet that [`FastPath::peek_bulk`] showed directly into `_place`. The
    /// packet is polled once its bulk lies there, with an empty `bulk` and the length in `direct_bytes`. The
    /// share is dropped by then, or when the link is gone.
    fn direct_receive(&mut self, _link: LinkId, _place: InShare) {}
}
