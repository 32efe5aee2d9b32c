//! The rails of a rank as one: shared memory to ranks of this host, TCP to the others.
//!
//! Owns the rails and the list of all links on which packets may come. A link's number says which rail it is on: 0 is shared
//! memory, which is asked first everywhere, k the k-th of TCP. Never chooses among the links to a peer: the protocols do.
//!
//! *Sleep.* A rank with sockets sleeps on them and on its event, outside of the gate. A thread that comes in meanwhile and
//! takes something from a socket takes with it what would have ended the sleep, so it rings (invariant I37).

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use canele_rail::shm::{Alarm, Shm};
use canele_rail::tcp::{Limits, Member, Tcp};
use canele_rail::{
    Accept, Armed, Busy, Caps, Class, Corrupt, Glance, Header, Lost, Packet, Rail, Reach, Remains, Slot,
    Speed, Tally, Window,
};
use canele_sys::buffer::{InShare, OutShare, Place};
use canele_sys::ids::{LinkId, Rank};
use canele_sys::sleep::Ready;
use canele_sys::topology;
use canele_sys::tunables::Tunables;

use crate::Error;

/// How long an attempt to connect may take.
const PATIENCE_NS: u64 = 10_000_000_000;

/// The rails of a rank.
pub(crate) struct Rails {
    pub shm: Shm,
    pub tcp: Vec<Tcp>,
    alarm: Alarm,
    /// The links of all rails.
    incoming: Vec<LinkId>,
    /// Links over sockets of which the protocols have not been told.
    opened: Vec<LinkId>,
    /// Links that may be made to other hosts.
    distant: HashSet<LinkId>,
    /// Somebody waits for acknowledgements.
    unsettled: bool,
    /// A thread may sleep on the sockets.
    armed: bool,
}

/// Does the same with whichever rail a link is on.
macro_rules! on {
    ($self:ident, $link:ident, $rail:ident => $call:expr) => {
        match $link.rail() {
            0 => {
                let $rail = &mut $self.shm;
                $call
            }
            _ => {
                let $rail = $self.socket($link);
                $call
            }
        }
    };
}

impl Rails {
    /// Opens the rails of rank `me` of `ranks`, of which `here` are on this host.
    pub fn open(me: Rank, ranks: usize, here: usize, tunables: &Tunables) -> Result<Self, Error> {
        let (cells, budget) = (tunables.ring_cells, tunables.inbox_bytes);
        let crowded = topology::online().is_some_and(|processors| here > processors);
        let mut shm = Shm::open(me, ranks, cells, tunables.payload_ring_bytes, budget)?;
        if crowded {
            shm.share_processors();
        }
        if here < ranks {
            shm.sleep_on_descriptors()?;
        }
        Ok(Self {
            alarm: shm.alarm(),
            shm,
            tcp: Vec::new(),
            incoming: Vec::new(),
            opened: Vec::new(),
            distant: HashSet::new(),
            unsettled: false,
            armed: false,
        })
    }

    /// Opens the rails to other hosts: one for each list of addresses, on which it listens.
    pub fn open_sockets(&mut self, member: Member, addresses: &[Vec<IpAddr>]) -> Result<(), Error> {
        for (addresses, number) in addresses.iter().zip(1..) {
            self.tcp.push(Tcp::open(
                number,
                member,
                addresses,
                Limits { patience_ns: PATIENCE_NS, ..Limits::default() },
            )?);
        }
        Ok(())
    }

    /// This rank's sleep.
    pub fn alarm(&self) -> Alarm {
        self.alarm.clone()
    }

    /// Says where a peer of another host is reached over the TCP rail number `at`, from 0.
    pub fn introduce(&mut self, peer: Rank, at: usize, addresses: Vec<SocketAddr>) {
        if !addresses.is_empty() && !self.tcp[at].addresses().is_empty() {
            self.distant.insert(LinkId::new(at as u8 + 1, peer));
            self.tcp[at].introduce(peer, addresses);
        }
    }

    /// The links that may be made to a peer of another host: over the rails that both are on.
    pub fn ways(&self, peer: Rank) -> Vec<LinkId> {
        let rails = 1..=self.tcp.len() as u8;
        rails.map(|rail| LinkId::new(rail, peer)).filter(|link| self.distant.contains(link)).collect()
    }

