//! The limits of a pair: one cache line, copies through shared memory, a stream of stamped cells. Owns the
//! lines 0 to 15, the cells, the buffers and the rings; only processes 0 and 1 call it.
//!
//! Lines: 0, 1 ping-pong; 2 to 5 copies; 6, 7 pieces sent and 8, 9 pieces taken, per direction; 10 cells
//! taken; 11 to 13 wake-ups. Piece counters continue across calls of any piece size: each call ends with an
//! empty ring.

use super::{CELLS, MachineLimits, PIECE_BYTES, RING_BYTES};
use crate::backwards;
use canele_sys::atomic::Ordering;
use std::ptr::copy_nonoverlapping;
use std::time::Instant;

/// Number of cells after which the receiver reports that it took them.
const CELLS_PER_NOTICE: u64 = 32;

impl MachineLimits<'_> {
    /// Returns the one-way time of a cache line between the processors of processes 0 and 1 in nanoseconds,
    /// over `rounds` round trips.
    pub fn line_ns(&mut self, rounds: u32) -> f64 {
        let begin = Instant::now();
        for _ in 0..rounds {
            self.lines_passed += 1;
            if self.me == 0 {
                self.set(0, self.lines_passed);
                self.await_line(1, self.lines_passed);
            } else {
                self.await_line(0, self.lines_passed);
                self.set(1, self.lines_passed);
            }
        }
        one_way_ns(begin, rounds)
    }

    /// Returns the one-way time of `bytes` in nanoseconds when the receiver copies them from the sender's
    /// shared buffer. It is the limit of a message in memory that both processes can access.
    ///
    /// # Panics
    /// If `bytes` is more than [`MeasuredSizes::largest_bytes`](super::MeasuredSizes::largest_bytes); so do
    /// [`copy2_ns`](Self::copy2_ns) and [`stream_ns`](Self::stream_ns).
    pub fn copy1_ns(&mut self, bytes: usize, rounds: u32) -> f64 {
        self.copy_ns::<false>(bytes, rounds)
    }

    /// Does [`copy1_ns`](Self::copy1_ns) with one half copied by each process. It is the limit when both
    /// processes' memory is shared and both processors are free to copy.
    pub fn copy2_ns(&mut self, bytes: usize, rounds: u32) -> f64 {
        self.copy_ns::<true>(bytes, rounds)
    }

    fn copy_ns<const BOTH: bool>(&mut self, bytes: usize, rounds: u32) -> f64 {
        assert!(bytes <= self.shape.largest_bytes, "{bytes} bytes do not fit the block");
        let (mine, other, half) = (self.buffers[self.me], self.buffers[1 - self.me], bytes / 2);
        // SAFETY: `bytes`, checked above, lie in each buffer, which do not overlap. The lines order the
        // copies: a buffer is read after its owner said so (2) and written again after the reader's word (3, 5).
        let copy = |from: usize, count: usize, to_mine: bool| unsafe {
            let (source, target) = if to_mine { (other, mine) } else { (mine, other) };
            copy_nonoverlapping(source.add(from).as_ptr(), target.add(from).as_ptr(), count);
        };
        let begin = Instant::now();
        for _ in 0..rounds {
            for sender in 0..2 {
                self.copies += 1;
                if sender == self.me {
                    self.set(2, self.copies);
                    if BOTH {
                        self.await_line(4, self.copies);
                        copy(half, bytes - half, false);
                        self.set(5, self.copies);
                    }
                    self.await_line(3, self.copies);
                } else {
                    self.await_line(2, self.copies);
                    if BOTH {
                        self.set(4, self.copies);
                        copy(0, half, true);
                        self.await_line(5, self.copies);
                    } else {
                        copy(0, bytes, true);
                    }
                    self.set(3, self.copies);
                }
            }
        }
        one_way_ns(begin, rounds)
    }

    /// Returns the one-way time of `bytes` in nanoseconds between private memories. Both processes copy at
    /// once through a ring of 64 pieces of 32 KB, each read from its end.
    pub fn stream_ns(&mut self, bytes: usize, rounds: u32) -> f64 {
        self.ring_ns(bytes, PIECE_BYTES, rounds)
    }

    /// Does [`stream_ns`](Self::stream_ns) through a ring of as many pieces of `piece` bytes as fit 2 MiB.
    ///
    /// # Panics
    /// If `bytes` is more than [`MeasuredSizes::largest_bytes`](super::MeasuredSizes::largest_bytes), or
    /// `piece` is 0 or larger than a ring.
    pub fn ring_ns(&mut self, bytes: usize, piece: usize, rounds: u32) -> f64 {
        assert!(bytes <= self.shape.largest_bytes, "{bytes} bytes do not fit the block");
        assert!((1..=RING_BYTES).contains(&piece), "a piece of {piece} bytes does not fit a ring");
        let private = self.private_memory();
        let begin = Instant::now();
        for _ in 0..rounds {
            for sender in 0..2 {
                for offset in (0..bytes).step_by(piece) {
                    let count = piece.min(bytes - offset);
                    // SAFETY: `offset + count <= bytes`, which `private` holds.
                    let part = unsafe { private.add(offset) };
                    if sender == self.me {
                        self.put_piece(sender, piece, (part, count));
                    } else {
                        self.take_piece(sender, piece, (part, count));
                    }
                }
            }
        }
        one_way_ns(begin, rounds)
    }

    /// Returns memory of this process only, of the largest size.
    pub(super) fn private_memory(&mut self) -> *mut u8 {
        if self.private.is_empty() {
            self.private = vec![self.me as u8 + 1; self.shape.largest_bytes];
        }
        self.private.as_mut_ptr()
    }

    #[inline(always)]
    fn put_piece(&mut self, ring: usize, piece: usize, (part, count): (*const u8, usize)) {
        let pieces = (RING_BYTES / piece) as u64;
        if self.pieces_sent >= pieces {
            self.await_line(8 + ring, self.pieces_sent - pieces + 1);
        }
        let at = (self.pieces_sent % pieces) as usize * piece;
        // SAFETY: the slot lies in the ring and was taken, by the wait above; `part` holds `count` bytes, at most `piece`.
        unsafe { copy_nonoverlapping(part, self.rings[ring].add(at).as_ptr(), count) };
        self.pieces_sent += 1;
        self.set(6 + ring, self.pieces_sent);
    }

    #[inline(always)]
    fn take_piece(&mut self, ring: usize, piece: usize, (part, count): (*mut u8, usize)) {
        self.await_line(6 + ring, self.pieces_received + 1);
        let at = (self.pieces_received % (RING_BYTES / piece) as u64) as usize * piece;
        // SAFETY: the slot lies in the ring and is filled, by the wait above; `part` holds `count` bytes, at most `piece`.
        unsafe { backwards::copy(part, self.rings[ring].add(at).as_ptr(), count) };
        self.pieces_received += 1;
        self.set(8 + ring, self.pieces_received);
    }

    /// Returns the rate per second of 64-byte cells with 8 bytes of payload from process 0 to process 1. It
    /// streams `cells` of them, rounded up to whole notices of 32.
    pub fn cells_per_s(&mut self, cells: u32) -> f64 {
        let cells = u64::from(cells).next_multiple_of(CELLS_PER_NOTICE);
        let begin = Instant::now();
        for _ in 0..cells {
            let (position, lap) = (self.cells_passed, (self.cells_passed / CELLS + 1) as u32);
            let cell = &self.cells[(position % CELLS) as usize];
            let payload = cell.payload.get().cast::<u64>();
            if self.me == 0 {
                if position >= CELLS && position.is_multiple_of(CELLS_PER_NOTICE) {
                    self.await_line(10, position - CELLS + CELLS_PER_NOTICE);
                }
                // SAFETY: the cell was taken, by the wait above; its payload holds more than 8 bytes.
                unsafe { payload.write_unaligned(position) };
                // Pairs with the acquire below.
                cell.stamp.store(lap, Ordering::Release);
            } else {
                // Pairs with the release above.
                while cell.stamp.load(Ordering::Acquire) != lap {}
                // SAFETY: the cell is filled, by its stamp, and stays so until the notice below.
                let got = unsafe { payload.read_unaligned() };
                assert!(got == position, "cell {position} holds {got}: another process uses the block");
                if position % CELLS_PER_NOTICE == CELLS_PER_NOTICE - 1 {
                    self.set(10, position + 1);
                }
            }
            self.cells_passed += 1;
        }
        self.await_line(10, self.cells_passed);
        cells as f64 / begin.elapsed().as_secs_f64()
    }
}

fn one_way_ns(begin: Instant, rounds: u32) -> f64 {
    begin.elapsed().as_nanos() as f64 / f64::from(rounds) / 2.0
}
