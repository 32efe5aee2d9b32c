//! The paths of messages to a peer and from it: the states, and the events that change them.
//!
//! ```text
//!   Unlinked ─ link wanted ─▶ ExpectLink ─ link opened ─▶ Short │ Plain │ Numbered ─ backlog began ─▶ Queued
//!      ▲                                                     │        ◀─ backlog drained ─              │
//!      └──────────────────── last link lost ─────────────────┴──────────────────────────────────────────┘
//!   each of them ─ peer went, job closed ─▶ Gone
//! ```
//! Each arrow is a method of [`Peer`] here. Nothing else changes a path.

use canele_rail::Caps;
use canele_sys::ids::LinkId;

use super::Peer;
use crate::choice::{Limits, RegionAccess};
use crate::multipath::Multipath;

/// The way in which a peer ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeerEnd {
    /// The peer finished its part of the job.
    Finished,
    /// The peer died, or broke the protocol.
    Failed,
    /// The peer cannot be reached from here.
    Unreachable,
    /// The peer lives, but found that this rank broke the protocol, and accepts nothing more from it.
    CutOff,
}

/// The path of a message to a peer (invariant I10).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum SendPath {
    /// Straight to this link, without a number. A packet takes few instructions there.
    Short(LinkId),
    /// Straight to this link, without a number.
    Plain(LinkId),
    /// Straight to this link, with a number. There may be other links.
    Numbered(LinkId),
    /// Behind the messages that wait for the links.
    Queued,
    /// Into the backlog. The engine was asked for a link.
    ExpectLink,
    /// Into the backlog. There is no link, and none was asked for.
    #[default]
    Unlinked,
    /// Nowhere: the peer is gone, or this rank has finished.
    Gone(PeerEnd),
}

/// The path by which a receive may take a message of a peer without the general path.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum ReceivePath {
    /// From this link. A packet takes few instructions there.
    Short(LinkId),
    /// From this link.
    Plain(LinkId),
    /// None: there is no link, messages carry numbers, or an observer gets each.
    #[default]
    General,
}

impl SendPath {
    /// Returns the link, if a message goes straight to one.
    #[inline(always)]
    pub fn straight(self) -> Option<LinkId> {
        match self {
            Self::Short(link) | Self::Plain(link) | Self::Numbered(link) => Some(link),
            Self::Queued | Self::ExpectLink | Self::Unlinked | Self::Gone(_) => None,
        }
    }

    /// Returns the link, if a message goes straight to one and carries no number.
    #[inline(always)]
    pub fn without_number(self) -> Option<LinkId> {
        match self {
            Self::Short(link) | Self::Plain(link) => Some(link),
            _ => None,
        }
    }
}

impl ReceivePath {
    /// Returns the link, if a message may be taken straight from one.
    #[inline(always)]
    pub fn link(self) -> Option<LinkId> {
        match self {
            Self::Short(link) | Self::Plain(link) => Some(link),
            Self::General => None,
        }
    }
}

impl Peer {
    /// Returns the path of a message for it.
    #[inline(always)]
    pub fn send_path(&self) -> SendPath {
        self.send_path
    }

    /// Returns the path by which a receive may take a message of it.
    #[inline(always)]
    pub fn receive_path(&self) -> ReceivePath {
        self.receive_path
    }

    /// Returns how the peer ended, if it is gone.
    #[inline(always)]
    pub fn gone(&self) -> Option<PeerEnd> {
        if let SendPath::Gone(how) = self.send_path { Some(how) } else { None }
    }

    /// Returns the links to it, the fastest first.
    #[inline(always)]
    pub fn links(&self) -> &[LinkId] {
        &self.links
    }

    /// Returns the link that small messages take, once there is one.
    #[inline(always)]
    pub fn first_link(&self) -> Option<LinkId> {
        self.links.first().copied()
    }

    /// Returns link number `n` of those to the peer.
    pub fn link_at(&self, n: usize) -> Option<LinkId> {
        self.links.get(n).copied()
    }

    /// Notes that a link is needed. Returns true if the engine is to be asked for it.
    pub fn link_wanted(&mut self) -> bool {
        let is_new = self.send_path == SendPath::Unlinked;
        if is_new {
            self.send_path = SendPath::ExpectLink;
        }
        is_new
    }

