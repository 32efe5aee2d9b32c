//! Algorithm selection: which algorithm a collective takes. It is decided by what is equal on all members and by nothing else, so that all take the
//! same one and a result has the same bits in every run (invariant I18).
//!
//! | | oversubscribed and short | oversubscribed and long | short | long |
//! |---|---|---|---|---|
//! | barrier | flat | | dissemination | |
//! | broadcast | flat | shared buffer | binomial | binomial |
//! | reduce | flat | shared buffer | binomial | binomial |
//! | allreduce | flat | shared buffer | recursive doubling | ring; recursive doubling if operands keep their order |
//! | scan, exscan | flat | shared buffer | distances 1, 2, 4 … | the same |
//! | reduce_scatter | flat | shared buffer | burst | ring; burst if operands keep their order |
//! | gather, scatter | linear | linear | linear | linear |
//! | allgather | flat | shared buffer | burst | ring |
//! | alltoall | burst; Bruck's with many ranks and blocks of a few bytes | shared buffer or burst: see below | burst; likewise | pairwise |
//!
//! *Crowded*: the ranks of a host share processors. There a round that waits costs a change of processes, so the flat
//! algorithms win: each rank waits once, for rank 0 (or the root). For long data the caches are shared too, and shared buffers, which
//! publish it once, win. With a processor for each, what counts is the number of messages one after the other. Two
//! ranks have one message one after the other anyway.
//!
//! A collective that is only started has no shared buffer: its algorithms are those of ranks that do not share processors, but flat
//! where data is short.
//!
//! An alltoall of equal blocks up to 32 KB, or in place (which all members say alike), takes the shared buffer; above that each block has one
//! reader, and a burst does best.
//!
//! In an alltoall there is one message between two members whatever the algorithm is, except for Bruck's; so that one may
//! be chosen by lengths that only some of them know.

use crate::Error;
use crate::build::{between, bruck, flat, long, neighbours, shared_buffer, short};
use crate::schedule::{Schedule, ScheduleDraft, Span};
use crate::spec::{Block, CollectiveSpec, Operation, Root, Shape, Uneven, check_root};
use crate::team::Team;
use canele_sys::ids::Rank;

/// Up to this many bytes at the one rank that does the work of all, the flat algorithms win on oversubscribed processors.
const FLAT_BYTES: usize = 16 << 10;
/// Up to this many bytes per message the time is that of a message, not of its bytes.
pub(super) const SHORT_BYTES: usize = 32 << 10;

/// More bytes of a block than these are published, once, in a shared buffer.
const SHARED_BUFFER_BYTES: usize = 16 << 10;

/// Up to so many bytes of all the root reduces faster alone than all ranks meet.
const ROOT_BYTES: usize = 1 << 20;

/// From so many ranks on, with blocks of at most so many bytes, a message for each rank costs more time than to have most
/// bytes carried by others first.
const BRUCK_RANKS: usize = 64;
const BRUCK_BYTES: usize = 256;

/// Where a schedule is for.
#[derive(Clone, Copy, Debug)]
pub struct Seat {
    /// This rank's number.
    pub me: usize,
    /// How many members there are.
    pub ranks: usize,
    /// As many of them are this rank's own group, all unless there are two.
    pub local: usize,
    /// Ranks share processors; equal on all members.
    pub oversubscribed: bool,
    /// Long data is published in shared buffers.
    pub shared_buffers: bool,
}

impl Schedule {
    /// The part of the member that has this seat, in a collective of all ranks or of a team.
    ///
    /// # Errors
    /// A root or neighbour that there is not; lists of the wrong length.
    pub fn make(seat: Seat, team: Option<&Team>, spec: &CollectiveSpec<'_>) -> Result<Self, Error> {
        let members = team.map(Team::members);
        match spec {
            CollectiveSpec::Even(shape) => schedule(seat, members, *shape),
            CollectiveSpec::Uneven(lists) => uneven(seat, members, *lists),
        }
    }
}

impl Seat {
    /// In one group of so many.
    pub(crate) fn within(self, me: usize, ranks: usize) -> Self {
        Self { me, ranks, local: ranks, ..self }
    }

    /// In this rank's own group.
    pub(crate) fn own(self) -> Self {
        self.within(self.me, self.local)
    }

    pub(crate) fn is_between(self) -> bool {
        self.local < self.ranks
    }

    /// Members of the other group.
    pub(crate) fn remote(self) -> usize {
        self.ranks - self.local
    }

    /// Whether blocks of so many bytes are published in shared buffers.
    fn publishes(self, bytes: usize) -> bool {
        self.shared_buffers && self.ranks > 2 && bytes > SHARED_BUFFER_BYTES
    }

