//! Regions and one-sided operations.

use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;

use canele::{Region, RemoteRegion};

use crate::error::{call, canele_error, value};
use crate::handle::{Head, close, get, kind, put};
use crate::job::{canele_job, endpoint};
use crate::memory::{bytes as bytes_at, bytes_mut, set, set_if_wanted, text, wait};
use crate::tagged::duration;

/// Memory allocated by Canelé that ranks of this host map and those of other hosts reach through this rank's library, whenever any
/// thread of this rank makes progress (with CANELE_PROGRESS_THREAD=1: always). Zeroed at first. Made by canele_job_region.
pub struct canele_region(Head);
kind!(canele_region, Region, b"regi", "region");

/// A region of some rank, this one's included, as seen from here. Made by canele_job_find_region or canele_region_remote.
pub struct canele_remote_region(Head);
kind!(canele_remote_region, RemoteRegion, b"remo", "remote region");

/// Allocates a region of `bytes` bytes and stores a handle of it in `region`.
///
/// Errors: CANELE_ERROR_MEMORY, naming what is needed and what there is.
#[unsafe(no_mangle)]
pub extern "C" fn canele_job_region(
    job: Option<&canele_job>,
    bytes: usize,
    region: Option<&mut MaybeUninit<*mut canele_region>>,
) -> canele_error {
    call(|| put(region, || Ok(endpoint(job)?.region(bytes)?)))
}

/// Finds a region that any rank published under `name`; waits until there is one, at most `wait_ns` nanoseconds. Stores a handle of it
/// in `remote`.
///
/// Errors: CANELE_ERROR_DEADLINE; CANELE_ERROR_REGION_LOST: it was closed meanwhile; CANELE_ERROR_NAME_TAKEN: the name is not of a region.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_job_find_region(
    job: Option<&canele_job>,
    name: *const c_char,
    wait_ns: u64,
    remote: Option<&mut MaybeUninit<*mut canele_remote_region>>,
) -> canele_error {
    call(|| {
        // SAFETY: the program gives a text that ends with a zero byte.
        let name = unsafe { text(name, "name of the region") }?;
        put(remote, || Ok(endpoint(job)?.find_region(name, duration(wait_ns))?))
    })
}

/// Returns a region's length in bytes; 0 if `region` is no region.
#[unsafe(no_mangle)]
pub extern "C" fn canele_region_len(region: Option<&canele_region>) -> usize {
    value(0, || Ok(get(region)?.len()))
}

/// Returns where a region begins in this process, until it is closed; NULL if `region` is no region. Other ranks may read and write there at
/// any time, as other threads may: use atomic operations, notices or messages to know when data is complete.
#[unsafe(no_mangle)]
pub extern "C" fn canele_region_address(region: Option<&canele_region>) -> *mut c_void {
    value(std::ptr::null_mut(), || Ok(get(region)?.address().cast()))
}

/// Lets any rank find the region under `name`.
///
/// Errors: CANELE_ERROR_NAME_TAKEN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_region_publish(
    region: Option<&canele_region>,
    name: *const c_char,
) -> canele_error {
    call(|| {
        // SAFETY: the program gives a text that ends with a zero byte.
        let name = unsafe { text(name, "name of the region") }?;
        Ok(get(region)?.publish(name)?)
    })
}

/// Stores a handle of this rank's region, as other ranks have it, in `remote`.
#[unsafe(no_mangle)]
pub extern "C" fn canele_region_remote(
    region: Option<&canele_region>,
    remote: Option<&mut MaybeUninit<*mut canele_remote_region>>,
) -> canele_error {
    call(|| put(remote, || Ok(get(region)?.remote())))
}

/// Copies `bytes` bytes from `offset` bytes on out of the region, to `data`.
///
/// Errors: CANELE_ERROR_RANGE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_region_read(
    region: Option<&canele_region>,
    offset: usize,
    data: *mut c_void,
    bytes: usize,
) -> canele_error {
    call(|| {
        // SAFETY: the program gives memory that can be written, and does not touch it during the call.
        let bytes = unsafe { bytes_mut(data, bytes) }?;
        Ok(get(region)?.read(offset, bytes)?)
    })
}

/// Copies `bytes` bytes at `data` into the region, from `offset` bytes on.
///
/// Errors: CANELE_ERROR_RANGE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_region_write(
    region: Option<&canele_region>,
    offset: usize,
    data: *const c_void,
    bytes: usize,
) -> canele_error {
    call(|| {
        // SAFETY: the program gives memory that can be read, and does not write it during the call.
        let bytes = unsafe { bytes_at(data, bytes) }?;
        Ok(get(region)?.write(offset, bytes)?)
    })
}

