//! The rail contract for [`Tcp`].

use std::time::Duration;

use canele_mem::buffer::{InShare, OutShare};
use canele_sys::ids::{LinkId, Rank};

use super::{Link, Tcp};
use crate::{
    Armed, Busy, Caps, Class, Corrupt, FastPath, Header, Lost, OneSided, Packet, PeerCopy, Rail, Recoverable,
    Rma, Slot, Speed, Unacked,
};

impl Tcp {
    fn link_at(&self, link: LinkId) -> Option<&Link> {
        self.links.get(link.peer().0 as usize)?.as_deref()
    }

    #[inline]
    fn link_mut(&mut self, link: LinkId) -> Option<&mut Link> {
        self.links.get_mut(link.peer().0 as usize)?.as_deref_mut()
    }

    /// Returns true if this pass checks only links that are known to be ready.
    #[inline]
    fn is_listed(&self) -> bool {
        !self.asks || self.incoming.len() > FEW
    }

    /// Returns true if a packet can be claimed on a link in this pass; otherwise the link is listed for
    /// another check.
    #[inline]
    fn admits(&mut self, link: LinkId, bulk: usize, class: Class) -> bool {
        let Self { links, lists, pass, .. } = self;
        let Some(at) = links.get_mut(link.peer().0 as usize).and_then(|at| at.as_deref_mut()) else {
            return false;
        };
        let admits = at.admits(*pass, bulk, class);
        if !admits {
            lists.note(link, at);
        }
        admits
    }

    /// Sends a packet whose bulk lies outside of the link's memory, and notes the link's new state.
    #[inline]
    fn send_on(
        &mut self,
        link: LinkId,
        send: impl FnOnce(&mut Link, u32) -> Result<(), Busy>,
    ) -> Result<(), Busy> {
        let Self { links, lists, pass, .. } = self;
        let at = links.get_mut(link.peer().0 as usize).and_then(|at| at.as_deref_mut()).ok_or(Busy)?;
        let sent = send(at, *pass);
        lists.note(link, at);
        self.poll_interval.renew();
        sent
    }

    /// Returns true if the owner has work before it sleeps.
    fn something_came(&mut self) -> bool {
        let Self { lists, links, lost, failures, pass, .. } = self;
        lists.prune_ready(links);
        let room = lists.room_came(links, *pass);
        room || !lists.ready.is_empty() || !lost.is_empty() || !failures.is_empty()
    }
}

/// Most links that each pass reads without polling first, because polling would cost as much.
const FEW: usize = 2;

impl Rail for Tcp {
    fn caps(&self, _link: LinkId) -> &Caps {
        &self.caps
    }

    fn speed(&self, link: LinkId) -> Speed {
        let known = (2 * u64::from(self.caps.latency_ns), u64::from(self.caps.bytes_per_us) * 1_000_000);
        let Some(outgoing) = self.link_at(link).map(|link| &link.outgoing) else { return Speed::default() };
        let (round_trip_ns, bytes_per_s) = outgoing.pace.measured().unwrap_or(known);
        let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        Speed {
            round_trip_ns: number(round_trip_ns),
            bytes_per_us: number(bytes_per_s / 1_000_000).max(1),
            under_way: outgoing.under_way() as usize,
        }
    }

    #[inline]
    fn link(&self, peer: Rank) -> Option<LinkId> {
        self.links.get(peer.0 as usize)?.as_ref().map(|_| LinkId::new(self.number, peer))
    }

    #[inline]
    fn incoming(&self) -> &[LinkId] {
        &self.incoming
    }

    fn disconnect(&mut self, link: LinkId) {
        self.remove_link(link);
        self.connectors.remove(&link.peer());
    }

