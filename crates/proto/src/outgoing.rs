//! The order in which this rank's peers are served, and the policy that puts the waiting messages of one into
//! packets.
//!
//! Owns the list of peers, the strategy with the packet that it plans, and backlogs that no peer needs. Never
//! sends anything (`transmit.rs`).

use std::collections::VecDeque;

use canele_rail::{Caps, Rail, Speed};
use canele_sys::ids::{LinkId, Rank};

use crate::Settings;
use crate::backlog::{Backlog, ORDINARY, Takes};
use crate::choice::timely_bytes;
use crate::peer::Peer;
use crate::strategy::{self, PacketDraft, RailView, Strategy};

/// The number of peers with packets to be sent before the list of them grows.
const LISTED: usize = 64;

/// The most backlogs that are kept without a peer.
const SPARE_BACKLOGS: usize = 4;

/// Limits the delay of a link: a message takes another link if this one delivers later than twice the time of
/// the best link plus this. If an urgent message waits, the bound is the time of the best link plus this.
pub(crate) const SLACK_NS: u64 = 20_000;

/// The peers with packets to be sent, and the planning of these packets.
pub(crate) struct Outgoing {
    /// Peers with packets to be sent. Each is there once, and has [`Peer::listed`] set.
    active: VecDeque<Rank>,
    strategy: Box<dyn Strategy>,
    /// True if the strategy lets messages be combined without a call to it.
    coalesces: bool,
    /// The memory of the packet that was planned last.
    draft: PacketDraft,
    /// The speeds of the links to its peer.
    speeds: Vec<Speed>,
    /// Backlogs that no peer needs: few peers of many have messages waiting at a time.
    #[allow(clippy::vec_box)] // The boxes move to peers and back.
    spare_backlogs: Vec<Box<Backlog>>,
}

impl Outgoing {
    /// Makes a list for so many ranks, in which no message waits.
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

    /// Sets the policy. Messages that wait already keep the order that the policy before gave them.
    pub fn set_strategy(&mut self, strategy: Box<dyn Strategy>) {
        self.coalesces = strategy.coalesces();
        self.strategy = strategy;
    }

    /// Returns the name of the policy.
    pub fn strategy(&self) -> &str {
        self.strategy.name()
    }

    /// Returns true if messages may be put into the next packet without a call to the policy.
    pub fn coalesces(&self) -> bool {
        self.coalesces
    }

    /// Returns the level at which messages of a flow of this level join a backlog.
    pub fn level(&self, level: u8) -> u8 {
        if self.strategy.by_priority() { level } else { ORDINARY }
    }

    /// Returns true if an urgent message may come that pieces of large messages must not hold up.
    pub fn expects_urgent(&self, backlog: &Backlog) -> bool {
        self.strategy.by_priority() && backlog.expects_urgent()
    }

    /// Returns true if no peer has packets to be sent.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.active.is_empty()
    }

    /// Returns the number of peers with packets to be sent.
    pub fn len(&self) -> usize {
        self.active.len()
    }

    /// Puts a peer behind the others with packets to be sent, unless it is among them.
    pub fn list(&mut self, rank: Rank, peer: &mut Peer) {
        if !std::mem::replace(&mut peer.listed, true) {
            self.active.push_back(rank);
        }
    }

    /// Takes the peer whose turn it is. The caller clears [`Peer::listed`].
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

    /// Lets the strategy plan the next packet of a link. [`Outgoing::recycle`] takes the plan back.
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

/// Returns the length of the longest piece of a large message that a link takes. Time bounds a lent piece.
/// `copied` bounds a copied piece, and time too if an urgent message may come.
pub(crate) fn longest_piece(caps: &Caps, speed: Speed, copied: usize, urgent: bool) -> usize {
    let most = if caps.lends { caps.max_bulk } else { caps.max_bulk.min(copied) };
    if caps.lends || urgent { timely_bytes(speed, most, urgent) } else { most }
}

/// Returns the time until a small message that leaves now arrives, behind the bytes under way.
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
