//! A ring of bytes for payload that does not fit in a cell. Every claim is contiguous; room is freed in
//! order.
//!
//! Producer and consumer do the same arithmetic (`place`): a claim that would cross the end skips to the
//! start. The cell that announces a payload names its place. The consumer computes the place itself and
//! refuses any other.
//!
//! A ring that *rewinds* restarts at its start whenever it is empty, so it uses few lines as long as they
//! suffice. If ranks share processors, these lines are still in the cache. Otherwise other lines are better,
//! because lines in the consumer's cache have to be taken back from it.

use std::cell::Cell;
use std::ptr::NonNull;

use super::Cursors;
use crate::window::Window;
use canele_sys::atomic::Ordering;

/// Longest payload in bytes whose lines the consumer prefetches. For a longer one the producer still writes
/// the first lines at that time, and has to take them back.
const ASKED_AHEAD: usize = 256;

/// The memory of a payload ring.
#[derive(Clone, Copy)]
pub struct PayloadMemory {
    base: NonNull<u8>,
    size: u64,
    rewinds: bool,
}

// SAFETY: it is an address; what may be done there is up to the one producer and the one consumer made from it.
unsafe impl Send for PayloadMemory {}

impl PayloadMemory {
    /// Takes the `size` bytes at `base`. The size is a power of two, so that places are masked and not
    /// divided, and whole cache lines.
    ///
    /// # Safety
    /// The bytes stay mapped while a role on them exists; at most one producer and one consumer are made from them.
    pub unsafe fn new(base: NonNull<u8>, size: usize) -> Self {
        assert!(
            size.is_power_of_two() && size >= 64,
            "a payload ring has a power of two of whole cache lines"
        );
        Self { base, size: size as u64, rewinds: false }
    }

    /// Returns the memory with rewinding: the ring restarts at its start whenever it is empty. Each side may
    /// choose this independently.
    pub fn rewinding(self) -> Self {
        Self { rewinds: true, ..self }
    }

    /// Returns its size in bytes.
    pub fn size(&self) -> usize {
        self.size as usize
    }

    #[inline(always)]
    fn window(&self, start: u64, len: usize) -> Window<'_> {
        let offset = start & (self.size - 1);
        debug_assert!(offset + len as u64 <= self.size);
        // SAFETY: `place` never gives a stretch that crosses the end; the memory is mapped (`new`).
        unsafe { Window::new(self.base.add(offset as usize), len) }
    }
}

/// Returns the bytes of the cache lines of a payload of `len` bytes.
#[inline(always)]
fn lines(len: usize) -> u64 {
    (len as u64 + 63) & !63
}

/// Returns the start of a payload of `len` bytes that is put after position `head`, and the next head
/// (invariant I4).
#[inline(always)]
fn place(head: u64, len: usize, size: u64) -> (u64, u64) {
    let (offset, len) = (head & (size - 1), lines(len));
    let start = if offset + len > size { head + (size - offset) } else { head };
    (start, start + len)
}

/// Returns the position at which the ring restarts, at or after position `head`.
#[inline(always)]
fn restart(head: u64, size: u64) -> u64 {
    (head + size - 1) & !(size - 1)
}

/// The producer of payload.
///
/// The bytes of a *run*, from `head` to `run_end`, are free, backed by memory, and of one lap. So a claim in
/// a run needs no other check. A computed run stays valid: the free bytes, the backed bytes and the lap only
/// grow.
pub struct Producer {
    span: PayloadMemory,
    head: u64,
    run_end: u64,
    freed: u64,
    claimed: (u64, u64),
}

impl Producer {
    /// Starts at the beginning of a fresh ring.
    pub fn new(span: PayloadMemory) -> Self {
        Self { span, head: 0, run_end: 0, freed: 0, claimed: (0, 0) }
    }

