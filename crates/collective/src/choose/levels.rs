//! Collectives of several hosts: the costs of the two levels, and the choice of their algorithms.

use super::estimate::estimate_ns;
use super::{Algorithm, CollectiveCosts, Seat, longest, number, split};
use crate::build::hosts::{Levels, lanes, leaders, scans};
use crate::hosts::Hosts;
use crate::schedule::{ScheduleDraft, Span};
use crate::spec::{Operation, Root, Shape};

/// The hosts of the members, as far as a choice depends on them; equal on all members.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HostLevels {
    /// The number of hosts.
    hosts: usize,
    /// The number of members of the largest host.
    most: usize,
    /// True if all hosts have the same number of members.
    pub(super) is_even: bool,
    /// True if the members of each host follow each other.
    pub(super) are_in_blocks: bool,
    /// The costs of members of one host among each other.
    pub(crate) inside: CollectiveCosts,
}

impl HostLevels {
    /// Makes the levels of members on these hosts, with these costs inside one of them.
    pub fn new(hosts: &Hosts, inside: CollectiveCosts) -> Self {
        let most = (0..hosts.count()).map(|host| hosts.members(host).len()).max().unwrap_or(0);
        let (is_even, are_in_blocks) = (hosts.each().is_some(), hosts.are_in_blocks());
        Self { hosts: hosts.count(), most, is_even, are_in_blocks, inside }
    }

    /// Returns the estimated time of an algorithm in nanoseconds.
    pub(super) fn estimate_ns(&self, seat: Seat, shape: Shape, algorithm: Algorithm) -> f64 {
        match algorithm {
            Algorithm::Leaders => self.of_leaders(seat, shape),
            Algorithm::Lanes => self.of_lanes(seat, shape),
            _ => {
                // A message crosses between hosts if its peer is on another host.
                let others = (seat.ranks - 1).max(1) as f64;
                let crossing = (seat.ranks - self.most) as f64 / others;
                // All ranks of a host share its port. In a gather or scatter the root's port is the busiest
                // in any case. On a network a byte that goes one way counts at both ends, so a byte inside
                // the root's host counts half in the flat algorithm.
                let (at_once, ends) = match (shape.operation, algorithm) {
                    (Operation::Gather(_) | Operation::Scatter(_), Algorithm::Flat) => (1, 0.5),
                    (Operation::Gather(_) | Operation::Scatter(_), _) => (1, 1.0),
                    _ => (self.most, 1.0),
                };
                let costs = self.inside.mixed(&seat.costs, crossing, (at_once as f64, ends));
                estimate_ns(Seat { costs, levels: None, ..seat }, shape, algorithm)
            }
        }
    }

    fn of_leaders(&self, seat: Seat, shape: Shape) -> f64 {
        use Algorithm::*;
        use Operation::*;
        let root = Root::At(0);
        let Shape { bytes, .. } = shape;
        let inside = |operation, bytes, algorithm| self.inside_ns(seat, shape, operation, bytes, algorithm);
        let across = |operation, bytes, algorithm| self.across_ns(seat, shape, operation, bytes, algorithm);
        let best = |operation, bytes| self.best_across_ns(seat, shape, operation, bytes);
        let best_inside = |operation, bytes| self.best_inside_ns(seat, shape, operation, bytes);
        let (all, most) = (bytes * seat.ranks, bytes * self.most);
        match shape.operation {
            Barrier => inside(Barrier, 0, Flat) + best(Barrier, 0),
            Broadcast(_) => best(Broadcast(root), bytes) + best_inside(Broadcast(root), bytes),
            Reduce(_) => best_inside(Reduce(root), bytes) + best(Reduce(root), bytes),
            Allreduce => {
                let down = best_inside(Broadcast(root), bytes);
                best_inside(Reduce(root), bytes) + best(Allreduce, bytes) + down
            }
            Scan | Exscan => {
                // Each member adds the sum of the hosts before.
                let added = bytes as f64 * self.inside.reduce_ns;
                let down = best_inside(Broadcast(root), bytes) + added;
                best_inside(Scan, bytes) + best(Exscan, bytes) + down
            }
            Gather(_) | Scatter(_) => inside(Gather(root), bytes, Flat) + best(shape.operation, most),
            Allgather => self.allgather_ns(seat, all, most),
            Alltoall => 2.0 * inside(Gather(root), all, Flat) + across(Alltoall, most * self.most, Burst),
            ReduceScatter => {
                let down = inside(Scatter(root), bytes, Flat);
                best_inside(Reduce(root), all) + best(ReduceScatter, most) + down
            }
        }
    }

