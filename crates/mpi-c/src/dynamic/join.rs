//! A communicator of two processes with a socket (MPI 5.0, §11.10.4): they exchange port names and connect at
//! one of the ports.

use core::ffi::{c_int, c_void};

use canele_mpi::dynamic::NAME_BYTES;
use canele_mpi::{Result, fail};

use crate::comm::create::give;
use crate::error::CallResult;
use crate::handle::MPI_Comm;
use crate::library;
use crate::pointer::Out;

/// `MPI_Comm_join`.
pub fn comm_join(fd: c_int, intercomm: Out<MPI_Comm>) -> CallResult {
    give(intercomm, Some(library::world()?.join_by(|mine| exchange(fd, mine), || is_open(fd))?))
}

/// Returns true while the other end of a socket may exist.
fn is_open(fd: c_int) -> bool {
    let mut byte = 0_u8;
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
    // SAFETY: one byte, which stays there during the call.
    unsafe { libc::recv(fd, (&raw mut byte).cast::<c_void>(), 1, flags) != 0 }
}

/// Sends bytes and receives the same number; they fit into any socket buffer.
fn exchange(fd: c_int, mine: [u8; NAME_BYTES]) -> Result<[u8; NAME_BYTES]> {
    transfer(fd, libc::POLLOUT, mine.len(), |done, left| {
        // SAFETY: `left` bytes from `done` on are inside of the array.
        unsafe { libc::send(fd, mine.as_ptr().add(done).cast::<c_void>(), left, libc::MSG_NOSIGNAL) }
    })?;
    let mut theirs = [0; NAME_BYTES];
    transfer(fd, libc::POLLIN, theirs.len(), |done, left| {
        // SAFETY: as above.
        unsafe { libc::recv(fd, theirs.as_mut_ptr().add(done).cast::<c_void>(), left, 0) }
    })?;
    Ok(theirs)
}

/// Transfers all bytes; waits for a socket that does not block.
fn transfer(fd: c_int, wait: i16, bytes: usize, mut step: impl FnMut(usize, usize) -> isize) -> Result<()> {
    let mut done = 0;
    while done < bytes {
        match step(done, bytes - done) {
            0 => fail!(Other, "fd is {fd}: the other end of that socket was closed"),
            moved @ 1.. => done += moved.unsigned_abs(),
            _ => {
                let error = std::io::Error::last_os_error();
                match error.kind() {
                    std::io::ErrorKind::Interrupted => {}
                    std::io::ErrorKind::WouldBlock => {
                        let mut waited = libc::pollfd { fd, events: wait, revents: 0 };
                        // SAFETY: one descriptor, which stays there during the call.
                        unsafe { libc::poll(&raw mut waited, 1, -1) };
                    }
                    _ => fail!(Argument, "fd is {fd}: {error}; a connected socket is needed"),
                }
            }
        }
    }
    Ok(())
}