    /// Begins to make a link to a peer that was introduced, if there is none.
    pub fn dial(&mut self, link: LinkId) {
        self.socket(link).open_link(link.peer());
        self.note_links();
    }

    /// The links on which something was sent and nothing is heard of the peer's host, with for how long.
    pub fn silent(&self) -> Vec<(LinkId, Duration)> {
        self.tcp.iter().flat_map(Tcp::silent).collect()
    }

    /// Whether something was sent to another host whose acknowledgement has not come.
    pub fn is_waiting(&self) -> bool {
        self.tcp.iter().any(Tcp::is_waiting)
    }

    /// Notices who of this host has arrived. A few loads when nobody has.
    #[inline(always)]
    pub fn accept(&mut self) {
        self.shm.accept();
        self.note_links();
    }

    /// Whether there is more than shared memory.
    #[inline(always)]
    pub fn has_sockets(&self) -> bool {
        !self.tcp.is_empty()
    }

    /// Goes on with connections that are being made. A few system calls. `now_ns` is any clock that goes on.
    pub fn meet(&mut self, now_ns: u64) {
        self.rouse();
        for tcp in &mut self.tcp {
            tcp.meet(now_ns);
        }
        self.note_links();
    }

    /// A link over a socket that can be used from now on.
    pub fn take_opened(&mut self) -> Option<LinkId> {
        self.opened.pop()
    }

    /// A peer that cannot be reached (any more) over a rail, and why. What had come can still be polled; then the link is to
    /// be disconnected.
    pub fn take_unreachable(&mut self) -> Option<(LinkId, String)> {
        self.tcp.iter_mut().zip(1..).find_map(|(tcp, rail)| {
            let lost = tcp.take_unreachable()?;
            Some((LinkId::new(rail, lost.peer), lost.to_string()))
        })
    }

    /// Whether everything that was sent has been taken by its receiver's library, where leaving could lose it. If not,
    /// [`Rails::has_settled`] tells of it.
    pub fn is_settled(&mut self) -> bool {
        let settled = self.tcp.iter().all(|tcp| {
            let settled = |link: &LinkId| tcp.progress(*link).is_none_or(|p| p.committed == p.acknowledged);
            tcp.incoming().iter().all(settled)
        });
        self.unsettled = !settled;
        settled
    }

    /// Whether somebody waits for that, and it is so by now.
    pub fn has_settled(&mut self) -> bool {
        self.unsettled && self.is_settled()
    }

    /// Lets everything leave that peers may wait for, acknowledgements too, as before a sleep.
    pub fn leave(&mut self) {
        for tcp in &mut self.tcp {
            let _ = tcp.arm();
        }
    }

    /// How long a sleep may last; for ever, unless somebody's patience may end.
    pub fn longest_sleep(&self) -> Option<Duration> {
        self.tcp.iter().filter_map(Tcp::patience).min()
    }

    /// Wakes the thread that sleeps on the sockets, if one does: what it waits for may be gone from them.
    #[inline]
    fn rouse(&mut self) {
        if std::mem::take(&mut self.armed) {
            self.alarm.ring();
        }
    }

    /// The rail of a link that is not in shared memory.
    #[inline]
    fn socket(&mut self, link: LinkId) -> &mut Tcp {
        self.rouse();
        &mut self.tcp[link.rail() as usize - 1]
    }

    /// Brings the list of links up to date. Whatever removes one does so at once.
    #[inline(always)]
    fn note_links(&mut self) {
        let links = self.tcp.iter().fold(self.shm.incoming().len(), |sum, tcp| sum + tcp.incoming().len());
        if links != self.incoming.len() {
            self.list_links();
        }
    }

    #[cold]
    fn list_links(&mut self) {
        let before = std::mem::take(&mut self.incoming);
        self.incoming.extend(self.shm.incoming());
        for tcp in &self.tcp {
            let links = tcp.incoming().iter().copied();
            self.opened.extend(links.clone().filter(|link| !before.contains(link)));
            self.incoming.extend(links);
        }
        self.opened.retain(|link| self.incoming.contains(link));
    }

    /// Lets every socket end the next sleep; says whether all can.
    fn watch_sockets(&self) -> bool {
        self.tcp.iter().all(|tcp| self.alarm.watch_once(tcp.descriptor(), Ready::IN).is_ok())
    }
}

