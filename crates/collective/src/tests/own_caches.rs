//! The algorithms of ranks with a processor and caches each for long data: slices, bursts in parts, and
//! shared buffers in pieces.

use canele_profile::HostProfile;

use super::{Model, run_all, schedule_of, seat};
use crate::choose::{Algorithm, CollectiveCosts, Seat};
use crate::reduce::{Kernel, Reduction};
use crate::schedule::Schedule;
use crate::spec::{Operation, Root, Shape};

use Algorithm::{Burst, SharedAtRoot, SharedBuffer, Slices};
use Operation::{Allgather, Allreduce, Alltoall, Broadcast, Exscan, Reduce, ReduceScatter, Scan};

/// An element: the map x ↦ a·x + b. Composition is associative, not commutative.
type Map = [u64; 2];

const ELEMENT: usize = 16;

fn after(first: Map, second: Map) -> Map {
    [first[0].wrapping_mul(second[0]), first[0].wrapping_mul(second[1]).wrapping_add(first[1])]
}

fn combine(into: &mut [u8], from: &[u8], from_first: bool) {
    let (into, from) = (bytemuck::cast_slice_mut::<u8, Map>(into), bytemuck::cast_slice::<u8, Map>(from));
    into.iter_mut().zip(from).for_each(|(a, b)| *a = if from_first { after(*b, *a) } else { after(*a, *b) });
}

/// Returns a map that differs for every rank and place, and is never lost by multiplication: odd.
fn given(rank: usize, at: usize) -> Map {
    let word = (rank * 1_000_003 + at * 7919 + 17) as u64;
    [word.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1, word.wrapping_mul(0xBF58_476D_1CE4_E5B9)]
}

/// Returns the reduction of some ranks at a place.
fn together(ranks: std::ops::Range<usize>, at: usize) -> Map {
    ranks.map(|rank| given(rank, at)).reduce(after).expect("some ranks")
}

fn own_caches(me: usize, ranks: usize, algorithm: Algorithm) -> Seat {
    Seat {
        shared_buffers: true,
        costs: CollectiveCosts::of(&HostProfile::OWN_CACHES, 16),
        forced: Some(algorithm),
        ..seat(me, ranks, false)
    }
}

/// A call by one of the algorithms, of operands that keep their order.
#[derive(Clone, Copy, Debug)]
struct Call {
    operation: Operation,
    algorithm: Algorithm,
    ranks: usize,
    maps: usize,
    in_place: bool,
}

impl Call {
    fn shape(self) -> Shape {
        let shape = Shape::new(self.operation, self.maps * ELEMENT);
        Shape { element: ELEMENT, commutative: false, ..shape }
    }

    fn schedule(self, me: usize, in_place: bool) -> Schedule {
        let (seat, shape) = (own_caches(me, self.ranks, self.algorithm), Shape { in_place, ..self.shape() });
        assert!(self.maps == 0 || seat.choose(shape) == self.algorithm, "{self:?} takes another algorithm");
        schedule_of(seat, shape)
    }

    /// Returns the numbers of blocks that a member gives and gets.
    fn blocks(self) -> (usize, usize) {
        match self.operation {
            Alltoall => (self.ranks, self.ranks),
            Allgather => (1, self.ranks),
            ReduceScatter => (self.ranks, 1),
            _ => (1, 1),
        }
    }

    /// Returns true if this member's input lies in its output: for a reduction to one rank only the root's
    /// does.
    fn is_in_place(self, me: usize) -> bool {
        self.in_place && self.operation.root().is_none_or(|root| root == Root::At(me as u32))
    }

    fn model(self, me: usize) -> Model {
        let (given_blocks, gotten) = self.blocks();
        let input: Vec<u64> = (0..given_blocks * self.maps).flat_map(|at| given(me, at)).collect();
        let mut output = vec![0xAAAA; 2 * self.maps * gotten];
        let is_in_place = self.is_in_place(me);
        let schedule = self.schedule(me, is_in_place);
        if let Broadcast(Root::At(root)) = self.operation {
            if root as usize == me {
                output.copy_from_slice(&input);
            }
            return Model::new(schedule, Vec::new(), output);
        }
        if !is_in_place {
            return Model::new(schedule, input, output);
        }
        output.resize(output.len().max(input.len()), 0xAAAA);
        let at = if self.operation == Allgather { 2 * me * self.maps } else { 0 };
        output[at..at + input.len()].copy_from_slice(&input);
        Model::new(schedule, Vec::new(), output)
    }

    /// Returns the output of a member; `None` if it is not defined.
    fn expected(self, me: usize) -> Option<Vec<Map>> {
        let Self { ranks, maps, .. } = self;
        let fold = |ranks: std::ops::Range<usize>| (0..maps).map(|at| together(ranks.clone(), at)).collect();
        match self.operation {
            Broadcast(Root::At(root)) => Some((0..maps).map(|at| given(root as usize, at)).collect()),
            Reduce(root) if root != Root::At(me as u32) => None,
            Reduce(_) | Allreduce => Some(fold(0..ranks)),
            Scan => Some(fold(0..me + 1)),
            Exscan => (me > 0).then(|| fold(0..me)),
            ReduceScatter => Some((0..maps).map(|at| together(0..ranks, me * maps + at)).collect()),
            Allgather => Some((0..ranks).flat_map(|of| (0..maps).map(move |at| given(of, at))).collect()),
            Alltoall => {
                let from = |of| (0..maps).map(move |at| given(of, me * maps + at));
                Some((0..ranks).flat_map(from).collect())
            }
            other => unreachable!("{other:?} has one algorithm"),
        }
    }

