//! The short path of messages between known ranks: few bytes, one after the other in memory, on a link that is open.
//!
//! Owns the routes that were found last and decides nothing: either it does all of a call in a few dozen instructions, or it says no and has changed nothing,
//! and the general path does the call, with all its checks and errors. It makes no error, no request and no status.

use core::cell::UnsafeCell;
use core::ffi::c_int;

use canele_engine::{Engine, FlowId, Receives};
use canele_mpi::{Rank, Tag};

use super::LARGEST_TAG;
use crate::call_cache;
use crate::constants::MPI_REQUEST_NULL;
use crate::deferred_recv::{self, DeferredRecv, MOST_BYTES};
use crate::handle::{MPI_Comm, MPI_Datatype, MPI_Request};
use crate::library;
use crate::pointer::{RecvBuffer, SendBuffer};
use crate::requests::LEFT;
use crate::status::{Got, StatusOut};
use crate::width::Count;

/// What a communicator, a rank on it and a datatype came to: programs name the same few again and again.
#[derive(Clone, Copy)]
struct Route {
    comm: MPI_Comm,
    datatype: MPI_Datatype,
    rank: c_int,
    /// No handle has been freed since, whose value something else could have by now.
    freed: usize,
    engine: Option<&'static Engine>,
    to: Rank,
    flow: FlowId,
    /// Bytes of an element; elements lie one after the other.
    size: usize,
}

impl Route {
    const NONE: Self = Self {
        comm: MPI_Comm::of(usize::MAX),
        datatype: MPI_Datatype::of(0),
        rank: 0,
        freed: 0,
        engine: None,
        to: Rank(0),
        flow: FlowId(0),
        size: 0,
    };

    /// Finds it, if there is such a communicator with such a rank, and if the datatype is committed and has no gaps.
    #[inline(never)]
    fn find(comm: MPI_Comm, datatype: MPI_Datatype, rank: c_int) -> Option<Self> {
        let (on, of) = (comm.find()?, datatype.find()?);
        let to = *on.peers().members().get(rank as usize)?;
        let fits = of.is_contiguous() && of.is_committed() && (1..=MOST_BYTES).contains(&of.size());
        let (engine, flow, freed) = (Some(&**on.engine()), on.flow(), call_cache::freed());
        fits.then_some(Self { comm, datatype, rank, freed, engine, to, flow, size: of.size() })
    }

    #[inline(always)]
    fn is_of(&self, comm: MPI_Comm, datatype: MPI_Datatype, rank: c_int) -> bool {
        self.comm == comm
            && self.rank == rank
            && self.datatype == datatype
            && self.freed == call_cache::freed()
    }
}

/// Routes that are remembered, by the last bits of their ranks.
const ROUTES: usize = 8;

struct Routes(UnsafeCell<[Route; ROUTES]>);

// SAFETY: two threads never reach the routes at a time, see `short`.
unsafe impl Sync for Routes {}

static KNOWN: Routes = Routes(UnsafeCell::new([Route::NONE; ROUTES]));

/// A short message: the way it goes, a tag, and so many bytes.
pub struct Short {
    engine: &'static Engine,
    comm: MPI_Comm,
    rank: Rank,
    flow: FlowId,
    tag: Tag,
    bytes: usize,
}

/// What the arguments of a call say, if it is a short message and the program uses one thread at a time.
#[inline(always)]
pub fn short(
    buffer: SendBuffer,
    (count, datatype): (Count, MPI_Datatype),
    (rank, tag): (c_int, c_int),
    comm: MPI_Comm,
) -> Option<Short> {
    if !deferred_recv::is_one_thread() {
        return None;
    }
    // SAFETY: one thread calls the library, and the reference ends before any function of the program is called.
    let route = unsafe { &mut (*KNOWN.0.get())[rank as usize % ROUTES] };
    if !route.is_of(comm, datatype, rank) {
        *route = Route::find(comm, datatype, rank)?;
    }
    // A count that is negative is a large one here. The product cannot overflow behind this.
    let count = count.value as usize;
    if count > MOST_BYTES || buffer.is_null() || tag as u32 > LARGEST_TAG as u32 {
        return None;
    }
    let (engine, bytes) = (route.engine?, count * route.size);
    (bytes <= MOST_BYTES).then_some(Short {
        engine,
        comm,
        rank: route.to,
        flow: route.flow,
        tag: Tag(tag as u32),
        bytes,
    })
}

