//! Parts of arrays: a subarray, and one process's part of a distributed array (MPI 5.0, §5.1.3, §5.1.4).
//!
//! Both constructors go from the fastest dimension to the slowest, and repeat in each dimension the map made
//! so far. The bounds are those of the whole array.

use std::sync::Arc;

use super::construct::length;
use super::envelope::{Combiner, Distribution, Envelope, Integer, Order, Width};
use super::map::Map;
use super::{Datatype, too_large};
use crate::{Result, fail};

/// One dimension of a distributed array.
#[derive(Clone, Copy, Debug)]
pub struct Dimension {
    /// Elements of the whole array.
    pub size: i64,
    /// The distribution over the processes.
    pub distribution: Distribution,
    /// Length of a distributed block; none for the default.
    pub block: Option<i64>,
    /// Number of processes along the dimension.
    pub processes: i64,
}

/// One process's part of a dimension: blocks of `block` elements from `start` on, one every `period`, and a
/// shorter one.
struct Share {
    start: usize,
    block: usize,
    full: usize,
    period: usize,
    rest: usize,
}

impl Order {
    /// Returns the dimensions, the fastest first.
    fn fastest_first(self, dimensions: usize) -> impl Iterator<Item = usize> {
        (0..dimensions).map(move |i| match self {
            Order::C => dimensions - 1 - i,
            Order::Fortran => i,
        })
    }
}

impl Datatype {
    /// Makes the `subsizes` elements from `starts` on of an array of `sizes` (`MPI_Type_create_subarray`).
    pub fn subarray(
        width: Width,
        sizes: &[i64],
        subsizes: &[i64],
        starts: &[i64],
        order: Order,
        old: &Arc<Self>,
    ) -> Result<Arc<Self>> {
        let dimensions = sizes.len();
        if dimensions == 0 || subsizes.len() != dimensions || starts.len() != dimensions {
            fail!(
                Argument,
                "ndims is {dimensions}, with {} subsizes and {} starts: it must be positive and that of all",
                subsizes.len(),
                starts.len()
            );
        }
        for (i, ((size, part), start)) in sizes.iter().zip(subsizes).zip(starts).enumerate() {
            check_part(i, *size, *part, *start)?;
        }
        let make = || {
            let (mut map, mut stride) = (old.map.clone(), old.extent);
            for i in order.fastest_first(dimensions) {
                let start = stride.checked_mul(starts[i] as isize)?;
                map = map.repeated(subsizes[i] as usize, stride)?.shifted(start)?;
                stride = stride.checked_mul(sizes[i] as isize)?;
            }
            map.bounded(0, stride)
        };
        let envelope = Envelope::new(Combiner::Subarray)
            .integers([Integer::Number(dimensions as i64)])
            .counts(width, sizes)
            .counts(width, subsizes)
            .counts(width, starts)
            .integers([Integer::Order(order)]);
        Self::made(make().ok_or_else(too_large)?, envelope.datatype(old))
    }

    /// Makes the part of process `rank` of `size` in an array distributed over a grid of processes
    /// (`MPI_Type_create_darray`). The grid is in row-major order, whatever the order of the array.
    pub fn darray(
        width: Width,
        size: i64,
        rank: i64,
        dimensions: &[Dimension],
        order: Order,
        old: &Arc<Self>,
    ) -> Result<Arc<Self>> {
        check_grid(size, rank, dimensions)?;
        let mut place = vec![0; dimensions.len()];
        let mut rest = rank;
        for (i, dimension) in dimensions.iter().enumerate().rev() {
            place[i] = (rest % dimension.processes) as usize;
            rest /= dimension.processes;
        }
        let shares: Vec<_> = dimensions
            .iter()
            .enumerate()
            .map(|(i, dimension)| share(i, dimension, place[i]))
            .collect::<Result<_>>()?;
        let make = || {
            let (mut map, mut stride) = (old.map.clone(), old.extent);
            for i in order.fastest_first(dimensions.len()) {
                map = deal(&map, &shares[i], stride)?;
                stride = stride.checked_mul(isize::try_from(dimensions[i].size).ok()?)?;
            }
            map.bounded(0, stride)
        };
        let map = make().ok_or_else(too_large)?;
        Self::made(map, record(width, size, rank, dimensions, order).datatype(old))
    }
}

