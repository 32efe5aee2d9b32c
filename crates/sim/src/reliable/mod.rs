//! Makes a rail that loses, doubles, reorders and corrupts packets reliable and ordered.
//!
//! ```text
//!   claim, fill, commit ─▶ kept, numbered, sealed ─▶ frame ─▶ [bad rail] ─▶ opened, sorted ─▶ poll, release
//!                            ▲  again after a while                           │ numbers come, released
//!                            └────────────────────── acknowledgement ◀────────┘
//! ```
//! This is selective repeat: each packet is kept until its receiver reports its release. A packet without an
//! answer is retransmitted after a timeout, which doubles each time. The receiver puts packets that come
//! early in their place. It acknowledges and drops packets that come twice. Each frame has a checksum
//! (CRC-32), and a frame with a wrong checksum is dropped. Each end holds at most `cells` packets and four of
//! the largest bulks of a link. If a peer takes nothing for too long, its link is lost, with
//! [`canele_rail::Unacked`].
//!
//! It reads no clock. Its owner gives it the time ([`Reliable::advance_to`]) and asks when it must do so next
//! ([`Reliable::next_ns`]). The checksum finds accidents, not enemies.

mod frame;
mod incoming;
mod outgoing;
mod rail;

use std::collections::{BTreeMap, VecDeque};

use canele_sys::ids::LinkId;

use canele_rail::{Caps, Class, LinkTraits, Lost, Recoverable, Verbs};
use frame::{Frame, ROOM};
use incoming::Incoming;
use outgoing::Outgoing;

/// The timeouts and the room of a reliable rail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReliableSettings {
    /// The number of packets of a link in each direction, at most 2^16; an eighth is for control.
    pub cells: usize,
    /// The longest time that an answer takes without faults.
    pub again_ns: u64,
    /// The time without a packet taken by the peer after which a link is lost.
    pub give_up_ns: u64,
}

/// The rail below, made reliable.
pub struct Reliable<R> {
    below: R,
    settings: ReliableSettings,
    now_ns: u64,
    caps: BTreeMap<u8, Caps>,
    links: BTreeMap<LinkId, Link>,
    lost: VecDeque<Lost>,
}

struct Link {
    outgoing: Outgoing,
    incoming: Incoming,
    /// True if the link's peer takes nothing any more.
    lost: bool,
}

impl<R: Recoverable> Reliable<R> {
    /// Makes a rail with no open link.
    ///
    /// # Panics
    /// Panics if the settings leave no room.
    pub fn new(below: R, settings: ReliableSettings) -> Self {
        assert!((1..=1 << 16).contains(&settings.cells), "cells are 1 to 65536");
        let (caps, links) = (BTreeMap::new(), BTreeMap::new());
        Self { below, settings, now_ns: 0, caps, links, lost: VecDeque::new() }
    }

    /// Returns the rail below.
    pub fn below(&mut self) -> &mut R {
        &mut self.below
    }

    /// Notes a link that was opened below, or noticed there.
    pub fn opened(&mut self, link: LinkId) {
        let caps = *self.below.caps(link);
        let max_bulk = caps.max_bulk.saturating_sub(ROOM);
        assert!(max_bulk > 0, "the rail below carries no bulk to speak of");
        let caps = Caps { max_bulk, best_packet: caps.best_packet.min(max_bulk), ..caps };
        self.caps.insert(
            link.rail(),
            Caps {
                link_traits: caps.link_traits - LinkTraits::OVERTAKING,
                reliable: true,
                maps_regions: false,
                verbs: Verbs::empty(),
                ..caps
            },
        );
        let cells = self.settings.cells;
        self.links.entry(link).or_insert_with(|| Link {
            outgoing: Outgoing::new(cells, max_bulk),
            incoming: Incoming::new(cells, max_bulk),
            lost: false,
        });
    }

    /// Sets the time. Packets without an answer for too long are retransmitted, or their link is given up.
    pub fn advance_to(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
        self.send_all();
        for (id, link) in &mut self.links {
            let silent_ns = link.outgoing.silent_ns(self.now_ns);
            if silent_ns > self.settings.give_up_ns && !std::mem::replace(&mut link.lost, true) {
                let why = format!("its other end took nothing for {silent_ns} ns");
                self.lost.push_back(Lost { link: *id, why, finished: false });
            }
        }
    }

    /// Returns the time at which [`Reliable::advance_to`] may next have something to do, if nothing comes
    /// before.
    pub fn next_ns(&self) -> Option<u64> {
        let links = self.links.values().filter(|link| !link.lost);
        links.filter_map(|link| link.outgoing.next_ns()).min()
    }

    /// Returns the number of packets that this end does not know to be released.
    pub fn unreleased(&self) -> usize {
        self.links.values().map(|link| link.outgoing.unreleased()).sum()
    }

    /// Returns the number of packets that have come and were not released.
    pub fn waiting(&self) -> usize {
        self.links.values().map(|link| link.incoming.waiting()).sum()
    }

    /// Sends over every link the packets that are new, those to retransmit, and the answers that are due.
    fn send_all(&mut self) {
        let Self { below, links, settings, now_ns, .. } = self;
        for (id, link) in links.iter_mut().filter(|(_, link)| !link.lost) {
            let sent = link.outgoing.send(*now_ns, settings.again_ns, |number, body| {
                let frame = Frame { number: Some(number), answer: link.incoming.answer(), body };
                frame.send(below, *id, Class::Message)
            });
            // A packet carries the answer too; an answer alone goes only if there was none.
            if sent > 0 {
                link.incoming.answered();
            } else if link.incoming.owes() {
                let frame = Frame { number: None, answer: link.incoming.answer(), body: &[] };
                if frame.send(below, *id, Class::Control) {
                    link.incoming.answered();
                }
            }
        }
    }

    /// Takes the packets that have come over a link.
    fn take(&mut self, id: LinkId) -> Result<(), canele_rail::Corrupt> {
        let Some(link) = self.links.get_mut(&id) else { return Ok(()) };
        while let Some(packet) = self.below.poll(id)? {
            let mut body = Vec::new();
            if let Some((number, answer)) = frame::open(&packet, &mut body) {
                link.outgoing.answered(answer, self.now_ns);
                if let Some(number) = number {
                    link.incoming.came(number, body);
                }
            }
            self.below.release(id);
        }
        Ok(())
    }
}
