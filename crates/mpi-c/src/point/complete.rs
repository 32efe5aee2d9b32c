//! The calls that wait for and test requests (MPI 5.0, §3.7.3, §3.7.5), and those that give them up.

use core::ffi::c_int;

use canele_mpi::{Class, Error, Status};

use super::short;
use super::wait::{self, End, List};
use crate::codes::keep;
use crate::constants::*;
use crate::error::{Failed, Outcome};
use crate::handle::MPI_Request;
use crate::pointer::Out;
use crate::requests::{LEFT, requests};
use crate::status::{Got, StatusOut};

/// `MPI_Wait`.
#[inline(always)]
pub fn wait(request: Out<MPI_Request>, status: StatusOut) -> Outcome {
    let handle = request.slice(1, "request")?;
    if short::end_front(handle, status) == 1 { Ok(()) } else { wait_otherwise(handle, status) }
}

/// The general path of a wait.
#[inline(never)]
fn wait_otherwise(handle: &mut [MPI_Request], status: StatusOut) -> Outcome {
    let take = |handle: &mut [MPI_Request]| {
        wait::take_messages(handle, |_, got| status.set_got_at(0, got)).map(|taken| taken == 1)
    };
    if take(handle)? || wait::await_message(handle[0])? && take(handle)? {
        return Ok(());
    }
    Ok(status.set(wait::wait(&mut handle[0])?.status("MPI_Wait")?))
}

/// `MPI_Test`.
pub fn test(request: Out<MPI_Request>, flag: Out<c_int>, status: StatusOut) -> Outcome {
    let mut list = List::take(request.slice(1, "request")?)?;
    if list.is_empty() {
        status.set_empty();
        return Ok(flag.set(1, "flag")?);
    }
    list.look()?;
    let ended = list.take_ended()?;
    flag.set(c_int::from(ended.is_some()), "flag")?;
    if let Some((_, end)) = ended {
        status.set(end.status("MPI_Test")?);
    }
    Ok(())
}

/// `MPI_Waitany`.
pub fn waitany(count: c_int, requests: Out<MPI_Request>, index: Out<c_int>, status: StatusOut) -> Outcome {
    let mut list = List::take(array(count, requests)?)?;
    list.wait_any()?;
    give_any(&mut list, index, status, "MPI_Waitany")
}

/// `MPI_Testany`.
pub fn testany(
    count: c_int,
    requests: Out<MPI_Request>,
    index: Out<c_int>,
    flag: Out<c_int>,
    status: StatusOut,
) -> Outcome {
    let mut list = List::take(array(count, requests)?)?;
    if list.is_empty() {
        flag.set(1, "flag")?;
        return give_any(&mut list, index, status, "MPI_Testany");
    }
    list.look()?;
    match list.take_ended()? {
        Some((at, end)) => {
            flag.set(1, "flag")?;
            index.set(at as c_int, "index")?;
            Ok(status.set(end.status("MPI_Testany")?))
        }
        None => {
            flag.set(0, "flag")?;
            Ok(index.set(MPI_UNDEFINED, "index")?)
        }
    }
}

fn give_any(list: &mut List<'_>, index: Out<c_int>, status: StatusOut, function: &str) -> Outcome {
    match list.take_ended()? {
        Some((at, end)) => {
            index.set(at as c_int, "index")?;
            status.set(end.status(function)?);
        }
        None => {
            index.set(MPI_UNDEFINED, "index")?;
            status.set_empty();
        }
    }
    Ok(())
}

/// `MPI_Waitall`.
#[inline(always)]
pub fn waitall(count: c_int, requests: Out<MPI_Request>, statuses: StatusOut) -> Outcome {
    let handles = array(count, requests)?;
    match short::end_front(handles, statuses) {
        ended if ended == handles.len() => Ok(()),
        ended => wait_all_otherwise(handles, ended, statuses),
    }
}