    /// Adds an opened link to a peer that is not gone. `receive_path` applies if the peer's messages carry no
    /// numbers. Links are in the order of `round_trip_ns`.
    pub fn link_opened(
        &mut self,
        link: LinkId,
        (caps, limits): (&Caps, Limits),
        receive_path: ReceivePath,
        round_trip_ns: impl Fn(LinkId) -> u32,
    ) {
        (self.regions, self.limits) = (RegionAccess::over(caps), limits);
        if caps.needs_numbers() {
            self.numbers_began();
            self.links.retain(|other| *other != link);
            self.links.push(link);
            // Of equally fast links both ends take the same one, because a receive looks there most often.
            self.links.sort_by_key(|link| (round_trip_ns(*link), link.rail()));
        } else {
            self.links = vec![link];
            self.receive_path = if self.is_numbered() { ReceivePath::General } else { receive_path };
        }
        self.send_path = self.linked_path();
    }

    /// Removes a recoverable link that was lost. Returns true if it was one of the peer's.
    pub fn link_lost(&mut self, link: LinkId) -> bool {
        let before = self.links.len();
        if self.is_numbered() {
            self.links.retain(|other| *other != link);
        }
        let was_there = self.links.len() < before;
        if was_there && self.gone().is_none() {
            self.send_path = self.linked_path();
        }
        was_there
    }

    /// Lets messages carry numbers from now on, in both directions.
    pub fn numbers_began(&mut self) {
        if self.begin_numbers() {
            self.receive_path = ReceivePath::General;
            if self.send_path.straight().is_some() {
                self.send_path = self.linked_path();
            }
        }
    }

    /// Notes that a message joined the backlog. Messages that must not be overtaken go first from now on.
    pub fn backlog_began(&mut self) {
        if self.send_path.straight().is_some() && self.has_waiting() {
            self.send_path = SendPath::Queued;
        }
    }

    /// Notes that a waiting message has left. Messages go straight again if no other waits.
    pub fn backlog_drained(&mut self) {
        if self.send_path == SendPath::Queued {
            self.send_path = self.linked_path();
        }
        debug_assert!(self.send_path.straight().is_none() || !self.has_waiting(), "a message would overtake");
    }

    /// Drops the waiting messages of a peer that went. Returns the state of its numbered messages.
    pub fn went(&mut self, how: PeerEnd) -> Option<Box<Multipath>> {
        (self.send_path, self.receive_path) = (SendPath::Gone(how), ReceivePath::General);
        self.links = Vec::new();
        self.replies.clear();
        self.backlog = None;
        self.credit.peer_went();
        self.chunk_counters = 0;
        self.multipath.take()
    }

    /// Closes the path because this rank has finished the job. Packets on the peer's links may still be
    /// received.
    pub fn job_closed(&mut self) {
        if self.gone().is_none() {
            self.send_path = SendPath::Gone(PeerEnd::Finished);
        }
    }

    /// Returns the path of a message to a peer that is not gone, by its links and the messages that wait for
    /// them.
    fn linked_path(&self) -> SendPath {
        match (self.first_link(), self.receive_path) {
            (None, _) => SendPath::Unlinked,
            (Some(_), _) if self.has_waiting() => SendPath::Queued,
            (Some(link), _) if self.is_numbered() => SendPath::Numbered(link),
            (Some(link), ReceivePath::Short(_)) => SendPath::Short(link),
            (Some(link), _) => SendPath::Plain(link),
        }
    }

    /// Returns true if a message waits that a new one must not overtake.
    fn has_waiting(&self) -> bool {
        // While pieces leave over several links, the strategy decides about new messages: another link may be
        // emptier, or the pieces too long.
        let beside = self.is_numbered() && self.backlog.as_ref().is_some_and(|backlog| backlog.has_streams());
        self.has_messages() || self.has_numbered_waiting() || beside
    }
}

#[cfg(test)]
mod tests {
    use canele_rail::LinkTraits;
    use canele_sys::ids::{Rank, RequestId};

    use super::*;
    use crate::choice::tests::CAPS;

    const NUMBERED: Caps = Caps { link_traits: LinkTraits::RECOVERABLE, ..CAPS };

    fn link(rail: u8) -> LinkId {
        LinkId::new(rail, Rank(1))
    }