/// Closes a region, which becomes NULL: its memory is given up, and transfers under way end in good order.
#[unsafe(no_mangle)]
pub extern "C" fn canele_region_close(region: Option<&mut *mut canele_region>) -> canele_error {
    call(|| close(region).map(drop))
}

/// Returns the rank whose region it is; UINT32_MAX if `remote` is no remote region.
#[unsafe(no_mangle)]
pub extern "C" fn canele_remote_region_owner(remote: Option<&canele_remote_region>) -> u32 {
    value(u32::MAX, || Ok(get(remote)?.owner().0))
}

/// Writes `bytes` bytes at `data` into the region, from `offset` bytes on. Complete at both ends on return, to which end the owner on another host
/// answers.
///
/// Errors: CANELE_ERROR_RANGE. On another host: CANELE_ERROR_REFUSED; the owner is gone, as of canele_flow_send.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_remote_region_put(
    remote: Option<&canele_remote_region>,
    offset: usize,
    data: *const c_void,
    bytes: usize,
) -> canele_error {
    call(|| {
        // SAFETY: as in `canele_region_write`.
        let bytes = unsafe { bytes_at(data, bytes) }?;
        Ok(get(remote)?.put(offset, bytes)?)
    })
}

/// Reads `bytes` bytes from `offset` bytes of the region on, to `data`.
///
/// Errors: as canele_remote_region_put.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_remote_region_get(
    remote: Option<&canele_remote_region>,
    offset: usize,
    data: *mut c_void,
    bytes: usize,
) -> canele_error {
    call(|| {
        // SAFETY: as in `canele_region_read`.
        let bytes = unsafe { bytes_mut(data, bytes) }?;
        Ok(get(remote)?.get(offset, bytes)?)
    })
}

/// Writes as canele_remote_region_put and then shows the owner the identifier `notice` (canele_job_wait_notice): the bytes are in the region when the
/// notice is seen. On return `data` may be changed; it may still be on its way. Notices of a rank are seen in the order of its calls.
///
/// Errors: CANELE_ERROR_RANGE; the owner is gone, as of canele_flow_send. What else goes wrong on another host the next
/// canele_remote_region_fence tells, and the notice is not seen.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_remote_region_put_notify(
    remote: Option<&canele_remote_region>,
    offset: usize,
    data: *const c_void,
    bytes: usize,
    notice: u64,
) -> canele_error {
    call(|| {
        // SAFETY: as in `canele_region_write`.
        let bytes = unsafe { bytes_at(data, bytes) }?;
        Ok(get(remote)?.put_notify(offset, bytes, notice)?)
    })
}

/// Waits until everything put into regions of this owner so far is in its memory, at most `wait_ns` nanoseconds.
///
/// Errors: CANELE_ERROR_DEADLINE; the owner is gone; CANELE_ERROR_REFUSED for the first put with a notice, since the last fence to this
/// owner, to a region that it has closed.
#[unsafe(no_mangle)]
pub extern "C" fn canele_remote_region_fence(
    remote: Option<&canele_remote_region>,
    wait_ns: u64,
) -> canele_error {
    call(|| Ok(get(remote)?.fence(wait(wait_ns))?))
}

/// Adds `n` to the 64-bit word at `offset` bytes (a multiple of 8), atomically among all ranks, and stores its old value in `old`, unless NULL.
///
/// Errors: CANELE_ERROR_RANGE: the word lies outside or is not aligned; else as canele_remote_region_put.
#[unsafe(no_mangle)]
pub extern "C" fn canele_remote_region_fetch_add(
    remote: Option<&canele_remote_region>,
    offset: usize,
    n: u64,
    old: Option<&mut MaybeUninit<u64>>,
) -> canele_error {
    call(|| {
        let was = get(remote)?.fetch_add(offset, n)?;
        set_if_wanted(old, was);
        Ok(())
    })
}

/// Replaces the 64-bit word at `offset` bytes by `new_value` if it is `expected`, and stores its old value in `old`.
///
/// Errors: as canele_remote_region_fetch_add.
#[unsafe(no_mangle)]
pub extern "C" fn canele_remote_region_compare_and_swap(
    remote: Option<&canele_remote_region>,
    offset: usize,
    expected: u64,
    new_value: u64,
    old: Option<&mut MaybeUninit<u64>>,
) -> canele_error {
    call(|| {
        let was = get(remote)?.compare_and_swap(offset, expected, new_value)?;
        set(old, was, "old value")
    })
}

/// Closes a handle of a remote region, which becomes NULL; the region stays.
#[unsafe(no_mangle)]
pub extern "C" fn canele_remote_region_close(remote: Option<&mut *mut canele_remote_region>) -> canele_error {
    call(|| close(remote).map(drop))
}
