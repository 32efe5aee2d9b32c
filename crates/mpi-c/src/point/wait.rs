//! Waits for one request or a list, in their rows of the table.
//!
//! Requests advance themselves; this module handles their handles and locks. A pass over an array advances
//! all requests while it holds the lock of the table and that of the engine. It releases both locks for a
//! request that may call the program. A thread that waits holds no lock of the table.

use std::sync::Arc;

use canele_engine::{Completions, Engine, LaneSet};
use canele_mpi::awaited::Awaited;
use canele_mpi::request::{Request, RequestProgress};
use canele_mpi::{Class, Comm, Errhandler, Error, Result, Status};
use canele_sys::biased_lock::Guard;

use crate::constants::MPI_REQUEST_NULL;
use crate::error::{CallResult, Failed, raise_on};
use crate::handle::MPI_Request;
use crate::library;
use crate::requests::{
    Requests, all_requests, got_at_once, lane_of, progress_without_row, requests, requests_with,
    requests_with_all, status_at_once,
};
use crate::status::{Got, StatusOut};

/// The result of a request, and the communicator for its error.
pub struct End {
    /// The status or the error.
    pub result: Result<Status>,
    comm: Option<Arc<Comm>>,
}

impl End {
    fn empty() -> Self {
        Self { result: Ok(Status::EMPTY), comm: None }
    }

    /// Returns the communicator of a failed request, if it has one.
    pub fn comm(&self) -> Option<&Comm> {
        self.comm.as_deref()
    }

    /// Stores the status, or calls the error handler of a failed request.
    ///
    /// # Errors
    /// Fails if the request failed.
    pub fn store(self, status: StatusOut, function: &str) -> CallResult {
        match self.result {
            Ok(of) => Ok(status.set(of)),
            Err(error) => {
                status.set_failed(self.comm.as_deref(), &error);
                Err(raise(self.comm.as_deref(), function, error))
            }
        }
    }

    /// Calls the error handler for a list of requests, of which this is the first that failed.
    pub fn raise(&self, function: &str, error: Box<Error>) -> Failed {
        let died = matches!(&self.result, Err(error) if error.class == Class::ProcFailed);
        let is_fatal = |comm: &Arc<Comm>| matches!(*comm.errhandler(), Errhandler::Fatal | Errhandler::Abort);
        if died && self.comm.as_ref().is_some_and(is_fatal) {
            library::await_end();
        }
        raise(self.comm.as_deref(), function, error)
    }
}

/// Calls the error handler of the request's communicator, if it has one.
pub(super) fn raise(comm: Option<&Comm>, function: &str, error: Box<Error>) -> Failed {
    match comm {
        Some(comm) => Failed::Raised(raise_on(comm, function, &error)),
        None => Failed::Error(error),
    }
}

/// Calls the error handler of a request's communicator with the error of a call.
pub(super) fn raise_of(handle: MPI_Request, function: &str, error: Box<Error>) -> Failed {
    let comm = requests_with(handle).ok().and_then(|mut table| table.get(handle).ok()?.comm().cloned());
    raise(comm.as_deref(), function, error)
}

/// Advances the requests of an array as far as possible and passes the progress of each to `each`, while
/// `each` returns true. `each` must not use the table. Returns the lanes of the requests.
///
/// # Errors
/// Fails if a handle names no request, and in a forked child.
pub(super) fn advance(
    handles: &[MPI_Request],
    mut each: impl FnMut(usize, RequestProgress) -> bool,
) -> Result<LaneSet> {
    let engine = library::engine()?;
    let mut lanes = LaneSet::default();
    let mut at = 0;
    while let Some(first) = handles.get(at) {
        let mut table = requests_with_all(*first, &handles[at..])?;
        let stopped = engine.completions(|completions| -> Result<Stopped> {
            let mut stopped = Stopped::ByCaller;
            for (at, handle) in handles.iter().enumerate().skip(at) {
                let progress = match progress_without_row(*handle) {
                    Some(progress) => progress,
                    None if lane_of(*handle) != lane_of(*first) => {
                        stopped = Stopped::ByTable(at);
                        break;
                    }
                    None => table.get(*handle)?.advance(completions),
                };
                if progress == RequestProgress::Outside {
                    stopped = Stopped::Outside(at);
                    break;
                }
                if !each(at, progress) {
                    break;
                }
            }
            lanes = lanes.and(completions.asked());
            Ok(stopped)
        })??;
        drop(table);
        let outside = match stopped {
            Stopped::ByCaller => return Ok(lanes),
            Stopped::ByTable(next) => {
                at = next;
                continue;
            }
            Stopped::Outside(outside) => outside,
        };
        let goes_on = each(outside, advance_outside(handles[outside], engine)?);
        let mut table = requests_with(handles[outside])?;
        let pending = table.get(handles[outside]).ok().and_then(|request| request.pending());
        drop(table);
        lanes = pending.map_or(lanes, |pending| lanes.and(pending.lanes()));
        if !goes_on {
            return Ok(lanes);
        }
        at = outside + 1;
    }
    Ok(lanes)
}

