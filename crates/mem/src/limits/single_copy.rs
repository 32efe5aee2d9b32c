//! The limits of single copies, by which the kernel copies between private memories. One end makes the call,
//! or both make it at once.
//!
//! Owns six lines of each rank: the number of copies begun, the number ended, and four words by which the
//! others reach its memory. The processes of a pair are `2 i` and `2 i + 1`.

use super::{MachineLimits, SINGLE_COPY_LINES};
use canele_sys::atomic::Ordering;
use canele_sys::process_memory::{self, Proof};
use std::io;
use std::ptr::NonNull;
use std::time::Instant;

const BEGUN: usize = 0;
const ENDED: usize = 1;
/// The first of four lines: process, address of its word, the word, address of its private memory.
const SHOWN: usize = 2;
/// Bytes of a copy that costs hardly more than its call.
const SHORT_BYTES: usize = 64;

/// The memory of a peer.
struct PeerMemory {
    proof: Proof,
    address: u64,
}

impl MachineLimits<'_> {
    /// Publishes the place of this process's memory; all processes call it before the other methods of this
    /// file. Returns true if process 0 can read and write the memory of process 1.
    pub fn can_copy_singly(&mut self) -> bool {
        process_memory::allow_siblings();
        let private = self.private_memory();
        let proof = Proof::own(&self.proof_word);
        let shown = [u64::from(proof.pid), proof.address, proof.word, private.expose_provenance() as u64];
        for (place, value) in shown.into_iter().enumerate() {
            self.lines[self.line_of(self.me, SHOWN + place)].0.store(value, Ordering::Relaxed);
        }
        // Orders the words above before all reads of them.
        self.agree(0);
        let can = self.me == 0 && self.shape.ranks > 1 && {
            let peer = self.peer_memory();
            // SAFETY: nothing is filled; no thread of process 1 touches its memory before the agreement below.
            unsafe {
                self.copy(&peer, 0, SHORT_BYTES, false).and_then(|()| self.copy(&peer, 0, SHORT_BYTES, true))
            }
            .is_ok()
        };
        self.agree(u64::from(can)) == 1
    }

    /// Returns the time in nanoseconds of a call that reads 64 bytes from process 1. Only the result of
    /// process 0 is valid.
    ///
    /// # Errors
    /// The kernel refuses the copy.
    pub fn single_call_ns(&mut self, rounds: u32) -> io::Result<f64> {
        self.agree(0);
        let begin = Instant::now();
        if self.me == 0 {
            let peer = self.peer_memory();
            for _ in 0..rounds {
                // SAFETY: process 1 touches its memory after the agreement below.
                unsafe { self.copy(&peer, 0, SHORT_BYTES, false) }?;
            }
        }
        let spent = begin.elapsed();
        self.agree(0);
        Ok(spent.as_nanos() as f64 / f64::from(rounds))
    }

    /// Returns the one-way time of `bytes` in nanoseconds between the private memories of a pair, with
    /// `pairs` pairs at once. The receiver copies, or each end copies one half. The slowest pair counts.
    ///
    /// # Errors
    /// The kernel refuses a copy.
    ///
    /// # Panics
    /// If `bytes` is more than [`MeasuredSizes::largest_bytes`](super::MeasuredSizes::largest_bytes), or
    /// there are fewer pairs.
    pub fn single_copy_ns(
        &mut self,
        bytes: usize,
        pairs: u32,
        both_ends: bool,
        rounds: u32,
    ) -> io::Result<f64> {
        assert!(bytes <= self.shape.largest_bytes, "{bytes} bytes do not fit the block");
        assert!(2 * pairs <= self.shape.ranks, "{pairs} pairs of {} processes", self.shape.ranks);
        self.agree(0);
        let begin = Instant::now();
        if self.me < 2 * pairs as usize {
            let peer = self.peer_memory();
            for _ in 0..rounds {
                for sender in 0..2 {
                    self.single_copies += 1;
                    if sender == self.me % 2 {
                        self.send_singly(&peer, bytes, both_ends)?;
                    } else {
                        self.receive_singly(&peer, bytes, both_ends)?;
                    }
                }
            }
        }
        self.agree(0);
        Ok(begin.elapsed().as_nanos() as f64 / f64::from(rounds) / 2.0)
    }

    fn send_singly(&mut self, peer: &PeerMemory, bytes: usize, both_ends: bool) -> io::Result<()> {
        let (mine, theirs) = (self.me, self.me ^ 1);
        self.set(self.line_of(mine, BEGUN), self.single_copies);
        if both_ends {
            let half = bytes / 2;
            self.await_line(self.line_of(theirs, BEGUN), self.single_copies);
            // SAFETY: the receiver fills the first half alone, and reads the second one after this end has ended.
            unsafe { self.copy(peer, half, bytes - half, true) }?;
            self.set(self.line_of(mine, ENDED), self.single_copies);
        }
        self.await_line(self.line_of(theirs, ENDED), self.single_copies);
        Ok(())
    }

    fn receive_singly(&mut self, peer: &PeerMemory, bytes: usize, both_ends: bool) -> io::Result<()> {
        let (mine, theirs) = (self.me, self.me ^ 1);
        self.await_line(self.line_of(theirs, BEGUN), self.single_copies);
        let own = if both_ends { bytes / 2 } else { bytes };
        if both_ends {
            self.set(self.line_of(mine, BEGUN), self.single_copies);
        }
        // SAFETY: the sender leaves its memory alone until this end has ended.
        unsafe { self.copy(peer, 0, own, false) }?;
        if both_ends {
            self.await_line(self.line_of(theirs, ENDED), self.single_copies);
        }
        self.set(self.line_of(mine, ENDED), self.single_copies);
        Ok(())
    }

    /// Copies `bytes` at `offset` between this process's private memory and that of its peer.
    ///
    /// # Safety
    /// No other thread or process touches these bytes of the target meanwhile, or writes those of the source.
    unsafe fn copy(
        &mut self,
        peer: &PeerMemory,
        offset: usize,
        bytes: usize,
        to_peer: bool,
    ) -> io::Result<()> {
        let own = NonNull::from(&mut self.private[offset..offset + bytes]).cast();
        let address = peer.address + offset as u64;
        if to_peer {
            // SAFETY: as the caller says.
            return unsafe { process_memory::write(&peer.proof, &[(address, bytes)], &[(own, bytes)]) };
        }
        // SAFETY: as the caller says.
        unsafe { process_memory::read(&peer.proof, &[(address, bytes)], &[(own, bytes)]) }
    }

    fn peer_memory(&self) -> PeerMemory {
        let shown = |place| self.lines[self.line_of(self.me ^ 1, SHOWN + place)].0.load(Ordering::Relaxed);
        let proof = Proof { pid: shown(0) as u32, address: shown(1), word: shown(2) };
        PeerMemory { proof, address: shown(3) }
    }

    fn line_of(&self, rank: usize, place: usize) -> usize {
        self.shape.single_copy_lines_at() + SINGLE_COPY_LINES * rank + place
    }
}
