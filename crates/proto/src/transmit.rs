//! What goes out, peer by peer and link by link: whose turn it is, and what a strategy chooses for the next packet of a link.
//! `packet.rs` fills it.

use canele_rail::{Busy, Caps, FullRail, Rail, Speed};
use canele_sys::ids::{LinkId, Rank};

use crate::Proto;
use crate::backlog::Takes;
use crate::choice::{Path, timely_bytes};
use crate::peer::Peer;
use crate::strategy::{Draft, RailView};

/// As many backlogs that no peer needs are kept at most.
const SPARE_BACKLOGS: usize = 4;

/// Packets sent over one link before others have their turn.
const PACKETS: usize = 64;

/// A link that delivers later than twice the best one, and this, takes no messages that may go another way; where something
/// urgent waits, later than the best one, and this.
const SLACK_NS: u64 = 20_000;

/// Why a link is left: it has no room, or nothing is to be sent over it.
enum Left {
    Busy,
    Idle,
}

impl From<Busy> for Left {
    fn from(_: Busy) -> Self {
        Self::Busy
    }
}

impl Proto {
    /// Sends what waits, as far as there is room. Every peer has its turn. Says whether anything moved: that nothing waits any more
    /// is also worth another look, even if what waited is gone with its peer.
    #[inline(always)]
    pub(crate) fn transmit<R: FullRail>(&mut self, rail: &mut R) -> bool {
        !self.active.is_empty() && self.transmit_waiting(rail)
    }

    fn transmit_waiting<R: FullRail>(&mut self, rail: &mut R) -> bool {
        let mut any = false;
        for _ in 0..self.active.len() {
            let Some(peer) = self.active.pop_front() else { break };
            self.peers[peer.0 as usize].listed = false;
            any |= self.transmit_to(rail, peer);
        }
        any || self.active.is_empty()
    }

    /// Sends what waits for one peer, and lists it again if something is left.
    pub(crate) fn transmit_to<R: FullRail>(&mut self, rail: &mut R, to: Rank) -> bool {
        let peer = &mut self.peers[to.0 as usize];
        if peer.links().is_empty() {
            if peer.link_wanted() {
                self.wanted.push(to);
            }
            return false;
        }
        self.take_spare_backlog(to);
        let (mut any, mut busy) = (false, false);
        for guests in [false, true] {
            let (first, links) = first_link(rail, &self.peers[to.0 as usize]);
            for n in 0..links {
                let Some(link) = self.peers[to.0 as usize].link_at((first + n) % links) else { break };
                busy |= matches!(self.use_link(rail, to, link, guests, &mut any), Left::Busy);
            }
            // What prefers a rail that has no room may take another one.
            let guests = self.peers[to.0 as usize].backlog.as_ref().is_some_and(|b| b.has_choosy());
            if !guests {
                break;
            }
        }
        let peer = &mut self.peers[to.0 as usize];
        peer.backlog_drained();
        if let Some(unused) = peer.backlog.take_if(|backlog| backlog.is_unused())
            && self.spare_backlogs.len() < SPARE_BACKLOGS
        {
            self.spare_backlogs.push(unused);
        }
        if busy || self.peers[to.0 as usize].has_work() {
            self.list(to);
        }
        any
    }

    /// Gives a peer that has no backlog one that no other peer needs, if there is one.
    pub(crate) fn take_spare_backlog(&mut self, to: Rank) {
        let backlog = &mut self.peers[to.0 as usize].backlog;
        if backlog.is_none() {
            *backlog = self.spare_backlogs.pop();
        }
    }

    /// Sends packets over one link until it has no room or nothing is left for it.
    fn use_link<R: FullRail>(
        &mut self,
        rail: &mut R,
        to: Rank,
        link: LinkId,
        guests: bool,
        any: &mut bool,
    ) -> Left {
        for _ in 0..PACKETS {
            let peer = &mut self.peers[to.0 as usize];
            if !peer.has_work() {
                return Left::Idle;
            }
            if peer.is_credit_due() {
                self.pull_or_return(to);
            }
            match self.send_packet(rail, to, link, guests) {
                Ok(()) => *any = true,
                Err(left) => return left,
            }
        }
        Left::Idle
    }

    /// One packet.
    fn send_packet<R: FullRail>(
        &mut self,
        rail: &mut R,
        to: Rank,
        link: LinkId,
        guests: bool,
    ) -> Result<(), Left> {
        if !rail.admits_message(link) {
            // The cells reserved for control, perhaps.
            return Ok(self.send_reply(rail, to, link)?);
        }
        if self.retransmit(rail, link, to)? {
            return Ok(());
        }
        if is_timely(rail, &self.peers[to.0 as usize], link) && self.send_coalesced(rail, to, link)? {
            return Ok(());
        }
        if self.send_pulled(rail, to, link)? {
            return Ok(());
        }
        let mut draft = std::mem::take(&mut self.draft);
        self.plan(rail, to, link, guests, &mut draft);
        let result = self.send_draft(rail, to, link, &mut draft);
        self.draft = draft;
        result
    }

