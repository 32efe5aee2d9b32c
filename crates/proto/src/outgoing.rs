//! The order in which this rank's peers are served, and the policy by which the messages that wait for one are put into packets.
//!
//! Owns the list of peers, the strategy with the packet that it plans, and backlogs that no peer needs. Never sends anything
//! (`transmit.rs`).

use std::collections::VecDeque;

use canele_rail::{Caps, Rail, Speed};
use canele_sys::ids::{LinkId, Rank};

use crate::Settings;
use crate::backlog::{Backlog, ORDINARY, Takes};
use crate::choice::timely_bytes;
use crate::peer::Peer;
use crate::strategy::{self, PacketDraft, RailView, Strategy};

/// Peers that can have something to be sent at the same time before their list grows.
const LISTED: usize = 64;

/// As many backlogs that no peer needs are kept at most.
const SPARE_BACKLOGS: usize = 4;

/// A link that delivers later than twice the best one, and this, takes no messages that may go another way; where something
/// urgent waits, later than the best one, and this.
pub(crate) const SLACK_NS: u64 = 20_000;

/// The peers with something to be sent, and how packets are planned.
pub(crate) struct Outgoing {
    /// Peers with something to be sent. Each is there once, and [`Peer::listed`].
    active: VecDeque<Rank>,
    strategy: Box<dyn Strategy>,
    /// True if the strategy lets messages be put together before it is asked.
    coalesces: bool,
    /// The memory of the packet that was planned last.
    draft: PacketDraft,
    /// How fast the links to its peer are.
    speeds: Vec<Speed>,
    /// Backlogs that no peer needs: few peers of many have something waiting at a time.
    #[allow(clippy::vec_box)] // The boxes move to peers and back.
    spare_backlogs: Vec<Box<Backlog>>,
}

impl Outgoing {
    /// Nothing waits for any of so many ranks.
    pub fn new(ranks: usize) -> Self {
        let strategy = strategy::default();
        Self {
            active: VecDeque::with_capacity(ranks.min(LISTED)),
            coalesces: strategy.coalesces(),
            strategy,
            draft: PacketDraft::default(),
            speeds: Vec::new(),
            spare_backlogs: Vec::new(),
        }
    }

    /// The policy from now on. Messages that wait already keep the order that the policy before gave them.
    pub fn set_strategy(&mut self, strategy: Box<dyn Strategy>) {
        self.coalesces = strategy.coalesces();
        self.strategy = strategy;
    }

    /// The name of that policy.
    pub fn strategy(&self) -> &str {
        self.strategy.name()
    }

    /// True if messages may be put into the next packet before the policy is asked.
    pub fn coalesces(&self) -> bool {
        self.coalesces
    }

    /// The level at which messages of a flow of this level join a backlog.
    pub fn level(&self, level: u8) -> u8 {
        if self.strategy.by_priority() { level } else { ORDINARY }
    }

    /// True if something urgent may come that pieces of large messages must not hold up.
    pub fn expects_urgent(&self, backlog: &Backlog) -> bool {
        self.strategy.by_priority() && backlog.expects_urgent()
    }

