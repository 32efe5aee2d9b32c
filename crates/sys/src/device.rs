//! Memory of devices, such as graphics processors, which the processors of the host cannot read.
//!
//! Owns the program's function that knows such memory. [`memory_at`] is called once where an address enters
//! the library; without such a function it costs one load. Never touches the memory.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::sync::OnceLock;

use libloading::os::unix::Library;

/// The kind of a piece of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MemoryKind {
    /// Memory that the processors of the host read and write.
    #[default]
    Host,
    /// Memory of the device with this number.
    Device(u32),
}

bitflags::bitflags! {
    /// Kinds of memory that a rail can send from and receive into.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct MemoryKinds: u8 {
        /// [`MemoryKind::Host`].
        const HOST = 1;
        /// [`MemoryKind::Device`].
        const DEVICE = 1 << 1;
    }
}

impl MemoryKind {
    /// Returns the set of this kind alone.
    pub fn as_set(self) -> MemoryKinds {
        match self {
            Self::Host => MemoryKinds::HOST,
            Self::Device(_) => MemoryKinds::DEVICE,
        }
    }
}

impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("memory of the host"),
            Self::Device(number) => write!(f, "memory of device {number}"),
        }
    }
}

/// Returns the number of the device that an address belongs to; a number less than 0 means no device.
type DeviceOf = extern "C" fn(address: *const c_void) -> c_int;

static DEVICE_OF: OnceLock<DeviceOf> = OnceLock::new();

/// Uses this function for all later addresses; the first function that was given stays.
fn ask(device_of: DeviceOf) {
    let _ = DEVICE_OF.set(device_of);
}

/// Uses the function `canele_device_of` of the program, or of a library that was loaded with it, if there is
/// one.
pub fn ask_program() {
    let program = Library::this();
    // SAFETY: the name is of this system alone, and its type is this one.
    if let Ok(device_of) = unsafe { program.get::<DeviceOf>(b"canele_device_of\0") } {
        ask(*device_of);
    }
}

/// Returns true if a function is used, so memory may belong to a device.
pub fn is_asked() -> bool {
    DEVICE_OF.get().is_some()
}

/// Returns the kind of `len` bytes from an address: a device's if its first or last byte is. Zero bytes are
/// the host's.
#[inline(always)]
pub fn memory_at(start: *const c_void, len: usize) -> MemoryKind {
    match DEVICE_OF.get() {
        None => MemoryKind::Host,
        Some(device_of) => ask_of(*device_of, start, len),
    }
}

#[cold]
#[inline(never)]
fn ask_of(device_of: DeviceOf, start: *const c_void, len: usize) -> MemoryKind {
    let Some(last) = len.checked_sub(1) else { return MemoryKind::Host };
    let numbers = [0, last].map(|at| device_of(start.wrapping_byte_add(at)));
    let device = numbers.into_iter().find_map(|number| u32::try_from(number).ok());
    device.map_or(MemoryKind::Host, MemoryKind::Device)
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn high(address: *const c_void) -> c_int {
        if address.addr() >= 1000 { 3 } else { -1 }
    }

    #[test]
    fn memory_is_of_the_device_that_the_program_says() {
        let at = |address: usize, len: usize| memory_at(std::ptr::without_provenance(address), len);
        assert_eq!(at(1000, 8), MemoryKind::Host, "without a function all memory is of the host");
        ask(high);
        assert_eq!(
            [at(992, 8), at(992, 9), at(1000, 1), at(1000, 0)],
            [MemoryKind::Host, MemoryKind::Device(3), MemoryKind::Device(3), MemoryKind::Host]
        );
        assert_eq!(at(1000, 8).to_string(), "memory of device 3");
    }
}