    #[inline]
    fn claim(&mut self, link: LinkId, bulk: usize, class: Class) -> Result<Slot<'_>, Busy> {
        if !self.admits(link, bulk, class) {
            return Err(Busy);
        }
        self.link_mut(link).ok_or(Busy)?.outgoing.claim(bulk, class)
    }

    #[inline]
    fn commit(&mut self, link: LinkId, header: Header) {
        let Self { links, lists, pass, .. } = self;
        let at = links[link.peer().0 as usize].as_deref_mut().expect("commit on a link that was claimed on");
        at.commit(*pass, header);
        lists.note(link, at);
        self.poll_interval.renew();
    }

    #[inline]
    fn poll(&mut self, link: LinkId) -> Result<Option<Packet<'_>>, Corrupt> {
        let place = link.peer().0 as usize;
        let Some(Some(at)) = self.links.get_mut(place) else { return Ok(None) };
        if !at.incoming.has_packet() {
            if at.incoming.look() {
                return Ok(None);
            }
            self.read_link(link, Link::read);
        }
        match &mut self.links[place] {
            Some(at) => at.incoming.poll(),
            None => Ok(None),
        }
    }

    #[inline]
    fn release(&mut self, link: LinkId) {
        let Self { links, lists, .. } = self;
        let at = links[link.peer().0 as usize].as_deref_mut().expect("release on a link with packets");
        at.incoming.release();
        lists.note(link, at);
        self.poll_interval.renew();
    }

    #[inline]
    fn begin_pass(&mut self) {
        self.pass = self.pass.wrapping_add(1);
    }

    #[inline]
    fn flush(&mut self) -> bool {
        !self.lists.flush.is_empty() && self.lists.flush(&mut self.links, false)
    }

    /// Begins a pass, reads every ready socket, and sends remaining output and owed acknowledgements. Later
    /// data makes its descriptor ready, so no wake-up is lost.
    fn arm(&mut self) -> Armed {
        let met = self.step_connections();
        self.begin_pass();
        while self.poll_links(Some(Duration::ZERO)) {}
        self.read_ready();
        self.lists.flush(&mut self.links, true);
        if met || self.something_came() { Armed::Work } else { Armed::Ready }
    }

    fn sleep(&mut self, at_most: Option<Duration>) {
        let limit = at_most.into_iter().chain(self.connection_timeout()).min();
        self.poll_links(limit);
    }
}

impl FastPath for Tcp {
    #[inline]
    fn find_ready(&mut self) {
        self.asks = self.poll_interval.is_due();
        if self.is_listed() {
            self.lists.prune_ready(&mut self.links);
        }
        if self.asks && self.incoming.len() > FEW {
            self.poll_links(Some(Duration::ZERO));
        }
    }

    #[inline]
    fn ready(&self) -> &[LinkId] {
        if self.is_listed() { &self.lists.ready } else { &self.incoming }
    }

    #[inline]
    fn admits_message(&mut self, link: LinkId) -> bool {
        self.admits(link, 0, Class::Message)
    }

    fn post_bulk(&mut self, link: LinkId, header: Header, bulk: &[u8]) -> Result<(), Busy> {
        self.send_on(link, |at, pass| at.post_bulk(pass, header, bulk))
    }

    fn post_share(
        &mut self,
        link: LinkId,
        header: Header,
        bulk: impl FnOnce() -> OutShare,
        len: usize,
    ) -> Result<(), Busy> {
        self.send_on(link, |at, pass| at.post_share(pass, header, bulk, len))
    }

    #[inline]
    fn asks_for_place(&mut self, link: LinkId) -> bool {
        self.link_at(link).is_some_and(|link| link.incoming.asks())
    }

    fn lend(
        &mut self,
        link: LinkId,
        header: Header,
        beside: &[u8],
        bulk: impl FnOnce() -> OutShare,
        len: usize,
    ) -> Result<(), Busy> {
        self.send_on(link, |at, pass| at.lend(pass, header, beside, bulk, len))
    }

    fn peek_bulk(&mut self, link: LinkId) -> Option<(Packet<'_>, usize)> {
        self.link_mut(link)?.incoming.peek_bulk()
    }

    fn direct_receive(&mut self, link: LinkId, place: InShare) {
        self.link_mut(link).expect("direct_receive on a link with a packet").incoming.direct_receive(place);
    }
}

impl OneSided for Tcp {}

impl PeerCopy for Tcp {}

impl Rma for Tcp {}

impl Recoverable for Tcp {
    fn generation(&self, link: LinkId) -> u32 {
        self.link_at(link).map_or(0, |link| link.generation)
    }

    fn take_lost(&mut self) -> Option<Lost> {
        self.lost.pop_front()
    }

    fn close_link(&mut self, link: LinkId) -> Option<Unacked> {
        Some(self.remove_link(link)?.into_unacked())
    }
}
