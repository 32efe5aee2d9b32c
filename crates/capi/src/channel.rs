//! Channels, and tagged messages whose bytes lie in regions.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use canele::{Channel, Rank, Tag};

use crate::error::{ReportedError, call, canele_error, value};
use crate::flow::{canele_flow, flow, source, tag_match};
use crate::handle::{Head, close, get, kind, put};
use crate::job::{canele_job, endpoint};
use crate::memory::{array, bytes as bytes_at, bytes_mut, set_if_wanted};
use crate::region::canele_region;
use crate::tagged::{canele_status, duration};

/// One end of a virtual channel between two ranks. Messages are received in the order in which the other end
/// sent them. Made by canele_job_channel.
pub struct canele_channel(Head);
kind!(canele_channel, Channel, b"chan", "channel");

/// A slice of memory to send.
#[repr(C)]
pub struct canele_slice {
    /// The address of its first byte.
    pub data: *const c_void,
    /// Its length in bytes.
    pub bytes: usize,
}

/// A slice of memory to receive into.
#[repr(C)]
pub struct canele_slice_mut {
    /// The address of its first byte.
    pub data: *mut c_void,
    /// Its length in bytes.
    pub bytes: usize,
}

/// Sends `bytes` bytes of a region, from `offset` bytes on, to rank `to` with a tag. Messages above the eager
/// size are copied once. The bytes must not be changed before this call returns.
///
/// Errors: CANELE_ERROR_RANGE; otherwise as canele_flow_send.
#[unsafe(no_mangle)]
pub extern "C" fn canele_flow_send_region(
    flow: Option<&canele_flow>,
    to: u32,
    tag: u32,
    region: Option<&canele_region>,
    offset: usize,
    bytes: usize,
) -> canele_error {
    call(|| {
        let (flow, region) = (self::flow(flow)?, get(region)?);
        Ok(flow.send_region(Rank(to), Tag(tag), region, range(offset, bytes)?)?)
    })
}

/// Receives the next matching message, as canele_flow_recv does, into `bytes` bytes of a region, from
/// `offset` bytes on.
///
/// Errors: CANELE_ERROR_RANGE; otherwise as canele_flow_recv.
#[unsafe(no_mangle)]
pub extern "C" fn canele_flow_recv_region(
    flow: Option<&canele_flow>,
    from: u32,
    tag: u64,
    region: Option<&canele_region>,
    offset: usize,
    bytes: usize,
    status: Option<&mut MaybeUninit<canele_status>>,
) -> canele_error {
    call(|| {
        let (flow, region) = (self::flow(flow)?, get(region)?);
        let got = flow.recv_region(source(from), tag_match(tag)?, region, range(offset, bytes)?)?;
        set_if_wanted(status, got.into());
        Ok(())
    })
}

/// Returns the range of bytes of a region.
fn range(offset: usize, bytes: usize) -> Result<std::ops::Range<usize>, ReportedError> {
    let end = offset.checked_add(bytes);
    end.map(|end| offset..end).ok_or_else(|| {
        ReportedError::new(
            canele_error::CANELE_ERROR_RANGE,
            format!("{bytes} bytes at {offset} lie outside of any region: is a number negative?"),
        )
    })
}

/// Opens the channel `number` to rank `peer`, which opens it with the same number, and stores a handle of it
/// in `channel`. A pair of ranks has a channel for each number. Opening is free and needs no agreement with
/// the peer.
///
/// Errors: CANELE_ERROR_NO_SUCH_RANK.
#[unsafe(no_mangle)]
pub extern "C" fn canele_job_channel(
    job: Option<&canele_job>,
    peer: u32,
    number: u32,
    channel: Option<&mut MaybeUninit<*mut canele_channel>>,
) -> canele_error {
    call(|| put(channel, || Ok(endpoint(job)?.channel(Rank(peer), number)?)))
}

/// Returns the rank at the other end; UINT32_MAX if `channel` is no channel.
#[unsafe(no_mangle)]
pub extern "C" fn canele_channel_peer(channel: Option<&canele_channel>) -> u32 {
    value(u32::MAX, || Ok(get(channel)?.peer().0))
}

/// Returns the number of the channel; UINT32_MAX if `channel` is no channel.
#[unsafe(no_mangle)]
pub extern "C" fn canele_channel_number(channel: Option<&canele_channel>) -> u32 {
    value(u32::MAX, || Ok(get(channel)?.number()))
}

/// Sends `bytes` bytes at `data`. After the return they may be changed; the message may still be under way.
///
/// Errors: the peer is gone, as for canele_flow_send.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_channel_send(
    channel: Option<&canele_channel>,
    data: *const c_void,
    bytes: usize,
) -> canele_error {
    call(|| {
        // SAFETY: the program gives memory that can be read, and does not write it during the call.
        let bytes = unsafe { bytes_at(data, bytes) }?;
        Ok(get(channel)?.send(bytes)?)
    })
}