    /// Lets the strategy choose what goes into the packet.
    fn plan<R: Rail>(&mut self, rail: &R, to: Rank, link: LinkId, guests: bool, draft: &mut Draft) {
        let peer = &mut self.peers[to.0 as usize];
        let caps = rail.caps(link);
        let speed = rail.speed(link);
        self.speeds.clear();
        self.speeds.extend(peer.links().iter().map(|link| rail.speed(*link)));
        let soonest_ns = self.speeds.iter().copied().map(delivery_ns).min().unwrap_or(0);
        let numbered = peer.is_numbered();
        let backlog = peer.backlog.get_or_insert_default();
        let late_ns = if backlog.is_pressing() { soonest_ns } else { 2 * soonest_ns } + SLACK_NS;
        let takes = match guests {
            _ if !numbered => Takes::All,
            _ if delivery_ns(speed) > late_ns => Takes::Own,
            true => Takes::Guests,
            false => Takes::Open,
        };
        let path = Path {
            eager_bytes: self.settings.eager_bytes,
            max_bulk: caps.max_bulk,
            numbered,
            distance: caps.distance,
            maps_regions: peer.maps_regions,
        };
        draft.begin(peer.replies.len(), peer.credit.for_sending(), path);
        let urgent = self.strategy.by_priority() && backlog.expects_urgent();
        let piece = longest_piece(caps, speed, self.settings.piece_bytes, urgent);
        let view = RailView { number: link.rail(), caps, speed, links: &self.speeds, piece, takes };
        self.strategy.next_packet(backlog, &view, draft);
    }

    /// Sends what was chosen; what finds no room goes back to where it was.
    fn send_draft<R: FullRail>(
        &mut self,
        rail: &mut R,
        to: Rank,
        link: LinkId,
        draft: &mut Draft,
    ) -> Result<(), Left> {
        if draft.is_empty() {
            return Err(Left::Idle);
        }
        let result = match (draft.piece, draft.control, &draft.messages[..]) {
            (Some(piece), ..) => return Ok(self.send_piece(rail, to, link, piece)?),
            (None, 1, []) => self.send_reply(rail, to, link),
            (None, 0, [pick]) => self.send_message(rail, to, link, *pick),
            _ => self.send_train(rail, to, link, draft),
        };
        let backlog = self.peers[to.0 as usize].backlog();
        backlog.carried(false);
        if let Err(busy) = result {
            draft.messages.iter().rev().for_each(|pick| backlog.put_back(pick.key));
            return Err(busy.into());
        }
        self.traffic.packets += 1;
        self.traffic.parts += draft.parts() as u64;
        Ok(())
    }
}

/// The longest piece of a large message that a link takes: what is lent is bounded by time alone, what is copied by
/// `copied` bytes, and by time where something urgent may come.
pub(crate) fn longest_piece(caps: &Caps, speed: Speed, copied: usize, urgent: bool) -> usize {
    let most = if caps.lends { caps.max_bulk } else { caps.max_bulk.min(copied) };
    if caps.lends || urgent { timely_bytes(speed, most, urgent) } else { most }
}

/// Which of the links to a peer is asked first, and how many there are: something small that waits takes the one that delivers it
/// first.
fn first_link<R: Rail>(rail: &R, peer: &Peer) -> (usize, usize) {
    let links = peer.links();
    let first = match links.len() > 1 && (peer.has_messages() || peer.has_numbered_waiting()) {
        true => (0..links.len()).min_by_key(|n| delivery_ns(rail.speed(links[*n]))),
        false => None,
    };
    (first.unwrap_or(0), links.len())
}

/// Whether something small that was coalesced would arrive over a link about as soon as over the best one.
fn is_timely<R: Rail>(rail: &R, peer: &Peer, link: LinkId) -> bool {
    let links = peer.links();
    if links.len() < 2 || !peer.has_numbered_waiting() {
        return true;
    }
    let soonest_ns = links.iter().map(|link| delivery_ns(rail.speed(*link))).min();
    delivery_ns(rail.speed(link)) <= 2 * soonest_ns.unwrap_or(0) + SLACK_NS
}

/// When something small that leaves now arrives: behind what is under way.
fn delivery_ns(speed: Speed) -> u64 {
    let behind_ns = speed.under_way as u64 * 1000 / u64::from(speed.bytes_per_us.max(1));
    u64::from(speed.round_trip_ns / 2) + behind_ns
}
