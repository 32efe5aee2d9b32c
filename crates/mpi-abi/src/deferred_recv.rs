//! Deferred receives are submitted to the engine only before a call that might have to do with them.
//!
//! As long as a program only starts receives and short sends, the receives rest in their rows, in order. A wait for the first of
//! them then takes its message straight from where it comes, as a blocking receive does, and nothing was ever posted or matched.
//! Every other call submits all of them first, so nobody can tell the difference: whatever makes progress, receives or probes
//! finds them in their places. Only what a call does while it is inside of another one (a function of the program's that the
//! library calls) is submitted at once.
//!
//! `INSIDE` is counted without atomic additions, by the one thread that may call the library. Functions that any thread may call at any
//! time (`ANYTIME` in `canele_mpi_macros`) do not touch it, and none of them has to do with messages.
//!
//! With several threads one could wait for what another one's receive brings about, so then nothing is deferred; nor with a thread of
//! the library that makes progress, nor with sessions, whose threads nobody has told of.

use canele_engine::{Completions, FlowId, Pending, Rank};
use canele_mem::buffer::RawMut;
use canele_mpi::request::Request;
use canele_mpi::{Result, Tag};
use canele_sys::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use canele_sys::membarrier::{self, Fencing};

use crate::handle::MPI_Comm;
use crate::requests::requests;

/// Longer messages are submitted at once: they may be copied straight from or to the other end.
pub const MOST_BYTES: usize = 4096;

/// How many calls one is inside of; and whether nothing may be deferred.
static INSIDE: AtomicU32 = AtomicU32::new(NEVER);
const NEVER: u32 = 1 << 31;
/// Whether there are deferred receives.
static ANY: AtomicBool = AtomicBool::new(false);
/// It was forbidden once and for all.
static FORBIDDEN: AtomicBool = AtomicBool::new(false);

/// A receive that is not submitted to the engine yet.
pub struct DeferredRecv {
    /// The communicator.
    pub comm: MPI_Comm,
    /// The flow of its messages.
    pub flow: FlowId,
    /// Who sends.
    pub source: Rank,
    /// The tag.
    pub tag: Tag,
    /// Where the message goes: so many bytes at the start of it.
    pub into: RawMut,
    /// At most [`MOST_BYTES`].
    pub bytes: u32,
}

impl DeferredRecv {
    /// Takes its message, if that is the next one there.
    #[inline(always)]
    pub fn take(&mut self, completions: &mut Completions<'_>) -> Option<canele_engine::Status> {
        let into = self.into.bytes_mut(0, self.bytes as usize);
        let bytes = completions.receive_next(self.flow, self.source, self.tag, into)?;
        Some(canele_engine::Status { source: self.source, tag: self.tag, bytes })
    }

    /// Submits it.
    ///
    /// # Errors
    /// The job is over.
    pub fn submit(self) -> Result<Pending> {
        self.comm.get()?.start_receive_bytes(self.source, self.tag, self.into, self.bytes as usize)
    }

    /// What stands for one on a communicator that could not be submitted.
    pub fn failed(comm: MPI_Comm, error: Box<canele_mpi::Error>) -> Request {
        Request::ended_with(comm.share().ok(), Err(error))
    }
}

/// True if receives may be deferred now.
#[inline(always)]
pub fn may() -> bool {
    // Relaxed, here and below: while a receive may be deferred one thread at a time calls the library.
    INSIDE.load(Relaxed) == 0
}

/// Whether one thread at a time calls the library.
#[inline(always)]
pub fn is_one_thread() -> bool {
    INSIDE.load(Relaxed) & NEVER == 0
}

/// There are some now, or none any more.
#[inline(always)]
pub fn note(any: bool) {
    ANY.store(any, Relaxed);
}

/// True if there are deferred receives.
#[inline(always)]
pub fn any() -> bool {
    ANY.load(Relaxed)
}

/// Submits all deferred receives.
#[inline(always)]
pub fn settle() {
    if any() {
        submit_all();
    }
}

#[cold]
#[inline(never)]
fn submit_all() {
    // In a forked child nothing can be done, as whoever calls will hear.
    if let Ok(mut table) = requests() {
        table.submit_deferred();
    }
}

/// The program has initialised, for one thread at a time.
pub fn allow() {
    if !FORBIDDEN.load(Relaxed) {
        set_inside(0);
    }
}

/// From now on no receive is deferred. Any thread may call it, while another one is inside of a call.
pub fn forbid() {
    membarrier::register_private();
    FORBIDDEN.store(true, Relaxed);
    // The other thread stores to `INSIDE`, then looks whether it is forbidden: either it sees that, or its store comes first.
    membarrier::heavy_private();
    INSIDE.store(NEVER, Relaxed);
    settle();
}

/// Enters or leaves a call, unless another thread has forbidden to defer meanwhile.
#[inline(always)]
fn set_inside(inside: u32) {
    INSIDE.store(inside, Relaxed);
    // Asymmetric: `forbid` has the barrier. Where the kernel offers none, the next call finds it.
    Fencing::Asymmetric.light();
    if FORBIDDEN.load(Relaxed) {
        INSIDE.store(NEVER, Relaxed);
    }
}

/// A call, as long as it lasts.
pub struct Call(bool);

impl Call {
    /// Begins a call: deferred receives are submitted first.
    #[inline(always)]
    pub fn begin() -> Self {
        let inside = INSIDE.load(Relaxed);
        if inside & NEVER != 0 {
            // One may be left of the time before.
            settle();
            return Self(false);
        }
        set_inside(inside + 1);
        settle();
        Self(true)
    }
}

impl Drop for Call {
    #[inline(always)]
    fn drop(&mut self) {
        let inside = INSIDE.load(Relaxed);
        if self.0 && inside & NEVER == 0 {
            set_inside(inside.wrapping_sub(1));
        }
    }
}