/// Returns the copies of a map for one process's part.
fn deal(map: &Map, share: &Share, stride: isize) -> Option<Map> {
    let bytes = |elements: usize| stride.checked_mul(isize::try_from(elements).ok()?);
    let period = if share.full > 1 { bytes(share.period)? } else { 0 };
    let full = map.repeated(share.block, stride)?.repeated(share.full, period)?;
    let dealt = match share.rest {
        0 => full,
        rest => {
            let (last, behind) = (map.repeated(rest, stride)?, bytes(share.full.checked_mul(share.period)?)?);
            let parts = [(&full, &full.layout, 0, 1), (&last, &last.layout, behind, 1)];
            Map::sequence(parts.into_iter())?
        }
    };
    dealt.shifted(bytes(share.start)?)
}

fn record(width: Width, size: i64, rank: i64, dimensions: &[Dimension], order: Order) -> Envelope {
    let sizes: Vec<_> = dimensions.iter().map(|d| d.size).collect();
    Envelope::new(Combiner::Darray)
        .integers([size.into(), rank.into(), Integer::Number(dimensions.len() as i64)])
        .counts(width, &sizes)
        .integers(dimensions.iter().map(|d| Integer::Distribution(d.distribution)))
        .integers(dimensions.iter().map(|d| d.block.map_or(Integer::DefaultBlock, Integer::Number)))
        .integers(dimensions.iter().map(|d| d.processes.into()))
        .integers([Integer::Order(order)])
}

fn check_part(i: usize, size: i64, part: i64, start: i64) -> Result<()> {
    if size < 1 {
        fail!(Argument, "array_of_sizes[{i}] is {size}: it must be positive");
    }
    if part < 1 || part > size {
        fail!(Argument, "array_of_subsizes[{i}] is {part}: it must be from 1 to the array's {size}");
    }
    if start < 0 || start > size - part {
        fail!(Argument, "array_of_starts[{i}] is {start}: it must be from 0 to {}", size - part);
    }
    Ok(())
}

fn check_grid(size: i64, rank: i64, dimensions: &[Dimension]) -> Result<()> {
    if size < 1 {
        fail!(Argument, "size is {size}: it must be positive");
    }
    if rank < 0 || rank >= size {
        fail!(Rank, "rank is {rank}: it must be from 0 to {}", size - 1);
    }
    if dimensions.is_empty() {
        fail!(Argument, "ndims is 0: it must be positive");
    }
    for (i, dimension) in dimensions.iter().enumerate() {
        if dimension.size < 1 {
            fail!(Argument, "array_of_gsizes[{i}] is {}: it must be positive", dimension.size);
        }
        if dimension.processes < 1 {
            fail!(Argument, "array_of_psizes[{i}] is {}: it must be positive", dimension.processes);
        }
    }
    let grid = dimensions.iter().try_fold(1i64, |all, dimension| all.checked_mul(dimension.processes));
    if grid != Some(size) {
        fail!(Argument, "array_of_psizes multiply to another number than size, which is {size}");
    }
    Ok(())
}

/// Returns the part of the process at `place` along a dimension.
fn share(i: usize, dimension: &Dimension, place: usize) -> Result<Share> {
    let Dimension { size, distribution, block, processes } = *dimension;
    if block.is_some_and(|block| block < 1) && distribution != Distribution::None {
        fail!(Argument, "array_of_dargs[{i}] is {}: it must be positive or the default", block.unwrap_or(0));
    }
    let (all, processes) = (length("array_of_gsizes", size)?, length("array_of_psizes", processes)?);
    let block = block.map(|block| block as usize);
    match distribution {
        Distribution::None if processes != 1 => {
            fail!(Argument, "array_of_psizes[{i}] is {processes}: it must be 1 where nothing is dealt")
        }
        Distribution::None => Ok(Share { start: 0, block: all, full: 1, period: all, rest: 0 }),
        Distribution::Block => {
            let block = block.unwrap_or(all.div_ceil(processes));
            if block.saturating_mul(processes) < all {
                fail!(
                    Argument,
                    "array_of_dargs[{i}] is {block}: {processes} such blocks do not hold {all} elements"
                );
            }
            let start = block.saturating_mul(place).min(all);
            let mine = block.min(all - start);
            Ok(Share { start, block: mine, full: 1, period: mine, rest: 0 })
        }
        Distribution::Cyclic => {
            let block = block.unwrap_or(1);
            let (start, period) = (block.saturating_mul(place).min(all), block.saturating_mul(processes));
            let (periods, last) = ((all - start) / period, (all - start) % period);
            let (full, rest) = if last >= block { (periods + 1, 0) } else { (periods, last) };
            Ok(Share { start, block, full, period, rest })
        }
    }
}
