//! The table of peers: the peers that were touched, one after the other, and pages with the place of each.
//!
//! ```text
//!   pages ─┬─▶ [ places ] ─┬─▶ peer 0
//!          │               └─  none yet: a reader there sees `untouched`
//!          ├─  none yet
//!          └─▶ [ places ] ───▶ peer 130
//! ```
//! A rank of a large job talks to few others: eight peers that it never touches cost it one byte. The table
//! never forgets a peer. A peer that is looked up repeatedly is found without the pages.

use std::ops::{Index, IndexMut};

use canele_sys::ids::{FlowId, Rank};

use crate::credit::LEAST_WINDOW;
use crate::peer::Peer;

/// The number of places in a page. A large page costs more for one touched peer, a small one makes a longer
/// list of pages.
const PAGE: usize = 64;
/// The place of a peer that was never touched.
const NOWHERE: u32 = u32::MAX;

type Page = Box<[u32; PAGE]>;

/// The place of a peer in the table, valid as long as the table lives; [`PeerIndex::NONE`] if none was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeerIndex(pub u32);

/// The address of short messages to or from a peer.
#[derive(Clone, Copy, Debug)]
pub struct ShortAddress {
    /// The peer.
    pub peer: PeerIndex,
    /// The flow.
    pub flow: FlowId,
}

impl PeerIndex {
    /// The index of no peer.
    pub const NONE: Self = Self(NOWHERE);
}

/// All ranks of the job as peers of this one.
pub(crate) struct Peers {
    ranks: usize,
    /// The peer that was changed last, and its place.
    last: (Rank, u32),
    touched: Vec<Peer>,
    pages: Vec<Option<Page>>,
    /// The first of the peers that were added later.
    added: usize,
    /// The state of peers that were never touched: of those at the start, and of those that were added.
    untouched: Peer,
    untouched_added: Peer,
}

impl Peers {
    /// Makes `ranks` peers, each of which begins with `credit`.
    pub fn new(ranks: usize, credit: u64) -> Self {
        let pages = (0..ranks.div_ceil(PAGE)).map(|_| None).collect();
        Self {
            ranks,
            last: (Rank(0), NOWHERE),
            touched: Vec::new(),
            pages,
            added: ranks,
            untouched: Peer::untouched(credit),
            untouched_added: Peer::untouched(LEAST_WINDOW),
        }
    }

    /// Grows the table to `ranks` peers; new ones begin with the least credit.
    pub fn grow(&mut self, ranks: usize) {
        let more = ranks.div_ceil(PAGE).saturating_sub(self.pages.len());
        self.pages.extend((0..more).map(|_| None));
        self.ranks = self.ranks.max(ranks);
    }

    /// Returns the state of a peer that was never touched.
    #[cold]
    fn untouched(&self, at: usize) -> &Peer {
        if at < self.added { &self.untouched } else { &self.untouched_added }
    }

    pub fn len(&self) -> usize {
        self.ranks
    }

    /// Returns a peer that was touched before.
    #[inline(always)]
    pub fn known(&self, rank: Rank) -> Option<&Peer> {
        let place = if rank == self.last.0 { self.last.1 } else { self.place(rank) };
        self.touched.get(place as usize)
    }

    /// Returns the place of a peer, or [`PeerIndex::NONE`] if it was never touched.
    #[inline(always)]
    pub fn index_of(&mut self, rank: Rank) -> PeerIndex {
        if rank != self.last.0 {
            self.find(rank);
        }
        PeerIndex(self.last.1)
    }

    /// Returns the place of a peer and touches it; [`PeerIndex::NONE`] if there is no such rank.
    pub fn touched_index(&mut self, rank: Rank) -> PeerIndex {
        if (rank.0 as usize) < self.ranks {
            let _ = &mut self[rank.0 as usize];
        }
        self.index_of(rank)
    }

    /// Returns the peer in a place.
    #[inline(always)]
    pub fn at_mut(&mut self, at: PeerIndex) -> Option<&mut Peer> {
        self.touched.get_mut(at.0 as usize)
    }

    /// Returns a peer that was touched before, to be changed.
    #[inline(always)]
    pub fn known_mut(&mut self, rank: Rank) -> Option<&mut Peer> {
        let at = self.index_of(rank);
        self.at_mut(at)
    }

    /// Makes another peer the last one.
    #[inline(never)]
    fn find(&mut self, rank: Rank) {
        self.last = (rank, self.place(rank));
    }

    /// Returns the peers that were touched.
    pub fn iter(&self) -> impl Iterator<Item = &Peer> {
        self.touched.iter()
    }

    /// Closes all peers, unless they were gone before.
    pub fn close(&mut self) {
        for peer in self.touched.iter_mut().chain([&mut self.untouched, &mut self.untouched_added]) {
            peer.job_closed();
        }
    }

    /// Returns the place of a peer among those that were touched.
    #[inline]
    fn place(&self, rank: Rank) -> u32 {
        let at = rank.0 as usize;
        match self.pages.get(at / PAGE) {
            Some(Some(page)) => page[at % PAGE],
            _ => NOWHERE,
        }
    }

