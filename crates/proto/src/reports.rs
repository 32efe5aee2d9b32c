//! Reports of the protocols to the engine, until it takes them.
//!
//! Owns the links that are to be opened, or were lost, answers to fences, and peers that broke the protocol.
//! Never acts on any of them.

use std::collections::VecDeque;

use canele_rail::Corrupt;
use canele_sys::ids::{LinkId, Rank};

use crate::peer::{Peer, PeerEnd};

/// The reports that the engine has not taken.
#[derive(Default)]
pub(crate) struct Reports {
    /// Peers whose link is to be opened.
    wanted: Vec<Rank>,
    /// Links that were lost.
    lost: VecDeque<LinkId>,
    /// Answered fences: the peer and the ticket.
    fenced: VecDeque<(Rank, u64)>,
    /// Peers that broke the protocol and were cut off, with their faults.
    faults: Vec<(Rank, Corrupt)>,
}

impl Reports {
    /// Asks the engine once for a link to a peer.
    pub fn want_link(&mut self, rank: Rank, peer: &mut Peer) {
        if peer.link_wanted() {
            self.wanted.push(rank);
        }
    }

    /// Takes a peer whose link is to be opened.
    pub fn take_wanted(&mut self) -> Option<Rank> {
        self.wanted.pop()
    }

    /// Adds a link that was lost.
    pub fn link_lost(&mut self, link: LinkId) {
        self.lost.push_back(link);
    }

    /// Takes a link that was lost.
    pub fn take_lost(&mut self) -> Option<LinkId> {
        self.lost.pop_front()
    }

    /// Adds a fence that a peer has answered.
    pub fn fence_answered(&mut self, by: Rank, ticket: u64) {
        self.fenced.push_back((by, ticket));
    }

    /// Takes a fence that was answered.
    pub fn take_fenced(&mut self) -> Option<(Rank, u64)> {
        self.fenced.pop_front()
    }

    /// Reports a peer that broke the protocol; `gone` says how it ended, if it did. A peer that died is not
    /// reported again, nor one that cut this rank off.
    pub fn accuse(&mut self, peer: Rank, gone: Option<PeerEnd>, corrupt: Corrupt) {
        if matches!(gone, None | Some(PeerEnd::Finished)) {
            self.faults.push((peer, corrupt));
        }
    }

    /// Takes a peer that broke the protocol.
    pub fn take_fault(&mut self) -> Option<(Rank, Corrupt)> {
        self.faults.pop()
    }

    /// Returns true if a link is to be opened, a fence was answered, or a peer broke the protocol.
    #[inline(always)]
    pub fn wants_anything(&self) -> bool {
        !(self.wanted.is_empty() && self.fenced.is_empty() && self.faults.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: Rank = Rank(1);

    #[test]
    fn a_link_is_asked_for_once() {
        let (mut reports, mut peer) = (Reports::default(), Peer::default());
        assert!(!reports.wants_anything());
        reports.want_link(PEER, &mut peer);
        reports.want_link(PEER, &mut peer);
        assert!(reports.wants_anything());
        assert_eq!((reports.take_wanted(), reports.take_wanted()), (Some(PEER), None));
        reports.want_link(PEER, &mut peer);
        assert_eq!(reports.take_wanted(), None, "the engine opens it");
    }

    #[test]
    fn only_a_peer_that_may_still_speak_is_accused() {
        let mut reports = Reports::default();
        let mut accused = |gone| {
            reports.accuse(PEER, gone, Corrupt("nonsense".into()));
            reports.take_fault().is_some()
        };
        assert!(accused(None) && accused(Some(PeerEnd::Finished)));
        assert!(
            ![PeerEnd::Failed, PeerEnd::Unreachable, PeerEnd::CutOff]
                .into_iter()
                .any(|how| accused(Some(how)))
        );
    }
}