/// The reason why a pass over an array stopped.
enum Stopped {
    /// All requests were visited, or the caller stopped the pass.
    ByCaller,
    /// The handle at this index is in another table than those before it.
    ByTable(usize),
    /// The request at this index may call the program.
    Outside(usize),
}

/// Advances a request that may call the program, without the lock of the table.
fn advance_outside(handle: MPI_Request, engine: &Engine) -> Result<RequestProgress> {
    let mut table = requests_with(handle)?;
    // Other threads can access such an operation in the table meanwhile.
    if let Some(operation) = table.get(handle)?.operation().cloned() {
        drop(table);
        return Request::foreign(None, operation).advance_outside(engine);
    }
    let mut request = table.take(handle)?;
    drop(table);
    let progress = request.advance_outside(engine);
    requests_with(handle)?.put(handle, request);
    progress
}

/// Returns true if all requests of a non-empty array are pending messages, after some progress. Otherwise the
/// state is unknown, and no result was taken. It is the short path of a test, with one entry into each lock.
pub(super) fn are_under_way(handles: &[MPI_Request]) -> bool {
    let first = handles[0];
    if handles.iter().any(|handle| lane_of(*handle) != lane_of(first)) {
        return false;
    }
    let (Ok(mut table), Ok(engine)) = (requests_with_all(first, handles), library::engine()) else {
        return false;
    };
    let one_is_not = |completions: &mut Completions<'_>| {
        // After a death, some requests may have to report it.
        let is_under_way = |handle| {
            let pending = table.message(handle);
            pending.is_some_and(|pending| !completions.has_ended(pending) && !completions.any_deaths(pending))
        };
        (!handles.iter().copied().all(is_under_way)).then_some(())
    };
    matches!(engine.completions_or_poll(one_is_not), Ok(None))
}

/// Waits until a request of an array can advance.
///
/// # Errors
/// Fails if a handle names no request, and in a forked child.
fn await_any(handles: &[MPI_Request]) -> Result<()> {
    let mut awaited = Awaited::default();
    for handle in handles.iter().filter(|handle| **handle != MPI_REQUEST_NULL) {
        awaited.add(requests_with(*handle)?.get(*handle)?);
    }
    // A further check sees steps that the program made before the wait.
    let mut goes_on = false;
    if awaited.is_of_program() {
        advance(handles, |_, progress| {
            goes_on = progress == RequestProgress::Ended;
            !goes_on
        })?;
    }
    if goes_on { Ok(()) } else { awaited.wait(library::engine()?) }
}

/// Returns the index of the first completed request of an array, after a wait if `waits`. Otherwise returns
/// true if a request is active.
///
/// # Errors
/// Fails if a handle names no request, and in a forked child.
pub(super) fn first_ended(handles: &[MPI_Request], waits: bool) -> Result<Result<usize, bool>> {
    let mut looks_once_more = !waits;
    loop {
        let (mut ended, mut active) = (None, false);
        let lanes = advance(handles, |at, progress| {
            active |= progress != RequestProgress::Inactive;
            ended = (progress == RequestProgress::Ended).then_some(at);
            ended.is_none()
        })?;
        match ended {
            Some(at) => return Ok(Ok(at)),
            None if active && waits => await_any(handles)?,
            // Requests that the pass did not advance are unchanged.
            None if active && looks_once_more && library::engine()?.poll_lanes(lanes)? => {
                looks_once_more = false
            }
            None => return Ok(Err(active)),
        }
    }
}

/// Returns the numbers of pending and of completed requests of an array, after one pass of the engine unless
/// none is pending.
///
/// # Errors
/// Fails if a handle names no request, and in a forked child.
pub(super) fn count(handles: &[MPI_Request]) -> Result<(usize, usize)> {
    let look = || -> Result<((usize, usize), LaneSet)> {
        let (mut under_way, mut ended) = (0, 0);
        let lanes = advance(handles, |_, progress| {
            under_way += usize::from(progress == RequestProgress::UnderWay);
            ended += usize::from(progress == RequestProgress::Ended);
            true
        })?;
        Ok(((under_way, ended), lanes))
    };
    let (counted, lanes) = look()?;
    if counted.0 == 0 || !library::engine()?.poll_lanes(lanes)? {
        return Ok(counted);
    }
    Ok(look()?.0)
}

