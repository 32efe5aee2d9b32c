//! The memory of each member before and after a collective, computed sequentially.

use canele_collective::{Block, Kernel};

use crate::spec::{Call, Case, ELEMENT, Kind};

/// The map x ↦ a·x + b; composition is associative and not commutative.
type Map = [u64; 2];

/// The content of bytes that no rank writes.
const UNTOUCHED: u8 = 0xAA;

/// Returns a map that differs for each pair and place, and is never lost by multiplication: odd.
fn value(from: usize, to: usize, at: usize) -> Map {
    let word = (from << 40 | to << 20 | at) as u64 + 17;
    [word.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1, word.wrapping_mul(0xBF58_476D_1CE4_E5B9)]
}

/// Returns the input of a member that is for no single receiver.
fn given(member: usize, len: usize) -> Vec<Map> {
    (0..len).map(|at| value(member, 0, at)).collect()
}

fn between(from: usize, to: usize, len: usize) -> Vec<Map> {
    (0..len).map(|at| value(from, to + 1, at)).collect()
}

fn after(first: Map, second: Map) -> Map {
    [first[0].wrapping_mul(second[0]), first[0].wrapping_mul(second[1]).wrapping_add(first[1])]
}

fn sum(first: Map, second: Map) -> Map {
    [first[0].wrapping_add(second[0]), first[1].wrapping_add(second[1])]
}

fn fold(into: &mut [u8], from: &[u8], from_first: bool, f: fn(Map, Map) -> Map) {
    let (into, from) = (bytemuck::cast_slice_mut::<u8, Map>(into), bytemuck::cast_slice::<u8, Map>(from));
    into.iter_mut().zip(from).for_each(|(a, b)| *a = if from_first { f(*b, *a) } else { f(*a, *b) });
}

/// Returns the reduction of a case.
pub fn kernel(case: &Case) -> Kernel {
    if case.commutative {
        |into, from, first| fold(into, from, first, sum)
    } else {
        |into, from, first| fold(into, from, first, after)
    }
}

/// Memory that grows as it is written.
#[derive(Default)]
struct Room(Vec<u8>);

impl Room {
    fn reach(&mut self, end: usize) {
        if self.0.len() < end {
            self.0.resize(end, UNTOUCHED);
        }
    }

    fn write(&mut self, block: Block, maps: &[Map]) {
        assert_eq!(block.len, maps.len() * ELEMENT);
        self.reach(block.at + block.len);
        self.0[block.at..block.at + block.len].copy_from_slice(bytemuck::cast_slice(maps));
    }

    fn begin(&mut self, maps: &[Map]) {
        self.write(Block { at: 0, len: maps.len() * ELEMENT }, maps);
    }
}

/// The input of a member, its output before, and its output afterwards.
pub struct Memory {
    pub input: Vec<u8>,
    pub output: Vec<u8>,
    pub expected: Vec<u8>,
}

/// Returns a member's memory in a case.
pub fn memory(case: &Case, me: usize, call: &Call) -> Memory {
    let mut gives = Room::default();
    let mut before = Room::default();
    let own = match &case.kind {
        Kind::Reduce { len, .. } | Kind::Allreduce { len } | Kind::Scan { len } | Kind::Exscan { len } => {
            *len
        }
        Kind::ReduceScatter { lens, .. } => lens[case.own(me)].iter().sum(),
        _ => 0,
    };
    let place = if case.in_place_at(me) { &mut before } else { &mut gives };
    place.begin(&given(me, own));
    match &case.kind {
        Kind::Broadcast { root, len } if me == *root => before.begin(&given(me, *len)),
        Kind::Gather { lens, .. } | Kind::Allgather { lens, .. } => match call.mine {
            Some(block) => gives.write(block, &given(me, lens[me])),
            None => before.write(call.lists[1][me], &given(me, lens[me])),
        },
        Kind::Scatter { root, lens, .. } if me == *root => {
            for (to, block) in case.others(me).zip(&call.lists[0]) {
                gives.write(*block, &between(me, to, lens[to]));
            }
        }
        Kind::Alltoall { lens, .. } => {
            let (place, list) = if case.in_place { (&mut before, 1) } else { (&mut gives, 0) };
            for (to, block) in case.others(me).zip(&call.lists[list]) {
                place.write(*block, &between(me, to, lens[me][to]));
            }
        }
        Kind::Exchange { messages } => {
            let mine = (0..).zip(messages).filter(|(_, message)| message.0 == me);
            for ((n, message), (_, block)) in mine.zip(&call.neighbours[0]) {
                gives.write(*block, &between(n, me, message.2));
            }
        }
        _ => {}
    }
    let mut after = Room(before.0.clone());
    got(case, me, call, &mut after);
    before.reach(after.0.len());
    Memory { input: gives.0, output: before.0, expected: after.0 }
}

/// Returns the reduction of the members of a range, from one element on.
fn together(case: &Case, members: std::ops::Range<usize>, first: usize, len: usize) -> Vec<Map> {
    let combine = if case.commutative { sum } else { after };
    let at = |at| members.clone().map(|member| value(member, 0, at)).reduce(combine).expect("a member");
    (first..first + len).map(at).collect()
}

/// Writes the output of a member.
fn got(case: &Case, me: usize, call: &Call, into: &mut Room) {
    match &case.kind {
        Kind::Barrier => {}
        Kind::Broadcast { root, len } => {
            if me == *root || !case.is_between() || !case.own(me).contains(root) {
                into.begin(&given(*root, *len));
            }
        }
        Kind::Reduce { root, len } if me == *root => into.begin(&together(case, case.others(me), 0, *len)),
        Kind::Reduce { .. } => {}
        Kind::Allreduce { len } => into.begin(&together(case, case.others(me), 0, *len)),
        Kind::Scan { len } => into.begin(&together(case, 0..me + 1, 0, *len)),
        Kind::Exscan { len } if me > 0 => into.begin(&together(case, 0..me, 0, *len)),
        Kind::Exscan { .. } => {}
        Kind::ReduceScatter { lens, .. } => {
            let first = lens[case.own(me).start..me].iter().sum();
            into.begin(&together(case, case.others(me), first, lens[me]));
        }
        Kind::Gather { lens, .. } | Kind::Allgather { lens, .. } => {
            for (from, block) in case.others(me).zip(&call.lists[1]) {
                into.write(*block, &given(from, lens[from]));
            }
        }
        Kind::Scatter { root, lens, .. } => {
            let gets = !case.is_between() || !case.own(me).contains(root);
            if let (Some(block), true) = (call.mine, gets) {
                into.write(block, &between(*root, me, lens[me]));
            }
        }
        Kind::Alltoall { lens, .. } => {
            for (from, block) in case.others(me).zip(&call.lists[1]) {
                into.write(*block, &between(from, me, lens[from][me]));
            }
        }
        Kind::Exchange { messages } => {
            let mine = (0..).zip(messages).filter(|(_, message)| message.1 == me);
            for ((n, message), (_, block)) in mine.zip(&call.neighbours[1]) {
                into.write(*block, &between(n, message.0, message.2));
            }
        }
    }
}
