//! Accesses to a member whose memory is mapped here, by a caller that has looked up everything else before.

use canele_engine::Window;
use canele_sys::atomic::Ordering::Relaxed;

use super::Win;
use super::target::{Reached, Target};

/// So many flushes of what is mapped here take no look at the network; a power of 2.
const FLUSHES: u32 = 256;

/// A member of a window whose memory is mapped here.
#[derive(Clone, Copy)]
pub struct MappedTarget<'a> {
    win: &'a Win,
    target: &'a Target,
    memory: Window<'a>,
}

impl Win {
    /// Returns a member, if its memory was found to be mapped here.
    pub fn mapped_target(&self, rank: usize) -> Option<MappedTarget<'_>> {
        let target = self.targets.get(rank)?;
        let Reached::Here(memory, offset) = target.memory.get()? else { return None };
        Some(MappedTarget { win: self, target, memory: memory.window(*offset, target.size)? })
    }

    /// Counts a flush; true if it is time to look at the network, on which others may wait for this process.
    pub(super) fn is_time_to_poll(&self) -> bool {
        // Relaxed: a count that two threads spoil is good enough.
        let flushes = self.flushes.load(Relaxed).wrapping_add(1);
        self.flushes.store(flushes, Relaxed);
        flushes.is_multiple_of(FLUSHES)
    }
}

impl<'a> MappedTarget<'a> {
    /// The bytes at a displacement, if they may be accessed now and lie in the window.
    #[inline(always)]
    fn part(&self, disp: i64, len: usize) -> Option<Window<'a>> {
        if !self.win.may_access(self.target) {
            return None;
        }
        self.memory.part(usize::try_from(disp).ok()?.checked_mul(self.target.unit)?, len)
    }

    /// Writes bytes at a displacement; false if nothing was done, as it is not permitted.
    #[inline(always)]
    pub fn put(&self, disp: i64, bytes: &[u8]) -> bool {
        self.part(disp, bytes.len()).is_some_and(|part| {
            part.write(0, bytes);
            true
        })
    }

    /// Reads the bytes at a displacement; false as of [`Self::put`].
    #[inline(always)]
    pub fn get(&self, disp: i64, into: &mut [u8]) -> bool {
        self.part(disp, into.len()).is_some_and(|part| {
            part.read(0, into);
            true
        })
    }

    /// Waits until all accesses are done there and here, if only accesses to mapped memory were made; false if nothing was done.
    #[inline(always)]
    pub fn flush(&self) -> bool {
        let done = self.flush_local();
        if done {
            self.win.sync();
        }
        done
    }

    /// The same, here alone.
    #[inline(always)]
    pub fn flush_local(&self) -> bool {
        let win = self.win;
        let flushes = win.flushes.load(Relaxed).wrapping_add(1);
        if !win.is_held(self.target) || win.is_served.load(Relaxed) || flushes.is_multiple_of(FLUSHES) {
            return false;
        }
        win.flushes.store(flushes, Relaxed);
        true
    }
}
