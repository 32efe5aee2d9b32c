//! Algorithm selection: the choice of a collective's algorithm. It depends only on values that are equal on
//! all members. So all take the same one, and a result has the same bits in every run (invariant I18).
//!
//! ```text
//!   operation, ranks, bytes ──▶ the algorithms that can carry it out      algorithm.rs
//!   profile, processors, hosts ▶ the time of each of them                 costs.rs, load.rs, estimate.rs …
//!                               the smallest is taken, and built here
//! ```
//! If ranks share processors, a round that waits costs a turn of all of them. Algorithms win in which each
//! rank waits once, for rank 0 (or the root). For long data the caches are shared too, and shared buffers,
//! which publish it once, win. With a processor for each rank, the messages one after the other count, and
//! for long data the bytes that all ranks copy at once.
//!
//! Neither a non-blocking collective nor one of several hosts uses shared buffers.
//!
//! In an alltoall two members exchange one message, whatever the algorithm is, except for Bruck's and shared
//! buffers. So the choice among the other algorithms may depend on lengths that only some members know.

mod algorithm;
mod costs;
mod estimate;
mod levels;
mod load;
mod seat;
mod share;
#[cfg(test)]
mod tests;

pub use algorithm::Algorithm;
pub use costs::CollectiveCosts;
pub use levels::HostLevels;
pub use seat::{Candidate, Seat};

use crate::Error;
use crate::build::{between, bruck, flat, neighbours, one_level, shared_buffer, tree};
use crate::hosts::Hosts;
use crate::schedule::{Schedule, ScheduleDraft, Span};
use crate::spec::{Block, CollectiveSpec, Operation, Root, Shape, Uneven, check_root};
use crate::team::Team;
use canele_sys::ids::Rank;

use Algorithm::*;

impl Schedule {
    /// Makes the part of the member with this seat, in a collective of all ranks or of a team; `hosts` are
    /// those that `seat.levels` counts.
    ///
    /// # Errors
    /// A root or neighbour does not exist; lists of the wrong length.
    pub fn make(
        seat: Seat,
        (team, hosts): (Option<&Team>, Option<&Hosts>),
        spec: &CollectiveSpec<'_>,
    ) -> Result<Self, Error> {
        let members = team.map(Team::members);
        match spec {
            CollectiveSpec::Even(shape) => schedule(seat, (members, hosts), *shape),
            CollectiveSpec::Uneven(lists) => uneven(seat, (members, hosts), *lists),
        }
    }
}

/// Makes this rank's part of a collective of even blocks, among `team`.
pub(crate) fn schedule(
    seat: Seat,
    (team, hosts): (Option<&[Rank]>, Option<&Hosts>),
    shape: Shape,
) -> Result<Schedule, Error> {
    if let Some(root) = shape.operation.root() {
        check_root(seat, root)?;
    }
    let mut s = ScheduleDraft::of(team);
    if seat.is_between() {
        even_between(&mut s, seat, shape);
    } else {
        even(&mut s, seat, hosts, shape);
    }
    Ok(s.finish())
}

fn even(s: &mut ScheduleDraft<'_>, seat: Seat, hosts: Option<&Hosts>, shape: Shape) {
    let Shape { operation, bytes, in_place, .. } = shape;
    let Seat { me, ranks, .. } = seat;
    let seat = if hosts.is_some() { seat } else { Seat { levels: None, ..seat } };
    let algorithm = seat.choose(shape);
    if let (Leaders | Lanes, Some(hosts)) = (algorithm, hosts) {
        return levels::build(s, seat, hosts, algorithm, shape);
    }
    match operation {
        Operation::Barrier => one_level::barrier(s, seat, algorithm),
        Operation::Broadcast(root) => {
            one_level::broadcast(s, seat, algorithm, number(root), Span::output(0, bytes));
        }
        Operation::Gather(root) => {
            let all = split(Span::output, ranks, bytes);
            let mine = if in_place { all[me] } else { Span::input(0, bytes) };
            match algorithm {
                Tree => tree::gather(s, seat, number(root), (mine, &|_| bytes), &all),
                _ => flat::gather(s, seat, number(root), mine, &all),
            }
        }
        Operation::Scatter(root) => {
            let all = split(Span::input, ranks, bytes);
            let mine = if in_place { all[me] } else { Span::output(0, bytes) };
            match algorithm {
                Tree => tree::scatter(s, seat, number(root), &all, (mine, &|_| bytes)),
                _ => flat::scatter(s, seat, number(root), &all, mine),
            }
        }
        Operation::Allgather => {
            let all = split(Span::output, ranks, bytes);
            let mine = if in_place { all[me] } else { Span::input(0, bytes) };
            one_level::allgather(s, seat, algorithm, mine, &all);
        }
        Operation::Alltoall => even_alltoall(s, seat, algorithm, shape),
        Operation::ReduceScatter => reduce_scatter(s, seat, algorithm, &vec![bytes; ranks], shape),
        Operation::Reduce(_) | Operation::Allreduce | Operation::Scan | Operation::Exscan => {
            reduce(s, seat, algorithm, shape)
        }
    }
}

