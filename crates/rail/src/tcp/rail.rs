//! The rail contract, fulfilled by [`Tcp`].

use std::time::Duration;

use canele_sys::buffer::{InShare, OutShare, Place};
use canele_sys::ids::{LinkId, Rank};
use rustix::event::Timespec;

use super::lost::Why;
use super::{Link, Tcp};
use crate::{
    Armed, Busy, Caps, Class, Corrupt, Header, Lost, Packet, Rail, Reach, Remains, Slot, Speed, Tally, Window,
};

impl Tcp {
    fn link_at(&self, link: LinkId) -> Option<&Link> {
        self.links.get(link.peer().0 as usize)?.as_deref()
    }

    #[inline]
    fn link_mut(&mut self, link: LinkId) -> Option<&mut Link> {
        self.links.get_mut(link.peer().0 as usize)?.as_deref_mut()
    }

    fn something_came(&mut self) -> bool {
        let Self { incoming, links, lost, unreachable, pass, .. } = self;
        let came = |link: &mut Link| {
            let room = link.room_came(*pass);
            room || link.incoming.has_packet() || link.incoming.asks() || link.incoming.is_corrupt()
        };
        !lost.is_empty()
            || !unreachable.is_empty()
            || incoming.iter().any(|id| links[id.peer().0 as usize].as_deref_mut().is_some_and(came))
    }
}

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

    fn generation(&self, link: LinkId) -> u32 {
        self.link_at(link).map_or(0, |link| link.generation)
    }

    #[inline]
    fn link(&self, peer: Rank) -> Option<LinkId> {
        self.links.get(peer.0 as usize)?.as_ref().map(|_| LinkId::new(self.number, peer))
    }

    #[inline]
    fn peer(&self, link: LinkId) -> Rank {
        link.peer()
    }

    #[inline]
    fn incoming(&self) -> &[LinkId] {
        &self.incoming
    }

    fn take_lost(&mut self) -> Option<Lost> {
        self.lost.pop_front()
    }

    fn bury(&mut self, link: LinkId) -> Option<Remains> {
        Some(self.remove_link(link)?.into_remains())
    }

    fn disconnect(&mut self, link: LinkId) {
        self.remove_link(link);
        self.dials.retain(|dial| dial.peer != link.peer());
    }

    #[inline]
    fn claim(&mut self, link: LinkId, bulk: usize, class: Class) -> Result<Slot<'_>, Busy> {
        let pass = self.pass;
        self.link_mut(link).ok_or(Busy)?.claim(pass, bulk, class)
    }

    #[inline]
    fn commit(&mut self, link: LinkId, header: Header) {
        let pass = self.pass;
        self.link_mut(link).expect("commit on a link that was claimed on").commit(pass, header);
    }

    fn lend(
        &mut self,
        link: LinkId,
        header: Header,
        beside: &[u8],
        bulk: impl FnOnce() -> OutShare,
        len: usize,
    ) -> Result<(), Busy> {
        let pass = self.pass;
        self.link_mut(link).ok_or(Busy)?.lend(pass, header, beside, bulk, len)
    }

    #[inline]
    fn begin_pass(&mut self) {
        self.pass = self.pass.wrapping_add(1);
    }

    #[inline]
    fn flush(&mut self) -> bool {
        let mut moved = false;
        for id in &self.incoming {
            if let Some(link) = &mut self.links[id.peer().0 as usize] {
                moved |= link.flush(false);
            }
        }
        moved
    }

    #[inline]
    fn poll(&mut self, link: LinkId) -> Result<Option<Packet<'_>>, Corrupt> {
        let Some(Some(at)) = self.links.get_mut(link.peer().0 as usize) else { return Ok(None) };
        if !at.incoming.has_packet()
            && let Some(why) = at.read()
        {
            self.lost.push_back(Lost { link, why: why.to_string() });
        }
        at.incoming.poll()
    }

    fn foresee(&mut self, link: LinkId) -> Option<(Packet<'_>, usize)> {
        self.link_mut(link)?.incoming.foresee()
    }

    fn land(&mut self, link: LinkId, place: InShare) {
        self.link_mut(link).expect("land on a link with a packet").incoming.land(place);
    }

    #[inline]
    fn release(&mut self, link: LinkId) {
        self.link_mut(link).expect("release on a link with packets").incoming.release();
    }

    /// Never: memory is not shared.
    fn reach(&mut self, _link: LinkId, _place: Place, _len: usize) -> Reach<'_> {
        Reach::Refused
    }

    /// Never.
    fn own(&mut self, _place: Place, _len: usize) -> Option<Window<'_>> {
        None
    }

    /// Never.
    fn tally(&mut self, _link: LinkId, _mine: bool, _index: usize) -> Option<&Tally> {
        None
    }

    /// Begins a pass, looks at every socket, and sends the rest of what was sent and what is owed to peers. What comes
    /// later makes its descriptor ready, so no wake-up is lost.
    fn arm(&mut self) -> Armed {
        let met = self.go_on_meeting(None);
        self.begin_pass();
        self.look();
        for id in &self.incoming {
            let Some(link) = &mut self.links[id.peer().0 as usize] else { continue };
            link.flush(true);
            if let Err(error) = link.watch(&self.watch)
                && let Some(why) = link.give_up(Why::Broken(error))
            {
                self.lost.push_back(Lost { link: *id, why: why.to_string() });
            }
        }
        if met || self.something_came() { Armed::Work } else { Armed::Ready }
    }

    fn sleep(&mut self, at_most: Option<Duration>) {
        let limit = at_most.into_iter().chain(self.patience()).min();
        let limit = limit.map(|limit| Timespec::try_from(limit).unwrap_or(LONGEST));
        self.watch.sleep(limit.as_ref());
    }
}

const LONGEST: Timespec = Timespec { tv_sec: i32::MAX as i64, tv_nsec: 0 };
