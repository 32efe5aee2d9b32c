//! Alltoalls of blocks with layouts, beside members whose blocks are one stretch each.

use std::sync::Arc;

use canele_engine::FlowId;
use canele_engine::collective::{Block, Buffers, CollectiveBuffer, Uneven};
use canele_mem::buffer::{MemoryPart, PartedMemory, Raw, RawMut};
use canele_mem::layout::Layout;
use canele_sys::tunables::Wait;

use crate::job;

const FLOW: FlowId = FlowId(9);

/// Returns the word that rank `from` gives to rank `to` in a row.
fn word(from: usize, to: usize, row: usize) -> u64 {
    (from * 1_000_000_000 + to * 10_000_000 + row) as u64
}

/// Makes a matrix of the caller's whose columns are blocks; it is never freed.
fn memory(words: Vec<u64>) -> RawMut {
    RawMut::of(bytemuck::cast_slice_mut(words.leak()), 0)
}

fn columns(ranks: usize, rows: usize) -> Vec<MemoryPart> {
    let column = Arc::new(Layout::block(8).repeated(rows, 8 * ranks as isize).unwrap());
    (0..ranks as isize).map(|n| MemoryPart { layout: column.clone(), count: 1, place: 8 * n }).collect()
}

/// Returns the places of the columns: in packed bytes, or in parted memory, which puts a byte between two.
fn blocks(ranks: usize, rows: usize, is_parted: bool) -> Vec<Block> {
    let apart = 8 * rows + usize::from(is_parted);
    (0..ranks).map(|n| Block { at: apart * n, len: 8 * rows }).collect()
}

/// Exchanges columns, blocking or not, and returns the blocks received. The last rank's memory is packed.
fn exchange(engine: &canele_engine::Engine, rows: usize, is_blocking: bool, in_place: bool) -> Vec<u64> {
    let (me, ranks) = (engine.rank().0 as usize, engine.size() as usize);
    let is_parted = me + 1 < ranks;
    let at = |n: usize| if is_parted { (n % ranks, n / ranks) } else { (n / rows, n % rows) };
    let given: Vec<u64> = (0..ranks * rows).map(|n| word(me, at(n).0, at(n).1)).collect();
    let parted = |raw| Arc::new(PartedMemory::of_mut(raw, columns(ranks, rows)));
    let (from, into) =
        (memory(given.clone()), parted(memory(if in_place { given.clone() } else { vec![0; given.len()] })));
    let output = match is_parted {
        true => CollectiveBuffer::Parts(into.clone()),
        false => crate::own(&if in_place { given } else { vec![0; ranks * rows] }),
    };
    let raw: Raw = from.into_raw();
    let input = match is_parted {
        _ if in_place => CollectiveBuffer::Nowhere,
        true => CollectiveBuffer::Parts(Arc::new(PartedMemory::of(raw, columns(ranks, rows)))),
        false => CollectiveBuffer::At(raw),
    };
    let blocks = blocks(ranks, rows, is_parted);
    let spec = Uneven::Alltoall { from: (!in_place).then_some(&blocks[..]), into: &blocks };
    let mut buffers = Buffers { input, output };
    let own = if is_blocking {
        engine.collective_at(FLOW, spec, None, &mut buffers).unwrap();
        match buffers.output {
            CollectiveBuffer::Own(own) => Some(own),
            _ => None,
        }
    } else {
        let pending = engine.start_collective(FLOW, spec, None, buffers).unwrap();
        let ended = engine.wait(pending, None).unwrap();
        ended.result.unwrap();
        ended.output
    };
    let mut words = vec![0u64; ranks * rows];
    match own {
        Some(own) => words.copy_from_slice(bytemuck::cast_slice(own.bytes())),
        None => {
            for (Block { at, len }, column) in blocks.iter().zip(words.chunks_mut(rows)) {
                into.lend(*at..at + len).copy_to_slice(0, bytemuck::cast_slice_mut(column));
            }
        }
    }
    words
}

#[test]
fn columns_are_exchanged_where_they_lie() {
    for ranks in [1, 2, 3] {
        job(ranks, Wait::Adaptive, move |engine| {
            let (me, ranks) = (engine.rank().0 as usize, engine.size() as usize);
            for rows in [1, 300, 20_000] {
                let expected: Vec<u64> =
                    (0..ranks).flat_map(|from| (0..rows).map(move |row| word(from, me, row))).collect();
                for (is_blocking, in_place) in [(true, false), (false, false), (true, true), (false, true)] {
                    let got = exchange(engine, rows, is_blocking, in_place);
                    assert!(got == expected, "{rows} rows, blocking {is_blocking}, in place {in_place}");
                }
            }
        });
    }
}