    /// Whether one rank in the middle, which handles so many bytes, does best.
    fn is_flat(self, bytes: usize) -> bool {
        self.oversubscribed && self.ranks > 2 && bytes <= FLAT_BYTES
    }
}

/// This rank's part of a collective of even blocks, among `team`.
pub(crate) fn schedule(seat: Seat, team: Option<&[Rank]>, shape: Shape) -> Result<Schedule, Error> {
    if let Some(root) = shape.operation.root() {
        check_root(seat, root)?;
    }
    let mut s = ScheduleDraft::of(team);
    if seat.is_between() {
        even_between(&mut s, seat, shape);
    } else {
        even(&mut s, seat, shape);
    }
    Ok(s.finish())
}

fn even(s: &mut ScheduleDraft<'_>, seat: Seat, shape: Shape) {
    let Shape { operation, bytes, in_place, .. } = shape;
    let Seat { me, ranks, .. } = seat;
    match operation {
        Operation::Barrier if seat.is_flat(0) => flat::barrier(s, seat),
        Operation::Barrier => short::barrier(s, seat),
        Operation::Broadcast(root) => {
            let data = Span::output(0, bytes);
            if seat.is_flat(bytes.saturating_mul(ranks)) {
                flat::broadcast(s, seat, number(root), data);
            } else if seat.publishes(bytes) {
                shared_buffer::broadcast(s, seat, number(root), data);
            } else {
                short::broadcast(s, seat, number(root), data);
            }
        }
        Operation::Gather(root) => {
            let all = split(Span::output, ranks, bytes);
            let mine = if in_place { all[me] } else { Span::input(0, bytes) };
            flat::gather(s, seat, number(root), mine, &all);
        }
        Operation::Scatter(root) => {
            let all = split(Span::input, ranks, bytes);
            let mine = if in_place { all[me] } else { Span::output(0, bytes) };
            flat::scatter(s, seat, number(root), &all, mine);
        }
        Operation::Allgather => {
            let all = split(Span::output, ranks, bytes);
            let mine = if in_place { all[me] } else { Span::input(0, bytes) };
            allgather(s, seat, mine, &all);
        }
        Operation::Alltoall => even_alltoall(s, seat, bytes, in_place),
        Operation::ReduceScatter => {
            reduce_scatter(s, seat, &vec![bytes; ranks], shape);
        }
        Operation::Reduce(_) | Operation::Allreduce | Operation::Scan | Operation::Exscan => {
            reduce(s, seat, shape)
        }
    }
}

/// The reductions of one block of each rank.
fn reduce(s: &mut ScheduleDraft<'_>, seat: Seat, shape: Shape) {
    let Shape { operation, bytes, element, commutative, in_place } = shape;
    let result = Span::output(0, bytes);
    let input = if in_place { result } else { Span::input(0, bytes) };
    let is_flat = seat.is_flat(bytes.saturating_mul(seat.ranks));
    let publishes = !is_flat && seat.publishes(bytes) && shared_buffer::hold(seat, element);
    match operation {
        Operation::Reduce(root) if publishes && bytes.saturating_mul(seat.ranks) <= ROOT_BYTES => {
            shared_buffer::reduce_at_root(s, seat, number(root), input, (result, element));
        }
        Operation::Reduce(root) if publishes => {
            shared_buffer::reduce(s, seat, Some(number(root)), input, (result, element));
        }
        Operation::Allreduce if publishes => shared_buffer::reduce(s, seat, None, input, (result, element)),
        Operation::Scan if publishes => shared_buffer::scan(s, seat, input, (result, element), false),
        Operation::Exscan if publishes => shared_buffer::scan(s, seat, input, (result, element), true),
        Operation::Reduce(root) if is_flat => flat::reduce(s, seat, number(root), input, result),
        Operation::Reduce(root) if commutative => short::reduce(s, seat, number(root), input, result),
        Operation::Reduce(root) => short::reduce_in_order(s, seat, number(root), input, result),
        Operation::Scan if is_flat => flat::scan(s, seat, input, result, false),
        Operation::Scan => short::scan(s, seat, input, result),
        Operation::Exscan if is_flat => flat::scan(s, seat, input, result, true),
        Operation::Exscan => short::exscan(s, seat, input, result),
        _ if is_flat => flat::allreduce(s, seat, input, result),
        _ if bytes <= SHORT_BYTES || !commutative => short::allreduce(s, seat, input, result),
        _ => long::allreduce(s, seat, input, result, element),
    }
}

