//! Reductions whose operands must not change places, in place or not, compared with their definition.

use super::hosts::{PLACEMENTS, seat_on};
use super::{Model, run_all, seat};
use crate::choose::{Algorithm, CollectiveCosts, Seat, schedule};
use crate::hosts::Hosts;
use crate::reduce::{Kernel, Reduction};
use crate::spec::{Operation, Root, Shape};

/// An element: the map x ↦ a·x + b. Composition is associative, not commutative.
type Map = [u64; 2];

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

/// The parameters of a case.
#[derive(Clone, Copy, Debug)]
struct Case {
    ranks: usize,
    /// The host of each rank, which has a leader; `None` if all are on one host.
    placement: Option<&'static [u32]>,
    /// The algorithm that ranks take if they can, each on a host of its own.
    forced: Option<Algorithm>,
    oversubscribed: bool,
    commutative: bool,
    in_place: bool,
    maps: usize,
}

impl Case {
    fn each(mut check: impl FnMut(Case)) {
        let counts = [1, 2, 3, 4, 5, 6, 7, 8, 13];
        let on_one_host = counts.map(|ranks| (ranks, None, None));
        let [by_ring, by_slices] = [Algorithm::Ring, Algorithm::Slices]
            .map(|forced| counts.map(|ranks| (ranks, None, Some(forced))));
        let on_several = PLACEMENTS.map(|placement| (placement.len(), Some(placement), None));
        let all = on_one_host.into_iter().chain(by_ring).chain(by_slices).chain(on_several);
        for (ranks, placement, forced) in all {
            for maps in [0, 1, 5, 60, 700, 3000] {
                for flags in 0..8 {
                    let [oversubscribed, commutative, in_place] = [1, 2, 4].map(|flag| flags & flag > 0);
                    check(Case { ranks, placement, forced, oversubscribed, commutative, in_place, maps });
                }
            }
        }
    }

    fn of(self, first: Map, second: Map) -> Map {
        if self.commutative { sum(first, second) } else { after(first, second) }
    }

    /// Returns the reduction of the ranks from `first` to before `end` at a place.
    fn together(self, ranks: std::ops::Range<usize>, at: usize) -> Option<Map> {
        ranks.map(|rank| given(rank, at)).reduce(|a, b| self.of(a, b))
    }

    /// Returns a rank's seat, and the hosts of all if they are several.
    fn seat(self, me: usize) -> (Seat, Option<Hosts>) {
        let Self { ranks, placement, forced, oversubscribed, .. } = self;
        if forced.is_some() {
            let costs = CollectiveCosts::default();
            return (Seat { costs, forced, ..seat(me, ranks, oversubscribed) }, None);
        }
        let Some(placement) = placement else { return (seat(me, ranks, oversubscribed), None) };
        let hosts = Hosts::new(placement.iter().copied()).expect("two levels");
        let seat = Seat { oversubscribed, ..seat_on(&hosts, me, ranks, Some(Algorithm::Leaders)) };
        (seat, Some(hosts))
    }

    /// Returns all outputs of `output` maps each, from inputs of `input` maps.
    fn run(self, operation: Operation, input: usize, output: usize) -> Vec<Vec<u64>> {
        let shape = Shape {
            element: 16,
            commutative: self.commutative,
            in_place: false,
            ..Shape::new(operation, self.maps * 16)
        };
        let models = (0..self.ranks).map(|me| {
            // Only the root reduces in place.
            let is_root = |root: Root| root == Root::At(me as u32);
            let in_place = self.in_place && operation.root().is_none_or(is_root);
            let (seat, hosts) = self.seat(me);
            let schedule = schedule(seat, (None, hosts.as_ref()), Shape { in_place, ..shape });
            let schedule = schedule.expect("a shape that can be");
            let mine: Vec<u64> = (0..input).flat_map(|at| given(me, at)).collect();
            let mut room = vec![0xAAAA; 2 * output.max(if in_place { input } else { 0 })];
            if in_place {
                room[..mine.len()].copy_from_slice(&mine);
                return Model::new(schedule, Vec::new(), room);
            }
            Model::new(schedule, mine, room)
        });
        let commutative: Kernel = |into, from, first| fold(into, from, first, sum);
        let ordered: Kernel = |into, from, first| fold(into, from, first, after);
        let kernel = if self.commutative { commutative } else { ordered };
        run_all(&format!("{operation:?} of {self:?}"), models.collect(), &kernel.into())
    }
}

