//! Blocking tagged messages.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use canele::{Rank, Status, Tag};

use crate::error::canele_error::CANELE_OK;
use crate::error::{call, canele_error};
use crate::flow::{CANELE_ANY_SOURCE, canele_flow, flow, source, tag_match};
use crate::handle::get;
use crate::memory::{bytes as bytes_at, bytes_mut, set_if_wanted};
use crate::short::{self, Attempt};

/// The description of a message, or of a send.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct canele_status {
    /// The sender; for a send, the receiver.
    pub source: u32,
    /// The tag of the message.
    pub tag: u32,
    /// The length of the message in bytes, which may be less than the memory for it.
    pub bytes: usize,
}

impl From<Status> for canele_status {
    #[inline(always)]
    fn from(status: Status) -> Self {
        Self { source: status.source.0, tag: status.tag.0, bytes: status.bytes }
    }
}

/// Sends `bytes` bytes at `data` to rank `to` with a tag. After the return they may be changed; the message
/// may still be under way.
///
/// Errors: CANELE_ERROR_NO_SUCH_RANK; the rank is gone (CANELE_ERROR_PEER_FAILED, CANELE_ERROR_PEER_FINISHED,
/// CANELE_ERROR_UNREACHABLE, CANELE_ERROR_CUT_OFF); CANELE_ERROR_FINISHED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_flow_send(
    flow: Option<&canele_flow>,
    to: u32,
    tag: u32,
    data: *const c_void,
    bytes: usize,
) -> canele_error {
    // SAFETY: the program gives memory that can be read, and does not write it during the call.
    match unsafe { short::send(flow, to, tag, data, bytes) } {
        Attempt::Done => CANELE_OK,
        Attempt::ToSleeper(peer) => short::wake_peer(flow, peer),
        // SAFETY: as above.
        Attempt::Left => unsafe { send(flow, to, tag, data, bytes) },
        // SAFETY: as above.
        Attempt::Refused => unsafe { send_refused(flow, to, tag, data, bytes) },
    }
}

/// Takes the general path of [`canele_flow_send`].
#[inline(never)]
unsafe extern "C" fn send(
    flow: Option<&canele_flow>,
    to: u32,
    tag: u32,
    data: *const c_void,
    bytes: usize,
) -> canele_error {
    call(|| {
        // SAFETY: as in `canele_flow_send`.
        let bytes = unsafe { bytes_at(data, bytes) }?;
        let open = get(flow)?;
        open.flow.learn(&open.known, Rank(to))?;
        Ok(open.flow.send(Rank(to), Tag(tag), bytes)?)
    })
}

/// Sends a message that the short path could not send at once.
#[cold]
#[inline(never)]
unsafe extern "C" fn send_refused(
    flow: Option<&canele_flow>,
    to: u32,
    tag: u32,
    data: *const c_void,
    bytes: usize,
) -> canele_error {
    call(|| {
        // SAFETY: as in `canele_flow_send`.
        let bytes = unsafe { bytes_at(data, bytes) }?;
        Ok(self::flow(flow)?.send_refused(Rank(to), Tag(tag), bytes)?)
    })
}

/// Sends as canele_flow_send does, but returns only after the receiver has begun to receive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_flow_send_sync(
    flow: Option<&canele_flow>,
    to: u32,
    tag: u32,
    data: *const c_void,
    bytes: usize,
) -> canele_error {
    call(|| {
        // SAFETY: as in `canele_flow_send`.
        let bytes = unsafe { bytes_at(data, bytes) }?;
        Ok(self::flow(flow)?.send_sync(Rank(to), Tag(tag), bytes)?)
    })
}

/// Sends as canele_flow_send does, but gives up after `wait_ns` nanoseconds; then nothing was sent.
///
/// Errors: as canele_flow_send; CANELE_ERROR_DEADLINE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_flow_send_deadline(
    flow: Option<&canele_flow>,
    to: u32,
    tag: u32,
    data: *const c_void,
    bytes: usize,
    wait_ns: u64,
) -> canele_error {
    call(|| {
        // SAFETY: as in `canele_flow_send`.
        let bytes = unsafe { bytes_at(data, bytes) }?;
        Ok(self::flow(flow)?.send_deadline(Rank(to), Tag(tag), bytes, duration(wait_ns))?)
    })
}

/// Receives the next matching message into `bytes` bytes at `data`. `from` is a rank or CANELE_ANY_SOURCE,
/// `tag` a tag or CANELE_ANY_TAG. The message may be shorter. Stores its sender, tag and length in `status`,
/// unless NULL.
///
/// Errors: CANELE_ERROR_TRUNCATED: the message is longer; it is consumed, and later messages are not
/// affected. CANELE_ERROR_NO_SUCH_RANK; the rank is gone, as for canele_flow_send. With CANELE_ANY_SOURCE: a
/// rank died, which each flow reports once; CANELE_ERROR_NO_SENDER_LEFT: all other ranks have finished or
/// died, and this thread, the only one of its rank, would wait forever.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_flow_recv(
    flow: Option<&canele_flow>,
    from: u32,
    tag: u64,
    data: *mut c_void,
    bytes: usize,
    status: Option<&mut MaybeUninit<canele_status>>,
) -> canele_error {
    // SAFETY: the program gives memory that can be written, and does not touch it during the call.
    match unsafe { short::receive(flow, from, tag, data, bytes) } {
        Some(got) => {
            set_if_wanted(status, got);
            CANELE_OK
        }
        // SAFETY: as above.
        None => unsafe { receive(flow, from, tag, data, bytes, status) },
    }
}

/// Takes the general path of [`canele_flow_recv`].
#[inline(never)]
unsafe extern "C" fn receive(
    flow: Option<&canele_flow>,
    from: u32,
    tag: u64,
    data: *mut c_void,
    bytes: usize,
    status: Option<&mut MaybeUninit<canele_status>>,
) -> canele_error {
    call(|| {
        // SAFETY: as in `canele_flow_recv`.
        let bytes = unsafe { bytes_mut(data, bytes) }?;
        let open = get(flow)?;
        if from != CANELE_ANY_SOURCE {
            open.flow.learn(&open.known, Rank(from))?;
        }
        let got = open.flow.recv(source(from), tag_match(tag)?, bytes)?;
        set_if_wanted(status, got.into());
        Ok(())
    })
}

/// Receives as canele_flow_recv does, but gives up after `wait_ns` nanoseconds. A message that arrives later
/// can still be received.
///
/// Errors: as canele_flow_recv; CANELE_ERROR_DEADLINE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_flow_recv_deadline(
    flow: Option<&canele_flow>,
    from: u32,
    tag: u64,
    data: *mut c_void,
    bytes: usize,
    status: Option<&mut MaybeUninit<canele_status>>,
    wait_ns: u64,
) -> canele_error {
    call(|| {
        // SAFETY: as in `canele_flow_recv`.
        let bytes = unsafe { bytes_mut(data, bytes) }?;
        let got = self::flow(flow)?.recv_deadline(source(from), tag_match(tag)?, bytes, duration(wait_ns))?;
        set_if_wanted(status, got.into());
        Ok(())
    })
}

/// Returns the duration of a wait. That of CANELE_FOREVER is longer than any program runs.
pub fn duration(wait_ns: u64) -> std::time::Duration {
    crate::memory::wait(wait_ns).unwrap_or(std::time::Duration::MAX)
}