/// Sends as canele_channel_send does, but gives up after `wait_ns` nanoseconds; then nothing was sent.
///
/// Errors: as canele_channel_send; CANELE_ERROR_DEADLINE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_channel_send_deadline(
    channel: Option<&canele_channel>,
    data: *const c_void,
    bytes: usize,
    wait_ns: u64,
) -> canele_error {
    call(|| {
        // SAFETY: as in `canele_channel_send`.
        let bytes = unsafe { bytes_at(data, bytes) }?;
        Ok(get(channel)?.send_deadline(bytes, duration(wait_ns))?)
    })
}

/// Receives the next message into `bytes` bytes at `data`; stores its length in bytes in `received`, unless
/// NULL.
///
/// Errors: CANELE_ERROR_TRUNCATED: the message is longer; it is consumed, and later messages are not
/// affected. The peer is gone, as for canele_flow_send.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_channel_recv(
    channel: Option<&canele_channel>,
    data: *mut c_void,
    bytes: usize,
    received: Option<&mut MaybeUninit<usize>>,
) -> canele_error {
    call(|| {
        // SAFETY: the program gives memory that can be written, and does not touch it during the call.
        let bytes = unsafe { bytes_mut(data, bytes) }?;
        set_if_wanted(received, get(channel)?.recv(bytes)?);
        Ok(())
    })
}

/// Receives as canele_channel_recv does, but gives up after `wait_ns` nanoseconds. A message that arrives
/// later can still be received.
///
/// Errors: as canele_channel_recv; CANELE_ERROR_DEADLINE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_channel_recv_deadline(
    channel: Option<&canele_channel>,
    data: *mut c_void,
    bytes: usize,
    received: Option<&mut MaybeUninit<usize>>,
    wait_ns: u64,
) -> canele_error {
    call(|| {
        // SAFETY: as in `canele_channel_recv`.
        let bytes = unsafe { bytes_mut(data, bytes) }?;
        set_if_wanted(received, get(channel)?.recv_deadline(bytes, duration(wait_ns))?);
        Ok(())
    })
}

/// Returns the slices of an array.
///
/// # Safety
/// The array has `count` elements, and the memory of each meets the conditions of [`bytes_at`].
unsafe fn list<'a>(slices: *const canele_slice, count: usize) -> Result<Vec<&'a [u8]>, ReportedError> {
    // SAFETY: as the caller says; the array is only read.
    let slices: &[canele_slice] = unsafe { array(slices.cast_mut(), count, "slices") }?;
    // SAFETY: as the caller says.
    slices.iter().map(|slice| unsafe { bytes_at(slice.data, slice.bytes) }).collect()
}

/// Sends `count` slices of memory as one message, gathered when it leaves.
///
/// Errors: as canele_channel_send.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_channel_send_list(
    channel: Option<&canele_channel>,
    slices: *const canele_slice,
    count: usize,
) -> canele_error {
    call(|| {
        // SAFETY: the program gives an array of so many slices that can be read, and does not write them during
        // the call.
        let list = unsafe { list(slices, count) }?;
        Ok(get(channel)?.send_list(&list)?)
    })
}

/// Receives the next message into `count` slices of memory, which do not overlap, scattered when it arrives;
/// stores its length in bytes in `received`, unless NULL.
///
/// Errors: as canele_channel_recv.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_channel_recv_list(
    channel: Option<&canele_channel>,
    slices: *const canele_slice_mut,
    count: usize,
    received: Option<&mut MaybeUninit<usize>>,
) -> canele_error {
    call(|| {
        // SAFETY: the program gives an array of so many elements, which is only read.
        let slices: &[canele_slice_mut] = unsafe { array(slices.cast_mut(), count, "slices") }?;
        // SAFETY: each names memory that can be written, apart from the others, and the program does not access
        // it during the call.
        let list: Result<Vec<_>, _> =
            slices.iter().map(|slice| unsafe { bytes_mut(slice.data, slice.bytes) }).collect();
        set_if_wanted(received, get(channel)?.recv_list(list?)?);
        Ok(())
    })
}

/// Sends `bytes` bytes of a region, from `offset` bytes on, as canele_flow_send_region does.
///
/// Errors: CANELE_ERROR_RANGE; otherwise as canele_channel_send.
#[unsafe(no_mangle)]
pub extern "C" fn canele_channel_send_region(
    channel: Option<&canele_channel>,
    region: Option<&canele_region>,
    offset: usize,
    bytes: usize,
) -> canele_error {
    call(|| Ok(get(channel)?.send_region(get(region)?, range(offset, bytes)?)?))
}

/// Receives the next message into `bytes` bytes of a region, from `offset` bytes on; stores its length in
/// bytes in `received`, unless NULL.
///
/// Errors: CANELE_ERROR_RANGE; otherwise as canele_channel_recv.
#[unsafe(no_mangle)]
pub extern "C" fn canele_channel_recv_region(
    channel: Option<&canele_channel>,
    region: Option<&canele_region>,
    offset: usize,
    bytes: usize,
    received: Option<&mut MaybeUninit<usize>>,
) -> canele_error {
    call(|| {
        set_if_wanted(received, get(channel)?.recv_region(get(region)?, range(offset, bytes)?)?);
        Ok(())
    })
}

/// Closes this end of a channel; the handle becomes NULL.
#[unsafe(no_mangle)]
pub extern "C" fn canele_channel_close(channel: Option<&mut *mut canele_channel>) -> canele_error {
    call(|| close(channel).map(drop))
}