/// Builds the reductions of one block of each rank.
fn reduce(s: &mut ScheduleDraft<'_>, seat: Seat, algorithm: Algorithm, shape: Shape) {
    let Shape { operation, bytes, element, commutative, in_place } = shape;
    let result = Span::output(0, bytes);
    let input = if in_place { result } else { Span::input(0, bytes) };
    match (operation, algorithm) {
        (Operation::Reduce(root), SharedAtRoot) => {
            shared_buffer::reduce_at_root(s, seat, number(root), input, (result, element));
        }
        (Operation::Reduce(root), SharedBuffer) => {
            shared_buffer::reduce(s, seat, Some(number(root)), input, (result, element));
        }
        (Operation::Reduce(root), _) => {
            let to = (number(root), commutative);
            one_level::reduce(s, (seat, algorithm), to, input, (result, element));
        }
        (Operation::Scan | Operation::Exscan, _) => {
            let exclusive = operation == Operation::Exscan;
            one_level::scan(s, (seat, algorithm), input, (result, element), exclusive);
        }
        _ => one_level::allreduce(s, seat, algorithm, input, (result, element)),
    }
}

fn reduce_scatter(s: &mut ScheduleDraft<'_>, seat: Seat, algorithm: Algorithm, lens: &[usize], shape: Shape) {
    let total = lens.iter().sum();
    let mine = Span::output(0, lens[seat.me]);
    let input = if shape.in_place { Span::output(0, total) } else { Span::input(0, total) };
    one_level::reduce_scatter(s, (seat, algorithm), input, lens, (mine, shape.element));
}

fn even_alltoall(s: &mut ScheduleDraft<'_>, seat: Seat, algorithm: Algorithm, shape: Shape) {
    let Shape { bytes, in_place, .. } = shape;
    let (ranks, total) = (seat.ranks, seat.ranks * bytes);
    let (from, into) = (split(Span::input, ranks, bytes), split(Span::output, ranks, bytes));
    match algorithm {
        Bruck => {
            let from = if in_place { Span::output(0, total) } else { Span::input(0, total) };
            bruck::alltoall(s, seat, from, bytes);
        }
        SharedBuffer => shared_buffer::alltoall(s, seat, if in_place { &into } else { &from }, &into),
        _ => one_level::alltoall(s, seat, algorithm, (!in_place).then_some(&from), &into),
    }
}

/// Builds a collective between two groups.
fn even_between(s: &mut ScheduleDraft<'_>, seat: Seat, shape: Shape) {
    let Shape { operation, bytes, .. } = shape;
    let (input, output) = (Span::input(0, bytes), Span::output(0, bytes));
    let all = |area: fn(usize, usize) -> Span| split(area, seat.remote(), bytes);
    match operation {
        Operation::Barrier => between::barrier(s, seat),
        Operation::Broadcast(root) => between::broadcast(s, seat, root, output),
        Operation::Reduce(root) => between::reduce(s, seat, root, input, output),
        Operation::Allreduce => between::allreduce(s, seat, input, output),
        Operation::Gather(root) => between::gather(s, seat, root, input, &all(Span::output)),
        Operation::Scatter(root) => between::scatter(s, seat, root, &all(Span::input), output),
        Operation::Allgather => between::alltoall(s, seat, &vec![input; seat.remote()], &all(Span::output)),
        Operation::Alltoall => between::alltoall(s, seat, &all(Span::input), &all(Span::output)),
        Operation::ReduceScatter => {
            let lens = vec![bytes; seat.local];
            between::reduce_scatter(s, seat, Span::input(0, bytes * seat.local), &lens, output);
        }
        Operation::Scan | Operation::Exscan => panic!("there is no scan between two groups"),
    }
}

