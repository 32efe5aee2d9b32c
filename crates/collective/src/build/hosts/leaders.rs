//! Leaders: one rank of each host speaks for it, with one packet for each pair of hosts. They are for data so
//! short that packets cost more than bytes.

use super::Levels;
use crate::build::{flat, one_level, others, rotation, short, tree};
use crate::choose::Algorithm;
use crate::schedule::{Blocks, ScheduleDraft, Span};
use crate::spec::{Operation, Root, Shape};

/// Lets all report to their leader; the leaders meet and let the others go.
pub(crate) fn barrier(s: &mut ScheduleDraft<'_>, levels: &Levels<'_>) {
    let inside = levels.inside(s);
    s.round();
    if !levels.is_leader() {
        s.send(levels.leader(), Span::NOTHING).receive(levels.leader(), Span::NOTHING);
        return;
    }
    others(inside).for_each(|rank| {
        s.receive(rank, Span::NOTHING);
    });
    let across = levels.across(s);
    one_level::barrier(s, across, across.choose(Shape::new(Operation::Barrier, 0)));
    levels.inside(s);
    s.round();
    others(inside).for_each(|rank| {
        s.send(rank, Span::NOTHING);
    });
}

/// Broadcasts from the root, which is the leader of its host, to the other leaders, and then inside hosts.
pub(crate) fn broadcast(s: &mut ScheduleDraft<'_>, levels: &Levels<'_>, root: usize, data: Span) {
    if levels.is_leader() {
        let across = levels.across(s);
        let from = levels.hosts.place(root).0;
        let shape = Shape::new(Operation::Broadcast(Root::At(from as u32)), data.len);
        one_level::broadcast(s, across, across.choose(shape), from, data);
    }
    spread(s, levels, data);
}

/// Spreads data of the leader of this host to its members.
pub(super) fn spread(s: &mut ScheduleDraft<'_>, levels: &Levels<'_>, data: Span) {
    let (inside, from) = (levels.inside(s), levels.leader());
    let shape = Shape::new(Operation::Broadcast(Root::At(from as u32)), data.len);
    one_level::broadcast(s, inside, inside.choose(shape), from, data);
}

/// Reduces the inputs of this host's members, in their order, at the leader.
fn reduce_inside(
    s: &mut ScheduleDraft<'_>,
    levels: &Levels<'_>,
    input: Span,
    (result, element): (Span, usize),
    commutative: bool,
) {
    let (inside, to) = (levels.inside(s), levels.leader());
    let operation = Operation::Reduce(Root::At(to as u32));
    let shape = Shape { element, commutative, ..Shape::new(operation, input.len) };
    one_level::reduce(s, (inside, inside.choose(shape)), (to, commutative), input, (result, element));
}

/// Reduces at the root, which is the leader of its host. Operands that must not change places keep their
/// order if the members of each host follow each other.
pub(crate) fn reduce(
    s: &mut ScheduleDraft<'_>,
    levels: &Levels<'_>,
    root: usize,
    (input, result): (Span, Span),
    (element, commutative): (usize, bool),
) {
    let at_root = levels.seat.me == root;
    let partial = if levels.is_leader() && !at_root { s.scratch(input.len) } else { result };
    reduce_inside(s, levels, input, (partial, element), commutative);
    if levels.is_leader() {
        let across = levels.across(s);
        let to = levels.hosts.place(root).0;
        let operation = Operation::Reduce(Root::At(to as u32));
        let shape = Shape { element, commutative, ..Shape::new(operation, input.len) };
        one_level::reduce(s, (across, across.choose(shape)), (to, commutative), partial, (result, element));
    }
}

/// Reduces as `reduce` does, for all.
pub(crate) fn allreduce(
    s: &mut ScheduleDraft<'_>,
    levels: &Levels<'_>,
    (input, result): (Span, Span),
    (element, commutative): (usize, bool),
) {
    reduce_inside(s, levels, input, (result, element), commutative);
    if levels.is_leader() {
        let across = levels.across(s);
        let shape = Shape { element, commutative, ..Shape::new(Operation::Allreduce, input.len) };
        one_level::allreduce(s, across, across.choose(shape), result, (result, element));
    }
    spread(s, levels, result);
}

