//! Short messages that can be sent, or have arrived, at once.
//!
//! The functions here call no other function. Inlined into an exported function, they need no frame. That
//! function jumps to the general path, which does the call with all checks and errors. Each function either
//! completes a call or changes nothing.

use std::ffi::c_void;

use canele::short::{MAX_INLINE, PeerIndex, ShortSent};
use canele::{Rank, Tag};

use crate::error::{call, canele_error};
use crate::flow::{canele_flow, flow};
use crate::handle::find;
use crate::tagged::canele_status;

/// The result of a send that was tried here.
pub enum Attempt {
    /// The message was sent.
    Done,
    /// The message was sent, and the rank at this index must be woken.
    ToSleeper(u32),
    /// Nothing has changed, and nothing was tried.
    Left,
    /// Nothing has changed: the link does not take the message at once.
    Refused,
}

/// Sends a message.
///
/// # Safety
/// Unless `data` is null, `bytes` bytes can be read there, and are not written during the call.
#[inline(always)]
pub unsafe fn send(
    flow: Option<&canele_flow>,
    to: u32,
    tag: u32,
    data: *const c_void,
    bytes: usize,
) -> Attempt {
    let Some(open) = find(flow) else { return Attempt::Left };
    if data.is_null() || bytes > MAX_INLINE {
        return Attempt::Left;
    }
    // SAFETY: not null, few, and as the caller says.
    let bytes = unsafe { std::slice::from_raw_parts(data.cast(), bytes) };
    match open.flow.send_at_once(&open.known, Rank(to), Tag(tag), bytes) {
        None => Attempt::Left,
        Some((ShortSent::Left, _)) => Attempt::Refused,
        Some((ShortSent::Done, _)) => Attempt::Done,
        Some((ShortSent::ToSleeper, peer)) => Attempt::ToSleeper(peer.0),
    }
}

/// Receives a message from one rank with one tag.
///
/// # Safety
/// Unless `data` is null, `bytes` bytes can be written there, and nothing else accesses them during the call.
#[inline(always)]
pub unsafe fn receive(
    flow: Option<&canele_flow>,
    from: u32,
    tag: u64,
    data: *mut c_void,
    bytes: usize,
) -> Option<canele_status> {
    let open = find(flow)?;
    let tag = u32::try_from(tag).ok()?;
    if data.is_null() || bytes > MAX_INLINE {
        return None;
    }
    // SAFETY: not null, few, and as the caller says.
    let into = unsafe { std::slice::from_raw_parts_mut(data.cast(), bytes) };
    let bytes = open.flow.receive_at_once(&open.known, Rank(from), Tag(tag), into)?;
    Some(canele_status { source: from, tag, bytes })
}

/// Wakes a rank that sleeps although a message was sent to it.
#[cold]
#[inline(never)]
pub extern "C" fn wake_peer(flow: Option<&canele_flow>, peer: u32) -> canele_error {
    call(|| Ok(self::flow(flow)?.wake_peer(PeerIndex(peer))?))
}