    /// Claims room for `len` bytes if they are in a run. Nothing is held until `commit`.
    #[inline(always)]
    pub fn claim_in_run(&mut self, len: usize) -> Option<Window<'_>> {
        let end = self.head + lines(len);
        if end > self.run_end {
            return None;
        }
        self.claimed = (self.head, end);
        Some(self.span.window(self.head, len))
    }

    /// Computes the run again; the first `real` bytes of the ring are backed by memory. A ring that rewinds
    /// has no run: each claim checks if the ring is empty.
    pub fn renew_run(&mut self, real: usize) {
        if !self.span.rewinds {
            let lap_start = self.head & !(self.span.size - 1);
            self.run_end = (lap_start + self.span.size.min(real as u64)).min(self.freed + self.span.size);
        }
    }

    /// Claims room for `len` bytes such that at most `at_most` bytes of the ring are in use afterwards.
    /// Nothing is held until `commit`.
    ///
    /// Bytes that this claim itself skips at the ring's end do not count. Otherwise an unreported eighth, a
    /// skipped quarter and a claimed quarter would exceed a half for ever, with no report to come.
    #[inline(always)]
    pub fn claim(&mut self, len: usize, at_most: usize, cursors: &Cursors) -> Option<Window<'_>> {
        if self.span.rewinds {
            self.rewind(cursors);
        }
        let (start, end) = place(self.head, len, self.span.size);
        let at_most = (at_most as u64 + (start - self.head)).min(self.span.size);
        if end - self.freed > at_most {
            self.look(cursors);
            if end - self.freed > at_most {
                return None;
            }
        }
        self.claimed = (start, end);
        Some(self.span.window(start, len))
    }

    /// Returns true if `claims` claims of up to `len` bytes can be held in a row. At most `at_most` bytes may
    /// be in use afterwards.
    pub fn has_room(&mut self, claims: usize, len: usize, at_most: usize, cursors: &Cursors) -> bool {
        if self.span.rewinds {
            self.rewind(cursors);
        }
        let most = lines(len);
        // One of them may have to skip to the start.
        let end = self.head + most.saturating_mul(claims as u64 + 1);
        if end - self.freed > at_most as u64 {
            self.look(cursors);
        }
        end - self.freed <= at_most as u64
    }

    /// Returns the offset of the next claim in the ring, unless it has to skip to the start.
    #[inline(always)]
    pub fn offset(&self) -> usize {
        (self.head & (self.span.size - 1)) as usize
    }

    /// Returns true if the ring rewinds.
    pub fn rewinds(&self) -> bool {
        self.span.rewinds
    }

    /// Moves to the start if all written bytes have been given back.
    pub fn rewind(&mut self, cursors: &Cursors) {
        self.look(cursors);
        if self.freed == self.head {
            self.head = restart(self.head, self.span.size);
            self.freed = self.head; // What is skipped was free.
        }
    }

    /// Reads how much the consumer has given back.
    #[inline(always)]
    fn look(&mut self, cursors: &Cursors) {
        // Acquire pairs with the release in Consumer::free: the consumer no longer reads what it freed.
        let freed = cursors.freed.load(Ordering::Acquire);
        if freed <= self.head {
            self.freed = self.freed.max(freed);
        }
    }

    /// Returns the number of bytes that the consumer is known to have given back.
    pub fn known(&self) -> u64 {
        self.freed
    }

    /// Returns true if the consumer has given back more than the `known` bytes.
    pub fn room_came(&self, known: u64, cursors: &Cursors) -> bool {
        let freed = cursors.freed.load(Ordering::Relaxed);
        freed <= self.head && freed > known
    }

    /// Returns the last claim.
    #[inline(always)]
    pub fn claimed(&self) -> Window<'_> {
        let (start, end) = self.claimed;
        self.span.window(start, (end - start) as usize)
    }

    /// Holds the last claim, and returns its place for the cell that announces it.
    #[inline(always)]
    pub fn commit(&mut self) -> u32 {
        self.head = self.claimed.1;
        self.claimed.0 as u32
    }
}

/// The consumer of payload.
pub struct Consumer {
    span: PayloadMemory,
    tail: u64,
    /// The start of the oldest payload, once it was read.
    start: Cell<u64>,
    published: u64,
    /// Expected length of the next payload: that of the last one; 0 if that was too long for prefetching.
    expected: usize,
}

impl Consumer {
    /// Starts at the beginning of a fresh ring.
    pub fn new(span: PayloadMemory) -> Self {
        Self { span, tail: 0, start: Cell::new(0), published: 0, expected: 0 }
    }

    /// Prefetches the lines of the next payload, if the last one was short, assuming the same length. They
    /// arrive together with the cell that announces it.
    #[inline(always)]
    pub fn prefetch_next(&self) {
        if self.expected != 0 {
            let (start, _) = place(self.tail, self.expected, self.span.size);
            self.span.window(start, self.expected).prefetch();
        }
    }

    /// Returns the payload that a cell announced if its place is correct, otherwise the correct place. It is
    /// read from its end, because the producer writes behind it.
    #[inline(always)]
    pub fn window(&self, said: u32, len: usize) -> Result<Window<'_>, u32> {
        let (mut start, _) = place(self.tail, len, self.span.size);
        if said != start as u32 {
            start = restart(self.tail, self.span.size); // The ring was empty.
        }
        if said != start as u32 || len as u64 > self.span.size {
            return Err(start as u32);
        }
        self.start.set(start);
        Ok(self.span.window(start, len).backwards())
    }

    /// Gives back the oldest payload, which was read. Reports to the producer once per eighth of the ring. It
    /// reports at once if the ring rewinds or the producer asked for it. Returns true if it reported.
    #[inline(always)]
    pub fn free(&mut self, len: usize, at_once: bool, cursors: &Cursors) -> bool {
        self.tail = self.start.get() + lines(len);
        self.expected = if len <= ASKED_AHEAD && !self.span.rewinds { len } else { 0 };
        if self.tail - self.published < self.span.size / 8 && !self.span.rewinds && !at_once {
            return false;
        }
        self.published = self.tail;
        // Release pairs with the acquire in Producer::look.
        cursors.freed.store(self.tail, Ordering::Release);
        true
    }
}
