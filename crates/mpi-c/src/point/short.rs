//! The short path of messages between known ranks: few bytes, one after the other in memory, on a link that is open.
//!
//! Decides nothing: either it does all of a call in a few dozen instructions, or it says no and has changed nothing, and the general path does
//! the call, with all its checks and errors. It makes no error, no request and no status.
//!
//! What ends with `_at_once` calls no function: inlined into an exported function, it needs no frame and saves few registers, and the
//! general path is a jump from there.

use core::ffi::c_int;

use canele_engine::{Engine, MAX_INLINE, Receives, ShortSent, Window};
use canele_mpi::Tag;

use super::LARGEST_TAG;
use super::route::{Route, known};
use crate::constants::MPI_REQUEST_NULL;
use crate::deferred_recv::{self, DeferredRecv, MOST_BYTES, lane_of, source_of};
use crate::error::CallResult;
use crate::handle::{MPI_Comm, MPI_Datatype, MPI_Request};
use crate::library;
use crate::pointer::{Out, RecvBuffer, SendBuffer};
use crate::requests::got_at_once;
use crate::status::{Got, StatusOut};
use crate::width::Count;

/// What became of a call that was tried on the short path.
#[derive(Clone, Copy)]
pub enum Attempt {
    /// It is done.
    Done,
    /// It is done, and the peer of this route is to be woken.
    ToSleeper(&'static Route),
    /// Nothing has changed: the general path does it.
    Left,
    /// The same, of a call on this route with so many bytes, which was tried as far as it may be or does not fit into a cell: the body that
    /// follows tries it in another way. A caller need not keep the arguments that follow from route and bytes.
    LeftOn(&'static Route, usize),
}

impl Attempt {
    /// Ends a send that was tried so: wakes the peer, or calls `left` if no try was made, or `refused` for what the try has left.
    pub fn end_send(
        self,
        left: impl FnOnce() -> CallResult,
        refused: impl FnOnce() -> CallResult,
    ) -> CallResult {
        match self {
            Self::Done => Ok(()),
            Self::ToSleeper(route) => {
                Route::wake_peer(route);
                Ok(())
            }
            Self::Left => left(),
            Self::LeftOn(..) => refused(),
        }
    }

    /// True if the call, a receive, is done.
    pub fn is_done(self) -> bool {
        matches!(self, Self::Done)
    }
}

#[inline(always)]
fn is_tag(tag: c_int) -> bool {
    tag as u32 <= LARGEST_TAG as u32
}

/// Sends a message if it can go at once.
#[inline(always)]
pub fn send_at_once(
    buffer: SendBuffer,
    (count, datatype): (Count, MPI_Datatype),
    (rank, tag): (c_int, c_int),
    comm: MPI_Comm,
) -> Attempt {
    let Some(route) = known(comm, datatype, rank) else { return Attempt::Left };
    let Some(bytes) = route.bytes(count, MAX_INLINE) else { return route.longer(count) };
    if buffer.is_null() {
        return Attempt::Left;
    }
    if !is_tag(tag) {
        return Attempt::LeftOn(route, bytes);
    }
    // SAFETY: not null; the program gives so many bytes to be read as long as the call lasts.
    let bytes = unsafe { core::slice::from_raw_parts(buffer.cast(), bytes) };
    match route.engine.try_send_short(&route.address, Tag(tag as u32), bytes) {
        None | Some(ShortSent::Left) => Attempt::LeftOn(route, bytes.len()),
        Some(ShortSent::Done) => Attempt::Done,
        Some(ShortSent::ToSleeper) => Attempt::ToSleeper(route),
    }
}

/// Sends a message if it can go at once that does not fit into a cell, or whose thread has no bias, for a caller that has a frame. What it leaves
/// was tried as far as it may be, but for [`Attempt::Left`].
#[inline(always)]
pub fn send_next(
    buffer: SendBuffer,
    (count, datatype): (Count, MPI_Datatype),
    (rank, tag): (c_int, c_int),
    comm: MPI_Comm,
) -> Attempt {
    let Some(route) = known(comm, datatype, rank) else { return Attempt::Left };
    let Some(bytes) = route.bytes(count, MOST_BYTES) else { return Attempt::Left };
    if buffer.is_null() || !is_tag(tag) {
        return Attempt::Left;
    }
    // SAFETY: not null; the program gives so many bytes to be read as long as the call lasts.
    let bytes = unsafe { core::slice::from_raw_parts(buffer.cast(), bytes) };
    let (engine, tag) = (route.engine, Tag(tag as u32));
    let sent = match bytes.len() > MAX_INLINE {
        true if engine.send_next(&route.address, tag, bytes) => Some(ShortSent::Done),
        true => Some(ShortSent::Left),
        false => engine.send_without_bias(&route.address, tag, bytes),
    };
    match sent {
        None => Attempt::Left,
        Some(ShortSent::Left) => Attempt::LeftOn(route, bytes.len()),
        Some(ShortSent::Done) => Attempt::Done,
        Some(ShortSent::ToSleeper) => Attempt::ToSleeper(route),
    }
}

/// Receives a message that fits into a cell if it is the next one of its source.
#[inline(always)]
pub fn receive_at_once(
    buffer: RecvBuffer,
    (count, datatype): (Count, MPI_Datatype),
    (rank, tag): (c_int, c_int),
    comm: MPI_Comm,
    status: StatusOut,
) -> Attempt {
    let Some(route) = known(comm, datatype, rank) else { return Attempt::Left };
    let Some(bytes) = route.bytes(count, MAX_INLINE) else { return route.longer(count) };
    if buffer.is_null() {
        return Attempt::Left;
    }
    if !is_tag(tag) || deferred_recv::any_in_ring() {
        return Attempt::LeftOn(route, bytes);
    }
    // SAFETY: not null; the program gives so many bytes to be written as long as the call lasts.
    let into = unsafe { core::slice::from_raw_parts_mut(buffer.cast(), bytes) };
    match route.engine.try_receive_short(&route.address, Tag(tag as u32), into) {
        Some(bytes) => {
            status.set_received(route.rank(), tag, bytes);
            Attempt::Done
        }
        None => Attempt::LeftOn(route, bytes),
    }
}

/// [`receive_at_once`] for a longer message, and one that comes soon, for a caller that has a frame.
#[inline(always)]
pub fn receive_next(
    buffer: RecvBuffer,
    (count, datatype): (Count, MPI_Datatype),
    (rank, tag): (c_int, c_int),
    comm: MPI_Comm,
) -> Option<usize> {
    let route = known(comm, datatype, rank)?;
    let bytes = route.bytes(count, MOST_BYTES)?;
    if buffer.is_null() || !is_tag(tag) {
        return None;
    }
    // SAFETY: as above.
    let into = unsafe { core::slice::from_raw_parts_mut(buffer.cast(), bytes) };
    let (source, flow) = source_of(route.source.from);
    route.engine.receive_next(source, flow, Tag(tag as u32), into)
}

/// Defers a receive, if that may be; puts its handle.
#[inline(always)]
pub fn defer_at_once(
    buffer: RecvBuffer,
    (count, datatype): (Count, MPI_Datatype),
    (rank, tag): (c_int, c_int),
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> Attempt {
    let Some(route) = known(comm, datatype, rank) else { return Attempt::Left };
    let Some(bytes) = route.bytes(count, MOST_BYTES) else { return Attempt::Left };
    if buffer.is_null() {
        return Attempt::Left;
    }
    if !is_tag(tag) {
        return Attempt::LeftOn(route, bytes);
    }
    // SAFETY: this thread knows a route.
    match unsafe { deferred_recv::defer(&route.source, Tag(tag as u32), buffer.cast(), bytes) } {
        Some(handle) => {
            request.put(handle);
            Attempt::Done
        }
        None => Attempt::LeftOn(route, bytes),
    }
}

/// Ends the requests at the front of an array that need no look at the table: sends that have left, receives from no process, null handles,
/// and deferred receives in their order whose messages have come. Says how many.
#[inline(always)]
pub fn end_front(handles: &mut [MPI_Request], statuses: StatusOut) -> usize {
    let Some(_hold) = deferred_recv::hold() else { return 0 };
    let mut ended = 0;
    loop {
        ended = end_sends(handles, ended, statuses);
        let Some(handle) = handles.get(ended).copied() else { return ended };
        // SAFETY: this thread may touch the ring, and no function of the program is called before the last use.
        let ring = unsafe { deferred_recv::ring() };
        let slots = ring.deferred();
        let Some(first) = slots.first().filter(|first| first.is_of(handle)) else { return ended };
        let Ok(engine) = library::engine() else { return ended };
        let from = first.from;
        let engine = engine.numbered_lane(lane_of(from));
        let n = slots.len().min(handles.len() - ended);
        let (is_short, handles) = (first.is_short(), &mut handles[ended..ended + n]);
        let slots = &mut slots[..n];
        let taken = match is_short && !statuses.is_wanted() {
            true => take_short(engine, handles, slots, from),
            false => take_any(engine, Run { handles, slots, statuses, first: ended, taken: 0, from }),
        };
        ended += taken;
        ring.remove(taken);
        if taken == 0 {
            return ended;
        }
    }
}

/// Takes messages of a few bytes whose statuses are not wanted; says how many.
#[inline(never)] // It has the registers for itself.
fn take_short(engine: &Engine, handles: &mut [MPI_Request], slots: &mut [DeferredRecv], from: u64) -> usize {
    let (source, flow) = source_of(from);
    let mut run = Run::<true> { handles, slots, statuses: StatusOut::NONE, first: 0, taken: 0, from };
    engine.receive_run(source, flow, &mut run);
    run.taken
}

/// Takes messages of any length; says how many.
#[inline(never)]
fn take_any(engine: &Engine, mut run: Run<'_, false>) -> usize {
    let (source, flow) = source_of(run.from);
    engine.receive_run(source, flow, &mut run);
    run.taken
}

/// Ends the sends that have left, the receives from no process and the null handles, from a place of an array on; gives the place behind them.
#[inline(always)]
fn end_sends(handles: &mut [MPI_Request], from: usize, statuses: StatusOut) -> usize {
    let mut at = from;
    while let Some(handle) = handles.get_mut(at) {
        let Some(got) = got_at_once(*handle) else { break };
        if statuses.is_wanted() {
            statuses.set_got_at(at, got);
        }
        *handle = MPI_REQUEST_NULL;
        at += 1;
    }
    at
}

/// Deferred receives from one source on one flow, and as many handles of an array. `SHORT` ones are of messages of a few bytes, whose statuses
/// are not wanted.
struct Run<'a, const SHORT: bool> {
    handles: &'a mut [MPI_Request],
    slots: &'a mut [DeferredRecv],
    statuses: StatusOut,
    /// The place of the first handle in the array.
    first: usize,
    /// So many have ended.
    taken: usize,
    /// As the slots say it.
    from: u64,
}

impl<const SHORT: bool> Receives for Run<'_, SHORT> {
    const SHORT: bool = SHORT;

    #[inline(always)]
    fn accept(&mut self, tag: Tag, bytes: Window<'_>) -> bool {
        let at = self.taken;
        let (Some(slot), Some(handle)) = (self.slots.get_mut(at), self.handles.get_mut(at)) else {
            return false;
        };
        let len = bytes.len();
        let is_wanted = slot.is_of(*handle) && slot.is_from(self.from) && slot.tag == tag;
        if !is_wanted || !slot.end_with(bytes) {
            return false;
        }
        if !SHORT && self.statuses.is_wanted() {
            self.statuses.set_got_at(self.first + at, Got::Received(slot.comm(), slot.status(len)));
        }
        *handle = MPI_REQUEST_NULL;
        self.taken += 1;
        true
    }
}
