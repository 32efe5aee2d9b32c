//! Adds numbers of this thread to numbers in shared memory, in place, by vector instructions.

use crate::lane_type::LaneType;

/// Bytes added at a time.
pub(crate) const LINE: usize = 64;

#[cfg(target_arch = "aarch64")]
#[path = "sums/aarch64.rs"]
mod lines;
#[cfg(target_arch = "x86_64")]
#[path = "sums/x86_64.rs"]
mod lines;

use lines::add_lines;

/// Adds `len` bytes of numbers at `from` to those at `to`.
///
/// # Safety
/// Both ranges have `len` bytes. Only this thread accesses `from`; `to` is writable, and others may write it
/// meanwhile. `len` is a multiple of [`LINE`].
pub(crate) unsafe fn add(numbers: LaneType, to: *mut u8, from: *const u8, len: usize) {
    if len == 0 {
        return;
    }
    let end = from.wrapping_add(len);
    // SAFETY: the loop ends where `from` is `end`, a multiple of its step further; the ranges are the caller's.
    unsafe {
        match numbers {
            LaneType::F64 => add_lines!(F64, to, from, end),
            LaneType::F32 => add_lines!(F32, to, from, end),
            LaneType::I64 => add_lines!(I64, to, from, end),
            LaneType::I32 => add_lines!(I32, to, from, end),
            LaneType::I16 => add_lines!(I16, to, from, end),
            LaneType::I8 => add_lines!(I8, to, from, end),
        }
    }
}