/// Gathers the blocks of each host at its leader, and those of all hosts at the root.
pub(crate) fn gather(s: &mut ScheduleDraft<'_>, levels: &Levels<'_>, root: usize, mine: Span, all: &[Span]) {
    let inside = levels.inside(s);
    if !levels.is_leader() {
        return flat::gather(s, inside, levels.leader(), mine, &[]);
    }
    let at_root = levels.seat.me == root;
    let (parts, bundles) = if at_root { by_host(s, levels, all).1 } else { bundle(s, levels, all) };
    flat::gather(s, inside, levels.leader(), mine, &parts[levels.own_part(at_root)]);
    let (across, to) = (levels.across(s), levels.hosts.place(root).0);
    match across.choose(Shape::new(Operation::Gather(Root::At(to as u32)), levels.most_bytes(all))) {
        Algorithm::Tree => {
            let of_host = |host| levels.bytes_of(host, all);
            tree::gather(s, across, to, (bundles[if at_root { to } else { 0 }], &of_host), &bundles);
        }
        _ if at_root => others(across).for_each(|host| {
            s.receive(host, bundles[host]);
        }),
        _ => {
            s.round().send(to, bundles[0]);
        }
    }
    if at_root {
        to_their_places(s, levels, &parts, all);
    }
}

/// Scatters from the root to the leaders, and then inside hosts.
pub(crate) fn scatter(s: &mut ScheduleDraft<'_>, levels: &Levels<'_>, root: usize, all: &[Span], mine: Span) {
    let mut parts = Vec::new();
    if levels.is_leader() {
        let at_root = levels.seat.me == root;
        let (across, from) = (levels.across(s), levels.hosts.place(root).0);
        s.round();
        let (all_parts, bundles) = if at_root { by_host(s, levels, all).1 } else { bundle(s, levels, all) };
        if at_root {
            for (part, member) in all_parts.iter().zip(levels.hosts.order()) {
                s.copy(all[member], *part);
            }
            s.round();
        }
        match across.choose(Shape::new(Operation::Scatter(Root::At(from as u32)), levels.most_bytes(all))) {
            Algorithm::Tree => {
                let of_host = |host| levels.bytes_of(host, all);
                tree::scatter(s, across, from, &bundles, (bundles[if at_root { from } else { 0 }], &of_host));
            }
            _ if at_root => others(across).for_each(|host| {
                s.send(host, bundles[host]);
            }),
            _ => {
                s.receive(from, bundles[0]);
            }
        }
        // The root's own block stays in its place, if it belongs there.
        parts = if at_root { levels.own().iter().map(|member| all[*member]).collect() } else { all_parts };
    }
    let inside = levels.inside(s);
    flat::scatter(s, inside, levels.leader(), &parts, mine);
}

/// Blocks, and the bundle of each host.
type Bundles = (Vec<Span>, Vec<Span>);

/// Makes the blocks of this host in scratch, as one bundle.
fn bundle(s: &mut ScheduleDraft<'_>, levels: &Levels<'_>, all: &[Span]) -> Bundles {
    let whole = s.scratch(levels.bytes_of(levels.host, all));
    (whole.split(levels.own().iter().map(|member| all[*member].len)), vec![whole])
}

/// Copies blocks that came host by host to their places.
fn to_their_places(s: &mut ScheduleDraft<'_>, levels: &Levels<'_>, parts: &[Span], all: &[Span]) {
    for (part, member) in parts.iter().zip(levels.hosts.order()) {
        s.copy(*part, all[member]);
    }
}