    fn linked(receive_path: ReceivePath) -> Peer {
        let mut peer = Peer::default();
        peer.link_opened(link(0), (&CAPS, Limits::default()), receive_path, |_| 0);
        peer
    }

    /// A peer with two links, the second of which is faster.
    fn numbered() -> Peer {
        let mut peer = Peer::default();
        for rail in [1, 2] {
            let caps = (&NUMBERED, Limits::default());
            peer.link_opened(link(rail), caps, ReceivePath::General, |link| 10 - u32::from(link.rail()));
        }
        peer
    }

    fn stream(peer: &mut Peer) {
        peer.backlog().stream(RequestId { index: 0, generation: 0 }, 0, 1000);
        peer.backlog_began();
    }

    #[test]
    fn a_link_is_asked_for_once_and_its_kind_decides_the_path() {
        let mut peer = Peer::default();
        assert_eq!(
            (peer.send_path(), peer.link_wanted(), peer.link_wanted()),
            (SendPath::Unlinked, true, false)
        );
        assert_eq!(peer.send_path(), SendPath::ExpectLink);
        peer.link_opened(link(0), (&CAPS, Limits::default()), ReceivePath::Short(link(0)), |_| 0);
        assert_eq!((peer.send_path(), peer.link_wanted()), (SendPath::Short(link(0)), false));
        assert_eq!(linked(ReceivePath::Plain(link(0))).send_path(), SendPath::Plain(link(0)));
        assert_eq!(linked(ReceivePath::General).send_path(), SendPath::Plain(link(0)), "an observer is told");
        let peer = numbered();
        assert_eq!((peer.send_path(), peer.links()), (SendPath::Numbered(link(2)), &[link(2), link(1)][..]));
    }

    #[test]
    fn what_waits_ends_the_straight_path_until_it_has_left() {
        let mut peer = numbered();
        stream(&mut peer);
        assert_eq!(peer.send_path(), SendPath::Queued);
        peer.backlog_drained();
        assert_eq!(peer.send_path(), SendPath::Queued, "pieces still wait");
        peer.backlog = None;
        peer.backlog_drained();
        assert_eq!(peer.send_path(), SendPath::Numbered(link(2)));
        let mut peer = linked(ReceivePath::Short(link(0)));
        stream(&mut peer);
        assert_eq!(peer.send_path(), SendPath::Short(link(0)), "messages without numbers pass pieces");
    }

    #[test]
    fn another_link_takes_over_and_with_the_last_one_the_path_ends() {
        let mut peer = numbered();
        assert!(peer.link_lost(link(2)) && !peer.link_lost(link(2)));
        assert_eq!(peer.send_path(), SendPath::Numbered(link(1)));
        stream(&mut peer);
        assert!(peer.link_lost(link(1)));
        assert_eq!((peer.send_path(), peer.link_wanted()), (SendPath::Unlinked, true));
        peer.link_opened(link(1), (&NUMBERED, Limits::default()), ReceivePath::General, |_| 0);
        assert_eq!(peer.send_path(), SendPath::Queued, "the pieces go first");
        assert!(!linked(ReceivePath::Short(link(0))).link_lost(link(0)), "it cannot be lost");
    }

    #[test]
    fn numbers_end_what_goes_without_them() {
        let mut peer = linked(ReceivePath::Short(link(0)));
        peer.numbers_began();
        assert_eq!(
            (peer.send_path(), peer.receive_path()),
            (SendPath::Numbered(link(0)), ReceivePath::General)
        );
    }

    #[test]
    fn a_peer_that_went_stays_gone_and_a_finished_rank_still_receives() {
        let mut peer = linked(ReceivePath::Short(link(0)));
        peer.job_closed();
        assert_eq!(
            (peer.gone(), peer.receive_path()),
            (Some(PeerEnd::Finished), ReceivePath::Short(link(0)))
        );
        assert!(peer.went(PeerEnd::Failed).is_none() && numbered().went(PeerEnd::Failed).is_some());
        peer.job_closed();
        assert_eq!((peer.gone(), peer.receive_path()), (Some(PeerEnd::Failed), ReceivePath::General));
        stream(&mut peer);
        peer.backlog_drained();
        assert!(!peer.link_wanted() && peer.links().is_empty() && peer.gone() == Some(PeerEnd::Failed));
    }
}
