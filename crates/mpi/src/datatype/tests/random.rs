//! Random constructors of constructors, compared with full type maps.

use std::sync::Arc;

use proptest::prelude::*;

use super::naive::{Naive, memory, owns, read};
use crate::datatype::{Basic, Datatype, Dimension, Distribution, Order, Width};

type Both = (Arc<Datatype>, Naive);

fn basic() -> impl Strategy<Value = Both> {
    prop::sample::select(Basic::ALL).prop_map(|basic| (Datatype::basic(basic).clone(), Naive::basic(basic)))
}

fn extent(both: &Both) -> isize {
    both.1.bounds().1
}

/// Returns the places of blocks of contiguous elements.
fn blocks(places: &[(i64, i64)], unit: isize, extent: isize) -> Vec<isize> {
    let block = |(length, place): &(i64, i64)| {
        let start = *place as isize * unit;
        (0..*length as isize).map(move |i| start + i * extent)
    };
    places.iter().flat_map(block).collect()
}

fn vector(both: Both, count: i64, blocklength: i64, stride: i64, bytes: bool) -> Both {
    let unit = if bytes { 1 } else { extent(&both) };
    let places: Vec<_> = (0..count).map(|i| (blocklength, i * stride)).collect();
    let make = if bytes { Datatype::hvector } else { Datatype::vector };
    let made = make(Width::Int, count, blocklength, stride, &both.0).unwrap();
    (made, both.1.at(blocks(&places, unit, extent(&both))))
}

fn indexed(both: Both, places: Vec<(i64, i64)>, bytes: bool) -> Both {
    let unit = if bytes { 1 } else { extent(&both) };
    let (lengths, at): (Vec<_>, Vec<_>) = places.iter().copied().unzip();
    let make = if bytes { Datatype::hindexed } else { Datatype::indexed };
    let made = make(Width::Large, &lengths, &at, &both.0).unwrap();
    (made, both.1.at(blocks(&places, unit, extent(&both))))
}

fn indexed_block(both: Both, length: i64, at: Vec<i64>, bytes: bool) -> Both {
    let unit = if bytes { 1 } else { extent(&both) };
    let places: Vec<_> = at.iter().map(|at| (length, *at)).collect();
    let make = if bytes { Datatype::hindexed_block } else { Datatype::indexed_block };
    let made = make(Width::Int, length, &at, &both.0).unwrap();
    (made, both.1.at(blocks(&places, unit, extent(&both))))
}

fn structure(parts: Vec<(Both, i64, i64)>) -> Both {
    let lengths: Vec<_> = parts.iter().map(|part| part.1).collect();
    let places: Vec<_> = parts.iter().map(|part| part.2).collect();
    let types: Vec<_> = parts.iter().map(|part| part.0.0.clone()).collect();
    let made = Datatype::structure(Width::Int, &lengths, &places, &types).unwrap();
    let naive = parts.iter().fold(Naive::default(), |all, (both, length, place)| {
        all.and(both.1.at(blocks(&[(*length, *place)], 1, extent(both))))
    });
    (made, naive)
}

fn resized(both: Both, low: i64, extent: i64) -> Both {
    let made = Datatype::resized(Width::Int, &both.0, low, extent).unwrap();
    (made, both.1.resized(low as isize, extent as isize))
}

/// Makes a subarray; each dimension has the elements before, in and after the part.
fn subarray(both: Both, parts: Vec<(i64, i64, i64)>, order: Order) -> Both {
    let sizes: Vec<_> = parts.iter().map(|(before, within, behind)| before + within + behind).collect();
    let subsizes: Vec<_> = parts.iter().map(|part| part.1).collect();
    let starts: Vec<_> = parts.iter().map(|part| part.0).collect();
    let made = Datatype::subarray(Width::Int, &sizes, &subsizes, &starts, order, &both.0).unwrap();
    let sizes: Vec<_> = sizes.iter().map(|size| *size as usize).collect();
    let chosen = |i: usize, index: usize| (starts[i]..starts[i] + subsizes[i]).contains(&(index as i64));
    (made, both.1.array(&sizes, order, chosen))
}

