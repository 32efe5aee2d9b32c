//! Scatter-gather system calls, partly on lent memory.
//!
//! Owns nothing. Lent memory is passed by address and never by reference, because other processes may write
//! to it.

use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;

use rustix::io::Errno;

use super::kernel::last_error;

/// Most stretches of one call; the rest goes with the next call.
const MOST: usize = 64;
const NOWHERE: libc::iovec = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };

/// Lent memory, with the position at which a call continues.
#[derive(Clone, Copy)]
pub struct Lent<'a> {
    /// The stretches of the memory.
    pub stretches: &'a [(NonNull<u8>, usize)],
    /// Bytes of them that earlier calls have processed.
    pub skip: usize,
}

/// The stretches of one call.
struct Vectors {
    places: [libc::iovec; MOST],
    used: usize,
}

impl Vectors {
    fn new() -> Self {
        Self { places: [NOWHERE; MOST], used: 0 }
    }

    /// Adds a stretch. Returns false if there is no room for it.
    fn push(&mut self, start: *mut u8, len: usize) -> bool {
        if len == 0 {
            return true;
        }
        if self.used == MOST {
            return false;
        }
        self.places[self.used] = libc::iovec { iov_base: start.cast(), iov_len: len };
        self.used += 1;
        true
    }

    /// Adds the rest of lent memory. Returns true if all of it fitted.
    fn push_lent(&mut self, Lent { stretches, mut skip }: Lent<'_>) -> bool {
        stretches.iter().all(|(start, len)| {
            let skipped = skip.min(*len);
            skip -= skipped;
            // The address stays in its stretch, or is one past its end with length 0.
            self.push(start.as_ptr().wrapping_add(skipped), len - skipped)
        })
    }

    /// Returns the total length of the stretches.
    fn room(&self) -> usize {
        self.places[..self.used].iter().map(|place| place.iov_len).sum()
    }

    fn message(&mut self) -> libc::msghdr {
        // SAFETY: a message header is plain numbers and pointers, for which zero means none.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = self.places.as_mut_ptr();
        message.msg_iovlen = self.used as _;
        message
    }
}

fn result(returned: isize) -> Result<usize, Errno> {
    usize::try_from(returned).map_err(|_| last_error())
}

/// Sends `staged`, then the rest of `lent`. Returns the number of bytes sent.
///
/// # Safety
/// The lent memory is mapped and readable.
pub unsafe fn send(socket: &OwnedFd, staged: &[u8], lent: Lent<'_>) -> Result<usize, Errno> {
    let mut vectors = Vectors::new();
    vectors.push(staged.as_ptr().cast_mut(), staged.len());
    vectors.push_lent(lent);
    let message = vectors.message();
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: the message names `used` places in `vectors`, which lives on; all are readable, by the borrow of `staged` and
    // by the caller's word.
    result(unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, flags) })
}

/// Receives into the rest of `lent`, then into `memory`. Returns the number of bytes, and true if the offered
/// memory was filled. Memory of many stretches is not offered all at once.
///
/// # Safety
/// The lent memory is mapped and writable, and no thread of this process uses it otherwise.
pub unsafe fn receive(socket: &OwnedFd, lent: Lent<'_>, memory: &mut [u8]) -> Result<(usize, bool), Errno> {
    let mut vectors = Vectors::new();
    if vectors.push_lent(lent) {
        vectors.push(memory.as_mut_ptr(), memory.len());
    }
    let room = vectors.room();
    let mut message = vectors.message();
    // SAFETY: the message names `used` places in `vectors`, which lives on; all are writable, by the borrow of `memory` and by
    // the caller's word.
    let received = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
    result(received).map(|bytes| (bytes, bytes == room))
}