/// Returns true if a request has completed, as of the last pass.
///
/// # Errors
/// Fails if the handle names no request, and in a forked child.
pub(super) fn has_ended(handle: MPI_Request) -> Result<bool> {
    match progress_without_row(handle) {
        Some(progress) => Ok(progress == RequestProgress::Ended),
        None => Ok(requests_with(handle)?.get(handle)?.is_ended()),
    }
}

/// Takes the result of a completed request. Its handle becomes null, unless it is persistent or stays pending
/// after a reported failure.
///
/// # Errors
/// Fails if the handle names no request, and in a forked child.
pub(super) fn take_end(handle: &mut MPI_Request) -> Result<End> {
    if let Some(status) = status_at_once(*handle) {
        *handle = MPI_REQUEST_NULL;
        return Ok(End { result: Ok(status), comm: None });
    }
    let mut table = requests_with(*handle)?;
    let request = table.get(*handle)?;
    if request.is_persistent() || request.is_in_doubt() {
        let result = request.take().unwrap_or(Ok(Status::EMPTY));
        let comm = if result.is_err() { request.comm().cloned() } else { None };
        return Ok(End { result, comm });
    }
    let freed = table.free(*handle);
    // A function of the program may be called, which may use requests.
    drop(table);
    let Some(mut request) = freed else { return Ok(End::empty()) };
    *handle = MPI_REQUEST_NULL;
    let result = request.take().unwrap_or(Ok(Status::EMPTY));
    let comm = if result.is_err() { request.comm().cloned() } else { None };
    Ok(End { result, comm })
}

/// Waits for the request of a handle, which becomes null unless the request is persistent.
///
/// # Errors
/// Fails if the handle names no request.
pub fn wait(handle: &mut MPI_Request) -> Result<End> {
    match first_ended(core::slice::from_ref(handle), true)? {
        Ok(_) => take_end(handle),
        Err(_) => Ok(End::empty()),
    }
}

/// Takes the results of messages at the front of an array, up to the first pending one; returns their number.
/// `each` gets the index and the result. Deferred receives are submitted where it stops.
///
/// # Errors
/// Fails in a forked child.
pub fn take_messages(handles: &mut [MPI_Request], mut each: impl FnMut(usize, Got)) -> Result<usize> {
    // The caller calls again for the rest. So that the cost of one call does not grow with the array, a call
    // takes a limited number.
    let most = handles.len().min(MOST_AT_ONCE);
    let handles = &mut handles[..most];
    let with_row = handles.iter().find(|handle| progress_without_row(**handle).is_none());
    let first = with_row.copied().unwrap_or(MPI_REQUEST_NULL);
    let (lane, mut table) = (lane_of(first), requests_with_all(first, handles)?);
    let taken = library::engine()?.completions(|completions| {
        for (at, handle) in handles.iter_mut().enumerate() {
            let got = got_at_once(*handle).or_else(|| match lane_of(*handle) == lane {
                true => table.end_message(*handle, completions),
                false => None,
            });
            let Some(got) = got else { return at };
            *handle = MPI_REQUEST_NULL;
            each(at, got);
        }
        handles.len()
    })?;
    Ok(taken)
}

/// Number of messages that are taken at once.
const MOST_AT_ONCE: usize = 256;

/// Number of freed requests that one call advances, so that its cost does not depend on their total number.
pub(super) const ORPHANS_PER_CALL: usize = 4;

/// Advances at most `most` freed requests in the table of this handle, in turn.
///
/// # Errors
/// Fails in a forked child.
pub fn sweep(beside: MPI_Request, most: usize) -> Result<()> {
    let orphans = requests_with(beside)?.take_orphans(most);
    look_after(orphans, || requests_with(beside))
}

/// Advances all freed requests.
///
/// # Errors
/// Fails in a forked child.
pub fn sweep_all() -> Result<()> {
    let orphans = all_requests().map(|table| Ok(table?.take_orphans(usize::MAX)));
    let orphans = orphans.collect::<Result<Vec<_>>>()?;
    orphans.into_iter().try_for_each(|orphans| look_after(orphans, requests))
}

/// Advances freed requests; pending ones are put back.
fn look_after(orphans: Vec<Request>, table: impl Fn() -> Result<Guard<'static, Requests>>) -> Result<()> {
    if orphans.is_empty() {
        return Ok(());
    }
    let engine = library::engine()?;
    for mut request in orphans {
        if request.advance_outside(engine)? == RequestProgress::UnderWay {
            table()?.orphan(request);
        }
    }
    Ok(())
}
