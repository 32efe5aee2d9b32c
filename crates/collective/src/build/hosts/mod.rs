//! Two levels: inside each host, and between hosts. A message between hosts costs tens of those inside.
//!
//! ```text
//!   leaders (short):  members ─▶ leader ═▶ leaders of the other hosts ═▶ leader ─▶ members
//!   lanes (long):     members share out the data; each ═▶ its fellows on the other hosts ═▶; members share in
//! ```
//! Each level is the algorithm of one level with the smallest estimate, among some of the members. Leaders have their ports to themselves.
//!
//! A gather, scatter or alltoall of blocks of different lengths has one level: a schedule is made before the first message, and a leader
//! does not know then how long the blocks of the others are.

pub(crate) mod lanes;
pub(crate) mod leaders;
pub(crate) mod scans;

use crate::choose::{Algorithm, Seat};
use crate::hosts::Hosts;
use crate::schedule::{ScheduleDraft, Span};

/// Where this rank sits in both levels.
pub(crate) struct Levels<'h> {
    hosts: &'h Hosts,
    seat: Seat,
    /// This rank's host, and its place there.
    host: usize,
    place: usize,
    /// The member that speaks for each host: the root for its own host, the first one for another.
    leaders: Vec<usize>,
    /// The algorithm that leaders take between each other wherever it can carry out a call: for tests, and equal on all members.
    forced_across: Option<Algorithm>,
}

impl<'h> Levels<'h> {
    /// With this root, or none.
    pub fn new(hosts: &'h Hosts, seat: Seat, root: Option<usize>) -> Self {
        let (host, place) = hosts.place(seat.me);
        let mut leaders: Vec<usize> = (0..hosts.count()).map(|host| hosts.members(host)[0]).collect();
        if let Some(root) = root {
            leaders[hosts.place(root).0] = root;
        }
        Self { hosts, seat, host, place, leaders, forced_across: None }
    }

    /// The same, with the last member of each host as its leader.
    pub fn led_by_last(self) -> Self {
        let last = |host| *self.hosts.members(host).last().expect("a host has a member");
        Self { leaders: (0..self.hosts.count()).map(last).collect(), ..self }
    }

    /// The same, with this algorithm between leaders wherever it can carry out a call.
    #[cfg(test)]
    pub fn forced_across(self, algorithm: Algorithm) -> Self {
        Self { forced_across: Some(algorithm), ..self }
    }

    fn is_leader(&self) -> bool {
        self.leaders[self.host] == self.seat.me
    }

    /// The place of this host's leader on its host.
    fn leader(&self) -> usize {
        self.hosts.place(self.leaders[self.host]).1
    }

    /// The members of this host.
    fn own(&self) -> &'h [usize] {
        self.hosts.members(self.host)
    }

    /// Bytes of the blocks of a host's members.
    fn bytes_of(&self, host: usize, all: &[Span]) -> usize {
        self.hosts.members(host).iter().map(|member| all[*member].len).sum()
    }

    /// Bytes of the blocks of the host that has most of them.
    fn most_bytes(&self, all: &[Span]) -> usize {
        (0..self.hosts.count()).map(|host| self.bytes_of(host, all)).max().unwrap_or(0)
    }

    /// Where this host's blocks are among those of all hosts, or of this one.
    fn own_part(&self, of_all: bool) -> std::ops::Range<usize> {
        let before = if of_all { (0..self.host).map(|host| self.hosts.members(host).len()).sum() } else { 0 };
        before..before + self.own().len()
    }

    /// From now on peers are those of this host, by their places.
    fn inside(&self, s: &mut ScheduleDraft<'_>) -> Seat {
        s.among(Some(self.own().to_vec()));
        let costs = self.seat.levels.map_or(self.seat.costs, |levels| levels.inside);
        // Members of several hosts publish nothing.
        Seat { costs, shared_buffers: false, forced: None, ..self.seat.within(self.place, self.own().len()) }
    }

    /// From now on peers are leaders, by their hosts; this rank is one.
    fn across(&self, s: &mut ScheduleDraft<'_>) -> Seat {
        s.among(Some(self.leaders.clone()));
        Seat { forced: self.forced_across, ..self.seat.across(self.host, self.hosts.count()) }
    }

    /// The members at this rank's place on all hosts, by their hosts. All hosts have as many members.
    fn fellows(&self) -> impl Iterator<Item = usize> {
        (0..self.hosts.count()).map(|host| self.hosts.members(host)[self.place])
    }

    /// From now on peers are the fellows of this rank, by their hosts.
    fn lane(&self, s: &mut ScheduleDraft<'_>) -> Seat {
        s.among(Some(self.fellows().collect()));
        self.seat.across(self.host, self.hosts.count())
    }
}