/// Makes this rank's part of a collective of uneven blocks, among `team`.
pub(crate) fn uneven(
    seat: Seat,
    (team, hosts): (Option<&[Rank]>, Option<&Hosts>),
    spec: Uneven<'_>,
) -> Result<Schedule, Error> {
    spec.check(seat)?;
    let seat = if hosts.is_some() { seat } else { Seat { levels: None, ..seat } };
    let mut draft = ScheduleDraft::of(team);
    let s = &mut draft;
    s.be_sparse();
    match spec {
        Uneven::Gather { root, mine, all } => {
            let all = of_output(all);
            let mine = own(seat, mine.map(Block::of_input), &all);
            match (seat.is_between(), root) {
                (false, Root::At(root)) => flat::gather(s, seat, root as usize, mine, &all),
                _ => between::gather(s, seat, root, mine, &all),
            }
        }
        Uneven::Scatter { root, all, mine } => {
            let all: Vec<Span> = all.iter().map(|block| block.of_input()).collect();
            let mine = own(seat, mine.map(Block::of_output), &all);
            match (seat.is_between(), root) {
                (false, Root::At(root)) => flat::scatter(s, seat, root as usize, &all, mine),
                _ => between::scatter(s, seat, root, &all, mine),
            }
        }
        Uneven::Allgather { mine, all } => {
            let all = of_output(all);
            let mine = own(seat, mine.map(Block::of_input), &all);
            if seat.is_between() {
                between::alltoall(s, seat, &vec![mine; all.len()], &all);
            } else {
                // All know the lengths of all blocks.
                let algorithm = levels::choose_allgather(seat, hosts, &all);
                match hosts.filter(|_| matches!(algorithm, Leaders | Lanes)) {
                    Some(hosts) => levels::allgather(s, (seat, hosts), algorithm, mine, &all),
                    None => one_level::allgather(s, seat, algorithm, mine, &all),
                }
            }
        }
        Uneven::Alltoall { from, into } => {
            let from: Option<Vec<Span>> =
                from.map(|from| from.iter().map(|block| block.of_input()).collect());
            let into = of_output(into);
            match &from {
                Some(from) if seat.is_between() => between::alltoall(s, seat, from, &into),
                from => {
                    let bytes = longest(from.as_ref().unwrap_or(&into)).max(longest(&into));
                    let algorithm = seat.choose_of(Shape::new(Operation::Alltoall, bytes), false);
                    one_level::alltoall(s, seat, algorithm, from.as_ref(), &into);
                }
            }
        }
        Uneven::ReduceScatter { lens, element, commutative, in_place } => {
            let shape =
                Shape { operation: Operation::ReduceScatter, bytes: 0, element, commutative, in_place };
            if seat.is_between() {
                let input = Span::input(0, lens.iter().sum());
                between::reduce_scatter(s, seat, input, lens, Span::output(0, lens[seat.me]));
            } else {
                let bytes = lens.iter().sum::<usize>().div_ceil(seat.ranks);
                let algorithm = seat.choose_of(Shape { bytes, ..shape }, true);
                match hosts.filter(|_| matches!(algorithm, Leaders | Lanes)) {
                    Some(hosts) => levels::reduce_scatter(s, (seat, hosts), algorithm, lens, shape),
                    None => reduce_scatter(s, seat, algorithm, lens, shape),
                }
            }
        }
        Uneven::Exchange { sends, receives } => neighbours::exchange(s, sends, receives),
    }
    Ok(draft.finish())
}

/// Returns this rank's own block: in place it is one of all. Between two groups a root has none, and `all`
/// are the other group's.
fn own(seat: Seat, mine: Option<Span>, all: &[Span]) -> Span {
    match mine {
        Some(mine) => mine,
        None if seat.is_between() => Span::NOTHING,
        None => all[seat.me],
    }
}

fn of_output(blocks: &[Block]) -> Vec<Span> {
    blocks.iter().map(|block| block.of_output()).collect()
}

/// Returns the bytes of the longest block.
fn longest(blocks: &[Span]) -> usize {
    blocks.iter().map(|block| block.len).max().unwrap_or(0)
}

/// Returns so many contiguous blocks of an area.
fn split(area: fn(usize, usize) -> Span, blocks: usize, bytes: usize) -> Vec<Span> {
    (0..blocks).map(|n| area(n * bytes, bytes)).collect()
}

/// Returns the number of the root of one group.
fn number(root: Root) -> usize {
    match root {
        Root::At(n) => n as usize,
        Root::Here | Root::Elsewhere => unreachable!("checked: in one group all members name the root"),
    }
}
