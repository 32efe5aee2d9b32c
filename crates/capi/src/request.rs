//! Non-blocking messages.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use canele::raw::RawRequest;
use canele::{Mode, Rank, Tag};

use crate::error::{ReportedError, SavedError, call, canele_error};
use crate::flow::{canele_flow, flow, source, tag_match};
use crate::handle::{Head, at, close, get_mut, kind, put};
use crate::memory::{array, raw, raw_mut, set, set_if_wanted, wait};
use crate::tagged::canele_status;

/// A send or a receive under way. Its memory belongs to the library until canele_request_wait,
/// canele_request_test, canele_wait_all, canele_wait_any or canele_wait_some reports its end. Until then,
/// memory that is sent must not be changed or freed, and memory that is received into must not be accessed or
/// freed. Each request must be waited for.
pub struct canele_request(Head);
kind!(canele_request, RawRequest, b"requ", "request");

/// Starts to send `bytes` bytes at `data` to rank `to` with a tag, and stores a handle of the operation in
/// `request`. The memory must stay unchanged until the request has ended.
///
/// Errors: CANELE_ERROR_NO_SUCH_RANK, CANELE_ERROR_FINISHED: nothing was started. Waiting reports other
/// errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_flow_isend(
    flow: Option<&canele_flow>,
    to: u32,
    tag: u32,
    data: *const c_void,
    bytes: usize,
    request: Option<&mut MaybeUninit<*mut canele_request>>,
) -> canele_error {
    // SAFETY: the program keeps the memory as it is until the request has ended.
    unsafe { start_send(flow, (to, tag, Mode::Standard), data, bytes, request) }
}

/// Starts to send as canele_flow_isend does; the request ends only after the receiver has begun to receive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_flow_isend_sync(
    flow: Option<&canele_flow>,
    to: u32,
    tag: u32,
    data: *const c_void,
    bytes: usize,
    request: Option<&mut MaybeUninit<*mut canele_request>>,
) -> canele_error {
    // SAFETY: as in `canele_flow_isend`.
    unsafe { start_send(flow, (to, tag, Mode::Synchronous), data, bytes, request) }
}

/// Starts a send in a mode.
///
/// # Safety
/// The memory stays unchanged until the request has ended.
#[inline(always)]
unsafe fn start_send(
    flow: Option<&canele_flow>,
    (to, tag, mode): (u32, u32, Mode),
    data: *const c_void,
    bytes: usize,
    request: Option<&mut MaybeUninit<*mut canele_request>>,
) -> canele_error {
    call(|| {
        put(request, || {
            // SAFETY: as the caller says.
            let memory = unsafe { raw(data, bytes) }?;
            Ok(self::flow(flow)?.isend_raw(Rank(to), Tag(tag), mode, memory, bytes)?)
        })
    })
}

/// Starts to receive a matching message into `bytes` bytes at `data`, and stores a handle of the operation in
/// `request`. `from` is a rank or CANELE_ANY_SOURCE, `tag` a tag or CANELE_ANY_TAG. The memory must not be
/// accessed or freed until the request has ended.
///
/// Errors: as canele_flow_isend.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_flow_irecv(
    flow: Option<&canele_flow>,
    from: u32,
    tag: u64,
    data: *mut c_void,
    bytes: usize,
    request: Option<&mut MaybeUninit<*mut canele_request>>,
) -> canele_error {
    call(|| {
        put(request, || {
            // SAFETY: the program leaves the memory to the library until the request has ended.
            let memory = unsafe { raw_mut(data, bytes) }?;
            Ok(self::flow(flow)?.irecv_raw(source(from), tag_match(tag)?, memory, bytes)?)
        })
    })
}

/// Takes the result of a request, closes it, and makes the handle NULL.
fn finish(
    request: Option<&mut *mut canele_request>,
    status: Option<&mut MaybeUninit<canele_status>>,
) -> Result<(), ReportedError> {
    let got = close(request)?.take()?;
    set_if_wanted(status, got.into());
    Ok(())
}

/// Makes progress, and stores true in `ended` if the request has ended. If so, the request is closed,
/// `request` becomes NULL, and the sender, tag and length of the message are stored in `status`, unless NULL.
///
/// Errors: as canele_flow_send or canele_flow_recv, if the operation failed; then the request has ended, too,
/// and `request` becomes NULL. If `request` does not become NULL, the test failed and the operation is still
/// under way.
#[unsafe(no_mangle)]
pub extern "C" fn canele_request_test(
    request: Option<&mut *mut canele_request>,
    ended: Option<&mut MaybeUninit<bool>>,
    status: Option<&mut MaybeUninit<canele_status>>,
) -> canele_error {
    call(|| {
        let (request, open) = at(request)?;
        let has_ended = open.test()?;
        set(ended, has_ended, "answer whether the request has ended")?;
        if has_ended { finish(Some(request), status) } else { Ok(()) }
    })
}

/// Waits until the request has ended, and closes it: `request` becomes NULL, and the sender, tag and length
/// of the message are stored in `status`, unless NULL.
///
/// Errors: as canele_request_test.
#[unsafe(no_mangle)]
pub extern "C" fn canele_request_wait(
    request: Option<&mut *mut canele_request>,
    status: Option<&mut MaybeUninit<canele_status>>,
) -> canele_error {
    call(|| {
        let (request, open) = at(request)?;
        open.block(None)?;
        finish(Some(request), status)
    })
}