    fn check(self) {
        let kernel: Kernel = combine;
        let models = (0..self.ranks).map(|me| self.model(me)).collect();
        let outputs = run_all(&format!("{self:?}"), models, &Reduction::from(kernel));
        for (me, output) in outputs.iter().enumerate() {
            if let Some(expected) = self.expected(me) {
                let gotten: &[Map] = bytemuck::cast_slice(&output[..2 * expected.len()]);
                let wrong = gotten.iter().zip(&expected).position(|(a, b)| a != b);
                assert_eq!(wrong, None, "{self:?}: the place of rank {me} that is wrong");
            }
        }
    }
}

/// Checks calls with many numbers of ranks and lengths: fewer elements than ranks, and more than a part or a
/// piece.
fn check_all(algorithm: Algorithm, least: usize, operations: impl Fn(Root) -> Vec<Operation>) {
    for ranks in [2, 3, 4, 5, 7, 8, 13, 16].into_iter().filter(|ranks| *ranks >= least) {
        for maps in [0, 1, 2, 5, 60, 700, 5000, 9001] {
            for (root, in_place) in [(0, false), (ranks / 2, true), (ranks - 1, false), (0, true)] {
                for operation in operations(Root::At(root as u32)) {
                    if operation.root().is_some() || root == 0 {
                        Call { operation, algorithm, ranks, maps, in_place }.check();
                    }
                }
            }
        }
    }
}

#[test]
fn slices_come_together_in_the_order_of_ranks() {
    check_all(Slices, 3, |root| vec![Broadcast(root), Reduce(root), Allreduce]);
}

#[test]
fn slices_that_no_cache_holds_are_reduced_part_by_part() {
    // 16 ranks reduce parts of 64 KB, and each has a little more than two of these.
    let maps = 16 * (8192 + 1) + 3;
    for (operation, in_place) in [(Allreduce, false), (Allreduce, true), (Reduce(Root::At(5)), true)] {
        let call = Call { operation, algorithm: Slices, ranks: 16, maps, in_place };
        assert_eq!(call.schedule(3, false).rounds.len(), 3 + 1, "{call:?}");
        call.check();
    }
}

#[test]
fn bursts_that_are_reduced_come_part_by_part() {
    check_all(Burst, 2, |_| vec![ReduceScatter]);
    let call = Call { operation: ReduceScatter, algorithm: Burst, ranks: 16, maps: 9001, in_place: false };
    let (rounds, scratch) = (call.schedule(0, false).rounds, call.schedule(0, false).scratch_bytes);
    assert_eq!((rounds.len(), scratch), (3, 15 * (64 << 10)), "three parts go through the scratch of one");
}

#[test]
fn ranks_with_processors_publish_in_shared_buffers() {
    check_all(SharedBuffer, 2, |root| {
        vec![Broadcast(root), Reduce(root), Allreduce, Allgather, Alltoall, ReduceScatter, Scan, Exscan]
    });
    check_all(SharedAtRoot, 2, |root| vec![Reduce(root)]);
}

#[test]
fn what_one_rank_publishes_is_read_while_it_writes_on() {
    let pieces = |kib: usize| {
        let maps = kib * 1024 / ELEMENT;
        let call = Call {
            operation: Broadcast(Root::At(0)),
            algorithm: SharedBuffer,
            ranks: 16,
            maps,
            in_place: false,
        };
        call.schedule(1, false).rounds.len()
    };
    assert_eq!([16, 32, 64, 256, 1024, 2048].map(pieces), [1, 1, 2, 4, 4, 8]);
}

#[test]
fn a_piece_that_is_written_over_has_been_read() {
    // 512 KB, and slightly more than a shared buffer and than two of them.
    for maps in [32 << 10, (32 << 10) + 1, 70_001] {
        for (operation, algorithm) in [
            (Broadcast(Root::At(0)), SharedBuffer),
            (Broadcast(Root::At(2)), SharedBuffer),
            (Reduce(Root::At(2)), SharedAtRoot),
            (Scan, SharedBuffer),
        ] {
            Call { operation, algorithm, ranks: 3, maps, in_place: false }.check();
        }
    }
}

#[test]
fn slices_without_bytes_are_not_sent() {
    let messages = |operation, maps| {
        let call = Call { operation, algorithm: Slices, ranks: 7, maps, in_place: false };
        let sends = |schedule: Schedule| schedule.rounds.iter().map(|round| round.sends.len()).sum::<usize>();
        (0..7).map(|me| sends(call.schedule(me, false))).sum::<usize>()
    };
    // One owner gets one slice of all others, and hands it to them or to the root.
    assert_eq!(messages(Allreduce, 1), 6 + 6);
    assert_eq!(messages(Broadcast(Root::At(3)), 1), 1 + 5);
    assert_eq!(messages(Allreduce, 7), 2 * 7 * 6);
}
