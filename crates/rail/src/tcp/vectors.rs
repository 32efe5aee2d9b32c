//! One system call for memory in several places, some of it lent.
//!
//! Owns nothing. Memory that was lent is passed by address: other processes may write it, so there is no reference to it.

use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;

use rustix::io::Errno;

use super::kernel::last_error;

/// Places of one call; what lies in more of them goes with the next.
const MOST: usize = 64;
const NOWHERE: libc::iovec = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };

/// Lent memory that a call goes on with.
#[derive(Clone, Copy)]
pub struct Lent<'a> {
    /// The stretches it consists of.
    pub stretches: &'a [(NonNull<u8>, usize)],
    /// Bytes of them that earlier calls have passed.
    pub skip: usize,
}

/// Places for one call.
struct Vectors {
    places: [libc::iovec; MOST],
    used: usize,
}

impl Vectors {
    fn new() -> Self {
        Self { places: [NOWHERE; MOST], used: 0 }
    }

    /// Whether there was a place for it.
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

    /// What is left of lent memory; whether all fitted.
    fn push_lent(&mut self, Lent { stretches, mut skip }: Lent<'_>) -> bool {
        stretches.iter().all(|(start, len)| {
            let skipped = skip.min(*len);
            skip -= skipped;
            // The address stays in its stretch, or is one past it and nothing of it is used.
            self.push(start.as_ptr().wrapping_add(skipped), len - skipped)
        })
    }

    /// Bytes that fit into all of them.
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

/// Sends `staged`, then what is left of `lent`; how many bytes left.
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

/// Receives into what is left of `lent`, then into `memory`; how many bytes came, and whether more would have found no room. Not all of what
/// lies in many places is offered at once.
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