/// Waits as canele_request_wait does, at most `wait_ns` nanoseconds.
///
/// Errors: as canele_request_test; CANELE_ERROR_DEADLINE: the operation is still under way, and `request` is
/// unchanged.
#[unsafe(no_mangle)]
pub extern "C" fn canele_request_wait_deadline(
    request: Option<&mut *mut canele_request>,
    status: Option<&mut MaybeUninit<canele_status>>,
    wait_ns: u64,
) -> canele_error {
    call(|| {
        let (request, open) = at(request)?;
        open.block(wait(wait_ns))?;
        finish(Some(request), status)
    })
}

/// Cancels an operation if it is not too late: a receive without a message, or a send that has neither left
/// nor been copied. Stores true in `withdrawn`, unless NULL, if it is cancelled. The request must still be
/// waited for; the wait then returns CANELE_ERROR_CANCELLED. For a long send that is already announced the
/// receiver is asked, and the wait reports the result.
///
/// Errors: CANELE_ERROR_FINISHED.
#[unsafe(no_mangle)]
pub extern "C" fn canele_request_cancel(
    request: Option<&mut canele_request>,
    withdrawn: Option<&mut MaybeUninit<bool>>,
) -> canele_error {
    call(|| {
        let was = get_mut(request)?.cancel()?;
        set_if_wanted(withdrawn, was);
        Ok(())
    })
}

/// Waits for all of `count` requests; those that are NULL are skipped. All become NULL. `statuses`, unless
/// NULL, is an array of `count`; its elements for requests that failed or are NULL do not change.
///
/// Errors: the error of the first request that failed, after all have ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_wait_all(
    requests: *mut *mut canele_request,
    count: usize,
    statuses: *mut canele_status,
) -> canele_error {
    call(|| {
        // SAFETY: the program gives an array of so many handles.
        let requests = unsafe { array(requests, count, "requests") }?;
        let mut first = Ok(());
        for (n, request) in requests.iter_mut().enumerate().filter(|(_, request)| !request.is_null()) {
            let mut status = MaybeUninit::uninit();
            let result = at(Some(&mut *request)).and_then(|(request, open)| {
                open.block(None)?;
                finish(Some(request), Some(&mut status))
            });
            match result {
                // SAFETY: `finish` wrote the status; an array that is not null has `count` elements.
                Ok(()) if !statuses.is_null() => unsafe { statuses.add(n).write(status.assume_init()) },
                Ok(()) => {}
                Err(told) => first = first.and_then(|()| Err(told.keep())),
            }
        }
        first.map_err(SavedError::tell)
    })
}

/// Waits until one of `count` requests has ended; those that are NULL are skipped. The request is closed and
/// becomes NULL. Stores its index in the array in `index`, and the sender, tag and length of its message in
/// `status`, unless NULL.
///
/// Errors: the error of the operation; `index` has its index, and the handle is NULL. CANELE_ERROR_LENGTHS:
/// all requests are NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_wait_any(
    requests: *mut *mut canele_request,
    count: usize,
    index: Option<&mut MaybeUninit<usize>>,
    status: Option<&mut MaybeUninit<canele_status>>,
) -> canele_error {
    call(|| {
        // SAFETY: the program gives an array of so many handles.
        let requests = unsafe { array(requests, count, "requests") }?;
        let at = wait_any(requests)?;
        set(index, at, "number of the request")?;
        finish(Some(&mut requests[at]), status)
    })
}

/// Waits until at least one of `count` requests has ended; those that are NULL are skipped. All requests that
/// have ended are closed and become NULL. Stores their number in `ended`, and their indices in the array
/// `indices` of `count`. `statuses`, unless NULL, is an array of `count`; the sender, tag and length of their
/// messages are stored there in the same order.
///
/// Errors: the error of the first request that failed; `ended` and `indices` are valid nevertheless.
/// CANELE_ERROR_LENGTHS: all requests are NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_wait_some(
    requests: *mut *mut canele_request,
    count: usize,
    ended: Option<&mut MaybeUninit<usize>>,
    indices: *mut usize,
    statuses: *mut canele_status,
) -> canele_error {
    call(|| {
        // SAFETY: the program gives arrays of so many.
        let (requests, indices) =
            unsafe { (array(requests, count, "requests")?, array(indices, count, "numbers")?) };
        let ended = ended.ok_or_else(|| crate::handle::no_place("number of requests that have ended"))?;
        ended.write(0);
        wait_any(requests)?;
        let (mut so_far, mut first) = (0, Ok(()));
        for (n, request) in requests.iter_mut().enumerate().filter(|(_, request)| !request.is_null()) {
            let (_, open) = at(Some(&mut *request))?;
            if !open.test()? {
                continue;
            }
            let mut status = MaybeUninit::uninit();
            match finish(Some(request), Some(&mut status)) {
                // SAFETY: as in `canele_wait_all`.
                Ok(()) if !statuses.is_null() => unsafe { statuses.add(so_far).write(status.assume_init()) },
                Ok(()) => {}
                Err(told) => first = first.and_then(|()| Err(told.keep())),
            }
            indices[so_far] = n;
            so_far += 1;
            ended.write(so_far);
        }
        first.map_err(SavedError::tell)
    })
}

/// Waits until one of several requests has ended; returns its index.
fn wait_any(requests: &mut [*mut canele_request]) -> Result<usize, ReportedError> {
    let mut sorted: Vec<_> = requests.iter().copied().filter(|request| !request.is_null()).collect();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(ReportedError::argument(
            "a request is in the array twice: each operation is waited for once",
        ));
    }
    let (mut numbers, mut open) = (Vec::with_capacity(sorted.len()), Vec::with_capacity(sorted.len()));
    for (n, request) in requests.iter_mut().enumerate().filter(|(_, request)| !request.is_null()) {
        numbers.push(n);
        open.push(at(Some(request))?.1);
    }
    Ok(numbers[RawRequest::wait_any(open, None)?])
}