fn darray(both: Both, dimensions: Vec<Dimension>, rank: usize, order: Order) -> Both {
    let grid: Vec<_> = dimensions.iter().map(|dimension| dimension.processes as usize).collect();
    let size = grid.iter().product::<usize>();
    let rank = rank % size;
    let place: Vec<_> =
        (0..grid.len()).map(|i| rank / grid[i + 1..].iter().product::<usize>() % grid[i]).collect();
    let made = Datatype::darray(Width::Int, size as i64, rank as i64, &dimensions, order, &both.0).unwrap();
    let sizes: Vec<_> = dimensions.iter().map(|dimension| dimension.size as usize).collect();
    let mine = |i: usize, index: usize| {
        let Dimension { distribution, block, .. } = dimensions[i];
        owns(index, sizes[i], distribution, block, grid[i], place[i])
    };
    (made, both.1.array(&sizes, order, mine))
}

fn dimension() -> impl Strategy<Value = Dimension> {
    let how = prop::sample::select(vec![Distribution::None, Distribution::Block, Distribution::Cyclic]);
    (1i64..8, how, prop::option::of(1i64..4), 1i64..4).prop_map(|(size, distribution, block, processes)| {
        let processes = if distribution == Distribution::None { 1 } else { processes };
        let holds = |block: &i64| distribution != Distribution::Block || block * processes >= size;
        Dimension { size, distribution, block: block.filter(holds), processes }
    })
}

