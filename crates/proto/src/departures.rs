//! The ranks that are gone, in the order in which it became known, and the reasons.
//!
//! Owns the knowledge of ranks that died or cannot be reached, and of the end of this rank. `gone.rs` applies
//! a departure to requests.

use std::collections::HashMap;

use canele_sys::ids::Rank;

use crate::peer::PeerEnd;
use crate::request::Failure;

/// The ranks that are gone, and the reasons.
#[derive(Default)]
pub(crate) struct Departures {
    /// Ranks that died, or count as dead, in the order in which it became known.
    deaths: Vec<Rank>,
    /// The number of other ranks from which packets may come.
    speaking: usize,
    /// True once this rank has finished the job.
    is_closed: bool,
    /// The reasons for which peers cannot be reached, or accept nothing from here.
    reasons: HashMap<Rank, Box<str>>,
    /// Peers that went while messages were coalesced for them, with the number of messages that had left
    /// before.
    discarded: HashMap<Rank, u64>,
}

impl Departures {
    /// Makes a state in which no rank is gone, and packets may come from `others` ranks.
    pub fn new(others: usize) -> Self {
        Self { speaking: others, ..Self::default() }
    }

    /// Adds `more` ranks.
    pub fn ranks_added(&mut self, more: usize) {
        self.speaking += more;
    }

    /// Notes that nothing more comes from one of the other ranks.
    pub fn fell_silent(&mut self) {
        self.speaking -= 1;
    }

    /// Returns true if nothing more comes from any other rank.
    #[inline]
    pub fn is_alone(&self) -> bool {
        self.speaking == 0
    }

    /// Returns a number that changes whenever one of the `ranks` ranks is gone.
    #[inline]
    pub fn count_gone(&self, ranks: usize) -> usize {
        self.deaths.len() + ranks - self.speaking
    }

    /// Notes that a rank died, or counts as dead for this one.
    pub fn died(&mut self, peer: Rank) {
        self.deaths.push(peer);
    }

    /// Returns the ranks that died.
    #[inline(always)]
    pub fn deaths(&self) -> &[Rank] {
        &self.deaths
    }

    /// Returns the latest unreported death on a flow that knows the first `told` ones, among ranks that
    /// `matters` accepts.
    pub fn unreported(&self, told: usize, matters: impl Fn(Rank) -> bool) -> Option<Rank> {
        self.deaths.get(told..)?.iter().rev().copied().find(|dead| matters(*dead))
    }

    /// Notes that this rank has finished the job.
    pub fn close(&mut self) {
        self.is_closed = true;
    }

    /// Returns the failure of all operations, if this rank has finished the job.
    pub fn why_closed(&self) -> Option<Failure> {
        self.is_closed.then_some(Failure::Finished)
    }

    /// Notes why a peer cannot be reached, or accepts nothing from here.
    pub fn note_reason(&mut self, peer: Rank, why: String) {
        self.reasons.insert(peer, why.into());
    }

    /// Returns why nothing can be sent from `me` to a peer that is gone.
    pub fn why_gone(&self, me: Rank, peer: Rank, how: Option<PeerEnd>) -> Option<Failure> {
        let why = || self.reasons.get(&peer).cloned().unwrap_or_default();
        self.why_closed().or_else(|| {
            Some(match how? {
                PeerEnd::Finished => Failure::PeerFinished(peer),
                PeerEnd::Failed => Failure::PeerFailed(peer),
                PeerEnd::Unreachable => Failure::Unreachable(peer, why()),
                PeerEnd::CutOff => Failure::CutOff { by: peer, of: me, why: why() },
            })
        })
    }

    /// Notes that a peer went while messages were coalesced for it; those up to number `left` had left.
    pub fn discard(&mut self, peer: Rank, left: u64) {
        self.discarded.insert(peer, left);
    }

    /// Returns true if a coalesced message with this number never left, because its receiver went.
    pub fn is_discarded(&self, peer: Rank, number: u64) -> bool {
        self.discarded.get(&peer).is_some_and(|left| *left < number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: Rank = Rank(0);

    #[test]
    fn a_rank_is_alone_when_all_others_fell_silent() {
        let mut departures = Departures::new(1);
        departures.ranks_added(1);
        assert_eq!((departures.count_gone(3), departures.is_alone()), (1, false));
        departures.fell_silent();
        departures.died(Rank(2));
        departures.fell_silent();
        assert_eq!((departures.count_gone(3), departures.is_alone()), (4, true));
    }

    #[test]
    fn the_latest_death_that_matters_and_was_not_told_is_found() {
        let mut departures = Departures::new(9);
        [4, 2, 7].into_iter().for_each(|rank| departures.died(Rank(rank)));
        assert_eq!(departures.unreported(0, |_| true), Some(Rank(7)));
        assert_eq!(departures.unreported(1, |rank| rank != Rank(7)), Some(Rank(2)));
        assert_eq!(departures.unreported(2, |rank| rank == Rank(4)), None);
        assert_eq!(departures.unreported(9, |_| true), None, "a flow may know more than there is");
    }

    #[test]
    fn a_failure_says_why_and_the_end_of_this_rank_comes_first() {
        let mut departures = Departures::new(2);
        let why = |departures: &Departures, how| departures.why_gone(ME, Rank(1), how);
        assert!(why(&departures, None).is_none());
        departures.note_reason(Rank(1), "no route".into());
        let unreachable = why(&departures, Some(PeerEnd::Unreachable));
        assert!(matches!(unreachable, Some(Failure::Unreachable(Rank(1), why)) if &*why == "no route"));
        departures.close();
        assert!(matches!(why(&departures, None), Some(Failure::Finished)));
    }

    #[test]
    fn messages_that_left_before_their_receiver_went_are_not_discarded() {
        let mut departures = Departures::new(2);
        departures.discard(Rank(1), 5);
        assert!(!departures.is_discarded(Rank(1), 5) && departures.is_discarded(Rank(1), 6));
        assert!(!departures.is_discarded(Rank(2), 6));
    }
}