impl Short {
    /// Sends it at once, if that can be; says whether it has.
    #[inline(always)]
    pub fn send(&self, buffer: SendBuffer) -> bool {
        // SAFETY: not null; the program gives so many bytes to be read as long as the call lasts.
        let bytes = unsafe { core::slice::from_raw_parts(buffer.cast(), self.bytes) };
        self.engine.send_short(self.rank, self.flow, self.tag, bytes)
    }

    /// Receives it, if it is the next message of its source; gives its length.
    #[inline(always)]
    pub fn receive(&self, buffer: RecvBuffer) -> Option<usize> {
        // SAFETY: not null; the program gives so many bytes to be written as long as the call lasts.
        let into = unsafe { core::slice::from_raw_parts_mut(buffer.cast(), self.bytes) };
        self.engine.receive_short(self.rank, self.flow, self.tag, into)
    }

    /// Defers its receive, if that may be; gives the handle.
    #[inline(always)]
    pub fn defer(&self, buffer: RecvBuffer) -> Option<MPI_Request> {
        deferred_recv::defer((self.comm, self.flow), (self.rank, self.tag), buffer.cast(), self.bytes)
    }
}

/// Ends the requests at the front of an array that need no look at the table: sends that have left, null handles, and deferred receives in
/// their order whose messages have come. Says how many.
#[inline(always)]
pub fn end_front(handles: &mut [MPI_Request], statuses: StatusOut) -> usize {
    if !deferred_recv::is_one_thread() {
        return 0;
    }
    let mut ended = 0;
    loop {
        ended = end_sends(handles, ended, statuses);
        let Some(handle) = handles.get(ended).copied() else { return ended };
        // SAFETY: one thread calls the library, and no function of the program is called before the last use.
        let ring = unsafe { deferred_recv::ring() };
        let slots = ring.deferred();
        let Some(first) = slots.first().filter(|first| first.is_of(handle)) else { return ended };
        let Ok(engine) = library::engine() else { return ended };
        let (from, (source, flow)) = (first.from, first.from());
        let mut run = Run { handles: &mut *handles, slots, statuses, first: ended, taken: 0, from };
        engine.receive_run(source, flow, &mut run);
        let taken = run.taken;
        ended += taken;
        ring.remove(taken);
        if taken == 0 {
            return ended;
        }
    }
}

/// Ends the sends that have left, and the null handles, from a place of an array on; gives the place behind them.
#[inline(always)]
fn end_sends(handles: &mut [MPI_Request], from: usize, statuses: StatusOut) -> usize {
    let mut at = from;
    while let Some(handle) = handles.get_mut(at) {
        if *handle != LEFT && *handle != MPI_REQUEST_NULL {
            break;
        }
        if statuses.is_wanted() {
            let got = if *handle == LEFT { Got::Sent } else { Got::Nothing };
            statuses.set_got_at(at, got);
        }
        *handle = MPI_REQUEST_NULL;
        at += 1;
    }
    at
}

/// Deferred receives from one source on one flow, and their handles from a place of an array on.
struct Run<'a> {
    handles: &'a mut [MPI_Request],
    slots: &'a mut [DeferredRecv],
    statuses: StatusOut,
    /// The place in the array of the first.
    first: usize,
    /// So many have ended.
    taken: usize,
    /// As the slots say it.
    from: u64,
}

impl Receives for Run<'_> {
    const ONE: bool = false;

    #[inline(always)]
    fn accept(&mut self, tag: Tag, bytes: usize) -> Option<&mut [u8]> {
        let at = self.first + self.taken;
        let (slot, handle) = (self.slots.get_mut(self.taken)?, self.handles.get_mut(at)?);
        if !slot.is_of(*handle) || !slot.is_from(self.from) || slot.tag != tag || !slot.has_room(bytes) {
            return None;
        }
        if self.statuses.is_wanted() {
            self.statuses.set_got_at(at, Got::Received(slot.comm(), slot.status(bytes)));
        }
        *handle = MPI_REQUEST_NULL;
        self.taken += 1;
        slot.end();
        slot.memory().get_mut(..bytes)
    }
}
