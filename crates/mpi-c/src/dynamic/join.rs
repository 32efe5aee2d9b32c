//! A communicator between two processes that have a socket (MPI 5.0, §11.10.4).

use core::ffi::{c_int, c_void};

use canele_mpi::{Result, fail};
use canele_sys::atomic::{AtomicU64, Ordering::Relaxed};

use crate::comm::create::give;
use crate::error::CallResult;
use crate::handle::MPI_Comm;
use crate::library;
use crate::pointer::Out;

/// What both ends say: the job, the rank, the number of the call.
const WORDS: usize = 4;
const MAGIC: u64 = u64::from_le_bytes(*b"can-join");

/// `MPI_Comm_join`. Processes of different jobs get `MPI_COMM_NULL`.
pub fn comm_join(fd: c_int, intercomm: Out<MPI_Comm>) -> CallResult {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let world = library::world()?;
    let engine = world.engine();
    // Relaxed: a number on its own.
    let call = CALLS.fetch_add(1, Relaxed);
    let mine = [MAGIC, u64::from(engine.launcher()?), u64::from(engine.rank().0), call];
    let theirs = exchange(fd, mine)?;
    if theirs[0] != MAGIC {
        fail!(Argument, "fd is {fd}: the other end of that socket does not call MPI_Comm_join");
    }
    if theirs[1] != mine[1] || mine[1] == 0 {
        return give(intercomm, None);
    }
    let (mut low, mut high) = ((mine[2], mine[3]), (theirs[2], theirs[3]));
    if high < low {
        (low, high) = (high, low);
    }
    give(intercomm, Some(world.join_one(theirs[2] as u32, &format!("join {low:?} {high:?}"))?))
}

/// Sends words and receives as many: they fit into any socket.
fn exchange(fd: c_int, mine: [u64; WORDS]) -> Result<[u64; WORDS]> {
    let mut bytes: Vec<u8> = mine.iter().flat_map(|word| word.to_le_bytes()).collect();
    transfer(fd, libc::POLLOUT, bytes.len(), |done, left| {
        // SAFETY: `left` bytes from `done` on are inside of the vector.
        unsafe { libc::send(fd, bytes.as_ptr().add(done).cast::<c_void>(), left, libc::MSG_NOSIGNAL) }
    })?;
    transfer(fd, libc::POLLIN, bytes.len(), |done, left| {
        // SAFETY: as above.
        unsafe { libc::recv(fd, bytes.as_mut_ptr().add(done).cast::<c_void>(), left, 0) }
    })?;
    let mut theirs = [0; WORDS];
    for (word, bytes) in theirs.iter_mut().zip(bytes.as_chunks().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    Ok(theirs)
}

/// Moves bytes until all have; waits for a socket that does not block.
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
