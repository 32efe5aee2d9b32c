//! The rail contract, fulfilled by [`Tcp`].

use std::time::Duration;

use canele_sys::buffer::Place;
use canele_sys::ids::{LinkId, Rank};
use rustix::event::{PollFd, Timespec, poll};

use super::lost::Lost;
use super::{Link, Tcp};
use crate::{Armed, Busy, Caps, Class, Corrupt, Header, Packet, Rail, Reach, Slot, Tally, Window};

impl Tcp {
    #[inline]
    fn link_mut(&mut self, link: LinkId) -> Option<&mut Link> {
        self.links.get_mut(link.peer().0 as usize)?.as_deref_mut()
    }

    fn something_came(&mut self) -> bool {
        let Self { incoming, links, lost, .. } = self;
        let came = |link: &mut Link| {
            link.incoming.has_packet() || !link.incoming.is_open() || link.outgoing.room_came()
        };
        !lost.is_empty()
            || incoming.iter().any(|id| links[id.peer().0 as usize].as_deref_mut().is_some_and(came))
    }
}

impl Rail for Tcp {
    fn caps(&self, _link: LinkId) -> &Caps {
        &self.caps
    }

    #[inline]
    fn link(&self, peer: Rank) -> Option<LinkId> {
        self.links.get(peer.0 as usize)?.as_ref().map(|_| LinkId::new(0, peer))
    }

    #[inline]
    fn peer(&self, link: LinkId) -> Rank {
        link.peer()
    }

    #[inline]
    fn incoming(&self) -> &[LinkId] {
        &self.incoming
    }

    fn disconnect(&mut self, link: LinkId) {
        self.incoming.retain(|l| *l != link);
        self.links[link.peer().0 as usize] = None;
        self.lost.retain(|lost| lost.peer != link.peer());
        self.dials.retain(|dial| dial.peer != link.peer());
    }

    #[inline]
    fn claim(&mut self, link: LinkId, bulk: usize, class: Class) -> Result<Slot<'_>, Busy> {
        match self.link_mut(link) {
            Some(link) if link.is_open() => link.outgoing.claim(bulk, class),
            _ => Err(Busy),
        }
    }

    #[inline]
    fn commit(&mut self, link: LinkId, header: Header) {
        let later = std::mem::replace(&mut self.busy, true);
        self.link_mut(link).expect("commit on an open link").commit(header, later);
    }

    fn begin_pass(&mut self) {
        self.busy = false;
    }

    #[inline]
    fn flush(&mut self) {
        for id in &self.incoming {
            if let Some(link) = &mut self.links[id.peer().0 as usize] {
                link.flush(false);
            }
        }
    }

    #[inline]
    fn poll(&mut self, link: LinkId) -> Result<Option<Packet<'_>>, Corrupt> {
        let Some(Some(at)) = self.links.get_mut(link.peer().0 as usize) else { return Ok(None) };
        if !at.incoming.has_packet()
            && let Some(why) = at.read()
        {
            self.lost.push_back(Lost { peer: link.peer(), why });
        }
        at.incoming.poll()
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

    /// Sends what waits, what is owed to peers included, and looks at every socket. What comes later makes its
    /// descriptor ready, so no wake-up is lost.
    fn arm(&mut self) -> Armed {
        let met = self.go_on_meeting(None);
        self.fetch();
        self.busy = false;
        for id in &self.incoming {
            if let Some(link) = &mut self.links[id.peer().0 as usize] {
                link.flush(true);
            }
        }
        if met || self.something_came() { Armed::Work } else { Armed::Ready }
    }

    fn sleep(&mut self, at_most: Option<Duration>) {
        // Patience with a handshake ends in `meet`, which somebody must be awake for.
        let meeting = self.dials.len() + self.listeners.unproven() > 0;
        let patience = meeting.then(|| Duration::from_nanos(self.patience_ns));
        let limit = at_most.into_iter().chain(patience).min();
        let limit = limit.map(|limit| Timespec::try_from(limit).unwrap_or(LONGEST));
        let mut sockets: Vec<_> =
            self.descriptors().map(|(socket, flags)| PollFd::from_borrowed_fd(socket, flags)).collect();
        // A signal ends the sleep too; whoever sleeps looks again anyway.
        let _ = poll(&mut sockets, limit.as_ref());
    }
}

const LONGEST: Timespec = Timespec { tv_sec: i32::MAX as i64, tv_nsec: 0 };
