//! User memory lent to the library while an operation is under way.
//!
//! A buffer travels as a token ([`OutBuffer`], [`InBuffer`]) that cannot be copied; its lender takes the
//! token back when the operation ends. The lenders are:
//! - [`scope`], for borrowed memory: it aborts the process if a token is out at its end;
//! - [`Owned`], for a vector, and [`Divided`], lent in parts: they leak memory that may still be written;
//! - [`ReusableMemory`], for memory of the program that is lent repeatedly: it neither shows nor lends the
//!   memory while a token is out.
//!
//! So no safe code can make the library touch freed memory (invariant I12). Two kinds of tokens have no
//! lender and are dropped in the end. Those of a [`Raw`] or [`RawMut`] rely on their maker's promise that the
//! memory lasts. Those of a region keep it mapped, and also tell their place in the region.
//!
//! A token has a [`MemoryKind`]. All but those of [`OutBuffer::of_device`] and [`InBuffer::of_device`] are of
//! the host. Only host memory is ever shown as bytes or copied here; tokens of other kinds are handed to a
//! device.
//!
//! A driver that works while the operation waits holds *shares* of a buffer. The buffer comes back only when
//! all shares are gone.

mod address;
mod block;
mod copying;
mod divided;
mod owned;
mod parted;
mod raw;
mod reusable;
mod scattered;
mod scope;
mod share;
mod strided;

use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::window::Window;
pub use address::{MemoryAddress, RegionAddress};
pub use block::RawBlock;
use canele_sys::device::MemoryKind;
use copying::{copy_between, fill_from};
pub use divided::Divided;
pub use owned::Owned;
pub use parted::{MemoryPart, PartedMemory};
pub(crate) use raw::{Bounds, HasBounds};
pub use raw::{Raw, RawMut, Readable};
pub use reusable::ReusableMemory;
use scattered::{Scattered, copy_staged};
pub use scope::{Scope, scope};
use share::Share;
pub use share::{InShare, OutShare};
pub use strided::StridedMemory;

#[derive(Clone, Copy)]
struct BufferPart {
    /// Bytes of the message before this part.
    before: usize,
    start: NonNull<u8>,
    len: usize,
}

/// The lent memory. Rare additions lie in a box, because buffers move with their operations and have to be
/// small.
pub(crate) struct Lent {
    /// The start of the memory, unless it has many parts.
    start: NonNull<u8>,
    len: usize,
    lender: *const (),
    more: Option<Box<More>>,
}

/// Additions that few buffers have.
#[derive(Default)]
struct More {
    form: Form,
    memory: MemoryKind,
    /// The place in a region, and the value that keeps the region mapped while a transfer is under way.
    place: Option<RegionAddress>,
    keep: Option<Arc<dyn Any + Send + Sync>>,
    /// Counts the shares, once there was one.
    shares: Option<Arc<()>>,
}

/// The arrangement of a buffer's bytes.
#[derive(Default)]
enum Form {
    /// In one stretch.
    #[default]
    One,
    /// The bytes lie in a list of stretches.
    List(Box<[BufferPart]>),
    /// The bytes lie as a layout describes.
    Scattered(Scattered),
}

impl Lent {
    #[inline]
    fn one(start: NonNull<u8>, len: usize, lender: *const ()) -> Self {
        Self { start, len, lender, more: None }
    }

    fn many(parts: impl Iterator<Item = (NonNull<u8>, usize)>, lender: *const ()) -> Self {
        let mut len = 0;
        let parts = parts.map(|(start, n)| {
            let part = BufferPart { before: len, start, len: n };
            len += n;
            part
        });
        let more = More { form: Form::List(parts.collect()), ..More::default() };
        Self { start: NonNull::dangling(), len, lender, more: Some(Box::new(more)) }
    }

    #[inline]
    fn is_shared(&self) -> bool {
        self.more.as_ref().is_some_and(|more| more.is_shared())
    }

    #[inline(always)]
    fn memory(&self) -> MemoryKind {
        self.more.as_ref().map_or(MemoryKind::Host, |more| more.memory)
    }

    fn share(&mut self, offset: usize, len: usize) -> Share {
        let mut stretches = Vec::with_capacity(1);
        self.stretches(offset, len, |address, _, n| {
            stretches.push((NonNull::new(address).expect("lent memory has an address"), n));
        });
        let more = self.more.get_or_insert_default();
        let count = more.shares.get_or_insert_default().clone();
        Share { stretches, len, keep: more.keep.clone(), _count: count }
    }

    /// Checks that a returned buffer belongs to this lender and that no share of it is left.
    #[inline]
    fn assert_returned_to(&self, lender: *const ()) {
        assert!(!self.is_shared(), "a share of a buffer is still held");
        assert!(std::ptr::eq(self.lender, lender), "a buffer came back to another lender");
    }