    /// Makes a place for a peer that is touched for the first time.
    #[cold]
    #[inline(never)]
    fn touch(&mut self, at: usize) -> &mut Peer {
        assert!(at < self.ranks, "{} in a job of {} ranks", Rank(at as u32), self.ranks);
        let place = self.touched.len() as u32;
        self.pages[at / PAGE].get_or_insert_with(|| Box::new([NOWHERE; PAGE]))[at % PAGE] = place;
        self.last = (Rank(at as u32), place);
        let peer = Peer::touched(self.untouched(at));
        self.touched.push_mut(peer)
    }
}

impl Index<usize> for Peers {
    type Output = Peer;

    #[inline(always)]
    fn index(&self, at: usize) -> &Peer {
        debug_assert!(at < self.ranks, "{} in a job of {} ranks", Rank(at as u32), self.ranks);
        self.known(Rank(at as u32)).unwrap_or_else(|| self.untouched(at))
    }
}

impl IndexMut<usize> for Peers {
    #[inline(always)]
    fn index_mut(&mut self, at: usize) -> &mut Peer {
        let rank = Rank(at as u32);
        if rank != self.last.0 {
            self.find(rank);
        }
        match self.last.1 {
            NOWHERE => self.touch(at),
            place => &mut self.touched[place as usize],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credit::credit_cost;
    use crate::peer::PeerEnd;

    #[test]
    fn looking_makes_nothing_and_touching_makes_one_peer() {
        let mut peers = Peers::new(20, 500);
        assert_eq!((peers[19].credit.sendable(), peers.iter().count()), (500, 0));
        assert!(peers.known(Rank(9)).is_none() && peers.known_mut(Rank(99)).is_none());
        peers[9].chunk_counters = 3;
        assert_eq!(peers.iter().count(), 1);
        assert_eq!(
            peers.known(Rank(9)).map(|peer| (peer.chunk_counters, peer.credit.sendable())),
            Some((3, 500))
        );
        assert_eq!((peers[10].chunk_counters, peers[10].credit.sendable()), (0, 500));
    }

    #[test]
    fn a_peer_is_found_where_it_lies_whatever_is_touched_later() {
        let mut peers = Peers::new(3 * PAGE, 500);
        assert_eq!(peers.index_of(Rank(70)), PeerIndex::NONE);
        let at = peers.touched_index(Rank(70));
        peers[70].chunk_counters = 3;
        (0..3 * PAGE).for_each(|other| peers[other].credit.pay(0));
        assert_eq!(
            peers.at_mut(at).map(|peer| (peer.chunk_counters, peer.credit.sendable())),
            Some((3, 500 - credit_cost(0)))
        );
        assert_eq!((peers.index_of(Rank(70)), peers.touched_index(Rank(70))), (at, at));
        assert_eq!(peers.touched_index(Rank(3 * PAGE as u32)), PeerIndex::NONE);
        assert!(peers.at_mut(PeerIndex::NONE).is_none());
    }

    #[test]
    fn peers_of_any_page_are_apart() {
        let ranks = 3 * PAGE + 1;
        let mut peers = Peers::new(ranks, 500);
        let some = [0, PAGE - 1, PAGE, 2 * PAGE - 1, ranks - 1];
        some.iter().for_each(|at| peers[*at].chunk_counters = 1 + *at as u8);
        for at in 0..ranks {
            let marked = if some.contains(&at) { 1 + at as u8 } else { 0 };
            assert_eq!(peers[at].chunk_counters, marked, "peer {at}");
            let known = peers.known_mut(Rank(at as u32)).map(|peer| peer.chunk_counters);
            assert_eq!(known.unwrap_or(0), marked, "peer {at}");
        }
        assert_eq!(peers.iter().count(), some.len());
    }

    #[test]
    fn closing_reaches_those_that_are_touched_later() {
        let mut peers = Peers::new(20, 500);
        peers[0].went(PeerEnd::Failed);
        peers.close();
        let gone = [peers[0].gone(), peers[1].gone(), peers[17].gone()];
        assert_eq!(gone, [Some(PeerEnd::Failed), Some(PeerEnd::Finished), Some(PeerEnd::Finished)]);
        peers[17].chunk_counters = 1;
        assert_eq!(peers[17].gone(), Some(PeerEnd::Finished));
    }

    #[test]
    fn peers_that_are_added_begin_with_the_least_credit() {
        let mut peers = Peers::new(PAGE, 5000);
        peers[3].chunk_counters = 1;
        peers.grow(3 * PAGE);
        assert_eq!(
            (peers.len(), peers[1].credit.sendable(), peers[PAGE].credit.sendable()),
            (3 * PAGE, 5000, LEAST_WINDOW)
        );
        peers[3 * PAGE - 1].chunk_counters = 2;
        assert_eq!(peers[3 * PAGE - 1].credit.sendable(), LEAST_WINDOW);
        assert_eq!((peers[3].chunk_counters, peers[3].credit.sendable()), (1, 5000));
        peers.close();
        assert_eq!(peers[2 * PAGE].gone(), Some(PeerEnd::Finished));
    }

    #[test]
    #[should_panic(expected = "rank 23 in a job of 20 ranks")]
    fn a_rank_that_is_none_is_named() {
        Peers::new(20, 500)[23].chunk_counters = 1;
    }
}