    /// Returns the time of an allgather by leaders: `all` is the bytes of all blocks, `of_host` those of the
    /// host that has most.
    fn allgather_ns(&self, seat: Seat, all: usize, of_host: usize) -> f64 {
        let (root, shape) = (Root::At(0), Shape::new(Operation::Allgather, all));
        let up = self.inside_ns(seat, shape, Operation::Gather(root), of_host / self.most, Algorithm::Flat);
        let down = self.best_inside_ns(seat, shape, Operation::Broadcast(root), all);
        up + self.best_across_ns(seat, shape, Operation::Allgather, of_host) + down
    }

    /// Returns the bytes that each rank of a host carries between hosts. Blocks are no shares of a vector:
    /// each is carried whole, and those of each host are shared.
    pub(super) fn share(&self, shape: Shape) -> usize {
        match shape.operation {
            Operation::Allgather | Operation::ReduceScatter => shape.bytes,
            _ => shape.bytes / self.most,
        }
    }

    fn of_lanes(&self, seat: Seat, shape: Shape) -> f64 {
        use Algorithm::*;
        use Operation::*;
        let share = self.share(shape);
        let best = |one: f64, other: f64| if one < other { one } else { other };
        let inside = |operation, algorithm| self.inside_ns(seat, shape, operation, share, algorithm);
        let across = |operation| {
            let of_share = Shape { operation, bytes: share, ..shape };
            seat.across(0, self.hosts).best_of_lanes(of_share, self.most).ns
        };
        let together = best(inside(Allgather, Burst), inside(Allgather, Ring));
        match shape.operation {
            Broadcast(_) => {
                let root = Root::At(0);
                let first = self.best_inside_ns(seat, shape, Broadcast(root), shape.bytes);
                first + across(Broadcast(root)) + together
            }
            Reduce(root) => {
                let apart = best(inside(ReduceScatter, Burst), inside(ReduceScatter, Ring));
                apart + across(Reduce(root)) + inside(Gather(root), Flat)
            }
            Allgather => across(Allgather) + self.hosts as f64 * together,
            ReduceScatter => {
                let apart = best(inside(ReduceScatter, Burst), inside(ReduceScatter, Ring));
                self.hosts as f64 * apart + across(ReduceScatter)
            }
            _ => {
                let apart = best(inside(ReduceScatter, Burst), inside(ReduceScatter, Ring));
                apart + across(Allreduce) + together
            }
        }
    }

    /// Returns the time of the fastest algorithm inside a host, whose members publish nothing.
    fn best_inside_ns(&self, seat: Seat, shape: Shape, operation: Operation, bytes: usize) -> f64 {
        self.inside_seat(seat).best(Shape { operation, bytes, ..shape }, true).ns
    }

    fn inside_seat(&self, seat: Seat) -> Seat {
        Seat { costs: self.inside, shared_buffers: false, ..seat.within(0, self.most) }
    }

    fn inside_ns(
        &self,
        seat: Seat,
        shape: Shape,
        operation: Operation,
        bytes: usize,
        algorithm: Algorithm,
    ) -> f64 {
        estimate_ns(self.inside_seat(seat), Shape { operation, bytes, ..shape }, algorithm)
    }

    fn across_ns(
        &self,
        seat: Seat,
        shape: Shape,
        operation: Operation,
        bytes: usize,
        algorithm: Algorithm,
    ) -> f64 {
        estimate_ns(seat.across(0, self.hosts), Shape { operation, bytes, ..shape }, algorithm)
    }

    /// Returns the time of the algorithm that leaders take among themselves for blocks of at most so many
    /// bytes.
    fn best_across_ns(&self, seat: Seat, shape: Shape, operation: Operation, bytes: usize) -> f64 {
        seat.across(0, self.hosts).best(Shape { operation, bytes, ..shape }, true).ns
    }
}