/// Returns all blocks host by host, as a whole and in bundles: in the user's memory if they lie so, else in
/// scratch.
fn by_host(s: &mut ScheduleDraft<'_>, levels: &Levels<'_>, all: &[Span]) -> (Span, Bundles) {
    let ordered: Vec<Span> = levels.hosts.order().map(|member| all[member]).collect();
    let whole =
        Span::joined(&ordered).unwrap_or_else(|| s.scratch(ordered.iter().map(|block| block.len).sum()));
    let bundles = whole.split((0..levels.hosts.count()).map(|host| levels.bytes_of(host, all)));
    (whole, (whole.split(ordered.iter().map(|block| block.len)), bundles))
}

/// Gathers at the leaders, which exchange the blocks of their hosts, and send all of them on.
pub(crate) fn allgather(s: &mut ScheduleDraft<'_>, levels: &Levels<'_>, mine: Span, all: &[Span]) {
    let (whole, (parts, bundles)) = by_host(s, levels, all);
    let inside = levels.inside(s);
    flat::gather(s, inside, levels.leader(), mine, &parts[levels.own_part(true)]);
    if levels.is_leader() {
        let across = levels.across(s);
        let algorithm = across.choose(Shape::new(Operation::Allgather, levels.most_bytes(all)));
        one_level::allgather(s, across, algorithm, bundles[levels.host], &bundles);
    }
    if !levels.is_leader() {
        s.round();
    }
    spread(s, levels, whole);
    to_their_places(s, levels, &parts, all);
}

/// Exchanges blocks: leaders gather all blocks of their hosts, exchange those of each pair of hosts, and hand
/// them out. All blocks have `bytes` bytes and are contiguous in `from` and `into`.
pub(crate) fn alltoall(s: &mut ScheduleDraft<'_>, levels: &Levels<'_>, from: Span, into: Span, bytes: usize) {
    let row = packed(s, levels, from, bytes);
    let inside = levels.inside(s);
    if !levels.is_leader() {
        s.round().send(levels.leader(), row);
        let column = if levels.hosts.are_in_blocks() { into } else { s.scratch(into.len) };
        s.round().receive(levels.leader(), column);
        return unpack(s, levels, column, into, bytes);
    }
    s.round();
    let rows: Vec<Span> =
        (0..inside.ranks).map(|rank| if rank == inside.me { row } else { s.scratch(row.len) }).collect();
    others(inside).for_each(|rank| {
        s.receive(rank, rows[rank]);
    });
    let bundles = exchange(s, levels, &rows, bytes);
    let columns = columns_of(s, levels, &bundles, bytes);
    levels.inside(s);
    s.round();
    others(inside).for_each(|rank| {
        s.send(rank, columns[rank]);
    });
    unpack(s, levels, columns[inside.me], into, bytes);
}

/// Returns the blocks of this rank host by host.
fn packed(s: &mut ScheduleDraft<'_>, levels: &Levels<'_>, from: Span, bytes: usize) -> Span {
    if levels.hosts.are_in_blocks() {
        return from;
    }
    let row = s.scratch(from.len);
    s.round();
    for (at, member) in levels.hosts.order().enumerate() {
        s.copy(from.part(member * bytes, bytes), row.part(at * bytes, bytes));
    }
    row
}

/// Copies blocks that came host by host to their places.
fn unpack(s: &mut ScheduleDraft<'_>, levels: &Levels<'_>, column: Span, into: Span, bytes: usize) {
    if levels.hosts.are_in_blocks() {
        s.copy(column, into);
        return;
    }
    for (at, member) in levels.hosts.order().enumerate() {
        s.copy(column.part(at * bytes, bytes), into.part(member * bytes, bytes));
    }
}

/// Returns the start of each host's blocks in a row, in blocks.
fn starts(levels: &Levels<'_>) -> Vec<usize> {
    let lens = (0..levels.hosts.count()).map(|host| levels.hosts.members(host).len());
    lens.scan(0, |sum, len| Some(std::mem::replace(sum, *sum + len))).collect()
}