    /// Calls `each(address, offset in the range, length)` for the stretches of memory of a range.
    fn stretches(&self, offset: usize, len: usize, mut each: impl FnMut(*mut u8, usize, usize)) {
        assert!(offset <= self.len && len <= self.len - offset, "range outside of a buffer");
        assert!(self.memory() == MemoryKind::Host, "only memory of the host is copied");
        match self.more.as_ref().map_or(&Form::One, |more| &more.form) {
            // SAFETY: the range lies within the lent memory, checked above.
            Form::One => each(unsafe { self.start.as_ptr().add(offset) }, 0, len),
            Form::Scattered(scattered) => scattered.stretches(offset, len, each),
            Form::List(parts) => {
                let mut done = 0;
                for part in &parts[parts.partition_point(|p| p.before + p.len <= offset)..] {
                    if done == len {
                        break;
                    }
                    let within = offset + done - part.before;
                    let n = (part.len - within).min(len - done);
                    // SAFETY: within + n <= part.len.
                    each(unsafe { part.start.as_ptr().add(within) }, done, n);
                    done += n;
                }
            }
        }
    }
}

impl More {
    fn is_shared(&self) -> bool {
        self.shares.as_ref().is_some_and(|shares| Arc::strong_count(shares) > 1)
    }
}

/// Bytes to be sent, lent until the operation has read them.
pub struct OutBuffer(pub(crate) Lent);
/// Memory to be filled, lent until the operation has written it.
pub struct InBuffer(pub(crate) Lent);

// SAFETY: the memory is lent to the holder of the token (shared for out, exclusive for in); the lender waits for it.
unsafe impl Send for OutBuffer {}
// SAFETY: as above.
unsafe impl Send for InBuffer {}

/// Defines the length of a buffer, or of a share of one, whose first field has it.
macro_rules! has_length {
    ($name:ident) => {
        impl $name {
            /// Returns its length in bytes.
            pub fn len(&self) -> usize {
                self.0.len
            }

            /// Returns true if it has no bytes.
            pub fn is_empty(&self) -> bool {
                self.0.len == 0
            }
        }
    };
}
use has_length;
has_length!(OutBuffer);
has_length!(InBuffer);

macro_rules! both {
    ($name:ident) => {
        impl $name {
            /// Returns its place in a region, if it has one.
            pub fn place(&self) -> Option<RegionAddress> {
                self.0.more.as_ref()?.place
            }
            /// Returns the same memory without its place, for layers that do not know the regions of this
            /// process.
            pub fn without_place(mut self) -> Self {
                if let Some(more) = &mut self.0.more {
                    more.place = None;
                }
                self
            }
            /// Makes a buffer of the `len` bytes of a region from `start`.
            ///
            /// # Safety
            /// `keep` keeps exactly those bytes mapped; they are shared memory, so no reference to them exists.
            pub unsafe fn of_region(
                start: NonNull<u8>,
                len: usize,
                place: RegionAddress,
                keep: Arc<dyn Any + Send + Sync>,
            ) -> Self {
                let more = More { place: Some(place), keep: Some(keep), ..More::default() };
                Self(Lent { more: Some(Box::new(more)), ..Lent::one(start, len, std::ptr::null()) })
            }
            /// Makes a buffer of the `len` bytes from `start` of memory that other ranks may access.
            ///
            /// # Safety
            /// The conditions are those of [`Self::of_region`].
            pub(crate) unsafe fn of_exposed(
                start: NonNull<u8>,
                len: usize,
                keep: Arc<dyn Any + Send + Sync>,
            ) -> Self {
                let more = More { keep: Some(keep), ..More::default() };
                Self(Lent { more: Some(Box::new(more)), ..Lent::one(start, len, std::ptr::null()) })
            }
            /// Makes a buffer of the `len` bytes from `start` of a device's memory. This crate neither reads
            /// nor writes them.
            ///
            /// # Safety
            /// They stay until the buffer is dropped, and no other code accesses them in a way that an operation on them excludes.
            pub unsafe fn of_device(device: u32, start: NonNull<u8>, len: usize) -> Self {
                let more = More { memory: MemoryKind::Device(device), ..More::default() };
                Self(Lent { more: Some(Box::new(more)), ..Lent::one(start, len, std::ptr::null()) })
            }
            /// Makes a buffer of `len` bytes of a device that does not exist, for tests of code that must
            /// refuse it.
            pub fn of_made_up_device(device: u32, len: usize) -> Self {
                // SAFETY: the first page of a process is never mapped, and no device has the memory: there is nothing to be accessed.
                unsafe { Self::of_device(device, NonNull::dangling(), len) }
            }
            /// Returns the kind of its memory.
            #[inline(always)]
            pub fn memory(&self) -> MemoryKind {
                self.0.memory()
            }
            /// Returns its start in this process, if it is one stretch of host memory.
            pub fn address(&self) -> Option<u64> {
                let is_one = |more: &More| matches!(more.form, Form::One) && more.memory == MemoryKind::Host;
                let one = self.0.more.as_ref().is_none_or(|more| is_one(more));
                one.then_some(self.0.start.as_ptr() as u64)
            }
            /// Describes its place in this process, if it is one stretch of host memory or blocks of one
            /// length at equal distances.
            pub fn strided(&self) -> Option<StridedMemory> {
                self.0.strided()
            }
            /// Returns true if a share of it is still held.
            pub fn is_shared(&self) -> bool {
                self.0.is_shared()
            }
            /// Returns true if its stretches are too short for [`Self::share`] to list them; the caller
            /// copies the bytes instead, which packs them.
            pub fn is_fine(&self) -> bool {
                self.0.as_scattered().is_some_and(Scattered::is_fine)
            }
            /// Returns true if it was made by `of_region` or of exposed memory, so that no lender waits for
            /// its return.
            pub fn is_region(&self) -> bool {
                self.0.more.as_ref().is_some_and(|more| more.keep.is_some())
            }
        }
    };
}
both!(OutBuffer);
both!(InBuffer);