impl Rail for Rails {
    #[inline(always)]
    fn caps(&self, link: LinkId) -> &Caps {
        match link.rail() {
            0 => self.shm.caps(link),
            rail => self.tcp[rail as usize - 1].caps(link),
        }
    }

    fn speed(&self, link: LinkId) -> Speed {
        match link.rail() {
            0 => self.shm.speed(link),
            rail => Rail::speed(&self.tcp[rail as usize - 1], link),
        }
    }

    fn generation(&self, link: LinkId) -> u32 {
        match link.rail() {
            0 => self.shm.generation(link),
            rail => self.tcp[rail as usize - 1].generation(link),
        }
    }

    fn link(&self, peer: Rank) -> Option<LinkId> {
        let over = |(tcp, rail): (&Tcp, u8)| tcp.link(peer).map(|_| LinkId::new(rail, peer));
        self.shm.link(peer).or_else(|| self.tcp.iter().zip(1..).find_map(over))
    }

    #[inline(always)]
    fn peer(&self, link: LinkId) -> Rank {
        link.peer()
    }

    #[inline(always)]
    fn incoming(&self) -> &[LinkId] {
        &self.incoming
    }

    fn take_lost(&mut self) -> Option<Lost> {
        Rail::take_lost(&mut self.shm).or_else(|| self.tcp.iter_mut().find_map(Rail::take_lost))
    }

    fn bury(&mut self, link: LinkId) -> Option<Remains> {
        let remains = on!(self, link, rail => rail.bury(link));
        self.list_links();
        remains
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
    fn post(&mut self, link: LinkId, header: Header, bytes: &[u8]) -> Result<(), Busy> {
        on!(self, link, rail => rail.post(link, header, bytes))
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
    fn begin_pass(&mut self) {
        self.rouse();
        self.tcp.iter_mut().for_each(Tcp::begin_pass);
    }

    #[inline(always)]
    fn flush(&mut self) -> bool {
        self.tcp.iter_mut().fold(false, |moved, tcp| moved | tcp.flush())
    }

    #[inline(always)]
    fn poll(&mut self, link: LinkId) -> Result<Option<Packet<'_>>, Corrupt> {
        on!(self, link, rail => rail.poll(link))
    }

    fn has_room(&mut self, link: LinkId, packets: usize, bulk: usize) -> bool {
        on!(self, link, rail => rail.has_room(link, packets, bulk))
    }

    #[inline(always)]
    fn post_bulk(&mut self, link: LinkId, header: Header, bulk: &[u8]) -> Result<(), Busy> {
        on!(self, link, rail => rail.post_bulk(link, header, bulk))
    }

    #[inline(always)]
    fn glance(&mut self, link: LinkId, accept: &mut impl Accept) -> Glance {
        on!(self, link, rail => rail.glance(link, accept))
    }

    #[inline]
    fn foresee(&mut self, link: LinkId) -> Option<(Packet<'_>, usize)> {
        on!(self, link, rail => rail.foresee(link))
    }

    fn land(&mut self, link: LinkId, place: InShare) {
        on!(self, link, rail => rail.land(link, place));
    }

    #[inline(always)]
    fn release(&mut self, link: LinkId) {
        on!(self, link, rail => rail.release(link));
    }

    fn reach(&mut self, link: LinkId, place: Place, len: usize) -> Reach<'_> {
        on!(self, link, rail => rail.reach(link, place, len))
    }

    /// Regions are memory that ranks of this host share.
    fn own(&mut self, place: Place, len: usize) -> Option<Window<'_>> {
        self.shm.own(place, len)
    }

    fn tally(&mut self, link: LinkId, mine: bool, index: usize) -> Option<&Tally> {
        on!(self, link, rail => rail.tally(link, mine, index))
    }

    fn arm(&mut self) -> Armed {
        for tcp in &mut self.tcp {
            if let Armed::Work = tcp.arm() {
                return Armed::Work;
            }
        }
        self.note_links();
        // Arming reads, acknowledgements too. And what cannot be waited for keeps this rank awake.
        if !self.opened.is_empty() || self.has_settled() || !self.watch_sockets() {
            return Armed::Work;
        }
        let armed = self.shm.arm();
        self.armed = self.has_sockets() && matches!(armed, Armed::Ready);
        armed
    }

    fn sleep(&mut self, at_most: Option<Duration>) {
        self.alarm.sleep(at_most);
    }
}