/// The general path of a wait for all, of which so many have ended.
#[inline(never)]
fn wait_all_otherwise(handles: &mut [MPI_Request], mut first: usize, statuses: StatusOut) -> Outcome {
    let mut ends = Ends::new(statuses, "MPI_Waitall");
    loop {
        first += wait::take_messages(&mut handles[first..], |at, got| ends.put_got(first + at, got))?;
        let Some(handle) = handles.get_mut(first) else { return ends.finish() };
        let ended = wait::await_message(*handle)?;
        let this = core::slice::from_mut(handle);
        if !ended || wait::take_messages(this, |_, got| ends.put_got(first, got))? == 0 {
            let end = wait::wait(handle)?;
            ends.put(first, first, end);
        }
        first += 1;
    }
}

/// `MPI_Testall`.
pub fn testall(count: c_int, requests: Out<MPI_Request>, flag: Out<c_int>, statuses: StatusOut) -> Outcome {
    let handles = array(count, requests)?;
    let mut list = List::take(handles)?;
    list.look()?;
    let all = list.all_ended();
    flag.set(c_int::from(all), "flag")?;
    if !all {
        return Ok(());
    }
    for at in 0..count as usize {
        statuses.set_empty_at(at);
    }
    let mut ends = Ends::new(statuses, "MPI_Testall");
    while let Some((at, end)) = list.take_ended()? {
        ends.put(at, at, end);
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
) -> Outcome {
    let mut list = List::take(array(incount, requests)?)?;
    list.wait_any()?;
    give_some(&mut list, outcount, indices, statuses, "MPI_Waitsome")
}

/// `MPI_Testsome`.
pub fn testsome(
    incount: c_int,
    requests: Out<MPI_Request>,
    outcount: Out<c_int>,
    indices: Out<c_int>,
    statuses: StatusOut,
) -> Outcome {
    let mut list = List::take(array(incount, requests)?)?;
    if !list.is_empty() {
        list.look()?;
    }
    give_some(&mut list, outcount, indices, statuses, "MPI_Testsome")
}

fn give_some(
    list: &mut List<'_>,
    outcount: Out<c_int>,
    indices: Out<c_int>,
    statuses: StatusOut,
    function: &'static str,
) -> Outcome {
    if list.is_empty() {
        return Ok(outcount.set(MPI_UNDEFINED, "outcount")?);
    }
    let (mut n, mut ends) = (0, Ends::new(statuses, function));
    while let Some((at, end)) = list.take_ended()? {
        indices.set_at(n, at as c_int, "array_of_indices")?;
        ends.put(n, at, end);
        n += 1;
    }
    outcount.set(n as c_int, "outcount")?;
    ends.finish()
}

/// How the operations of a list ended: if one failed, each status says what became of its own (MPI 5.0, §3.7.5).
struct Ends {
    statuses: StatusOut,
    function: &'static str,
    failed: Option<(String, End)>,
}

impl Ends {
    fn new(statuses: StatusOut, function: &'static str) -> Self {
        Self { statuses, function, failed: None }
    }

    /// A message at a place of the array has ended well.
    #[inline(always)]
    fn put_got(&mut self, at: usize, got: Got) {
        if self.statuses.is_wanted() {
            self.statuses.set_got_at(at, got);
            if self.failed.is_some() {
                self.statuses.set_error_at(at, MPI_SUCCESS);
            }
        }
    }

    /// The end of the request at a place of the array, whose status stands at `n`.
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
                // Whose message it was is known of one that was too long.
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

    fn finish(self) -> Outcome {
        match self.failed {
            None => Ok(()),
            Some((text, end)) => Err(end.raise(self.function, Error::new(Class::InStatus, text))),
        }
    }
}

/// `MPI_Cancel`.
pub fn cancel(request: Out<MPI_Request>) -> Outcome {
    let handle = request.get("request")?;
    // What has left cannot be withdrawn.
    if handle == LEFT {
        return Ok(());
    }
    let mut table = requests()?;
    // A function of the program's may use requests.
    if let Ok(operation) = table.foreign(handle) {
        drop(table);
        return Ok(operation.cancel()?);
    }
    Ok(table.get(handle)?.cancel()?)
}

/// `MPI_Request_free`.
pub fn request_free(request: Out<MPI_Request>) -> Outcome {
    let handle = request.get("request")?;
    if handle != LEFT {
        let mut table = requests()?;
        let given = table.give_up(handle)?;
        drop(table);
        if let Some(mut given) = given {
            given.give_up()?;
            if given.pending().is_some() {
                requests()?.orphan(given);
            }
        }
    }
    request.set(MPI_REQUEST_NULL, "request")?;
    Ok(wait::sweep()?)
}

/// `MPI_Request_get_status`.
pub fn request_get_status(request: MPI_Request, flag: Out<c_int>, status: StatusOut) -> Outcome {
    let found = peek(request)?;
    flag.set(c_int::from(found.is_some()), "flag")?;
    if let Some(end) = found {
        status.set(end?);
    }
    Ok(())
}

/// How a request has ended, if it has; it stays as it is.
pub(super) fn peek(handle: MPI_Request) -> Result<Option<Result<Status, Failed>>, Failed> {
    let mut handles = [handle];
    if handle == MPI_REQUEST_NULL || handle == LEFT {
        return Ok(Some(Ok(Status::EMPTY)));
    }
    if !requests()?.get(handle)?.is_active() {
        return Ok(Some(Ok(Status::EMPTY)));
    }
    List::take(&mut handles)?.look()?;
    // Out of the table: a function of the program's may be called.
    let request = requests()?.take(handle)?;
    let end = request.peek();
    requests()?.put(handle, request);
    Ok(end.map(|end| end.map_err(Failed::Error)))
}

/// `MPI_Request_get_status_all`.
pub fn request_get_status_all(
    count: c_int,
    requests: Out<MPI_Request>,
    flag: Out<c_int>,
    statuses: StatusOut,
) -> Outcome {
    let handles = array(count, requests)?;
    let mut all = Vec::with_capacity(handles.len());
    for handle in handles.iter() {
        match peek(*handle)? {
            Some(end) => all.push(end?),
            None => return Ok(flag.set(0, "flag")?),
        }
    }
    all.into_iter().enumerate().for_each(|(at, status)| statuses.set_at(at, status));
    Ok(flag.set(1, "flag")?)
}

/// `MPI_Request_get_status_any`.
pub fn request_get_status_any(
    count: c_int,
    requests: Out<MPI_Request>,
    index: Out<c_int>,
    flag: Out<c_int>,
    status: StatusOut,
) -> Outcome {
    let handles = array(count, requests)?;
    let mut active = false;
    for (at, handle) in handles.iter().enumerate() {
        if !is_active(*handle)? {
            continue;
        }
        active = true;
        if let Some(end) = peek(*handle)? {
            status.set(end?);
            flag.set(1, "flag")?;
            return Ok(index.set(at as c_int, "index")?);
        }
    }
    if !active {
        status.set_empty();
    }
    flag.set(c_int::from(!active), "flag")?;
    Ok(index.set(MPI_UNDEFINED, "index")?)
}

/// `MPI_Request_get_status_some`.
pub fn request_get_status_some(
    incount: c_int,
    requests: Out<MPI_Request>,
    outcount: Out<c_int>,
    indices: Out<c_int>,
    statuses: StatusOut,
) -> Outcome {
    let handles = array(incount, requests)?;
    let (mut n, mut active) = (0, false);
    for (at, handle) in handles.iter().enumerate() {
        if !is_active(*handle)? {
            continue;
        }
        active = true;
        if let Some(end) = peek(*handle)? {
            statuses.set_at(n, end?);
            indices.set_at(n, at as c_int, "array_of_indices")?;
            n += 1;
        }
    }
    Ok(outcount.set(if active { n as c_int } else { MPI_UNDEFINED }, "outcount")?)
}

fn is_active(handle: MPI_Request) -> Result<bool, Failed> {
    match handle {
        MPI_REQUEST_NULL => Ok(false),
        LEFT => Ok(true),
        handle => Ok(requests()?.get(handle)?.is_active()),
    }
}

/// The handles of an array.
#[inline(always)]
pub(super) fn array<'a>(count: c_int, requests: Out<MPI_Request>) -> Result<&'a mut [MPI_Request], Failed> {
    match usize::try_from(count) {
        Ok(n) => Ok(requests.slice(n, "array_of_requests")?),
        Err(_) => Err(Error::new(Class::Count, format!("count is {count}: it must not be negative")).into()),
    }
}