impl OutBuffer {
    /// Makes a share of a part for a driver; the buffer comes back only after it.
    pub fn share(&mut self, offset: usize, len: usize) -> OutShare {
        OutShare(self.0.share(offset, len))
    }

    /// Fills `to` with the bytes from `offset` on.
    pub fn copy_to(&self, offset: usize, to: Window<'_>) {
        if let Some(scattered) = self.0.as_scattered() {
            return scattered.fill(offset, to);
        }
        let is_region = self.is_region();
        // SAFETY: `address` has n lent bytes, and at + n <= to.len().
        self.0.stretches(offset, to.len(), |address, at, n| unsafe {
            fill_from((address, is_region), to, at, n)
        });
    }

    /// Fills `to` with the bytes from `offset` on.
    pub fn copy_to_slice(&self, offset: usize, to: &mut [u8]) {
        if let Some(scattered) = self.0.as_scattered() {
            // SAFETY: `to` has that room and is exclusive, so it is not the lent memory.
            return unsafe { scattered.gather(offset, to.as_mut_ptr(), to.len()) };
        }
        self.0.stretches(offset, to.len(), |address, at, n| {
            // SAFETY: `address` has n lent bytes; `to` is exclusive, so it is not the lent memory.
            unsafe { copy_between((to[at..at + n].as_mut_ptr(), false), (address, self.is_region()), n) }
        });
    }
}

impl InBuffer {
    /// Makes a share of a part for a driver. No other code writes that part meanwhile; the buffer comes back
    /// only after the share.
    pub fn share(&mut self, offset: usize, len: usize) -> InShare {
        InShare(self.0.share(offset, len))
    }

    /// Writes all of `from` at `offset`.
    #[inline(always)]
    pub fn copy_from(&mut self, offset: usize, from: Window<'_>) {
        if self.0.more.is_some() {
            return self.copy_apart(offset, from);
        }
        assert!(offset <= self.0.len && from.len() <= self.0.len - offset, "range outside of a buffer");
        // SAFETY: the range lies within one stretch lent for writing. The stretch is in no region, so no
        // window covers it.
        unsafe { from.drain(0, self.0.start.as_ptr().add(offset), from.len()) }
    }

    /// Does [`InBuffer::copy_from`] for a buffer in a region or of more than one stretch.
    #[inline(never)]
    fn copy_apart(&mut self, offset: usize, from: Window<'_>) {
        if let Some(scattered) = self.0.as_scattered() {
            // SAFETY: it was lent for writing.
            return unsafe { scattered.drain(offset, from) };
        }
        let is_region = self.is_region();
        self.0.stretches(offset, from.len(), |address, at, n| {
            // SAFETY: `address` has n bytes lent for writing; at + n <= from.len(); no window covers memory
            // that is in no region.
            unsafe {
                match is_region {
                    true => from.drain_shared(at, address, n),
                    false => from.drain(at, address, n),
                }
            }
        });
    }

    /// Writes all of `from` at `offset`.
    pub fn copy_from_slice(&mut self, offset: usize, from: &[u8]) {
        if let Some(scattered) = self.0.as_scattered() {
            // SAFETY: lent for writing; a slice that is borrowed is not memory lent for writing.
            return unsafe { scattered.scatter(offset, from.as_ptr(), from.len()) };
        }
        let is_region = self.is_region();
        self.0.stretches(offset, from.len(), |address, at, n| {
            // SAFETY: as in `copy_from`; a slice that is borrowed is not memory lent for writing.
            unsafe { copy_between((address, is_region), (from[at..at + n].as_ptr(), false), n) }
        });
    }

    /// Copies the first `len` bytes of `from`; both buffers may lie in one region and even overlap.
    pub fn copy_from_buffer(&mut self, from: &OutBuffer, len: usize) {
        let is_fine = |lent: &Lent| lent.as_scattered().is_some_and(Scattered::has_short_blocks);
        if is_fine(&from.0) || is_fine(&self.0) {
            return copy_staged(from, self, len);
        }
        let is_region = self.is_region();
        from.0.stretches(0, len, |source, at, n| {
            self.0.stretches(at, n, |target, within, m| {
                // SAFETY: both have m lent bytes, which may overlap.
                unsafe { copy_between((target, is_region), (source.add(within), from.is_region()), m) }
            });
        });
    }
}

#[cfg(test)]
mod tests;
