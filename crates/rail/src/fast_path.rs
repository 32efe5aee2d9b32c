//! What a driver may do in fewer steps, or with fewer copies, than its methods of [`Rail`] take.

use canele_mem::buffer::{InShare, OutShare};
use canele_mem::window::Window;
use canele_sys::ids::LinkId;

use crate::{Busy, Class, Header, Packet, Rail};

/// The result of [`FastPath::try_post`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TryPost {
    /// Nothing was sent. [`Rail::claim`] says whether there is room.
    Left,
    /// It was sent.
    Posted,
    /// It was sent, and the peer sleeps: [`FastPath::wake`] wakes it.
    PostedToSleeper,
}

/// Decides whether [`FastPath::try_take`] takes a packet. A trait and no closure, so that it can be inlined wherever
/// it is used.
pub trait TakeIf {
    /// Whether it is taken: then its `inline` bytes and its `bulk`, empty if it has none, were read.
    fn accept(&mut self, header: Header, inline: Window<'_>, bulk: Window<'_>) -> bool;
}

/// The result of [`FastPath::try_take`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TryTake {
    /// There is none.
    Nothing,
    /// It was accepted and released.
    Taken,
    /// It is still there, for [`Rail::poll`].
    Left,
}

/// Short cuts through a rail. Each has a default made of the methods of [`Rail`]; a driver writes those that measure faster.
pub trait FastPath: Rail {
    /// Finds out on which links packets may have come, for [`FastPath::ready`].
    #[inline(always)]
    fn find_ready(&mut self) {}

    /// The links on which packets may have come when [`FastPath::find_ready`] was called last: all links, for a rail that looks at a
    /// link without a system call. A pass over all links looks at these alone; who waits for one peer polls its link directly.
    #[inline(always)]
    fn ready(&self) -> &[LinkId] {
        self.incoming()
    }

    /// Whether it is known at once that [`Rail::poll`] gives nothing now, and that nothing else is to be done for this link.
    #[inline(always)]
    fn is_idle(&self, _link: LinkId) -> bool {
        false
    }

    /// Whether a packet of a message without bulk can be claimed now. If not, the rail has work for its owner once one can, as
    /// after a claim that was refused.
    fn admits_message(&mut self, link: LinkId) -> bool {
        self.claim(link, 0, Class::Message).is_ok()
    }

    /// Whether `packets` packets with a bulk of at most `bulk` bytes each can be claimed and sent one after the other now. A rail
    /// that cannot say so says no.
    fn has_room(&mut self, _link: LinkId, _packets: usize, _bulk: usize) -> bool {
        false
    }

    /// Claims, fills and commits a packet without bulk in one step: `bytes` beside the header.
    fn post(&mut self, link: LinkId, header: Header, bytes: &[u8]) -> Result<(), Busy> {
        let slot = self.claim(link, 0, Class::Message)?;
        slot.inline.write(0, bytes);
        self.commit(link, header);
        Ok(())
    }

    /// [`FastPath::post`], if that takes few instructions now. Only on links of which [`FastPath::is_short`] says so.
    #[inline(always)]
    fn try_post(&mut self, link: LinkId, header: Header, bytes: &[u8]) -> TryPost {
        self.post(link, header, bytes).map_or(TryPost::Left, |()| TryPost::Posted)
    }

    /// Wakes the peer of a link after [`TryPost::PostedToSleeper`]: a packet that it is not woken for may wait for ever.
    fn wake(&mut self, _link: LinkId) {}

    /// Whether a packet takes few instructions on a link, so that callers may inline what they do there.
    #[inline(always)]
    fn is_short(&self, _link: LinkId) -> bool {
        true
    }

    /// The same as [`FastPath::post`] for a packet of a message that has nothing but `bulk`, at least one byte.
    fn post_bulk(&mut self, link: LinkId, header: Header, bulk: &[u8]) -> Result<(), Busy> {
        let slot = self.claim(link, bulk.len(), Class::Message)?;
        slot.bulk.write(0, bulk);
        self.commit(link, header);
        Ok(())
    }

    /// The same where the bulk lies in memory that was lent to this library. The rail holds `bulk` until the packet has left.
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

    /// Sends a packet whose bulk stays where it is: the rail keeps `bulk` until the peer's library has the packet, or the
    /// link is gone. `beside` has at most [`crate::MAX_INLINE_WITH_BULK`] bytes, `header.inline_len` of them. A rail that does
    /// not lend copies.
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

    /// Polls and releases a packet in one step, if `accept`, which sees its header, the `header.inline_len` bytes beside it
    /// and its bulk, takes it. One whose bulk was received directly, or whose owner is to say where it goes, is left for [`Rail::poll`].
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

    /// [`FastPath::try_take`] of a packet without bulk, if that takes few instructions now. Says whether it was taken; a packet that was
    /// not is still there. Only on links of which [`FastPath::is_short`] says so.
    #[inline(always)]
    fn take_short(&mut self, link: LinkId, accept: &mut impl TakeIf) -> bool {
        self.try_take(link, accept) == TryTake::Taken
    }

    /// Takes one packet without bulk after the other, as long as `accept` takes them. Only on links of which [`FastPath::is_short`] says
    /// so.
    #[inline(always)]
    fn take_short_run(&mut self, link: LinkId, accept: &mut impl TakeIf) {
        self.take_run(link, accept);
    }

    /// Takes one packet after the other, as [`FastPath::try_take`] does, as long as `accept` takes them.
    #[inline(always)]
    fn take_run(&mut self, link: LinkId, accept: &mut impl TakeIf) {
        while self.try_take(link, accept) == TryTake::Taken {}
    }

    /// Whether [`FastPath::peek_bulk`] shows a packet now.
    #[inline(always)]
    fn asks_for_place(&mut self, _link: LinkId) -> bool {
        false
    }

    /// Shows the oldest packet while [`Rail::poll`] does not give it, because a large part of its bulk is still to come.
    /// The packet is shown without its bulk, with the bulk's length beside it.
    fn peek_bulk(&mut self, _link: LinkId) -> Option<(Packet<'_>, usize)> {
        None
    }

    /// Receives the bulk of the packet that [`FastPath::peek_bulk`] showed directly into this place, all of it. The packet is polled
    /// once its bulk lies there: then its `direct_bytes` says so, and its `bulk` is empty. The share is dropped by then, or when
    /// the link is gone.
    fn direct_receive(&mut self, _link: LinkId, _place: InShare) {}
}
