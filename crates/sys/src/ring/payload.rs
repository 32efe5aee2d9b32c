//! A ring of bytes for payload that does not fit in a cell. Every claim is contiguous; room is freed in order.
//!
//! Producer and consumer do the same arithmetic (`place`): a claim that would cross the end skips to the start. The
//! cell that announces a payload says where it lies; the consumer computes the place itself and refuses any other.

use std::ptr::NonNull;

use super::Cursors;
use crate::atomic::Ordering;
use crate::window::Window;

/// The memory of a payload ring.
#[derive(Clone, Copy)]
pub struct Span {
    base: NonNull<u8>,
    size: u64,
}

// SAFETY: it is an address; what may be done there is up to the one producer and the one consumer made from it.
unsafe impl Send for Span {}

impl Span {
    /// The `size` bytes at `base`; a power of two, so that places are masked and not divided, and whole cache lines.
    ///
    /// # Safety
    /// The bytes stay mapped while a role on them exists; at most one producer and one consumer are made from them.
    pub unsafe fn new(base: NonNull<u8>, size: usize) -> Self {
        assert!(
            size.is_power_of_two() && size >= 64,
            "a payload ring has a power of two of whole cache lines"
        );
        Self { base, size: size as u64 }
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

/// Where a payload of `len` bytes lies that is put after position `head`: its start, and the next head (invariant I7).
#[inline(always)]
fn place(head: u64, len: usize, size: u64) -> (u64, u64) {
    let (offset, len) = (head & (size - 1), (len as u64).next_multiple_of(64));
    let start = if offset + len > size { head + (size - offset) } else { head };
    (start, start + len)
}

/// The one who writes payload.
pub struct Producer {
    span: Span,
    head: u64,
    freed: u64,
    claimed: (u64, u64),
}

impl Producer {
    /// Starts at the beginning of a fresh ring.
    pub fn new(span: Span) -> Self {
        Self { span, head: 0, freed: 0, claimed: (0, 0) }
    }

    /// Room for `len` bytes such that no more than `at_most` bytes of the ring are in use afterwards. Nothing is held
    /// until `commit`.
    ///
    /// What this claim itself skips at the ring's end does not count: an eighth that the consumer has not told of yet, a
    /// quarter skipped and a quarter claimed would exceed a half for ever, with nothing left to be told.
    #[inline(always)]
    pub fn claim(&mut self, len: usize, at_most: usize, cursors: &Cursors) -> Option<Window<'_>> {
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
        let most = (len as u64).next_multiple_of(64);
        // One of them may have to skip to the start.
        let end = self.head + most.saturating_mul(claims as u64 + 1);
        if end - self.freed > at_most as u64 {
            self.look(cursors);
        }
        end - self.freed <= at_most as u64
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

    /// Holds what was claimed last; the value goes into the cell that announces it.
    #[inline(always)]
    pub fn commit(&mut self) -> u32 {
        self.head = self.claimed.1;
        self.claimed.0 as u32
    }
}

/// The one who reads payload.
pub struct Consumer {
    span: Span,
    tail: u64,
    published: u64,
}

impl Consumer {
    /// Starts at the beginning of a fresh ring.
    pub fn new(span: Span) -> Self {
        Self { span, tail: 0, published: 0 }
    }

    /// The payload a cell announced, if it lies where it must; else where it should have been. Read from its end: behind it
    /// the producer writes on.
    #[inline(always)]
    pub fn window(&self, said: u32, len: usize) -> Result<Window<'_>, u32> {
        let (start, _) = place(self.tail, len, self.span.size);
        if said != start as u32 || len as u64 > self.span.size {
            return Err(start as u32);
        }
        Ok(self.span.window(start, len).backwards())
    }

    /// Gives the oldest payload back, telling the producer once in an eighth of a ring. Says whether it told.
    #[inline(always)]
    pub fn free(&mut self, len: usize, cursors: &Cursors) -> bool {
        self.tail = place(self.tail, len, self.span.size).1;
        if self.tail - self.published < self.span.size / 8 {
            return false;
        }
        self.published = self.tail;
        // Release pairs with the acquire in Producer::claim.
        cursors.freed.store(self.tail, Ordering::Release);
        true
    }
}
