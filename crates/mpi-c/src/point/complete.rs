//! The calls that complete requests (MPI 5.0, §3.7.3, §3.7.5), cancel them and free them.

use core::ffi::c_int;

use canele_mpi::{Class, Error, Result, Status};

use super::short;
use super::wait::{self, End};
use crate::codes::keep;
use crate::constants::*;
use crate::error::{CallResult, Failed};
use crate::handle::MPI_Request;
use crate::pointer::Out;
use crate::requests::{is_over_at_once, requests_with};
use crate::status::{Got, StatusOut};

/// `MPI_Wait`.
#[inline(always)]
pub fn wait(request: Out<MPI_Request>, status: StatusOut) -> CallResult {
    let handle = request.slice(1, "request")?;
    if short::end_front(handle, status) == 1 { Ok(()) } else { wait_otherwise(handle, status) }
}

/// Waits by the general path.
#[inline(never)]
fn wait_otherwise(handle: &mut [MPI_Request], status: StatusOut) -> CallResult {
    if short::end_front_soon(handle, 0, status) == 1 {
        return Ok(());
    }
    if wait::take_messages(handle, |_, got| status.set_got_at(0, got))? == 1 {
        return Ok(());
    }
    wait::wait(&mut handle[0])?.store(status, "MPI_Wait")
}

/// `MPI_Test`.
pub fn test(request: Out<MPI_Request>, flag: Out<c_int>, status: StatusOut) -> CallResult {
    test_any(request.slice(1, "request")?, Out::at(0), flag, status, "MPI_Test")
}

/// `MPI_Waitany`.
pub fn waitany(count: c_int, requests: Out<MPI_Request>, index: Out<c_int>, status: StatusOut) -> CallResult {
    let handles = array(count, requests)?;
    match wait::first_ended(handles, true)? {
        Ok(at) => give_one(handles, at, index, status, "MPI_Waitany"),
        Err(_) => {
            status.set_empty();
            Ok(index.set(MPI_UNDEFINED, "index")?)
        }
    }
}

/// `MPI_Testany`.
pub fn testany(
    count: c_int,
    requests: Out<MPI_Request>,
    index: Out<c_int>,
    flag: Out<c_int>,
    status: StatusOut,
) -> CallResult {
    test_any(array(count, requests)?, index, flag, status, "MPI_Testany")
}

/// Tests for the completion of any request; `index` may be null.
fn test_any(
    handles: &mut [MPI_Request],
    index: Out<c_int>,
    flag: Out<c_int>,
    status: StatusOut,
    function: &str,
) -> CallResult {
    // Most tests come from programs that poll.
    if !handles.is_empty() && wait::are_under_way(handles) {
        flag.set(0, "flag")?;
        return if index.is_null() { Ok(()) } else { Ok(index.set(MPI_UNDEFINED, "index")?) };
    }
    match wait::first_ended(handles, false)? {
        Ok(at) => {
            flag.set(1, "flag")?;
            give_one(handles, at, index, status, function)
        }
        Err(active) => {
            flag.set(c_int::from(!active), "flag")?;
            if !active {
                status.set_empty();
            }
            if index.is_null() { Ok(()) } else { Ok(index.set(MPI_UNDEFINED, "index")?) }
        }
    }
}

/// Takes the result of one request of an array.
fn give_one(
    handles: &mut [MPI_Request],
    at: usize,
    index: Out<c_int>,
    status: StatusOut,
    function: &str,
) -> CallResult {
    if !index.is_null() {
        index.set(at as c_int, "index")?;
    }
    wait::take_end(&mut handles[at])?.store(status, function)
}

/// `MPI_Waitall`.
#[inline(always)]
pub fn waitall(count: c_int, requests: Out<MPI_Request>, statuses: StatusOut) -> CallResult {
    let handles = array(count, requests)?;
    match short::end_front(handles, statuses) {
        ended if ended == handles.len() => Ok(()),
        ended => wait_all_otherwise(handles, ended, statuses),
    }
}

/// Waits for all by the general path; the requests before `first` have completed.
#[inline(never)]
fn wait_all_otherwise(handles: &mut [MPI_Request], mut first: usize, statuses: StatusOut) -> CallResult {
    let mut ends = Ends::new(statuses, "MPI_Waitall");
    loop {
        let ended = short::end_front_soon(handles, first, statuses);
        ends.put_ended(first..ended);
        first = ended;
        first += wait::take_messages(&mut handles[first..], |at, got| ends.put_got(first + at, got))?;
        let Some(handle) = handles.get_mut(first) else { return ends.finish() };
        let end = wait::wait(handle)?;
        ends.put(first, first, end);
        first += 1;
    }
}

/// `MPI_Testall`.
pub fn testall(
    count: c_int,
    requests: Out<MPI_Request>,
    flag: Out<c_int>,
    statuses: StatusOut,
) -> CallResult {
    let handles = array(count, requests)?;
    let (under_way, _) = wait::count(handles)?;
    flag.set(c_int::from(under_way == 0), "flag")?;
    if under_way > 0 {
        return Ok(());
    }
    let mut ends = Ends::new(statuses, "MPI_Testall");
    for (at, handle) in handles.iter_mut().enumerate() {
        if wait::has_ended(*handle)? {
            let end = wait::take_end(handle)?;
            ends.put(at, at, end);
        } else {
            statuses.set_empty_at(at);
        }
    }
    ends.finish()
}

