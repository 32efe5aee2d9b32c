//! The short path of messages between known ranks: few contiguous bytes on an open link.
//!
//! It either does a whole call in a few dozen instructions, or refuses without any change. The general path
//! then does the call with all checks and errors. The short path makes no error, request or status.
//!
//! A function with the suffix `_at_once` calls no function. Inlined into an exported function, it needs no
//! frame and saves few registers. The general path is a jump from there.

use core::ffi::c_int;

use canele_engine::{Deferral, DeferredEnd, DeferredHandles, DeferredRecv, Engine, MAX_INLINE, ShortSent};
use canele_mem::buffer::RawBlock;
use canele_mpi::Tag;

use super::LARGEST_TAG;
use super::route::{MOST_BYTES, Route, known, known_with_tag};
use crate::constants::MPI_REQUEST_NULL;
use crate::error::CallResult;
use crate::handle::{MPI_Comm, MPI_Datatype, MPI_Request};
use crate::library;
use crate::pointer::{Out, RecvBuffer, SendBuffer};
use crate::requests::{got_at_once, is_deferred, lane_of, make_room_to_defer};
use crate::status::{Got, StatusOut};
use crate::width::Count;

/// The outcome of a call on the short path.
#[derive(Clone, Copy)]
pub enum Attempt {
    /// The call is done.
    Done,
    /// The call is done, and the peer of this route must be woken.
    ToSleeper(&'static Route),
    /// Nothing has changed; the general path does the call.
    Left,
    /// The route is known and nothing has changed. The message of this many bytes does not fit into a cell,
    /// or the short path refused it. The next function that tries the call gets this route, and needs no
    /// arguments that follow from route and length.
    LeftOn(&'static Route, usize),
}

impl Attempt {
    /// Completes a send. It wakes the peer, calls `left` if no attempt was made, or calls `refused` if the
    /// attempt failed.
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

    /// Returns true if the call, a receive, is done.
    pub fn is_done(self) -> bool {
        matches!(self, Self::Done)
    }
}

#[inline(always)]
fn is_tag(tag: c_int) -> bool {
    tag as u32 <= LARGEST_TAG as u32
}

/// Sends a message if it can be sent at once.
#[inline(always)]
pub fn send_at_once(
    buffer: SendBuffer,
    (count, datatype): (Count, MPI_Datatype),
    (rank, tag): (c_int, c_int),
    comm: MPI_Comm,
) -> Attempt {
    let Some(route) = known(comm, datatype, rank) else { return Attempt::Left };
    send_on(route, buffer, count, tag)
}

/// Sends a message on a route if it can be sent at once.
#[inline(always)]
pub fn send_on(route: &'static Route, buffer: SendBuffer, count: Count, tag: c_int) -> Attempt {
    let Some(bytes) = route.bytes(count, MAX_INLINE) else { return route.longer(count) };
    if buffer.is_null() {
        return Attempt::Left;
    }
    if !is_tag(tag) {
        return Attempt::LeftOn(route, bytes);
    }
    // SAFETY: not null; the program gives this many bytes to be read as long as the call lasts.
    let bytes = unsafe { core::slice::from_raw_parts(buffer.cast(), bytes) };
    match route.engine.try_send_short(&route.address, Tag(tag as u32), bytes) {
        None | Some(ShortSent::Left) => Attempt::LeftOn(route, bytes.len()),
        Some(ShortSent::Done) => Attempt::Done,
        Some(ShortSent::ToSleeper) => Attempt::ToSleeper(route),
    }
}

/// Sends a message at once whose length exceeds a cell, or from a thread without bias. The caller has a
/// frame. An outcome of [`Attempt::LeftOn`] says that the whole attempt failed.
#[inline(always)]
pub fn send_next(
    buffer: SendBuffer,
    (count, datatype): (Count, MPI_Datatype),
    (rank, tag): (c_int, c_int),
    comm: MPI_Comm,
) -> Attempt {
    let Some(route) = known_with_tag(comm, datatype, (rank, tag)) else { return Attempt::Left };
    let Some(bytes) = route.bytes(count, MOST_BYTES) else { return Attempt::Left };
    if buffer.is_null() || !is_tag(tag) {
        return Attempt::Left;
    }
    // SAFETY: not null; the program gives this many bytes to be read as long as the call lasts.
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

/// Receives a message that fits into a cell, if it is the next one of its source.
#[inline(always)]
pub fn receive_at_once(
    buffer: RecvBuffer,
    (count, datatype): (Count, MPI_Datatype),
    (rank, tag): (c_int, c_int),
    comm: MPI_Comm,
    status: StatusOut,
) -> Attempt {
    let Some(route) = known(comm, datatype, rank) else { return Attempt::Left };
    receive_on(route, buffer, count, tag, status)
}

/// Receives a message on a route ([`receive_at_once`]).
#[inline(always)]
pub fn receive_on(
    route: &'static Route,
    buffer: RecvBuffer,
    count: Count,
    tag: c_int,
    status: StatusOut,
) -> Attempt {
    let Some(bytes) = route.bytes(count, MAX_INLINE) else { return route.longer(count) };
    if buffer.is_null() {
        return Attempt::Left;
    }
    if !is_tag(tag) {
        return Attempt::LeftOn(route, bytes);
    }
    // SAFETY: not null; the program gives this many bytes to be written as long as the call lasts.
    let into = unsafe { core::slice::from_raw_parts_mut(buffer.cast(), bytes) };
    match route.engine.try_receive_short(&route.address, Tag(tag as u32), into) {
        Some(bytes) => {
            status.set_received(route.rank(), tag, bytes);
            Attempt::Done
        }
        None => Attempt::LeftOn(route, bytes),
    }
}

/// Receives a longer message, or one that arrives soon, for a caller with a frame ([`receive_at_once`]).
#[inline(always)]
pub fn receive_next(
    buffer: RecvBuffer,
    (count, datatype): (Count, MPI_Datatype),
    (rank, tag): (c_int, c_int),
    comm: MPI_Comm,
) -> Option<usize> {
    let route = known_with_tag(comm, datatype, (rank, tag))?;
    let bytes = route.bytes(count, MOST_BYTES)?;
    if buffer.is_null() || !is_tag(tag) {
        return None;
    }
    // SAFETY: as above.
    let into = unsafe { core::slice::from_raw_parts_mut(buffer.cast(), bytes) };
    route.engine.receive_next(route.source.source(), route.source.flow(), Tag(tag as u32), into)
}

/// Defers a receive, if possible; stores its handle.
#[inline(always)]
pub fn defer_at_once(
    buffer: RecvBuffer,
    (count, datatype): (Count, MPI_Datatype),
    (rank, tag): (c_int, c_int),
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> Attempt {
    let Some(route) = known(comm, datatype, rank) else { return Attempt::Left };
    defer_on(route, buffer, count, tag, request)
}

/// Defers a receive on a route ([`defer_at_once`]).
#[inline(always)]
pub fn defer_on(
    route: &'static Route,
    buffer: RecvBuffer,
    count: Count,
    tag: c_int,
    request: Out<MPI_Request>,
) -> Attempt {
    let Some(bytes) = route.bytes(count, MOST_BYTES) else { return Attempt::Left };
    if buffer.is_null() {
        return Attempt::Left;
    }
    if !is_tag(tag) {
        return Attempt::LeftOn(route, bytes);
    }
    // SAFETY: not null; the program gives this many bytes to be written until the receive ends (MPI 5.0,
    // §3.7.2).
    let into = unsafe { RawBlock::new(buffer.cast(), bytes as u32) };
    match route.engine.defer_recv(&route.source, Tag(tag as u32), into) {
        Some(name) => {
            request.put(MPI_Request::of(name as usize));
            Attempt::Done
        }
        None => Attempt::LeftOn(route, bytes),
    }
}

/// Defers a receive of a thread without bias, or one whose slot is not the next free one; returns true on
/// success ([`defer_at_once`]).
#[inline(always)]
pub fn defer_next(
    buffer: RecvBuffer,
    (count, datatype): (Count, MPI_Datatype),
    (rank, tag): (c_int, c_int),
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> bool {
    let Some(route) = known_with_tag(comm, datatype, (rank, tag)) else { return false };
    let Some(bytes) = route.bytes(count, MOST_BYTES) else { return false };
    if buffer.is_null() || !is_tag(tag) {
        return false;
    }
    let defer = || {
        // SAFETY: as above; of several values that are made here one is kept.
        let into = unsafe { RawBlock::new(buffer.cast(), bytes as u32) };
        route.engine.defer_otherwise(&route.source, Tag(tag as u32), into)
    };
    let deferral = match defer() {
        Deferral::Full if make_room_to_defer(route.engine) => defer(),
        deferral => deferral,
    };
    match deferral {
        Deferral::Done(name) => {
            request.put(MPI_Request::of(name as usize));
            true
        }
        Deferral::Full | Deferral::NotNow => false,
    }
}

/// Completes the requests at the front of an array that need no look-up in the table. These are sends that
/// have left, receives from `MPI_PROC_NULL`, null handles, and arrived deferred receives in order. Returns
/// their number.
#[inline(always)]
pub fn end_front(handles: &mut [MPI_Request], statuses: StatusOut) -> usize {
    end_with(handles, 0, statuses, |lane, handles, told| lane.end_deferred::<RequestHandles>(handles, told))
}

/// Completes requests from an index on, for a caller that waits ([`end_front`]). It polls a while for the
/// message of the next receive. Returns the index behind the completed ones.
#[inline(never)]
pub fn end_front_soon(handles: &mut [MPI_Request], from: usize, statuses: StatusOut) -> usize {
    end_with(handles, from, statuses, |lane, handles, told| {
        lane.end_deferred_soon::<RequestHandles>(handles, told)
    })
}

#[inline(always)]
fn end_with(
    handles: &mut [MPI_Request],
    from: usize,
    statuses: StatusOut,
    end_deferred: impl Fn(&Engine, &mut [MPI_Request], Option<DeferredEnd<'_, '_>>) -> usize,
) -> usize {
    let mut ended = from;
    loop {
        ended = end_sends(handles, ended, statuses);
        let Some(handle) = handles.get(ended).copied().filter(|handle| is_deferred(*handle)) else {
            return ended;
        };
        let Ok(engine) = library::engine() else { return ended };
        let Some(lane) = engine.lane_if_open(lane_of(handle) as u8) else { return ended };
        let mut told = |at: usize, receive: &DeferredRecv, bytes: usize| {
            let comm = MPI_Comm::of(receive.word() as usize);
            statuses.set_got_at(ended + at, Got::Received(comm, receive.status(bytes)));
        };
        let told: Option<DeferredEnd<'_, '_>> = if statuses.is_wanted() { Some(&mut told) } else { None };
        match end_deferred(lane, &mut handles[ended..], told) {
            0 => return ended,
            more => ended += more,
        }
    }
}

/// Completes sends that have left, receives from `MPI_PROC_NULL` and null handles from an index on; returns
/// the index behind them.
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

/// Handles of requests, some of which are names of deferred receives.
struct RequestHandles;

impl DeferredHandles for RequestHandles {
    type Handle = MPI_Request;

    #[inline(always)]
    fn is_of(handle: &MPI_Request, name: u32) -> bool {
        handle.value() == name as usize
    }

    #[inline(always)]
    fn end(handle: &mut MPI_Request) {
        *handle = MPI_REQUEST_NULL;
    }
}