/// Exchanges the blocks between two hosts with each other leader; returns those for this host, sender by
/// sender.
fn exchange(s: &mut ScheduleDraft<'_>, levels: &Levels<'_>, rows: &[Span], bytes: usize) -> Vec<Span> {
    let starts = starts(levels);
    let size = |host: usize| levels.hosts.members(host).len();
    let bundle_for = |s: &mut ScheduleDraft<'_>, host: usize| {
        let bundle = s.scratch(rows.len() * size(host) * bytes);
        let parts = bundle.split(rows.iter().map(|_| size(host) * bytes));
        for (row, part) in rows.iter().zip(parts) {
            s.copy(row.part(starts[host] * bytes, part.len), part);
        }
        bundle
    };
    let leaving: Vec<Span> = (0..levels.hosts.count()).map(|host| bundle_for(s, host)).collect();
    let mut coming = leaving.clone();
    let across = levels.across(s);
    s.round();
    for (to, from) in rotation(across) {
        coming[from] = s.scratch(size(from) * rows.len() * bytes);
        s.send(to, leaving[to]).receive(from, coming[from]);
    }
    coming
}

/// Makes the column of each rank of this host: the blocks of all others for it, host by host.
fn columns_of(s: &mut ScheduleDraft<'_>, levels: &Levels<'_>, bundles: &[Span], bytes: usize) -> Vec<Span> {
    let (own, all) = (levels.own().len(), levels.seat.ranks);
    let starts = starts(levels);
    let columns: Vec<Span> = (0..own).map(|_| s.scratch(all * bytes)).collect();
    if bytes == 0 {
        return columns;
    }
    for (rank, column) in columns.iter().enumerate() {
        for (host, bundle) in bundles.iter().enumerate() {
            s.scatter(Blocks {
                from: bundle.part(rank * bytes, bytes),
                from_step: own * bytes,
                into: column.part(starts[host] * bytes, bytes),
                into_step: bytes as isize,
                count: levels.hosts.members(host).len(),
            });
        }
    }
    columns
}

/// Reduces the inputs of each host at its leader; leaders exchange the parts of each other's hosts, and hand
/// out the blocks.
pub(crate) fn reduce_scatter(
    s: &mut ScheduleDraft<'_>,
    levels: &Levels<'_>,
    input: Span,
    lens: &[usize],
    (mine, element, commutative): (Span, usize, bool),
) {
    let partial = if levels.is_leader() { s.scratch(input.len) } else { Span::NOTHING };
    // The leader is the first of its host, so operands keep their places in any case.
    reduce_inside(s, levels, input, (partial, element), false);
    let mut parts = Vec::new();
    if levels.is_leader() {
        parts = reduced_of_host(s, levels, partial, (element, commutative), lens);
    }
    let inside = levels.inside(s);
    flat::scatter(s, inside, levels.leader(), &parts, mine);
}

/// Returns the reduced blocks of this host's members, at the leader.
fn reduced_of_host(
    s: &mut ScheduleDraft<'_>,
    levels: &Levels<'_>,
    partial: Span,
    (element, commutative): (usize, bool),
    lens: &[usize],
) -> Vec<Span> {
    let across = levels.across(s);
    let own = levels.own().iter().map(|member| lens[*member]);
    if !levels.hosts.are_in_blocks() {
        short::allreduce(s, across, partial, partial);
        let blocks = partial.split(lens.iter().copied());
        return levels.own().iter().map(|member| blocks[*member]).collect();
    }
    let sum = |host| levels.hosts.members(host).iter().map(|member| lens[*member]).sum();
    let of_hosts: Vec<usize> = (0..levels.hosts.count()).map(sum).collect();
    let reduced = s.scratch(of_hosts[levels.host]);
    let most = of_hosts.iter().max().copied().unwrap_or(0);
    let algorithm =
        across.choose(Shape { element, commutative, ..Shape::new(Operation::ReduceScatter, most) });
    one_level::reduce_scatter(s, (across, algorithm), partial, &of_hosts, (reduced, element));
    reduced.split(own)
}