/// Returns a map that differs for every rank and place, and is never lost by multiplication: odd.
fn given(rank: usize, at: usize) -> Map {
    let word = (rank * 1_000_003 + at * 7919 + 17) as u64;
    [word.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1, word.wrapping_mul(0xBF58_476D_1CE4_E5B9)]
}

fn maps(words: &[u64]) -> &[Map] {
    bytemuck::cast_slice(words)
}

#[test]
fn operands_keep_their_order() {
    Case::each(|case| {
        let Case { ranks, maps: count, .. } = case;
        let expected: Vec<Map> = (0..count).map(|at| case.together(0..ranks, at).unwrap()).collect();
        for root in [0, ranks / 2, ranks - 1] {
            let outputs = case.run(Operation::Reduce(Root::At(root as u32)), count, count);
            assert_eq!(maps(&outputs[root]), expected, "{case:?} at {root}");
        }
        let outputs = case.run(Operation::Allreduce, count, count);
        assert!(outputs.iter().all(|output| maps(output) == expected), "{case:?}");
    });
}

#[test]
fn prefixes_are_of_all_before() {
    Case::each(|case| {
        let expected = |ranks: usize| -> Option<Vec<Map>> {
            (0..case.maps).map(|at| case.together(0..ranks, at)).collect()
        };
        for (me, output) in case.run(Operation::Scan, case.maps, case.maps).iter().enumerate() {
            assert_eq!(Some(maps(output)), expected(me + 1).as_deref(), "{case:?} at {me}");
        }
        let outputs = case.run(Operation::Exscan, case.maps, case.maps);
        let first: Vec<Map> = (0..case.maps).map(|at| given(0, at)).collect();
        let untouched = if case.in_place { first } else { vec![[0xAAAA; 2]; case.maps] };
        assert_eq!(maps(&outputs[0]), untouched, "{case:?}: the first rank has no result");
        for (me, output) in outputs.iter().enumerate().skip(1) {
            assert_eq!(Some(maps(output)), expected(me).as_deref(), "{case:?} at {me}");
        }
    });
}

#[test]
fn each_gets_its_block_of_the_reduction() {
    Case::each(|case| {
        let Case { ranks, maps: count, .. } = case;
        for (me, output) in case.run(Operation::ReduceScatter, ranks * count, count).iter().enumerate() {
            let expected: Vec<Map> =
                (0..count).map(|at| case.together(0..ranks, me * count + at).unwrap()).collect();
            assert_eq!(&maps(output)[..count], expected, "{case:?} at {me}");
        }
    });
}

#[test]
fn a_kernel_may_capture() {
    let times = std::sync::Arc::new(canele_sys::atomic::AtomicUsize::new(0));
    let counted = times.clone();
    let kernel: std::sync::Arc<crate::SharedKernel> = std::sync::Arc::new(move |into, from, first| {
        counted.fetch_add(1, canele_sys::atomic::Ordering::Relaxed);
        fold(into, from, first, after);
    });
    let mut into = bytemuck::cast_slice(&[given(0, 0)]).to_vec();
    Reduction::from(kernel).combine(&mut into, bytemuck::cast_slice(&[given(1, 0)]), true);
    assert_eq!(bytemuck::cast_slice::<u8, Map>(&into), [after(given(1, 0), given(0, 0))]);
    assert_eq!(times.load(canele_sys::atomic::Ordering::Relaxed), 1);
}
