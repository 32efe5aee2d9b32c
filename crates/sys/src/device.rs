//! Memory of devices, such as graphics processors: which memory of the program the processors of the host cannot read.
//!
//! Owns the program's function that knows it. [`memory_at`] is asked once where an address enters the library; a program without such a
//! function pays one load there. Never touches the memory.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::sync::OnceLock;

use libloading::os::unix::Library;

/// Where memory lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MemoryKind {
    /// Where the processors of the host read and write it.
    #[default]
    Host,
    /// On a device, with its number.
    Device(u32),
}

bitflags::bitflags! {
    /// Kinds of memory, which a rail can send from and receive into.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct MemoryKinds: u8 {
        /// [`MemoryKind::Host`].
        const HOST = 1;
        /// [`MemoryKind::Device`].
        const DEVICE = 1 << 1;
    }
}

impl MemoryKind {
    /// The set of this kind alone.
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

/// Says of which device an address is, by its number; less than 0: of none.
type DeviceOf = extern "C" fn(address: *const c_void) -> c_int;

static DEVICE_OF: OnceLock<DeviceOf> = OnceLock::new();

/// Asks this function of all addresses from now on; the first one that was given stays.
fn ask(device_of: DeviceOf) {
    let _ = DEVICE_OF.set(device_of);
}

/// Asks the function `canele_device_of` of the program, or of a library that was loaded with it, if there is one.
pub fn ask_program() {
    let program = Library::this();
    // SAFETY: the name is of this system alone, and its type is this one.
    if let Ok(device_of) = unsafe { program.get::<DeviceOf>(b"canele_device_of\0") } {
        ask(*device_of);
    }
}

/// Returns whether a function is asked, so that memory may be of a device.
pub fn is_asked() -> bool {
    DEVICE_OF.get().is_some()
}

/// The memory of `len` bytes from an address: a device's, if the first or the last of them is. No bytes are the host's.
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
