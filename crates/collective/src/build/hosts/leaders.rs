//! One rank of each host speaks for it: one packet for each pair of hosts, for data so short that packets cost more than bytes.

use super::Levels;
use crate::build::{flat, others, rotation, short};
use crate::choose::Seat;
use crate::schedule::{Blocks, ScheduleDraft, Span};

/// All report to their leader, the leaders meet, and let the others go.
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
    short::barrier(s, across);
    levels.inside(s);
    s.round();
    others(inside).for_each(|rank| {
        s.send(rank, Span::NOTHING);
    });
}

/// The root, which is the leader of its host, sends to the other leaders.
pub(crate) fn broadcast(s: &mut ScheduleDraft<'_>, levels: &Levels<'_>, root: usize, data: Span) {
    if levels.is_leader() {
        let across = levels.across(s);
        short::broadcast(s, across, levels.hosts.place(root).0, data);
    }
    spread(s, levels, data);
}

/// The leader of this host has data for its members.
pub(super) fn spread(s: &mut ScheduleDraft<'_>, levels: &Levels<'_>, data: Span) {
    let inside = levels.inside(s);
    match inside.oversubscribed {
        true => flat::broadcast(s, inside, levels.leader(), data),
        false => short::broadcast(s, inside, levels.leader(), data),
    }
}

/// Reduces the inputs of this host's members, in their order, at the leader.
fn reduce_inside(s: &mut ScheduleDraft<'_>, levels: &Levels<'_>, input: Span, result: Span) {
    let inside = levels.inside(s);
    match inside.oversubscribed {
        true => flat::reduce(s, inside, levels.leader(), input, result),
        false => short::reduce_in_order(s, inside, levels.leader(), input, result),
    }
}

/// The root is the leader of its host. Operands keep their order if the members of each host follow each other.
pub(crate) fn reduce(s: &mut ScheduleDraft<'_>, levels: &Levels<'_>, root: usize, input: Span, result: Span) {
    let at_root = levels.seat.me == root;
    let partial = if levels.is_leader() && !at_root { s.scratch(input.len) } else { result };
    reduce_inside(s, levels, input, partial);
    if levels.is_leader() {
        let across = levels.across(s);
        short::reduce_in_order(s, across, levels.hosts.place(root).0, partial, result);
    }
}

/// As `reduce`, between leaders by recursive doubling.
pub(crate) fn allreduce(s: &mut ScheduleDraft<'_>, levels: &Levels<'_>, input: Span, result: Span) {
    reduce_inside(s, levels, input, result);
    if levels.is_leader() {
        let across = levels.across(s);
        short::allreduce(s, across, result, result);
    }
    spread(s, levels, result);
}

/// Every leader gathers the blocks of its host, and the root those of all hosts.
pub(crate) fn gather(s: &mut ScheduleDraft<'_>, levels: &Levels<'_>, root: usize, mine: Span, all: &[Span]) {
    let inside = levels.inside(s);
    if levels.seat.me != root {
        let blocks = levels.own().iter().map(|member| all[*member].len);
        let bundle = if levels.is_leader() { s.scratch(blocks.clone().sum()) } else { Span::NOTHING };
        let parts = if levels.is_leader() { bundle.split(blocks) } else { Vec::new() };
        flat::gather(s, inside, levels.leader(), mine, &parts);
        if levels.is_leader() && levels.host != levels.hosts.place(root).0 {
            levels.across(s);
            s.round().send(levels.hosts.place(root).0, bundle);
        }
        return;
    }
    let own: Vec<Span> = levels.own().iter().map(|member| all[*member]).collect();
    flat::gather(s, inside, levels.leader(), mine, &own);
    let across = levels.across(s);
    for host in others(across) {
        let blocks = levels.hosts.members(host).iter().map(|member| all[*member]);
        let bundle = s.scratch(blocks.clone().map(|block| block.len).sum());
        s.receive(host, bundle);
        for (part, block) in bundle.split(blocks.clone().map(|block| block.len)).into_iter().zip(blocks) {
            s.copy(part, block);
        }
    }
}

/// As `gather`, backwards.
pub(crate) fn scatter(s: &mut ScheduleDraft<'_>, levels: &Levels<'_>, root: usize, all: &[Span], mine: Span) {
    if levels.seat.me != root {
        let lens = levels.own().iter().map(|member| all[*member].len);
        let mut parts = Vec::new();
        if levels.is_leader() {
            let bundle = s.scratch(lens.clone().sum());
            levels.across(s);
            s.round().receive(levels.hosts.place(root).0, bundle);
            parts = bundle.split(lens);
        }
        let inside = levels.inside(s);
        return flat::scatter(s, inside, levels.leader(), &parts, mine);
    }
    let across = levels.across(s);
    s.round();
    let mut bundles = Vec::new();
    for host in others(across) {
        let blocks = levels.hosts.members(host).iter().map(|member| all[*member]);
        let bundle = s.scratch(blocks.clone().map(|block| block.len).sum());
        for (part, block) in bundle.split(blocks.clone().map(|block| block.len)).into_iter().zip(blocks) {
            s.copy(block, part);
        }
        bundles.push((host, bundle));
    }
    s.round();
    for (host, bundle) in bundles {
        s.send(host, bundle);
    }
    let own: Vec<Span> = levels.own().iter().map(|member| all[*member]).collect();
    let inside = levels.inside(s);
    flat::scatter(s, inside, levels.leader(), &own, mine);
}

