//! The rail contract over the links of shared memory.

use std::time::Duration;

use canele_mem::buffer::{InShare, OutShare, RegionAddress};
use canele_mem::chunk_counter::ChunkCounter;
use canele_mem::window::Window;
use canele_sys::ids::{LinkId, Rank};
use canele_sys::sleep::{self, WakeBy};

use super::report_unreadable;
use super::{Link, Outgoing, Shm};
use crate::{
    Armed, Busy, Caps, Class, CopyingEnds, Corrupt, FastPath, Header, OneSided, Packet, PeerCopy, Rail,
    Reach, Recoverable, Rma, Slot, TakeIf, TryPost, TryTake,
};

impl Rail for Shm {
    fn caps(&self, _link: LinkId) -> &Caps {
        &self.caps
    }

    #[inline(always)]
    fn link(&self, peer: Rank) -> Option<LinkId> {
        self.links.get(self.number(peer))?.outgoing.as_ref().map(|_| LinkId::in_memory(peer))
    }

    #[inline(always)]
    fn incoming(&self) -> &[LinkId] {
        &self.incoming
    }

    fn disconnect(&mut self, link: LinkId) {
        self.incoming.retain(|l| *l != link);
        self.outgoing.retain(|l| *l != link);
        self.end_shared_copies(link.peer());
        if let Some(link) = self.link_mut(link.peer()) {
            *link = Link::default();
        }
        self.regions.forget(link.peer(), None);
    }

    #[inline(always)]
    fn claim(&mut self, link: LinkId, bulk: usize, class: Class) -> Result<Slot<'_>, Busy> {
        match self.link_mut(link.peer()).and_then(|l| l.outgoing.as_mut()) {
            Some(outgoing) => outgoing.claim(bulk, class),
            None => Err(Busy),
        }
    }

    #[inline(always)]
    fn commit(&mut self, link: LinkId, header: Header) {
        let outgoing = self.link_mut(link.peer()).and_then(|l| l.outgoing.as_mut());
        outgoing.expect("commit on an open link").commit(header);
    }

    #[inline(always)]
    fn poll(&mut self, link: LinkId) -> Result<Option<Packet<'_>>, Corrupt> {
        let Some(at) = self.link_mut(link.peer()) else { return Ok(None) };
        match &mut at.incoming {
            Some(incoming) => incoming.poll(),
            None => report_unreadable(link.peer(), &mut at.unreadable),
        }
    }

    #[inline(always)]
    fn release(&mut self, link: LinkId) {
        let incoming = self.link_mut(link.peer()).and_then(|l| l.incoming.as_mut());
        incoming.expect("release on a link with packets").release();
    }

    fn arm(&mut self) -> Armed {
        let by = if self.watch.is_some() { WakeBy::Event } else { WakeBy::Futex };
        let barrier = sleep::announce(self.inbox.sleep_word(), by, self.fencing);
        self.open_outgoing().for_each(Outgoing::ask_for_room);
        // Pairs with the light side in `sleep::wake_if_asleep` (invariant I6).
        barrier.heavy();
        if self.something_came() {
            sleep::cancel(self.inbox.sleep_word());
            return Armed::Work;
        }
        Armed::Ready
    }

    fn sleep(&mut self, at_most: Option<Duration>) {
        self.waker().sleep(at_most);
    }
}

impl FastPath for Shm {
    #[inline(always)]
    fn is_idle(&self, link: LinkId) -> bool {
        let incoming = self.links.get(self.number(link.peer())).and_then(|l| l.incoming.as_ref());
        incoming.is_some_and(|incoming| incoming.is_empty())
    }

    #[inline(always)]
    fn admits_message(&mut self, link: LinkId) -> bool {
        let outgoing = self.link_mut(link.peer()).and_then(|l| l.outgoing.as_mut());
        outgoing.is_some_and(Outgoing::admits_message)
    }

    fn has_room(&mut self, link: LinkId, packets: usize, bulk: usize) -> bool {
        let outgoing = self.link_mut(link.peer()).and_then(|l| l.outgoing.as_mut());
        outgoing.is_some_and(|outgoing| outgoing.has_room(packets, bulk))
    }

    #[inline(always)]
    fn try_post(&mut self, link: LinkId, header: Header, bytes: &[u8]) -> TryPost {
        match self.link_mut(link.peer()).and_then(|l| l.outgoing.as_mut()) {
            Some(outgoing) => outgoing.try_post(header, bytes),
            None => TryPost::Left,
        }
    }

