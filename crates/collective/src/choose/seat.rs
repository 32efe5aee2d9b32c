//! The seat of a member, and the fastest algorithm there.

use super::estimate::estimate_ns;
use super::{Algorithm, CollectiveCosts, HostLevels};
use crate::spec::{Operation, Shape};

/// The place of a member in a collective, and the conditions there.
#[derive(Clone, Copy, Debug)]
pub struct Seat {
    /// This rank's number.
    pub me: usize,
    /// The number of members.
    pub ranks: usize,
    /// The number of members of this rank's own group; all unless there are two.
    pub local: usize,
    /// True if ranks share processors; equal on all members.
    pub oversubscribed: bool,
    /// True if the members can publish data in shared buffers.
    pub shared_buffers: bool,
    /// The costs of the members; equal on all of them.
    pub costs: CollectiveCosts,
    /// The hosts that the members are on, if there are several; `costs` are those between hosts then.
    pub levels: Option<HostLevels>,
    /// The algorithm that is taken whenever it can carry out a call: for measurements, and equal on all
    /// members.
    pub forced: Option<Algorithm>,
}

/// An algorithm that can carry out a call, with its estimated time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Candidate {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Its time in nanoseconds.
    pub ns: f64,
}

impl Seat {
    /// Returns the seat in one group of `ranks` members.
    pub(crate) fn within(self, me: usize, ranks: usize) -> Self {
        Self { me, ranks, local: ranks, levels: None, ..self }
    }

    /// Returns the seat of one member of each host, among so many hosts.
    pub(crate) fn across(self, me: usize, hosts: usize) -> Self {
        let free = Self { oversubscribed: false, shared_buffers: false, forced: None, ..self };
        free.within(me, hosts)
    }

    /// Returns the seat in this rank's own group.
    pub(crate) fn own(self) -> Self {
        self.within(self.me, self.local)
    }

    pub(crate) fn is_between(self) -> bool {
        self.local < self.ranks
    }

    /// Returns true if each member has a processor, with caches of its own.
    pub(crate) fn has_own_caches(self) -> bool {
        !self.oversubscribed && self.costs.has_own_caches()
    }

    /// Returns true if each member has a processor, and all of those share their caches.
    pub(crate) fn shares_caches(self) -> bool {
        !self.oversubscribed && self.costs.is_of_host() && !self.costs.has_own_caches()
    }

    /// Returns true if messages go over a network, or may.
    pub(crate) fn is_over_a_network(self) -> bool {
        !self.costs.is_of_host()
    }

    /// Returns the number of members of the other group.
    pub(crate) fn remote(self) -> usize {
        self.ranks - self.local
    }

    /// Returns the algorithms that can carry out a call of even blocks among one group, with their estimates.
    pub fn candidates(self, shape: Shape) -> Vec<Candidate> {
        self.able(shape, true).collect()
    }

    /// Returns the algorithm of a call of even blocks.
    pub fn choose(self, shape: Shape) -> Algorithm {
        self.choose_of(shape, true)
    }

    /// Returns true if the estimate of an algorithm is smaller than another one's.
    pub(crate) fn is_faster(self, shape: Shape, one: Algorithm, other: Algorithm) -> bool {
        estimate_ns(self, shape, one) < estimate_ns(self, shape, other)
    }

    pub(super) fn able(self, shape: Shape, is_even: bool) -> impl Iterator<Item = Candidate> {
        let all = Algorithm::of(shape.operation).iter();
        let able = all.filter(move |algorithm| algorithm.can_carry_out(self, shape, is_even));
        able.map(move |algorithm| Candidate {
            algorithm: *algorithm,
            ns: estimate_ns(self, shape, *algorithm),
        })
    }

    /// Returns the candidate with the smallest estimate, the first of several; `is_even` is true if all
    /// members know the lengths of all blocks.
    pub(super) fn choose_of(self, shape: Shape, is_even: bool) -> Algorithm {
        if let Some(forced) = self.able(shape, is_even).find(|one| Some(one.algorithm) == self.forced) {
            return forced.algorithm;
        }
        self.best(shape, is_even).algorithm
    }

    /// Returns the algorithm that each of so many lanes takes for its share, with the time of all, which
    /// share a port. In a broadcast or a reduction by slices one rank's port is busy first and then those of
    /// others: the ports carry other lanes meanwhile.
    pub(crate) fn best_of_lanes(self, share: Shape, lanes: usize) -> Candidate {
        let together = Shape { bytes: share.bytes * lanes, ..share };
        let overlaps = matches!(share.operation, Operation::Broadcast(_) | Operation::Reduce(_));
        let others_ns = (share.bytes * (lanes - 1)) as f64 * 2.0 * self.costs.near_copy_ns;
        let of = |one: Candidate| match one.algorithm {
            Algorithm::Slices if overlaps => {
                Candidate { ns: one.ns.min(estimate_ns(self, share, one.algorithm) + others_ns), ..one }
            }
            _ => one,
        };
        fastest(self.able(together, true).map(of))
    }

    /// Returns the candidate with the smallest estimate, without regard to the user's setting.
    pub(crate) fn best(self, shape: Shape, is_even: bool) -> Candidate {
        fastest(self.able(shape, is_even))
    }
}

/// Returns the candidate with the smallest estimate, the first of several.
fn fastest(able: impl Iterator<Item = Candidate>) -> Candidate {
    able.min_by(|one, other| one.ns.total_cmp(&other.ns))
        .expect("each operation has an algorithm that needs nothing")
}
