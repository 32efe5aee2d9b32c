//! The table of peers: pages of a few, made when one of them is first touched.
//!
//! ```text
//!   pages ─┬─▶ [ peer 0 … 7 ]
//!          ├─  none yet: whoever looks there sees `untouched`
//!          └─▶ [ peer 16 … 23 ]
//! ```
//! A rank of a large job talks to few others: it pays one byte for each of the rest. Never forgets a peer.

use std::ops::{Index, IndexMut};

use canele_sys::ids::Rank;

use crate::peer::{Gone, Peer};

/// Peers in a page: the neighbours of one that is talked to cost memory, and so does a longer list of pages.
const PAGE: usize = 8;

type Page = Box<[Peer; PAGE]>;

/// All ranks of the job, as one of them knows them.
pub(crate) struct Peers {
    ranks: usize,
    pages: Box<[Option<Page>]>,
    /// What is known of those whose page was never made.
    untouched: Peer,
}

impl Peers {
    /// `ranks` of them, each of which has been given `credit`.
    pub fn new(ranks: usize, credit: u64) -> Self {
        let pages = (0..ranks.div_ceil(PAGE)).map(|_| None).collect();
        Self { ranks, pages, untouched: Peer { credit, ..Peer::default() } }
    }

    pub fn len(&self) -> usize {
        self.ranks
    }

    /// A peer that was touched before.
    #[inline(always)]
    pub fn known(&self, rank: Rank) -> Option<&Peer> {
        let at = rank.0 as usize;
        Some(&self.pages.get(at / PAGE)?.as_ref()?[at % PAGE])
    }

    /// The same, to be changed.
    #[inline(always)]
    pub fn known_mut(&mut self, rank: Rank) -> Option<&mut Peer> {
        let at = rank.0 as usize;
        Some(&mut self.pages.get_mut(at / PAGE)?.as_mut()?[at % PAGE])
    }

    /// Those that were touched, and some of their neighbours.
    pub fn iter(&self) -> impl Iterator<Item = &Peer> {
        self.pages.iter().flatten().flat_map(|page| page.iter())
    }

    /// From now on all of them are gone, unless they were before.
    pub fn close(&mut self) {
        let known = self.pages.iter_mut().flatten().flat_map(|page| page.iter_mut());
        for peer in known.chain([&mut self.untouched]) {
            peer.gone.get_or_insert(Gone::Finished);
            peer.refresh();
        }
    }
}

#[cold]
#[inline(never)]
fn page(at: usize, ranks: usize, untouched: &Peer) -> Page {
    assert!(at < ranks, "{} in a job of {ranks} ranks", Rank(at as u32));
    let peer = || Peer { credit: untouched.credit, gone: untouched.gone, ..Peer::default() };
    Box::new(std::array::from_fn(|_| peer()))
}

impl Index<usize> for Peers {
    type Output = Peer;

    #[inline(always)]
    fn index(&self, at: usize) -> &Peer {
        match &self.pages[at / PAGE] {
            Some(page) => &page[at % PAGE],
            None => &self.untouched,
        }
    }
}

impl IndexMut<usize> for Peers {
    #[inline(always)]
    fn index_mut(&mut self, at: usize) -> &mut Peer {
        let Self { ranks, pages, untouched } = self;
        &mut pages[at / PAGE].get_or_insert_with(|| page(at, *ranks, untouched))[at % PAGE]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_makes_nothing_and_touching_makes_a_page() {
        let mut peers = Peers::new(20, 500);
        assert_eq!((peers[19].credit, peers.iter().count()), (500, 0));
        assert!(peers.known(Rank(9)).is_none() && peers.known_mut(Rank(99)).is_none());
        peers[9].owed = 3;
        assert_eq!(peers.iter().count(), PAGE);
        assert_eq!(peers.known(Rank(9)).map(|peer| (peer.owed, peer.credit)), Some((3, 500)));
        assert_eq!((peers[10].owed, peers[10].credit), (0, 500));
    }

    #[test]
    fn closing_reaches_those_that_are_touched_later() {
        let mut peers = Peers::new(20, 500);
        peers[0].gone = Some(Gone::Failed);
        peers.close();
        let gone = [peers[0].gone, peers[1].gone, peers[17].gone];
        assert_eq!(gone, [Some(Gone::Failed), Some(Gone::Finished), Some(Gone::Finished)]);
        peers[17].owed = 1;
        assert_eq!(peers[17].gone, Some(Gone::Finished));
    }

    #[test]
    #[should_panic(expected = "rank 23 in a job of 20 ranks")]
    fn a_rank_that_is_none_is_named() {
        Peers::new(20, 500)[23].owed = 1;
    }
}
