//! The memory behind C's pointers: bytes to read or write, texts, places for results.

use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;
use std::time::Duration;

use canele::raw::{Raw, RawMut};
use canele_sys::device::{self, MemoryKind};

use crate::error::ReportedError;
use crate::handle::no_place;

/// In place of a time: a wait without limit.
pub const CANELE_FOREVER: u64 = u64::MAX;

/// Stores a result in the program's place.
#[inline(always)]
pub fn set<T>(place: Option<&mut MaybeUninit<T>>, value: T, what: &str) -> Result<(), ReportedError> {
    place.map(|place| place.write(value)).map(drop).ok_or_else(|| no_place(what))
}

/// Stores a result if the program has a place for it.
#[inline(always)]
pub fn set_if_wanted<T>(place: Option<&mut MaybeUninit<T>>, value: T) {
    if let Some(place) = place {
        place.write(value);
    }
}

/// Returns the longest time that a call waits.
pub fn wait(wait_ns: u64) -> Option<Duration> {
    (wait_ns != CANELE_FOREVER).then(|| Duration::from_nanos(wait_ns))
}

#[cold]
#[inline(never)]
fn no_memory(bytes: usize) -> ReportedError {
    ReportedError::argument(format!("the data is a null pointer, though it has {bytes} bytes"))
}

#[cold]
#[inline(never)]
fn unaligned(address: usize, alignment: usize) -> ReportedError {
    ReportedError::argument(format!(
        "the items at {address:#x} are not aligned: a multiple of {alignment} is needed, as malloc and arrays of the type have it"
    ))
}

#[cold]
#[inline(never)]
fn of_device(memory: MemoryKind) -> ReportedError {
    ReportedError::argument(format!(
        "the data is {memory}, which no call takes: copy it to memory of the host first"
    ))
}

#[cold]
#[inline(never)]
fn too_many(count: usize, size: usize) -> ReportedError {
    ReportedError::argument(format!(
        "{count} items of {size} bytes are more than memory has: is a length negative?"
    ))
}

/// Returns the bytes at an address.
///
/// # Safety
/// Unless it is null they can be read, and are not written while the slice is in use.
#[inline(always)]
pub unsafe fn bytes<'a>(data: *const c_void, bytes: usize) -> Result<&'a [u8], ReportedError> {
    // SAFETY: as the caller says; bytes need no alignment.
    unsafe { items(data, bytes) }
}

/// Returns the bytes at an address, for writing.
///
/// # Safety
/// Unless it is null they can be written, and nothing else accesses them while the slice is in use.
#[inline(always)]
pub unsafe fn bytes_mut<'a>(data: *mut c_void, bytes: usize) -> Result<&'a mut [u8], ReportedError> {
    // SAFETY: as the caller says; bytes need no alignment.
    unsafe { items_mut(data, bytes) }
}

/// Checks that there can be items at an address.
#[inline(always)]
fn check<T>(data: *const c_void, count: usize) -> Result<(), ReportedError> {
    if data.is_null() {
        return if count == 0 { Ok(()) } else { Err(no_memory(count.saturating_mul(size_of::<T>()))) };
    }
    if align_of::<T>() > 1 && !data.cast::<T>().is_aligned() {
        return Err(unaligned(data.addr(), align_of::<T>()));
    }
    if count > isize::MAX.unsigned_abs() / size_of::<T>() {
        return Err(too_many(count, size_of::<T>()));
    }
    match device::memory_at(data, count * size_of::<T>()) {
        MemoryKind::Host => Ok(()),
        memory => Err(of_device(memory)),
    }
}

/// Returns the items at an address.
///
/// # Safety
/// The conditions of [`bytes`] apply; also, any bytes are a valid `T`.
#[inline(always)]
pub unsafe fn items<'a, T: canele::Plain>(
    data: *const c_void,
    count: usize,
) -> Result<&'a [T], ReportedError> {
    check::<T>(data, count)?;
    if data.is_null() {
        return Ok(&[]);
    }
    // SAFETY: not null, aligned, and as the caller says.
    Ok(unsafe { std::slice::from_raw_parts(data.cast(), count) })
}

/// Returns the items at an address, for writing.
///
/// # Safety
/// The conditions of [`bytes_mut`] apply; also, any bytes are a valid `T`.
#[inline(always)]
pub unsafe fn items_mut<'a, T: canele::Plain>(
    data: *mut c_void,
    count: usize,
) -> Result<&'a mut [T], ReportedError> {
    check::<T>(data, count)?;
    if data.is_null() {
        return Ok(&mut []);
    }
    // SAFETY: not null, aligned, and as the caller says.
    Ok(unsafe { std::slice::from_raw_parts_mut(data.cast(), count) })
}

/// Returns the bytes at an address, for reading until an operation has ended.
///
/// # Safety
/// Unless it is null they stay until then, and are not written.
pub unsafe fn raw(data: *const c_void, bytes: usize) -> Result<Raw, ReportedError> {
    check::<u8>(data, bytes)?;
    // SAFETY: as the caller says.
    Ok(unsafe { Raw::new(data.cast(), 0, bytes.cast_signed()) })
}

/// Returns the bytes at an address, for writing until an operation has ended.
///
/// # Safety
/// Unless it is null they stay until then, and nothing else accesses them.
pub unsafe fn raw_mut(data: *mut c_void, bytes: usize) -> Result<RawMut, ReportedError> {
    check::<u8>(data, bytes)?;
    // SAFETY: as the caller says.
    Ok(unsafe { RawMut::new(data.cast(), 0, bytes.cast_signed()) })
}

/// Refuses memory that one call would both read and write.
pub fn check_apart<T, U>(input: &[T], output: &[U]) -> Result<(), ReportedError> {
    let (input, output) = (input.as_ptr_range(), output.as_ptr_range());
    let (input, output) = (input.start.addr()..input.end.addr(), output.start.addr()..output.end.addr());
    if input.is_empty() || output.is_empty() || input.end <= output.start || output.end <= input.start {
        return Ok(());
    }
    Err(ReportedError::argument(
        "the memory of the items and that of the result overlap: give the result memory of its own",
    ))
}

/// Returns a text.
///
/// # Safety
/// Unless it is null it ends with a zero byte, and is not written while the text is in use.
pub unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str, ReportedError> {
    if text.is_null() {
        return Err(ReportedError::argument(format!("the {what} is a null pointer")));
    }
    // SAFETY: as the caller says.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| ReportedError::argument(format!("the {what} {text:?} is not in UTF-8")))
}

/// Returns an array.
///
/// # Safety
/// Unless it is null or empty, it has `count` elements, which no other code accesses while the slice is in
/// use.
pub unsafe fn array<'a, T>(array: *mut T, count: usize, what: &str) -> Result<&'a mut [T], ReportedError> {
    if count == 0 {
        return Ok(&mut []);
    }
    if array.is_null() {
        return Err(ReportedError::argument(format!("the array of {count} {what} is a null pointer")));
    }
    // SAFETY: not null, and as the caller says.
    Ok(unsafe { std::slice::from_raw_parts_mut(array, count) })
}
