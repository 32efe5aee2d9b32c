//! The rail contract, fulfilled by [`Reliable`].

use std::time::Duration;

use canele_sys::ids::LinkId;

use super::Reliable;
use crate::delegate::delegate;
use canele_rail::{
    Armed, Busy, Caps, Class, Corrupt, FastPath, Header, Lost, OneSided, Packet, PeerCopy, Rail, Recoverable,
    Rma, Slot, Unacked,
};

/// The number of looks before a sleep. Several are needed, because a packet from below may turn out to be
/// nothing.
const LOOKS: usize = 4;

impl<R: Recoverable> Rail for Reliable<R> {
    delegate!(below: speed link incoming);

    fn caps(&self, link: LinkId) -> &Caps {
        self.caps.get(&link.rail()).unwrap_or_else(|| self.below.caps(link))
    }

    fn disconnect(&mut self, link: LinkId) {
        self.close_link(link);
    }

    fn claim(&mut self, link: LinkId, bulk: usize, class: Class) -> Result<Slot<'_>, Busy> {
        let at = self.links.get_mut(&link).filter(|at| !at.lost).ok_or(Busy)?;
        at.outgoing.claim(bulk, class)
    }

    fn commit(&mut self, link: LinkId, header: Header) {
        let at = self.links.get_mut(&link).expect("commit on an open link");
        at.outgoing.commit(self.now_ns, header);
        self.send_all();
    }

    fn poll(&mut self, link: LinkId) -> Result<Option<Packet<'_>>, Corrupt> {
        self.take(link)?;
        Ok(self.links.get_mut(&link).and_then(|at| at.incoming.poll()))
    }

    fn release(&mut self, link: LinkId) {
        self.links.get_mut(&link).expect("release on a link with packets").incoming.release();
    }

    fn begin_pass(&mut self) {
        self.below.begin_pass();
        self.send_all();
    }

    fn flush(&mut self) -> bool {
        self.send_all();
        self.below.flush()
    }

    fn arm(&mut self) -> Armed {
        let links: Vec<_> = self.links.keys().copied().collect();
        let mut came = false;
        for _ in 0..LOOKS {
            // A corrupt link counts as news: polling it will report the error.
            came |= links.iter().any(|link| self.take(*link).is_err());
            self.send_all();
            if matches!(self.below.arm(), Armed::Ready) {
                came |= !self.lost.is_empty();
                for link in self.links.values_mut() {
                    came |= link.incoming.waiting() > 0 || link.outgoing.take_room();
                }
                return if came { Armed::Work } else { Armed::Ready };
            }
        }
        Armed::Work
    }

    /// Sleeps no longer than until something must be retransmitted.
    fn sleep(&mut self, at_most: Option<Duration>) {
        let again = self.next_ns().map(|at_ns| Duration::from_nanos(at_ns.saturating_sub(self.now_ns)));
        self.below.sleep(at_most.into_iter().chain(again).min());
    }
}

impl<R: Recoverable> FastPath for Reliable<R> {}

/// The rail below may damage any access, so the memory of peers is not offered.
impl<R: Recoverable> OneSided for Reliable<R> {}

impl<R: Recoverable> Rma for Reliable<R> {}

impl<R: Recoverable> PeerCopy for Reliable<R> {}

impl<R: Recoverable> Recoverable for Reliable<R> {
    delegate!(below: generation);

    fn take_lost(&mut self) -> Option<Lost> {
        self.lost.pop_front().or_else(|| self.below.take_lost())
    }

    fn close_link(&mut self, link: LinkId) -> Option<Unacked> {
        let generation = self.below.generation(link);
        self.below.disconnect(link);
        self.lost.retain(|lost| lost.link != link);
        let ended = self.links.remove(&link)?;
        Some(Unacked { generation, expected: ended.incoming.expected(), kept: ended.outgoing.kept() })
    }
}
