//! Processes that other processes have started, held by a descriptor. Owns what the kernel reports of their
//! end; never waits for it.

use std::os::fd::{AsFd, AsRawFd};

/// `PIDFD_INFO_EXIT`: requests the exit status, or says that it is present.
const EXIT: u64 = 1 << 3;
/// `PIDFD_GET_INFO`, which reads and writes a [`PidfdInfo`].
const GET_INFO: libc::c_ulong = 0xc040_ff0b;

/// `struct pidfd_info` in its first version.
#[repr(C)]
#[derive(Default)]
struct PidfdInfo {
    mask: u64,
    cgroup: u64,
    /// Numbers of the process and of its users.
    ids: [u32; 11],
    exit_code: i32,
}

/// Returns the status, as of wait(2), with which a process ended and was reaped by its parent. None before
/// Linux 6.15.
pub fn status_of_reaped(process: impl AsFd) -> Option<u32> {
    let mut info = PidfdInfo { mask: EXIT, ..PidfdInfo::default() };
    // SAFETY: the request gives the length of the structure, of which the kernel fills no more than that; it
    // lives during the call.
    let result = unsafe { libc::ioctl(process.as_fd().as_raw_fd(), GET_INFO as _, &raw mut info) };
    (result == 0 && info.mask & EXIT != 0).then_some(info.exit_code as u32)
}
