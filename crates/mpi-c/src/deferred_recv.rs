//! Deferred receives are submitted to the engine only before a call that might have to do with them.
//!
//! As long as a program only starts receives and short sends, the receives rest in a ring, in order. A wait for the first of
//! them then takes its message straight from where it comes, as a blocking receive does, and nothing was ever posted or matched.
//! Every other call submits all of them first, so a program cannot tell the difference: whatever makes progress, receives or probes
//! finds them in their places. Only what a call does while it is inside of another one (a function of the program's that the
//! library calls) is submitted at once.
//!
//! `INSIDE` is counted without atomic additions, by the one thread that may call the library. Functions that any thread may call at any
//! time (`any` in the table of functions) do not touch it, and none of them has to do with messages.
//!
//! With several threads one could wait for what another one's receive brings about, so only the main thread defers, and it does not if
//! the program uses others too, or the library has a thread that makes progress. Sessions have threads that the library does not know:
//! from the first one on nothing is deferred, and the main thread submits what is left in its next call.

mod ring;

use canele_engine::trace::Span;
use canele_mpi::Tag;
use canele_sys::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed, Ordering::SeqCst};
use canele_sys::membarrier::{self, Fencing};

use crate::cache;
use crate::handle::MPI_Request;
use crate::library;
use crate::requests::{INDEX_BITS, requests};
use crate::traced::CallName;
pub use ring::{DeferredRecv, RecvSource, Ring, ring, source_of};

/// Longer messages are submitted at once: they may be copied straight from or to the other end.
pub const MOST_BYTES: usize = 4096;
/// Slots of the ring.
pub const SLOTS: usize = 512;
/// The index of the first slot in a handle: above those of rows.
pub const FIRST_SLOT: usize = (1 << INDEX_BITS) - SLOTS;

/// How many calls one is inside of; and whether nothing may be deferred.
static INSIDE: AtomicU32 = AtomicU32::new(NEVER);
const NEVER: u32 = 1 << 31;
/// One thread at a time calls the library, but not always the same: as if inside of a call for ever.
const NO_OWNER: u32 = 1 << 30;
/// Nothing may be deferred any more, and the main thread may have receives that were.
static LEFT: AtomicBool = AtomicBool::new(false);
/// A session began while one thread at a time called the library.
static MIXED: AtomicBool = AtomicBool::new(false);
/// It was forbidden once and for all.
static FORBIDDEN: AtomicBool = AtomicBool::new(false);

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

/// True if a session began while one thread at a time called the library, and perhaps was inside of a call.
#[inline(always)]
pub fn is_mixed() -> bool {
    MIXED.load(Relaxed)
}

/// Defers a receive of at most [`MOST_BYTES`] if that may be done now and the next slot is free; gives its handle.
#[inline(always)]
pub fn defer(source: &RecvSource, tag: Tag, into: *mut u8, bytes: usize) -> Option<MPI_Request> {
    if !may() {
        return None;
    }
    // SAFETY: one thread calls the library, see `may`.
    unsafe { ring() }.add(source, tag, into, bytes)
}

/// Goes on to a free slot where [`defer`] found none; returns true if that helps.
pub fn make_room() -> bool {
    // SAFETY: as above.
    may() && unsafe { ring() }.go_to_free()
}

/// True if there are deferred receives.
#[inline(always)]
pub fn any() -> bool {
    match is_one_thread() {
        // SAFETY: one thread calls the library.
        true => unsafe { ring() }.any(),
        false => LEFT.load(Relaxed) && library::PROCESS.is_main_thread(),
    }
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
    // In a forked child nothing can be done, as the call that follows reports.
    if let Ok(mut table) = requests() {
        table.submit_deferred();
    }
    LEFT.store(false, Relaxed);
}

/// The program has initialised, for one thread at a time; receives are deferred if that is always the main thread.
pub fn allow(always_main: bool) {
    if !FORBIDDEN.load(Relaxed) {
        set_inside(if always_main { 0 } else { NO_OWNER });
        cache::set_shared(false);
        // Either this is seen here, or `forbid` sets it after this.
        if FORBIDDEN.load(SeqCst) {
            cache::set_shared(true);
        }
    }
}

/// From now on no receive is deferred. Any thread may call it, while another one is inside of a call.
pub fn forbid() {
    membarrier::register_private();
    if !FORBIDDEN.load(Relaxed) {
        LEFT.store(true, Relaxed);
    }
    if is_one_thread() {
        MIXED.store(true, Relaxed);
    }
    FORBIDDEN.store(true, SeqCst);
    cache::set_shared(true);
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
pub struct CallGuard(Inside);

/// What the end of a call has to undo.
enum Inside {
    /// That the call is counted.
    Counted,
    /// That it is recorded for a trace.
    Recorded {
        _span: Span,
    },
    Nothing,
}

impl CallGuard {
    /// Begins a call: deferred receives are submitted first.
    #[inline(always)]
    pub fn begin(name: &CallName) -> Self {
        let inside = INSIDE.load(Relaxed);
        if inside & NEVER != 0 {
            // Some may be left of the time before.
            settle();
            return Self(name.record().map_or(Inside::Nothing, |_span| Inside::Recorded { _span }));
        }
        set_inside(inside + 1);
        settle();
        Self(Inside::Counted)
    }
}

impl Drop for CallGuard {
    #[inline(always)]
    fn drop(&mut self) {
        let Inside::Counted = self.0 else { return };
        let inside = INSIDE.load(Relaxed);
        if inside & NEVER == 0 {
            set_inside(inside.saturating_sub(1));
        }
    }
}
