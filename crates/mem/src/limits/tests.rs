//! Threads of one process stand for the processes: the loops only need shared memory.

use super::*;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::thread;

/// Runs `work` once per rank on one zeroed block and returns what each returned.
fn on_block<T: Send>(shape: MeasuredSizes, work: impl Fn(&mut MachineLimits) -> T + Sync) -> Vec<T> {
    let layout = Layout::from_size_align(shape.block_bytes(), PAGE_BYTES).unwrap();
    // SAFETY: the layout is not of size zero.
    let base = NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap();
    let address = base.expose_provenance().get();
    let results = thread::scope(|scope| {
        let work = &work;
        let start = move |me| {
            let base = NonNull::new(std::ptr::with_exposed_provenance_mut::<u8>(address)).unwrap();
            let block = NonNull::slice_from_raw_parts(base, shape.block_bytes());
            // SAFETY: the block is zeroed, page aligned, outlives the scope, and every number is given once.
            work(&mut unsafe { MachineLimits::new(block, me, shape) })
        };
        let threads: Vec<_> = (0..shape.ranks).map(|me| scope.spawn(move || start(me))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    // SAFETY: allocated above with this layout; the threads are gone.
    unsafe { dealloc(base.as_ptr(), layout) };
    results
}

const PAIR: MeasuredSizes = MeasuredSizes { ranks: 2, largest_bytes: 256 * 1024 };

fn fill(limits: &MachineLimits, owner: usize, bytes: usize, value: u8) {
    // SAFETY: `bytes` lie in the buffer and the other thread is not measuring.
    unsafe { limits.buffers[owner].write_bytes(value, bytes) };
}

fn holds(limits: &MachineLimits, owner: usize, bytes: usize, value: u8) -> bool {
    // SAFETY: as in `fill`.
    let buffer = unsafe { std::slice::from_raw_parts(limits.buffers[owner].as_ptr(), bytes) };
    buffer.iter().all(|byte| *byte == value)
}

#[test]
fn every_figure_is_positive_and_repeats() {
    let figures = on_block(PAIR, |limits| {
        let mut figures = Vec::new();
        for bytes in [0, 1, 64, 100_000, 256 * 1024] {
            figures.extend([limits.line_ns(20), limits.cells_per_s(1000), limits.flags_ns(20)]);
            figures.extend([
                limits.copy1_ns(bytes, 5),
                limits.copy2_ns(bytes, 5),
                limits.stream_ns(bytes, 5),
            ]);
        }
        figures
    });
    assert!(figures.iter().flatten().all(|figure| *figure > 0.0 && figure.is_finite()), "{figures:?}");
}

#[test]
fn copies_move_the_bytes() {
    for both in [false, true] {
        let equal = on_block(PAIR, move |limits| {
            let bytes = 10_000;
            limits.agree(0);
            fill(limits, limits.me, bytes, limits.me as u8 + 1);
            limits.agree(0);
            if both {
                limits.copy2_ns(bytes, 1)
            } else {
                limits.copy1_ns(bytes, 1)
            };
            limits.agree(0);
            // The first sender is process 0, so both buffers end up with its bytes.
            let equal = holds(limits, 0, bytes, 1) && holds(limits, 1, bytes, 1);
            limits.agree(0);
            equal
        });
        assert_eq!(equal, [true, true], "both: {both}");
    }
}

#[test]
fn a_stream_fills_the_receivers_private_memory() {
    let received = on_block(PAIR, |limits| {
        limits.stream_ns(200_000, 1);
        (limits.private[..200_000].iter().all(|byte| *byte == 1), limits.private[200_000])
    });
    assert_eq!(received, [(true, 1), (true, 2)]);
}

#[test]
fn a_ring_of_any_pieces_carries_the_bytes() {
    let received = on_block(PAIR, |limits| {
        let mut equal = true;
        for piece in [4096, 32 << 10, 100_000, 1 << 20, 4096] {
            limits.agree(0);
            limits.private_memory();
            limits.private.fill(limits.me as u8 + 1);
            limits.ring_ns(200_000, piece, 3);
            equal &= limits.private[..200_000].iter().all(|byte| *byte == 1)
                && limits.private[200_000] == limits.me as u8 + 1;
        }
        equal
    });
    assert_eq!(received, [true, true]);
}

#[test]
#[cfg(not(miri))]
fn single_copies_of_any_pairs_move_the_bytes() {
    let shape = MeasuredSizes { ranks: 6, largest_bytes: 100_000 };
    for (pairs, both_ends) in [(1, false), (1, true), (3, false), (3, true)] {
        let results = on_block(shape, |limits| {
            assert!(limits.can_copy_singly(), "a process may read its own memory");
            // The trial has copied between processes 0 and 1.
            limits.private.fill(limits.me as u8 + 1);
            limits.agree(0);
            let spent = limits.single_copy_ns(70_001, pairs, both_ends, 1).unwrap();
            assert!(spent > 0.0 && limits.single_call_ns(3).unwrap() > 0.0);
            let [filled, rest] = [0..70_001, 70_001..100_000].map(|range| limits.private[range].to_vec());
            // All bytes come from the first sender, of the even rank, and the rest is unchanged.
            let of = |bytes: &[u8]| if bytes.iter().all(|byte| *byte == bytes[0]) { bytes[0] } else { 0 };
            (of(&filled), of(&rest))
        });
        let expected = |me: u8| if u32::from(me) < 2 * pairs { (me & !1) + 1 } else { me + 1 };
        let expected: Vec<(u8, u8)> = (0..6).map(|me| (expected(me), me + 1)).collect();
        assert_eq!(results, expected, "{pairs} pairs, both ends {both_ends}");
    }
}

#[test]
#[cfg(not(miri))]
fn a_process_that_is_no_more_is_an_error() {
    let shape = MeasuredSizes { ranks: 2, largest_bytes: 4096 };
    let errors = on_block(shape, |limits| {
        limits.can_copy_singly();
        *limits.proof_word ^= 1;
        limits.agree(0);
        if limits.me == 1 {
            // The counterpart of process 0's `agree` at the start of its call; the call fails before a second
            // one.
            limits.agree(0);
            return true;
        }
        limits.single_call_ns(1).is_err()
    });
    assert_eq!(errors, [true, true]);
}

#[test]
#[cfg(not(miri))]
fn a_sleeper_is_woken_and_timed() {
    let times = on_block(PAIR, |limits| limits.wake_up_ns(3));
    assert!(times[0] > 0.0 && times[0].is_finite(), "{times:?}");
}

#[test]
fn all_leave_with_the_first_ranks_value_and_no_barrier_is_overtaken() {
    let shape = MeasuredSizes { ranks: 5, largest_bytes: 0 };
    let values = on_block(shape, |limits| {
        (0..50u64)
            .map(|round| {
                limits.flags_ns(3);
                limits.agree(round * 10 + if limits.me == 0 { 1 } else { 7 })
            })
            .collect::<Vec<_>>()
    });
    let expected: Vec<u64> = (0..50).map(|round| round * 10 + 1).collect();
    assert!(values.iter().all(|of_rank| *of_rank == expected), "{values:?}");
}

#[test]
fn parts_of_the_block_do_not_overlap() {
    for ranks in [1, 2, 8, 64, 1000] {
        let shape = MeasuredSizes { ranks, largest_bytes: 5000 };
        assert!(shape.lines() * size_of::<Line>() <= shape.cells_at());
        assert!(shape.cells_at() + CELLS as usize * 64 <= shape.wake_word_at());
        assert!(shape.wake_word_at() + 4 <= shape.buffers_at());
        assert_eq!(shape.rings_at() - shape.buffers_at(), 2 * 8192);
        assert_eq!(shape.block_bytes() - shape.rings_at(), 2 * 64 * 32 * 1024);
    }
}

#[test]
#[should_panic(expected = "do not fit the block")]
fn more_than_the_largest_is_refused() {
    let layout = Layout::from_size_align(PAIR.block_bytes(), PAGE_BYTES).unwrap();
    // SAFETY: the layout is not of size zero; the block is left to the end of the process.
    let base = NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap();
    let block = NonNull::slice_from_raw_parts(base, PAIR.block_bytes());
    // SAFETY: the block is as `new` asks; the other process never comes and is never waited for.
    unsafe { MachineLimits::new(block, 0, PAIR) }.copy1_ns(PAIR.largest_bytes + 1, 1);
}
