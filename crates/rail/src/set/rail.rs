//! The rails of a rank as one rail: each call goes to the rail of its link.

use std::time::Duration;

use canele_mem::buffer::{InShare, MemoryAddress, OutShare, RegionAddress};
use canele_mem::chunk_counter::ChunkCounter;
use canele_mem::exposed::Exposed;
use canele_mem::window::Window;
use canele_sys::ids::{LinkId, Rank};
use canele_sys::segment::SegmentError;

use super::{HOST, Set};
use crate::{
    Armed, Busy, Caps, Class, CopyingEnds, Corrupt, FastPath, Header, Lost, Network, OneSided, Packet,
    PeerCopy, Rail, Reach, Recoverable, Rma, Slot, Speed, TakeIf, TryPost, TryTake, Unacked, Verb,
    VerbCompletion,
};

/// Evaluates a call on the rail of a link.
macro_rules! on {
    ($self:ident, $link:ident, $rail:ident => $call:expr) => {
        match $link.rail() {
            HOST => {
                let $rail = &mut $self.shm;
                $call
            }
            _ => {
                let $rail = $self.network($link);
                $call
            }
        }
    };
}

impl<N: Network> Rail for Set<N> {
    #[inline(always)]
    fn caps(&self, link: LinkId) -> &Caps {
        match link.rail() {
            HOST => self.shm.caps(link),
            rail => self.networks[rail as usize - 1].caps(link),
        }
    }

    fn speed(&self, link: LinkId) -> Speed {
        match link.rail() {
            HOST => self.shm.speed(link),
            rail => self.networks[rail as usize - 1].speed(link),
        }
    }

    fn link(&self, peer: Rank) -> Option<LinkId> {
        self.shm.link(peer).or_else(|| self.networks.iter().find_map(|network| network.link(peer)))
    }

    #[inline(always)]
    fn incoming(&self) -> &[LinkId] {
        &self.incoming
    }

    fn disconnect(&mut self, link: LinkId) {
        on!(self, link, rail => rail.disconnect(link));
        self.list_links();
    }

    #[inline(always)]
    fn claim(&mut self, link: LinkId, bulk: usize, class: Class) -> Result<Slot<'_>, Busy> {
        on!(self, link, rail => rail.claim(link, bulk, class))
    }

    #[inline(always)]
    fn commit(&mut self, link: LinkId, header: Header) {
        on!(self, link, rail => rail.commit(link, header));
    }

    #[inline(always)]
    fn poll(&mut self, link: LinkId) -> Result<Option<Packet<'_>>, Corrupt> {
        on!(self, link, rail => rail.poll(link))
    }

    #[inline(always)]
    fn release(&mut self, link: LinkId) {
        on!(self, link, rail => rail.release(link));
    }

    #[inline(always)]
    fn begin_pass(&mut self) {
        self.wake_sleeper();
        self.networks.iter_mut().for_each(Rail::begin_pass);
    }

    #[inline(always)]
    fn flush(&mut self) -> bool {
        self.networks.iter_mut().fold(false, |moved, network| moved | network.flush())
    }

    fn arm(&mut self) -> Armed {
        let now_ns = self.now_ns();
        for network in &mut self.networks {
            network.set_time(now_ns);
            if let Armed::Work = network.arm() {
                return Armed::Work;
            }
        }
        self.note_links();
        // Arming also reads acknowledgements. A condition that cannot wake a sleeper keeps this rank awake.
        if self.networks.iter().any(Network::has_opened) || self.has_settled() {
            return Armed::Work;
        }
        let armed = self.shm.arm();
        if !matches!(armed, Armed::Ready) {
            return armed;
        }
        // This comes after the announcement; otherwise a network that is already ready would wake no thread.
        if !self.watch_networks() {
            self.waker.wake();
            return Armed::Work;
        }
        self.armed = self.has_networks();
        armed
    }

    fn sleep(&mut self, at_most: Option<Duration>) {
        self.waker.sleep(at_most);
    }
}

impl<N: Network> FastPath for Set<N> {
    #[inline(always)]
    fn find_ready(&mut self) {
        if !self.has_networks() {
            return;
        }
        // The call takes events on which another thread may sleep (invariant I7).
        self.wake_sleeper();
        self.ready.clear();
        self.ready.extend(self.shm.incoming());
        for network in &mut self.networks {
            network.find_ready();
            self.ready.extend(network.ready());
        }
    }

    #[inline(always)]
    fn ready(&self) -> &[LinkId] {
        &self.ready
    }

    #[inline(always)]
    fn is_idle(&self, link: LinkId) -> bool {
        link.rail() == HOST && self.shm.is_idle(link)
    }

    #[inline(always)]
    fn admits_message(&mut self, link: LinkId) -> bool {
        on!(self, link, rail => rail.admits_message(link))
    }

    fn has_room(&mut self, link: LinkId, packets: usize, bulk: usize) -> bool {
        on!(self, link, rail => rail.has_room(link, packets, bulk))
    }

    #[inline(always)]
    fn try_post(&mut self, link: LinkId, header: Header, bytes: &[u8]) -> TryPost {
        self.shm.try_post(link, header, bytes)
    }

    fn wake(&mut self, link: LinkId) {
        on!(self, link, rail => rail.wake(link));
    }

    #[inline(always)]
    fn is_short(&self, link: LinkId) -> bool {
        link.rail() == HOST
    }

