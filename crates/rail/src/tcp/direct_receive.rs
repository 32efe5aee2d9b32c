//! Receives a bulk directly into the user's memory.
//!
//! Owns the share until all of the bulk lies there. Never hands out a reference to that memory: in a region other processes
//! may write it.

use canele_mem::buffer::InShare;
use canele_mem::window::Window;

use super::vectors::Lent;

/// A share that is being filled.
pub struct DirectReceive {
    share: InShare,
    /// Bytes that lie there.
    done: usize,
}

impl DirectReceive {
    /// `come` is what has come of the bulk.
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

    /// Bytes of the bulk.
    pub fn len(&self) -> usize {
        self.share.len()
    }

    /// Whether all of it lies there.
    pub fn is_over(&self) -> bool {
        self.done == self.share.len()
    }

    /// Where it goes.
    pub fn place(&self) -> Lent<'_> {
        Lent { stretches: self.share.stretches(), skip: self.done }
    }

    /// Bytes that are still to come.
    pub fn rest(&self) -> usize {
        self.share.len() - self.done
    }

    /// So many bytes were read; says how many of them belong to the bulk.
    pub fn handle_read(&mut self, bytes: usize) -> usize {
        let here = bytes.min(self.rest());
        self.done += here;
        here
    }
}
