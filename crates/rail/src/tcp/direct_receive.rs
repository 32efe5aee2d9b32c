//! Receives a bulk directly into the user's memory.
//!
//! Owns the share until the whole bulk lies there. Never hands out a reference to that memory, because other
//! processes may write to a region.

use canele_mem::buffer::InShare;
use canele_mem::window::Window;

use super::vectors::Lent;

/// A share that is being filled.
pub struct DirectReceive {
    share: InShare,
    /// Number of bytes received there.
    done: usize,
}

impl DirectReceive {
    /// Begins with the part of the bulk that has arrived already.
    pub fn new(share: InShare, come: &[u8]) -> Self {
        let mut done = 0;
        for (start, len) in share.stretches() {
            let here = (*len).min(come.len() - done);
            // SAFETY: the stretch has `len >= here` bytes, which are writable as long as the share lives and lent to its holder.
            unsafe { Window::new(*start, here) }.write(0, &come[done..done + here]);
            done += here;
        }
        Self { share, done }
    }

    /// Returns the length of the bulk in bytes.
    pub fn len(&self) -> usize {
        self.share.len()
    }

    /// Returns true if the whole bulk lies there.
    pub fn is_over(&self) -> bool {
        self.done == self.share.len()
    }

    /// Returns the memory for the missing bytes.
    pub fn place(&self) -> Lent<'_> {
        Lent { stretches: self.share.stretches(), skip: self.done }
    }

    /// Returns the number of missing bytes.
    pub fn rest(&self) -> usize {
        self.share.len() - self.done
    }

    /// Notes that `bytes` bytes were read. Returns how many of them belong to the bulk.
    pub fn handle_read(&mut self, bytes: usize) -> usize {
        let here = bytes.min(self.rest());
        self.done += here;
        here
    }
}