    #[inline(always)]
    fn post_bulk(&mut self, link: LinkId, header: Header, bulk: &[u8]) -> Result<(), Busy> {
        on!(self, link, rail => rail.post_bulk(link, header, bulk))
    }

    #[inline]
    fn post_share(
        &mut self,
        link: LinkId,
        header: Header,
        bulk: impl FnOnce() -> OutShare,
        len: usize,
    ) -> Result<(), Busy> {
        on!(self, link, rail => rail.post_share(link, header, bulk, len))
    }

    #[inline]
    fn lend(
        &mut self,
        link: LinkId,
        header: Header,
        beside: &[u8],
        bulk: impl FnOnce() -> OutShare,
        len: usize,
    ) -> Result<(), Busy> {
        on!(self, link, rail => rail.lend(link, header, beside, bulk, len))
    }

    #[inline(always)]
    fn try_take(&mut self, link: LinkId, accept: &mut impl TakeIf) -> TryTake {
        on!(self, link, rail => rail.try_take(link, accept))
    }

    #[inline(always)]
    fn take_short(&mut self, link: LinkId, accept: &mut impl TakeIf) -> bool {
        self.shm.take_short(link, accept)
    }

    #[inline(always)]
    fn take_short_run(&mut self, link: LinkId, accept: &mut impl TakeIf) {
        self.shm.take_short_run(link, accept);
    }

    #[inline(always)]
    fn take_run(&mut self, link: LinkId, accept: &mut impl TakeIf) {
        on!(self, link, rail => rail.take_run(link, accept));
    }

    #[inline]
    fn peek_bulk(&mut self, link: LinkId) -> Option<(Packet<'_>, usize)> {
        on!(self, link, rail => rail.peek_bulk(link))
    }

    fn direct_receive(&mut self, link: LinkId, place: InShare) {
        on!(self, link, rail => rail.direct_receive(link, place));
    }
}

impl<N: Network> OneSided for Set<N> {
    fn memory_link(&self, peer: Rank) -> Option<LinkId> {
        self.shm.memory_link(peer)
    }

    fn reach(&mut self, link: LinkId, place: RegionAddress, len: usize) -> Reach<'_> {
        on!(self, link, rail => rail.reach(link, place, len))
    }

    /// Returns memory of a region of this rank; ranks of this host share it.
    fn own(&mut self, place: RegionAddress, len: usize) -> Option<Window<'_>> {
        self.shm.own(place, len)
    }

    fn chunk_counter(&mut self, link: LinkId, mine: bool, index: usize) -> Option<&ChunkCounter> {
        on!(self, link, rail => rail.chunk_counter(link, mine, index))
    }
}

impl<N: Network> PeerCopy for Set<N> {
    #[inline]
    fn prefers_peer_copy(&mut self, link: LinkId, bytes: usize) -> Option<CopyingEnds> {
        on!(self, link, rail => rail.prefers_peer_copy(link, bytes))
    }

    #[inline]
    fn note_offer(&mut self, link: LinkId) {
        on!(self, link, rail => rail.note_offer(link));
    }

    #[inline]
    fn prefers_both_ends(&mut self, link: LinkId, bytes: usize) -> bool {
        on!(self, link, rail => rail.prefers_both_ends(link, bytes))
    }

    fn copy_from_peer(&mut self, link: LinkId, from: &[(u64, usize)], message: usize, into: InShare) -> bool {
        on!(self, link, rail => rail.copy_from_peer(link, from, message, into))
    }

    fn can_copy_to_peer(&mut self, link: LinkId) -> bool {
        on!(self, link, rail => rail.can_copy_to_peer(link))
    }

    fn copy_to_peer(&mut self, link: LinkId, into: &[(u64, usize)], from: OutShare) -> bool {
        on!(self, link, rail => rail.copy_to_peer(link, into, from))
    }
}

/// Verbs exist on networks alone, because memory of ranks of this host is mapped.
impl<N: Network> Rma for Set<N> {
    #[inline]
    fn has_verbs(&self) -> bool {
        self.networks.iter().any(Rma::has_verbs)
    }

    fn register(&mut self, place: MemoryAddress, memory: &Exposed) -> Result<(), SegmentError> {
        let registered = self.networks.iter_mut().try_for_each(|network| network.register(place, memory));
        if registered.is_err() {
            self.deregister(place);
        }
        registered
    }

    fn deregister(&mut self, place: MemoryAddress) {
        self.networks.iter_mut().for_each(|network| network.deregister(place));
    }

    fn post_verb(&mut self, link: LinkId, token: u64, verb: Verb) -> Result<(), Verb> {
        on!(self, link, rail => rail.post_verb(link, token, verb))
    }

    fn take_completion(&mut self) -> Option<VerbCompletion> {
        self.networks.iter_mut().find_map(Rma::take_completion)
    }
}

impl<N: Network> Recoverable for Set<N> {
    fn generation(&self, link: LinkId) -> u32 {
        match link.rail() {
            HOST => self.shm.generation(link),
            rail => self.networks[rail as usize - 1].generation(link),
        }
    }

    fn take_lost(&mut self) -> Option<Lost> {
        self.shm.take_lost().or_else(|| self.networks.iter_mut().find_map(Recoverable::take_lost))
    }

    fn close_link(&mut self, link: LinkId) -> Option<Unacked> {
        let unacked = on!(self, link, rail => rail.close_link(link));
        self.list_links();
        unacked
    }
}
