//! A ring of bytes for payload that does not fit in a cell. Every claim is contiguous; room is freed in order.
//!
//! Producer and consumer do the same arithmetic (`place`): a claim that would cross the end skips to the start. The
//! cell that announces a payload says where it lies; the consumer computes the place itself and refuses any other.
//!
//! A ring that *rewinds* begins again at its start whenever it is empty, so that the same few lines are used as long as they
//! suffice. Where ranks share processors these are still in the cache; where they do not, others are better: lines that lie in
//! the consumer's cache have to be taken back from it.

use std::cell::Cell;
use std::ptr::NonNull;

use super::Cursors;
use crate::window::Window;
use canele_sys::atomic::Ordering;

/// The longest payload whose lines the consumer asks for before it has come. Of a longer one the producer still writes the first lines when
/// they are asked for, and has to take them back.
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
    /// The `size` bytes at `base`; a power of two, so that places are masked and not divided, and whole cache lines.
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

    /// The same, beginning again at its start whenever it is empty. Either side may do so or not, whatever the other one does.
    pub fn rewinding(self) -> Self {
        Self { rewinds: true, ..self }
    }

    /// Its size in bytes.
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

/// The bytes of the cache lines that a payload of `len` bytes takes.
#[inline(always)]
fn lines(len: usize) -> u64 {
    (len as u64 + 63) & !63
}

/// Where a payload of `len` bytes lies that is put after position `head`: its start, and the next head (invariant I4).
#[inline(always)]
fn place(head: u64, len: usize, size: u64) -> (u64, u64) {
    let (offset, len) = (head & (size - 1), lines(len));
    let start = if offset + len > size { head + (size - offset) } else { head };
    (start, start + len)
}

/// Where the ring starts again, at or after position `head`.
#[inline(always)]
fn restart(head: u64, size: u64) -> u64 {
    (head + size - 1) & !(size - 1)
}

/// The one who writes payload.
///
/// The bytes of a *run*, from `head` to `run_end`, are free, real memory and of one lap, so a claim in a run asks for nothing else. A run that
/// was computed stays one: what is free, what is real and the lap only grow.
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

    /// Room for `len` bytes if they are in a run. Nothing is held until `commit`.
    #[inline(always)]
    pub fn claim_in_run(&mut self, len: usize) -> Option<Window<'_>> {
        let end = self.head + lines(len);
        if end > self.run_end {
            return None;
        }
        self.claimed = (self.head, end);
        Some(self.span.window(self.head, len))
    }

    /// Computes the run anew, where the first `real` bytes of the ring are real memory. A ring that rewinds has none: each claim asks whether it
    /// is empty.
    pub fn renew_run(&mut self, real: usize) {
        if !self.span.rewinds {
            let lap_start = self.head & !(self.span.size - 1);
            self.run_end = (lap_start + self.span.size.min(real as u64)).min(self.freed + self.span.size);
        }
    }

    /// Room for `len` bytes such that no more than `at_most` bytes of the ring are in use afterwards. Nothing is held
    /// until `commit`.
    ///
    /// What this claim itself skips at the ring's end does not count: an eighth that the consumer has not told of yet, a
    /// quarter skipped and a quarter claimed would exceed a half for ever, with nothing left to be told.
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

    /// Whether `claims` of up to `len` bytes can be claimed and held one after the other, such that no more than `at_most` bytes are
    /// in use afterwards.
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

    /// Where in the ring the next claim begins, unless it has to skip to the start.
    #[inline(always)]
    pub fn offset(&self) -> usize {
        (self.head & (self.span.size - 1)) as usize
    }

    /// Whether the ring rewinds.
    pub fn rewinds(&self) -> bool {
        self.span.rewinds
    }

    /// Goes to the start, if all that was written has been given back.
    pub fn rewind(&mut self, cursors: &Cursors) {
        self.look(cursors);
        if self.freed == self.head {
            self.head = restart(self.head, self.span.size);
            self.freed = self.head; // What is skipped was free.
        }
    }

    /// Learns what the consumer has given back.
    #[inline(always)]
    fn look(&mut self, cursors: &Cursors) {
        // Acquire pairs with the release in Consumer::free: the consumer no longer reads what it freed.
        let freed = cursors.freed.load(Ordering::Acquire);
        if freed <= self.head {
            self.freed = self.freed.max(freed);
        }
    }

    /// How many bytes the consumer is known to have given back.
    pub fn known(&self) -> u64 {
        self.freed
    }

    /// Whether the consumer has given back more than the `known` bytes.
    pub fn room_came(&self, known: u64, cursors: &Cursors) -> bool {
        let freed = cursors.freed.load(Ordering::Relaxed);
        freed <= self.head && freed > known
    }

    /// What was claimed last.
    #[inline(always)]
    pub fn claimed(&self) -> Window<'_> {
        let (start, end) = self.claimed;
        self.span.window(start, (end - start) as usize)
    }

    /// Holds what was claimed last; the value goes into the cell that announces it.
    #[inline(always)]
    pub fn commit(&mut self) -> u32 {
        self.head = self.claimed.1;
        self.claimed.0 as u32
    }
}

/// The one who reads payload.
pub struct Consumer {
    span: PayloadMemory,
    tail: u64,
    /// Where the oldest payload lies, once it was looked at.
    start: Cell<u64>,
    published: u64,
    /// As long a payload is expected next as the last one was; 0 if that was too long to be asked for ahead.
    expected: usize,
}

impl Consumer {
    /// Starts at the beginning of a fresh ring.
    pub fn new(span: PayloadMemory) -> Self {
        Self { span, tail: 0, start: Cell::new(0), published: 0, expected: 0 }
    }

    /// Asks the processor for the lines of the next payload, if that is short and of the same length as the last one: they come together with
    /// the cell that announces it, and not behind it.
    #[inline(always)]
    pub fn prefetch_next(&self) {
        if self.expected != 0 {
            let (start, _) = place(self.tail, self.expected, self.span.size);
            self.span.window(start, self.expected).prefetch();
        }
    }

    /// The payload a cell announced, if it lies where it must; else where it should have been. Read from its end: behind it
    /// the producer writes on.
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

    /// Gives the oldest payload back, which was looked at, telling the producer once in an eighth of a ring, or at once if the
    /// ring rewinds or the producer asked for it. Says whether it told.
    #[inline(always)]
    pub fn free(&mut self, len: usize, at_once: bool, cursors: &Cursors) -> bool {
        self.tail = self.start.get() + lines(len);
        self.expected = if len <= ASKED_AHEAD && !self.span.rewinds { len } else { 0 };
        if self.tail - self.published < self.span.size / 8 && !self.span.rewinds && !at_once {
            return false;
        }
        self.published = self.tail;
        // Release pairs with the acquire in Producer::claim.
        cursors.freed.store(self.tail, Ordering::Release);
        true
    }
}