/// Builds this rank's part, by one of the algorithms of two levels.
pub(super) fn build(
    s: &mut ScheduleDraft<'_>,
    seat: Seat,
    hosts: &Hosts,
    algorithm: Algorithm,
    shape: Shape,
) {
    use Operation::*;
    let Shape { operation, bytes, element, commutative, in_place } = shape;
    let Seat { me, ranks, .. } = seat;
    let levels = Levels::new(hosts, seat, operation.root().map(number));
    let (own, result) = (Span::input(0, bytes), Span::output(0, bytes));
    let input = if in_place { result } else { own };
    let blocks = |area: fn(usize, usize) -> Span| split(area, ranks, bytes);
    match operation {
        Barrier => leaders::barrier(s, &levels),
        Broadcast(root) if algorithm == Algorithm::Lanes => {
            lanes::broadcast(s, &levels, number(root), result)
        }
        Broadcast(root) => leaders::broadcast(s, &levels, number(root), result),
        Reduce(root) if algorithm == Algorithm::Lanes => {
            lanes::reduce(s, &levels, number(root), input, (result, element))
        }
        Reduce(root) => {
            leaders::reduce(s, &levels, number(root), (input, result), (element, commutative));
        }
        Allreduce if algorithm == Algorithm::Lanes => lanes::allreduce(s, &levels, input, result, element),
        Allreduce => leaders::allreduce(s, &levels, (input, result), (element, commutative)),
        Gather(root) => {
            let all = blocks(Span::output);
            let mine = if in_place { all[me] } else { own };
            leaders::gather(s, &levels, number(root), mine, &all);
        }
        Scatter(root) => {
            let all = blocks(Span::input);
            let mine = if in_place { all[me] } else { result };
            leaders::scatter(s, &levels, number(root), &all, mine);
        }
        Allgather => {
            let all = blocks(Span::output);
            allgather(s, (seat, hosts), algorithm, if in_place { all[me] } else { own }, &all);
        }
        Alltoall => {
            let into = Span::output(0, ranks * bytes);
            let from = if in_place { into } else { Span::input(0, ranks * bytes) };
            leaders::alltoall(s, &levels, from, into, bytes);
        }
        ReduceScatter => reduce_scatter(s, (seat, hosts), algorithm, &vec![bytes; ranks], shape),
        Scan | Exscan => {
            let exclusive = operation == Exscan;
            scans::scan(s, &levels.led_by_last(), input, (result, element), exclusive);
        }
    }
}

/// Chooses the algorithm of an allgather of blocks of any length, which all members know. The time of one
/// level follows from the longest block, that of leaders from the sum of all.
pub(super) fn choose_allgather(seat: Seat, hosts: Option<&Hosts>, all: &[Span]) -> Algorithm {
    let shape = Shape::new(Operation::Allgather, longest(all));
    let algorithm = seat.choose_of(shape, true);
    let (Some(levels), Some(hosts), None) = (seat.levels, hosts, seat.forced) else { return algorithm };
    let of_host = |host| hosts.members(host).iter().map(|member| all[*member].len).sum::<usize>();
    let (sum, most) =
        (0..hosts.count()).map(of_host).fold((0, 0), |(sum, most), bytes| (sum + bytes, bytes.max(most)));
    match levels.allgather_ns(seat, sum, most) < estimate_ns(seat, shape, algorithm) {
        true => Algorithm::Leaders,
        false => algorithm,
    }
}

/// Builds an allgather of blocks of any length, which all members know, by leaders or lanes.
pub(super) fn allgather(
    s: &mut ScheduleDraft<'_>,
    (seat, hosts): (Seat, &Hosts),
    algorithm: Algorithm,
    mine: Span,
    all: &[Span],
) {
    let levels = Levels::new(hosts, seat, None);
    match algorithm {
        Algorithm::Lanes => lanes::allgather(s, &levels, mine, all),
        _ => leaders::allgather(s, &levels, mine, all),
    }
}

/// Builds a reduce-scatter of blocks of any length, which all members know, by leaders or lanes; `shape` is
/// that of the blocks.
pub(super) fn reduce_scatter(
    s: &mut ScheduleDraft<'_>,
    (seat, hosts): (Seat, &Hosts),
    algorithm: Algorithm,
    lens: &[usize],
    shape: Shape,
) {
    let total = lens.iter().sum();
    let input = if shape.in_place { Span::output(0, total) } else { Span::input(0, total) };
    let (levels, mine) = (Levels::new(hosts, seat, None), Span::output(0, lens[seat.me]));
    let Shape { element, commutative, .. } = shape;
    match algorithm {
        Algorithm::Lanes => lanes::reduce_scatter(s, &levels, input, lens, (mine, element)),
        _ => leaders::reduce_scatter(s, &levels, input, lens, (mine, element, commutative)),
    }
}