/// All blocks host by host: where they lie so, in the output, else in scratch. The first is the whole.
fn by_host(s: &mut ScheduleDraft<'_>, levels: &Levels<'_>, all: &[Span]) -> (Span, Vec<Span>) {
    let ordered: Vec<Span> = levels.hosts.order().map(|member| all[member]).collect();
    let total = ordered.iter().map(|block| block.len).sum();
    let is_whole = ordered.windows(2).all(|pair| pair[0].at + pair[0].len == pair[1].at);
    let whole = if is_whole { Span { len: total, ..ordered[0] } } else { s.scratch(total) };
    (whole, whole.split(ordered.iter().map(|block| block.len)))
}

/// The leaders gather the blocks of their hosts, exchange them, and send all of them on.
pub(crate) fn allgather(s: &mut ScheduleDraft<'_>, levels: &Levels<'_>, mine: Span, all: &[Span]) {
    let (whole, parts) = by_host(s, levels, all);
    let mut of_hosts = Vec::new();
    let mut first = 0;
    for host in 0..levels.hosts.count() {
        let own = &parts[first..first + levels.hosts.members(host).len()];
        of_hosts.push((first, Span { len: own.iter().map(|part| part.len).sum(), ..own[0] }));
        first += own.len();
    }
    let inside = levels.inside(s);
    let first = of_hosts[levels.host].0;
    flat::gather(s, inside, levels.leader(), mine, &parts[first..first + inside.ranks]);
    if levels.is_leader() {
        let across = levels.across(s);
        let of_hosts: Vec<Span> = of_hosts.iter().map(|(_, span)| *span).collect();
        short::allgather(s, across, of_hosts[levels.host], &of_hosts);
    }
    if !levels.is_leader() {
        s.round();
    }
    spread(s, levels, whole);
    for (part, member) in parts.iter().zip(levels.hosts.order()) {
        s.copy(*part, all[member]);
    }
}

/// The leaders have all blocks of their hosts, exchange those of each pair of hosts, and hand out what came. All blocks have `bytes`
/// bytes, one behind the other in `from` and `into`.
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

/// The blocks of this rank host by host.
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

/// Blocks that came host by host, to their places.
fn unpack(s: &mut ScheduleDraft<'_>, levels: &Levels<'_>, column: Span, into: Span, bytes: usize) {
    if levels.hosts.are_in_blocks() {
        s.copy(column, into);
        return;
    }
    for (at, member) in levels.hosts.order().enumerate() {
        s.copy(column.part(at * bytes, bytes), into.part(member * bytes, bytes));
    }
}

/// Where the blocks of each host begin in a row, in blocks.
fn starts(levels: &Levels<'_>) -> Vec<usize> {
    let lens = (0..levels.hosts.count()).map(|host| levels.hosts.members(host).len());
    lens.scan(0, |sum, len| Some(std::mem::replace(sum, *sum + len))).collect()
}

/// Exchanges with each other leader the blocks between the two hosts; gives those for this host, sender by sender.
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

/// For each rank of this host what all others have for it, host by host.
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

/// The leaders reduce the inputs of their hosts, exchange what belongs to each other's hosts, and hand out the blocks.
pub(crate) fn reduce_scatter(
    s: &mut ScheduleDraft<'_>,
    levels: &Levels<'_>,
    input: Span,
    lens: &[usize],
    mine: Span,
) {
    let partial = if levels.is_leader() { s.scratch(input.len) } else { Span::NOTHING };
    reduce_inside(s, levels, input, partial);
    let mut parts = Vec::new();
    if levels.is_leader() {
        let across = levels.across(s);
        parts = reduced_of_host(s, levels, across, partial, lens);
    }
    let inside = levels.inside(s);
    flat::scatter(s, inside, levels.leader(), &parts, mine);
}

/// The reduced blocks of this host's members, at the leader.
fn reduced_of_host(
    s: &mut ScheduleDraft<'_>,
    levels: &Levels<'_>,
    across: Seat,
    partial: Span,
    lens: &[usize],
) -> Vec<Span> {
    let own = levels.own().iter().map(|member| lens[*member]);
    if !levels.hosts.are_in_blocks() {
        short::allreduce(s, across, partial, partial);
        let blocks = partial.split(lens.iter().copied());
        return levels.own().iter().map(|member| blocks[*member]).collect();
    }
    let sum = |host| levels.hosts.members(host).iter().map(|member| lens[*member]).sum();
    let of_hosts: Vec<usize> = (0..levels.hosts.count()).map(sum).collect();
    let reduced = s.scratch(of_hosts[levels.host]);
    short::reduce_scatter(s, across, partial, &of_hosts, reduced);
    reduced.split(own)
}
