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
//! the program uses others too, or the library has a thread that makes progress. Where a program may use several, the main thread has a
//! [`bias`]: another one that calls ends it, and first submits what was deferred. Sessions have threads that the library does not know: from
//! the first one on nothing is deferred, and the main thread submits what is left in its next call.

mod ring;

use canele_engine::trace::Span;
use canele_mpi::{Tag, ThreadLevel};
use canele_sys::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed, Ordering::SeqCst};
use canele_sys::membarrier::{self, Fencing};

use crate::bias::{self, BiasHold};
use crate::cache;
use crate::handle::MPI_Request;
use crate::library;
use crate::requests::{INDEX_BITS, requests};
use crate::traced::CallName;
pub use ring::{DeferredRecv, RecvSource, Ring, any_in_ring, lane_of, ring, source_of};

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
/// The program may use several threads, and one has called the library so far.
const BIASED: u32 = 1 << 29;
/// Nothing may be deferred any more, and the main thread may have receives that were.
static LEFT: AtomicBool = AtomicBool::new(false);
/// A session began while one thread at a time called the library.
static MIXED: AtomicBool = AtomicBool::new(false);
/// It was forbidden once and for all.
static FORBIDDEN: AtomicBool = AtomicBool::new(false);

/// Whether the program has promised that one thread at a time calls the library.
#[inline(always)]
pub fn is_one_thread() -> bool {
    // Relaxed, here and below: while a receive may be deferred one thread calls the library, or it holds the bias.
    is_promised(INSIDE.load(Relaxed))
}

#[inline(always)]
fn is_promised(inside: u32) -> bool {
    inside & (NEVER | BIASED) == 0
}

/// Lets this thread touch the ring outside of the lock of the table of requests, if it may.
#[inline(always)]
pub fn hold() -> Option<RingHold> {
    let inside = INSIDE.load(Relaxed);
    if is_promised(inside) {
        return Some(RingHold { _bias: None });
    }
    if inside & NEVER != 0 || !bias::is_owner() {
        return None;
    }
    // SAFETY: this is the owner; what holds the bias calls nothing that holds it too.
    unsafe { bias::hold() }.map(|held| RingHold { _bias: Some(held) })
}

/// The right to touch the ring.
pub struct RingHold {
    _bias: Option<BiasHold>,
}

/// True if a session began while one thread at a time called the library, and perhaps was inside of a call.
#[inline(always)]
pub fn is_mixed() -> bool {
    MIXED.load(Relaxed)
}

/// Defers a receive of at most [`MOST_BYTES`] if that may be done now and the next slot is free; gives its handle.
///
/// # Safety
/// This thread knows a route: it calls the library alone, or has ended the bias by its first call unless it is the owner.
#[inline(always)]
pub unsafe fn defer(source: &RecvSource, tag: Tag, into: *mut u8, bytes: usize) -> Option<MPI_Request> {
    let inside = INSIDE.load(Relaxed);
    if inside == 0 {
        // SAFETY: this thread calls the library alone.
        return unsafe { ring() }.add(source, tag, into, bytes);
    }
    if inside != BIASED {
        return None;
    }
    // SAFETY: the bias has not ended, so this is the owner, which holds it nowhere around a call.
    let _held = unsafe { bias::hold() }?;
    // SAFETY: this thread holds the bias.
    unsafe { ring() }.add(source, tag, into, bytes)
}

/// Goes on to a free slot where [`defer`] found none; returns true if that helps.
pub fn make_room() -> bool {
    let is_inside = !matches!(INSIDE.load(Relaxed), 0 | BIASED);
    // SAFETY: this thread may touch the ring.
    !is_inside && hold().is_some_and(|_hold| unsafe { ring() }.go_to_free())
}

/// True if there are deferred receives.
#[inline(always)]
pub fn any() -> bool {
    match INSIDE.load(Relaxed) & NEVER {
        0 => any_in_ring(),
        _ => LEFT.load(Relaxed) && library::PROCESS.is_main_thread(),
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

/// The main thread has initialised MPI for so many threads; receives are deferred as long as it alone calls.
pub fn allow(threads: ThreadLevel) {
    if threads == ThreadLevel::Multiple {
        if !FORBIDDEN.load(Relaxed) && bias::give() {
            set_inside(BIASED);
        }
    } else if !FORBIDDEN.load(Relaxed) {
        set_inside(if threads <= ThreadLevel::Funneled { 0 } else { NO_OWNER });
        cache::set_shared(false);
        // Either this is seen here, or `forbid` sets it after this.
        if FORBIDDEN.load(SeqCst) {
            cache::set_shared(true);
        }
    }
}

/// True if no receive is deferred any more.
pub fn is_forbidden() -> bool {
    FORBIDDEN.load(SeqCst)
}

/// From now on no receive is deferred. Any thread may call it, while another one is inside of a call.
pub fn forbid() {
    if bias::is_given() {
        return end_bias();
    }
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

/// A call begins that may be of another thread than the owner of the bias, which ends it then.
#[inline]
pub fn note_caller() {
    if INSIDE.load(Relaxed) & (NEVER | BIASED) == BIASED && !bias::is_owner() {
        end_bias();
    }
}

/// Ends the bias: submits all deferred receives, and from now on none is deferred.
#[cold]
#[inline(never)]
fn end_bias() {
    // The owner does not touch the ring as long as this is held.
    let _alone = bias::end();
    if INSIDE.load(Relaxed) & BIASED != 0 {
        submit_all();
    }
    FORBIDDEN.store(true, SeqCst);
    // As in `forbid`.
    membarrier::heavy_private();
    INSIDE.store(NEVER, Relaxed);
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
        if is_promised(inside) { Self::begin_counted(inside) } else { Self::begin_otherwise(name) }
    }

    #[inline(always)]
    fn begin_counted(inside: u32) -> Self {
        set_inside(inside + 1);
        settle();
        Self(Inside::Counted)
    }

    #[inline(never)]
    fn begin_otherwise(name: &CallName) -> Self {
        note_caller();
        let inside = INSIDE.load(Relaxed);
        if inside & NEVER == 0 {
            return Self::begin_counted(inside);
        }
        // Some may be left of the time before.
        settle();
        Self(name.record().map_or(Inside::Nothing, |_span| Inside::Recorded { _span }))
    }
}

impl Drop for CallGuard {
    #[inline(always)]
    fn drop(&mut self) {
        let Inside::Counted = self.0 else { return };
        let inside = INSIDE.load(Relaxed);
        if inside & NEVER == 0 && inside & !BIASED != 0 {
            set_inside(inside - 1);
        }
    }
}