    /// True if no peer has something to be sent.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.active.is_empty()
    }

    /// The number of peers with something to be sent.
    pub fn len(&self) -> usize {
        self.active.len()
    }

    /// Puts a peer behind the others with something to be sent, unless it is among them.
    pub fn list(&mut self, rank: Rank, peer: &mut Peer) {
        if !std::mem::replace(&mut peer.listed, true) {
            self.active.push_back(rank);
        }
    }

    /// Takes the peer whose turn it is. The caller notes that it is listed no more.
    pub fn next_listed(&mut self) -> Option<Rank> {
        self.active.pop_front()
    }

    /// Gives a peer that has no backlog one that no other peer needs, if there is one.
    pub fn lend_backlog(&mut self, peer: &mut Peer) {
        if peer.backlog.is_none() {
            peer.backlog = self.spare_backlogs.pop();
        }
    }

    /// Takes back a backlog in which nothing waits.
    pub fn reclaim_backlog(&mut self, peer: &mut Peer) {
        if let Some(unused) = peer.backlog.take_if(|backlog| backlog.is_unused())
            && self.spare_backlogs.len() < SPARE_BACKLOGS
        {
            self.spare_backlogs.push(unused);
        }
    }

    /// Lets the strategy choose what goes into the next packet of a link. [`Outgoing::recycle`] takes the plan back.
    pub fn plan<R: Rail>(
        &mut self,
        rail: &R,
        link: LinkId,
        guests: bool,
        peer: &mut Peer,
        settings: &Settings,
    ) -> PacketDraft {
        let (caps, speed) = (rail.caps(link), rail.speed(link));
        self.speeds.clear();
        self.speeds.extend(peer.links().iter().map(|link| rail.speed(*link)));
        let soonest_ns = self.speeds.iter().copied().map(delivery_ns).min().unwrap_or(0);
        let numbered = peer.is_numbered();
        let mut draft = std::mem::take(&mut self.draft);
        let mut path = peer.path_over(caps);
        let (only, credit, answers) =
            (peer.links().len() == 1, peer.credit.for_sending(), peer.replies.len());
        let backlog = peer.backlog.get_or_insert_default();
        let late_ns = if backlog.is_pressing() { soonest_ns } else { 2 * soonest_ns } + SLACK_NS;
        let takes = match guests {
            _ if !numbered => Takes::All,
            _ if delivery_ns(speed) > late_ns => Takes::Own,
            true => Takes::Guests,
            false => Takes::Open,
        };
        let piece = longest_piece(caps, speed, settings.piece_bytes, self.expects_urgent(backlog));
        if only {
            path = path.over_only_link(caps, piece);
        }
        draft.begin(answers, credit, path);
        let view = RailView { number: link.rail(), caps, speed, links: &self.speeds, piece, takes };
        self.strategy.next_packet(backlog, &view, &mut draft);
        draft
    }

    /// Takes back the memory of a plan.
    pub fn recycle(&mut self, draft: PacketDraft) {
        self.draft = draft;
    }
}

/// The longest piece of a large message that a link takes: what is lent is bounded by time alone, what is copied by
/// `copied` bytes, and by time where something urgent may come.
pub(crate) fn longest_piece(caps: &Caps, speed: Speed, copied: usize, urgent: bool) -> usize {
    let most = if caps.lends { caps.max_bulk } else { caps.max_bulk.min(copied) };
    if caps.lends || urgent { timely_bytes(speed, most, urgent) } else { most }
}

/// When something small that leaves now arrives: behind what is under way.
pub(crate) fn delivery_ns(speed: Speed) -> u64 {
    let behind_ns = speed.under_way as u64 * 1000 / u64::from(speed.bytes_per_us.max(1));
    u64::from(speed.round_trip_ns / 2) + behind_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_listed_once_until_its_turn() {
        let (mut outgoing, mut peer) = (Outgoing::new(3), Peer::default());
        outgoing.list(Rank(1), &mut peer);
        outgoing.list(Rank(1), &mut peer);
        outgoing.list(Rank(2), &mut Peer::default());
        assert_eq!(outgoing.len(), 2);
        assert_eq!((outgoing.next_listed(), outgoing.next_listed()), (Some(Rank(1)), Some(Rank(2))));
        assert!(outgoing.is_empty());
        peer.listed = false;
        outgoing.list(Rank(1), &mut peer);
        assert_eq!(outgoing.next_listed(), Some(Rank(1)));
    }

    #[test]
    fn a_backlog_goes_from_peer_to_peer_and_few_are_kept() {
        let mut outgoing = Outgoing::new(2);
        let mut peers = [(); SPARE_BACKLOGS + 2].map(|()| Peer::default());
        for peer in &mut peers {
            peer.backlog();
            outgoing.reclaim_backlog(peer);
            assert!(peer.backlog.is_none(), "nothing waits in it");
        }
        peers.iter_mut().for_each(|peer| outgoing.lend_backlog(peer));
        assert_eq!(peers.iter().filter(|peer| peer.backlog.is_some()).count(), SPARE_BACKLOGS);
    }
}