fn datatype() -> impl Strategy<Value = Both> {
    let order = || prop::sample::select(vec![Order::C, Order::Fortran]);
    basic()
        .prop_recursive(3, 16, 3, move |old| {
            let places = prop::collection::vec((0i64..3, -5i64..6), 0..4);
            let parts = prop::collection::vec((old.clone(), 0i64..3, -40i64..60), 0..4);
            prop_oneof![
                (old.clone(), 0i64..4).prop_map(|(old, count)| {
                    let made = Datatype::contiguous(Width::Int, count, &old.0).unwrap();
                    let places = blocks(&[(count, 0)], 1, extent(&old));
                    (made, old.1.at(places))
                }),
                (old.clone(), 0i64..4, 0i64..3, -5i64..6, any::<bool>()).prop_map(
                    |(old, count, length, stride, bytes)| vector(old, count, length, stride, bytes)
                ),
                (old.clone(), places, any::<bool>())
                    .prop_map(|(old, places, bytes)| indexed(old, places, bytes)),
                (old.clone(), 0i64..3, prop::collection::vec(-5i64..6, 0..4), any::<bool>())
                    .prop_map(|(old, length, at, bytes)| indexed_block(old, length, at, bytes)),
                parts.prop_map(structure),
                (old.clone(), -9i64..9, -30i64..50).prop_map(|(old, low, extent)| resized(old, low, extent)),
                (old.clone(), prop::collection::vec((0i64..3, 1i64..3, 0i64..3), 1..4), order())
                    .prop_map(|(old, parts, order)| subarray(old, parts, order)),
                (old.clone(), prop::collection::vec(dimension(), 1..4), 0usize..30, order())
                    .prop_map(|(old, dimensions, rank, order)| darray(old, dimensions, rank, order)),
                old.prop_map(|old| (Datatype::dup(&old.0).unwrap(), old.1)),
            ]
        })
        .prop_filter("of a size to be written out", |both| both.1.numbers.len() < 2000)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn sizes_and_bounds_are_those_of_the_type_map((datatype, naive) in datatype(), count in 0usize..4) {
        prop_assert_eq!(datatype.size(), naive.bytes().len());
        prop_assert_eq!((datatype.true_lower_bound(), datatype.true_extent()), naive.true_bounds());
        prop_assert_eq!((datatype.lower_bound(), datatype.extent()), naive.bounds());
        let all = naive.of(count);
        let span = match all.iter().min().zip(all.iter().max()) {
            Some((low, high)) => *low..*high + 1,
            None => 0..0,
        };
        prop_assert_eq!(datatype.span(count), span);
        prop_assert_eq!(datatype.total_bytes(count).unwrap(), all.len());
        let side_by_side = naive.of(3).iter().enumerate().all(|(i, at)| *at == i as isize);
        prop_assert_eq!(datatype.is_contiguous(), side_by_side);
    }

    #[test]
    fn bytes_are_packed_in_the_order_of_the_type_map(
        (datatype, naive) in datatype(),
        count in 0usize..4,
        (a, b) in (0.0..1.0, 0.0..1.1),
    ) {
        let all = naive.of(count);
        let at = |part: f64| ((part * all.len() as f64) as usize).min(all.len());
        let part = at(a).min(at(b))..at(a).max(at(b));
        let raw = memory(datatype.span(count), 3).into_raw();
        let expected = read(&raw, &all[part.clone()]);
        let (mut packed, mut lent) = (vec![0; part.len()], vec![0; part.len()]);
        datatype.pack(&raw, count, part.start, &mut packed);
        datatype.lend(raw, count).copy_to_slice(part.start, &mut lent);
        prop_assert_eq!((&packed, &lent), (&expected, &expected));

        let distinct = all.iter().collect::<std::collections::HashSet<_>>().len() == all.len();
        prop_assume!(distinct);
        let mut other = memory(datatype.span(count), 100);
        let places: Vec<_> = datatype.span(count).collect();
        let mut model = read(&other, &places);
        for (place, byte) in all[part.clone()].iter().zip(&expected) {
            model[(place - datatype.span(count).start) as usize] = *byte;
        }
        datatype.unpack(&mut other, count, part.start, &packed);
        prop_assert_eq!(read(&other, &places), model);
    }

    #[test]
    fn numbers_are_counted((datatype, naive) in datatype(), count in 1usize..4, part in 0.0..1.1) {
        let sizes: Vec<_> = std::iter::repeat_n(naive.sizes(), count).flatten().collect();
        prop_assert_eq!(datatype.elements() * count, sizes.len());
        let total: usize = sizes.iter().sum();
        let bytes = ((part * total as f64) as usize).min(total);
        let mut left = bytes;
        let complete = sizes.iter().take_while(|size| {
            let fits = left >= **size;
            left = left.saturating_sub(if fits { **size } else { left });
            fits
        });
        let complete = complete.count();
        let whole = sizes[..complete].iter().sum::<usize>() == bytes;
        prop_assert_eq!(datatype.elements_of(bytes), whole.then_some(complete));
        prop_assert_eq!(datatype.bytes_of(complete), Some(sizes[..complete].iter().sum()));
        let whole = datatype.size() > 0 && bytes.is_multiple_of(datatype.size());
        prop_assert_eq!(datatype.count_of(bytes).is_some(), whole || total == 0);

        let mut runs = Vec::new();
        datatype.each_run(|basic, n| runs.extend(std::iter::repeat_n(basic, n)));
        prop_assert_eq!(&runs, &naive.numbers.iter().map(|number| number.0).collect::<Vec<_>>());
        let one = runs.first().filter(|first| runs.iter().all(|basic| basic == *first));
        prop_assert_eq!(datatype.uniform(), one.map(|basic| (*basic, runs.len())));
    }

    #[test]
    fn external_numbers_come_back((datatype, naive) in datatype(), count in 0usize..4) {
        let all = naive.of(count);
        prop_assume!(all.iter().collect::<std::collections::HashSet<_>>().len() == all.len());
        // Every representation has these numbers: 1 of each kind.
        let mut stream = Vec::new();
        for _ in 0..count {
            datatype.each_run(|basic, n| (0..n).for_each(|_| stream.extend(super::external::one(basic))));
        }
        let mut from = memory(datatype.span(count), 0);
        datatype.unpack(&mut from, count, 0, &stream);
        let size = datatype.external_size(count).unwrap();
        let mut external = vec![0xee; size + 3];
        prop_assert_eq!(datatype.pack_external(&from, count, &mut external, 2).unwrap(), size as i64 + 2);
        prop_assert_eq!((external[0], external[1], external[size + 2]), (0xee, 0xee, 0xee));
        let mut to = memory(datatype.span(count), 50);
        datatype.unpack_external(&external, 2, &mut to, count).unwrap();
        let mut back = vec![0; stream.len()];
        datatype.pack(&to, count, 0, &mut back);
        prop_assert_eq!(back, stream);
    }
}