fn reduce_scatter(s: &mut ScheduleDraft<'_>, seat: Seat, lens: &[usize], shape: Shape) {
    let total = lens.iter().sum();
    let mine = Span::output(0, lens[seat.me]);
    let input = if shape.in_place { Span::output(0, total) } else { Span::input(0, total) };
    if seat.is_flat(total.saturating_mul(seat.ranks)) {
        flat::reduce_scatter(s, seat, input, lens, mine);
    } else if seat.publishes(total / seat.ranks) && shared_buffer::hold(seat, shape.element) {
        shared_buffer::reduce_scatter(s, seat, input, lens, (mine, shape.element));
    } else if total <= SHORT_BYTES || !shape.commutative {
        short::reduce_scatter(s, seat, input, lens, mine);
    } else {
        long::reduce_scatter(s, seat, input, lens, mine);
    }
}

/// All know the lengths of all blocks.
fn allgather(s: &mut ScheduleDraft<'_>, seat: Seat, mine: Span, all: &[Span]) {
    let (total, most) = all.iter().fold((0, 0), |(sum, most), block| (sum + block.len, block.len.max(most)));
    // The middle sends everything to all others.
    if seat.is_flat(usize::saturating_mul(total, seat.ranks)) {
        flat::allgather(s, seat, mine, all);
    } else if seat.publishes(most) {
        shared_buffer::allgather(s, seat, mine, all);
    } else if most <= SHORT_BYTES {
        short::allgather(s, seat, mine, all);
    } else {
        long::allgather(s, seat, mine, all);
    }
}

fn even_alltoall(s: &mut ScheduleDraft<'_>, seat: Seat, bytes: usize, in_place: bool) {
    if seat.ranks >= BRUCK_RANKS && bytes <= BRUCK_BYTES {
        let total = seat.ranks * bytes;
        return bruck::alltoall(
            s,
            seat,
            if in_place { Span::output(0, total) } else { Span::input(0, total) },
            bytes,
        );
    }
    let from = split(Span::input, seat.ranks, bytes);
    let into = split(Span::output, seat.ranks, bytes);
    if !seat.publishes(bytes) {
        alltoall(s, seat, (!in_place).then_some(&from), &into);
    } else if in_place || bytes <= SHORT_BYTES {
        shared_buffer::alltoall(s, seat, if in_place { &into } else { &from }, &into);
    } else {
        // Each block has one reader, so nothing is gained by publishing it; all at once cost the fewest changes of processes.
        short::alltoall(s, seat, &from, &into);
    }
}

fn alltoall(s: &mut ScheduleDraft<'_>, seat: Seat, from: Option<&Vec<Span>>, into: &[Span]) {
    let is_short = |spans: &[Span]| spans.iter().all(|span| span.len <= SHORT_BYTES);
    match from {
        Some(from) if is_short(from) && is_short(into) => short::alltoall(s, seat, from, into),
        Some(from) => long::alltoall(s, seat, from, into),
        None if is_short(into) => short::alltoall_in_place(s, seat, into),
        None => long::alltoall_in_place(s, seat, into),
    }
}

/// Between two groups.
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

/// This rank's part of a collective of uneven blocks, among `team`.
pub(crate) fn uneven(seat: Seat, team: Option<&[Rank]>, spec: Uneven<'_>) -> Result<Schedule, Error> {
    spec.check(seat)?;
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
                allgather(s, seat, mine, &all);
            }
        }
        Uneven::Alltoall { from, into } => {
            let from: Option<Vec<Span>> =
                from.map(|from| from.iter().map(|block| block.of_input()).collect());
            let into = of_output(into);
            match &from {
                Some(from) if seat.is_between() => between::alltoall(s, seat, from, &into),
                from => alltoall(s, seat, from.as_ref(), &into),
            }
        }
        Uneven::ReduceScatter { lens, element, commutative, in_place } => {
            let shape =
                Shape { operation: Operation::ReduceScatter, bytes: 0, element, commutative, in_place };
            if seat.is_between() {
                let input = Span::input(0, lens.iter().sum());
                between::reduce_scatter(s, seat, input, lens, Span::output(0, lens[seat.me]));
            } else {
                reduce_scatter(s, seat, lens, shape);
            }
        }
        Uneven::Exchange { sends, receives } => neighbours::exchange(s, sends, receives),
    }
    Ok(draft.finish())
}

/// This rank's own block: in place it is one of all. Between two groups a root has none, and `all` are the other group's.
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

/// So many blocks of an area, one behind the other.
fn split(area: fn(usize, usize) -> Span, blocks: usize, bytes: usize) -> Vec<Span> {
    (0..blocks).map(|n| area(n * bytes, bytes)).collect()
}

/// Whom the root of one group is.
fn number(root: Root) -> usize {
    match root {
        Root::At(n) => n as usize,
        Root::Here | Root::Elsewhere => unreachable!("checked: in one group all members name the root"),
    }
}