/// `MPI_Waitsome`.
pub fn waitsome(
    incount: c_int,
    requests: Out<MPI_Request>,
    outcount: Out<c_int>,
    indices: Out<c_int>,
    statuses: StatusOut,
) -> CallResult {
    let handles = array(incount, requests)?;
    let active = !matches!(wait::first_ended(handles, true)?, Err(false));
    give_some(handles, active, (outcount, indices, statuses), "MPI_Waitsome")
}

/// `MPI_Testsome`.
pub fn testsome(
    incount: c_int,
    requests: Out<MPI_Request>,
    outcount: Out<c_int>,
    indices: Out<c_int>,
    statuses: StatusOut,
) -> CallResult {
    let handles = array(incount, requests)?;
    let active = wait::count(handles)? != (0, 0);
    give_some(handles, active, (outcount, indices, statuses), "MPI_Testsome")
}

/// Takes the results of all completed requests of an array.
fn give_some(
    handles: &mut [MPI_Request],
    active: bool,
    (outcount, indices, statuses): (Out<c_int>, Out<c_int>, StatusOut),
    function: &'static str,
) -> CallResult {
    if !active {
        return Ok(outcount.set(MPI_UNDEFINED, "outcount")?);
    }
    wait::advance(handles, |_, _| true)?;
    let (mut n, mut ends) = (0, Ends::new(statuses, function));
    for (at, handle) in handles.iter_mut().enumerate() {
        if wait::has_ended(*handle)? {
            indices.set_at(n, at as c_int, "array_of_indices")?;
            let end = wait::take_end(handle)?;
            ends.put(n, at, end);
            n += 1;
        }
    }
    outcount.set(n as c_int, "outcount")?;
    ends.finish()
}

/// The results of a list; if one failed, each status gets an error code of its own (MPI 5.0, §3.7.5).
struct Ends {
    statuses: StatusOut,
    function: &'static str,
    failed: Option<(String, End)>,
}

impl Ends {
    fn new(statuses: StatusOut, function: &'static str) -> Self {
        Self { statuses, function, failed: None }
    }

    /// Adds a message of the array that was received successfully.
    #[inline(always)]
    fn put_got(&mut self, at: usize, got: Got) {
        if self.statuses.is_wanted() {
            self.statuses.set_got_at(at, got);
            if self.failed.is_some() {
                self.statuses.set_error_at(at, MPI_SUCCESS);
            }
        }
    }

    /// Adds successful messages of the array whose statuses are stored.
    fn put_ended(&mut self, at: core::ops::Range<usize>) {
        if self.failed.is_some() {
            at.for_each(|at| self.statuses.set_error_at(at, MPI_SUCCESS));
        }
    }

    /// Adds the result of request `at` of the array; its status is number `n`.
    #[inline]
    fn put(&mut self, n: usize, at: usize, end: End) {
        match &end.result {
            Ok(status) => {
                self.statuses.set_at(n, *status);
                if self.failed.is_some() {
                    self.statuses.set_error_at(n, MPI_SUCCESS);
                }
            }
            Err(error) => {
                // Source and tag of a truncated message are known.
                let status = end.comm().zip(error.message).map(|(comm, message)| comm.status(message));
                let status = status.unwrap_or(Status::EMPTY);
                let code = error.given.unwrap_or_else(|| {
                    keep(error.class, format!("{}: request {at}: {error}", self.function))
                });
                if self.failed.is_none() {
                    (0..n).for_each(|before| self.statuses.set_error_at(before, MPI_SUCCESS));
                    self.failed = Some((format!("request {at}: {error}"), end));
                }
                self.statuses.set_at(n, status);
                self.statuses.set_error_at(n, code);
            }
        }
    }

    fn finish(self) -> CallResult {
        match self.failed {
            None => Ok(()),
            Some((text, end)) => Err(end.raise(self.function, Error::new(Class::InStatus, text))),
        }
    }
}

/// `MPI_Cancel`.
pub fn cancel(request: Out<MPI_Request>) -> CallResult {
    let handle = request.get("request")?;
    cancel_request(handle).map_err(|error| wait::raise_of(handle, "MPI_Cancel", error))
}

fn cancel_request(handle: MPI_Request) -> Result<()> {
    // A completed request cannot be cancelled.
    if is_over_at_once(handle) {
        return Ok(());
    }
    let mut table = requests_with(handle)?;
    // The program's function may use requests, so the table must not be locked.
    if let Ok(operation) = table.foreign(handle) {
        drop(table);
        return operation.cancel();
    }
    table.get(handle)?.cancel()
}

/// `MPI_Request_free`.
pub fn request_free(request: Out<MPI_Request>) -> CallResult {
    let handle = request.get("request")?;
    if !is_over_at_once(handle) {
        let given = requests_with(handle)?.give_up(handle)?;
        if let Some(mut given) = given {
            let comm = given.comm().cloned();
            given.give_up().map_err(|error| wait::raise(comm.as_deref(), "MPI_Request_free", error))?;
            if given.is_active() && !given.is_ended() {
                requests_with(handle)?.orphan(given);
            }
        }
    }
    request.set(MPI_REQUEST_NULL, "request")?;
    Ok(wait::sweep(handle, wait::ORPHANS_PER_CALL)?)
}

/// Returns the handles of an array.
#[inline(always)]
pub(super) fn array<'a>(count: c_int, requests: Out<MPI_Request>) -> Result<&'a mut [MPI_Request], Failed> {
    match usize::try_from(count) {
        Ok(n) => Ok(requests.slice(n, "array_of_requests")?),
        Err(_) => Err(Error::new(Class::Count, format!("count is {count}: it must not be negative")).into()),
    }
}
