//! Two levels: inside each host, and between hosts. A message between hosts costs tens of those inside.
//!
//! ```text
//!   leaders (short):  members ─▶ leader ═▶ leaders of the other hosts ═▶ leader ─▶ members
//!   lanes (long):     members share out the data; each ═▶ its fellows on other hosts ═▶; members share in
//! ```
//! Each level is the algorithm of one level with the smallest estimate, among some of the members. Each
//! leader has its port to itself.
//!
//! A gather, scatter or alltoall of blocks of different lengths has one level. A schedule is made before the
//! first message, when a leader does not know the lengths of the others' blocks.

pub(crate) mod lanes;
pub(crate) mod leaders;
pub(crate) mod scans;

use crate::choose::{Algorithm, Seat};
use crate::hosts::Hosts;
use crate::schedule::{ScheduleDraft, Span};

/// The seat of this rank in both levels.
pub(crate) struct Levels<'h> {
    hosts: &'h Hosts,
    seat: Seat,
    /// This rank's host, and its place there.
    host: usize,
    place: usize,
    /// The leader of each host: the root for its own host, the first member for another.
    leaders: Vec<usize>,
    /// The algorithm that leaders take among themselves whenever it can carry out a call: for tests, and
    /// equal on all members.
    forced_across: Option<Algorithm>,
}

impl<'h> Levels<'h> {
    /// Makes the levels with this root, or none.
    pub fn new(hosts: &'h Hosts, seat: Seat, root: Option<usize>) -> Self {
        let (host, place) = hosts.place(seat.me);
        let mut leaders: Vec<usize> = (0..hosts.count()).map(|host| hosts.members(host)[0]).collect();
        if let Some(root) = root {
            leaders[hosts.place(root).0] = root;
        }
        Self { hosts, seat, host, place, leaders, forced_across: None }
    }

    /// Returns these levels with the last member of each host as its leader.
    pub fn led_by_last(self) -> Self {
        let last = |host| *self.hosts.members(host).last().expect("a host has a member");
        Self { leaders: (0..self.hosts.count()).map(last).collect(), ..self }
    }

    /// Returns these levels with this algorithm between leaders, whenever it can carry out a call.
    #[cfg(test)]
    pub fn forced_across(self, algorithm: Algorithm) -> Self {
        Self { forced_across: Some(algorithm), ..self }
    }

    fn is_leader(&self) -> bool {
        self.leaders[self.host] == self.seat.me
    }

    /// Returns the place of this host's leader on its host.
    fn leader(&self) -> usize {
        self.hosts.place(self.leaders[self.host]).1
    }

    /// Returns the members of this host.
    fn own(&self) -> &'h [usize] {
        self.hosts.members(self.host)
    }

    /// Returns the bytes of the blocks of a host's members.
    fn bytes_of(&self, host: usize, all: &[Span]) -> usize {
        self.hosts.members(host).iter().map(|member| all[*member].len).sum()
    }

    /// Returns the bytes of the blocks of the host that has most of them.
    fn most_bytes(&self, all: &[Span]) -> usize {
        (0..self.hosts.count()).map(|host| self.bytes_of(host, all)).max().unwrap_or(0)
    }

    /// Returns the range of this host's blocks among those of all hosts, or of this one.
    fn own_part(&self, of_all: bool) -> std::ops::Range<usize> {
        let before = if of_all { (0..self.host).map(|host| self.hosts.members(host).len()).sum() } else { 0 };
        before..before + self.own().len()
    }

    /// Makes the members of this host the peers from now on, by their places.
    fn inside(&self, s: &mut ScheduleDraft<'_>) -> Seat {
        s.among(Some(self.own().to_vec()));
        let costs = self.seat.levels.map_or(self.seat.costs, |levels| levels.inside);
        // Members of several hosts publish nothing.
        Seat { costs, shared_buffers: false, forced: None, ..self.seat.within(self.place, self.own().len()) }
    }

    /// Makes the leaders the peers from now on, by their hosts; this rank is one.
    fn across(&self, s: &mut ScheduleDraft<'_>) -> Seat {
        s.among(Some(self.leaders.clone()));
        Seat { forced: self.forced_across, ..self.seat.across(self.host, self.hosts.count()) }
    }

    /// Returns the members at this rank's place on all hosts, by their hosts. All hosts have the same number
    /// of members.
    fn fellows(&self) -> impl Iterator<Item = usize> {
        (0..self.hosts.count()).map(|host| self.hosts.members(host)[self.place])
    }

    /// Makes the fellows of this rank the peers from now on, by their hosts.
    fn lane(&self, s: &mut ScheduleDraft<'_>) -> Seat {
        s.among(Some(self.fellows().collect()));
        self.seat.across(self.host, self.hosts.count())
    }
}
