//! Regions and one-sided operations.

use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;

use canele::{Region, RemoteRegion};

use crate::error::{call, canele_error, value};
use crate::handle::{Head, close, get, kind, put};
use crate::job::{canele_job, endpoint};
use crate::memory::{bytes as bytes_at, bytes_mut, set, set_if_wanted, text, wait};
use crate::tagged::duration;

/// Memory allocated by Canelé, zeroed at first. Ranks of this host map it. Ranks of other hosts access it
/// through this rank's library, whenever a thread of this rank makes progress (always with
/// CANELE_PROGRESS_THREAD=1). Made by canele_job_region.
pub struct canele_region(Head);
kind!(canele_region, Region, b"regi", "region");

/// A region of any rank, this one included, as another rank accesses it. Made by canele_job_find_region or
/// canele_region_remote.
pub struct canele_remote_region(Head);
kind!(canele_remote_region, RemoteRegion, b"remo", "remote region");

/// Allocates a region of `bytes` bytes and stores a handle of it in `region`.
///
/// Errors: CANELE_ERROR_MEMORY; the text names the memory that is needed and the memory that there is.
#[unsafe(no_mangle)]
pub extern "C" fn canele_job_region(
    job: Option<&canele_job>,
    bytes: usize,
    region: Option<&mut MaybeUninit<*mut canele_region>>,
) -> canele_error {
    call(|| put(region, || Ok(endpoint(job)?.region(bytes)?)))
}

/// Finds a region that any rank published under `name`; waits for it at most `wait_ns` nanoseconds. Stores a
/// handle of it in `remote`.
///
/// Errors: CANELE_ERROR_DEADLINE; CANELE_ERROR_REGION_LOST: the region was closed meanwhile;
/// CANELE_ERROR_NAME_TAKEN: the name belongs to an object of another kind.
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

/// Returns the length of a region in bytes; 0 if `region` is no region.
#[unsafe(no_mangle)]
pub extern "C" fn canele_region_len(region: Option<&canele_region>) -> usize {
    value(0, || Ok(get(region)?.len()))
}

/// Returns the address of a region in this process, valid until it is closed; NULL if `region` is no region.
/// Other ranks may read and write the region at any time, as other threads may. Use atomic operations,
/// notices or messages to know when data is complete.
#[unsafe(no_mangle)]
pub extern "C" fn canele_region_address(region: Option<&canele_region>) -> *mut c_void {
    value(std::ptr::null_mut(), || Ok(get(region)?.address().cast()))
}

/// Publishes the region under `name`, so that any rank can find it.
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

/// Makes a handle by which this rank accesses its own region as other ranks do, and stores it in `remote`.
#[unsafe(no_mangle)]
pub extern "C" fn canele_region_remote(
    region: Option<&canele_region>,
    remote: Option<&mut MaybeUninit<*mut canele_remote_region>>,
) -> canele_error {
    call(|| put(remote, || Ok(get(region)?.remote())))
}

/// Copies `bytes` bytes of the region, from `offset` bytes on, to `data`.
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

/// Closes a region and releases its memory; the handle becomes NULL. Transfers under way end in good order.
#[unsafe(no_mangle)]
pub extern "C" fn canele_region_close(region: Option<&mut *mut canele_region>) -> canele_error {
    call(|| close(region).map(drop))
}

/// Returns the rank that owns the region; UINT32_MAX if `remote` is no remote region.
#[unsafe(no_mangle)]
pub extern "C" fn canele_remote_region_owner(remote: Option<&canele_remote_region>) -> u32 {
    value(u32::MAX, || Ok(get(remote)?.owner().0))
}

/// Writes `bytes` bytes at `data` into the region, from `offset` bytes on. On return the bytes are in the
/// region. The owner must make progress for this if it runs on another host.
///
/// Errors: CANELE_ERROR_RANGE. On another host: CANELE_ERROR_REFUSED; the owner is gone, as for
/// canele_flow_send.
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

/// Reads `bytes` bytes of the region, from `offset` bytes on, into `data`.
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

/// Writes as canele_remote_region_put does, and then sends the owner a notice with the identifier `notice`
/// (canele_job_wait_notice). The bytes are in the region when the owner sees the notice. After the return
/// `data` may be changed; the bytes may still be under way. The owner sees the notices of a rank in the order
/// of its calls.
///
/// Errors: CANELE_ERROR_RANGE; the owner is gone, as for canele_flow_send. The next
/// canele_remote_region_fence reports other errors on another host; then the owner sees no notice.
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

/// Waits until all earlier puts into regions of this owner are in its memory, at most `wait_ns` nanoseconds.
///
/// Errors: CANELE_ERROR_DEADLINE; the owner is gone; CANELE_ERROR_REFUSED: a put with a notice since the last
/// fence to this owner went to a region that the owner has closed.
#[unsafe(no_mangle)]
pub extern "C" fn canele_remote_region_fence(
    remote: Option<&canele_remote_region>,
    wait_ns: u64,
) -> canele_error {
    call(|| Ok(get(remote)?.fence(wait(wait_ns))?))
}

/// Adds `n` to the 64-bit word at `offset` bytes, a multiple of 8, atomically among all ranks, and stores its
/// old value in `old`, unless NULL.
///
/// Errors: CANELE_ERROR_RANGE: the word lies outside the region or is not aligned; otherwise as
/// canele_remote_region_put.
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

/// Replaces the 64-bit word at `offset` bytes by `new_value` if it is `expected`, atomically among all ranks,
/// and stores its old value in `old`.
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

/// Closes a handle of a remote region; the handle becomes NULL. The region stays.
#[unsafe(no_mangle)]
pub extern "C" fn canele_remote_region_close(remote: Option<&mut *mut canele_remote_region>) -> canele_error {
    call(|| close(remote).map(drop))
}