    fn wake(&mut self, link: LinkId) {
        if let Some(outgoing) = self.link_mut(link.peer()).and_then(|l| l.outgoing.as_mut()) {
            outgoing.wake();
        }
    }

    #[inline(always)]
    fn post_bulk(&mut self, link: LinkId, header: Header, bulk: &[u8]) -> Result<(), Busy> {
        match self.link_mut(link.peer()).and_then(|l| l.outgoing.as_mut()) {
            Some(outgoing) => outgoing.post_bulk(header, bulk),
            None => Err(Busy),
        }
    }

    #[inline(always)]
    fn try_take(&mut self, link: LinkId, accept: &mut impl TakeIf) -> TryTake {
        match self.link_mut(link.peer()).and_then(|l| l.incoming.as_mut()) {
            Some(incoming) => incoming.try_take(accept),
            None => TryTake::Nothing,
        }
    }

    #[inline(always)]
    fn take_short(&mut self, link: LinkId, accept: &mut impl TakeIf) -> bool {
        let incoming = self.link_mut(link.peer()).and_then(|l| l.incoming.as_mut());
        incoming.is_some_and(|incoming| incoming.take_short(accept))
    }

    #[inline(always)]
    fn take_short_run(&mut self, link: LinkId, accept: &mut impl TakeIf) {
        if let Some(incoming) = self.link_mut(link.peer()).and_then(|l| l.incoming.as_mut()) {
            // The inner loop makes no call, so its values stay in registers.
            loop {
                while incoming.take_short(accept) {}
                if !incoming.try_take_inline(accept) {
                    return;
                }
            }
        }
    }

    #[inline(always)]
    fn take_run(&mut self, link: LinkId, accept: &mut impl TakeIf) {
        if let Some(incoming) = self.link_mut(link.peer()).and_then(|l| l.incoming.as_mut()) {
            while incoming.try_take(accept) == TryTake::Taken {}
        }
    }
}

impl OneSided for Shm {
    fn memory_link(&self, peer: Rank) -> Option<LinkId> {
        self.is_here(peer).then_some(LinkId::in_memory(peer))
    }

    fn reach(&mut self, link: LinkId, place: RegionAddress, len: usize) -> Reach<'_> {
        self.regions.reach(link.peer(), place, len)
    }

    fn own(&mut self, place: RegionAddress, len: usize) -> Option<Window<'_>> {
        self.regions.own(place.region)?.window(usize::try_from(place.offset).ok()?, len)
    }

    fn chunk_counter(&mut self, link: LinkId, mine: bool, index: usize) -> Option<&ChunkCounter> {
        let link = self.links.get(self.number(link.peer()))?;
        if mine {
            link.incoming.as_ref().map(|i| i.chunk_counter(index))
        } else {
            link.outgoing.as_ref().map(|o| o.chunk_counter(index))
        }
    }
}

impl PeerCopy for Shm {
    #[inline]
    fn prefers_peer_copy(&mut self, link: LinkId, bytes: usize) -> Option<CopyingEnds> {
        self.link_mut(link.peer()).and_then(|l| l.outgoing.as_mut())?.prefers_peer_copy(bytes)
    }

    #[inline]
    fn note_offer(&mut self, link: LinkId) {
        if let Some(outgoing) = self.link_mut(link.peer()).and_then(|l| l.outgoing.as_mut()) {
            outgoing.note_offer();
        }
    }

    #[inline]
    fn prefers_both_ends(&mut self, link: LinkId, bytes: usize) -> bool {
        let outgoing = self.link_mut(link.peer()).and_then(|l| l.outgoing.as_ref());
        outgoing.is_some_and(|outgoing| outgoing.prefers_both_ends(bytes))
    }

    fn copy_from_peer(&mut self, link: LinkId, from: &[(u64, usize)], message: usize, into: InShare) -> bool {
        let incoming = self.link_mut(link.peer()).and_then(|l| l.incoming.as_ref());
        incoming.is_some_and(|incoming| incoming.fetch(from, message, &into))
    }

    fn can_copy_to_peer(&mut self, link: LinkId) -> bool {
        let outgoing = self.link_mut(link.peer()).and_then(|l| l.outgoing.as_ref());
        outgoing.is_some_and(|outgoing| outgoing.written_peer().is_some())
    }

    fn copy_to_peer(&mut self, link: LinkId, into: &[(u64, usize)], from: OutShare) -> bool {
        let outgoing = self.link_mut(link.peer()).and_then(|l| l.outgoing.as_mut());
        outgoing.is_some_and(|outgoing| outgoing.store(into, &from))
    }
}

impl Recoverable for Shm {}

impl Rma for Shm {}
