"""Finds out how a process that is no child of this one has ended. Owns the descriptors that the kernel offers for it, from Linux 6.15 on."""

from __future__ import annotations

import fcntl
import os
import struct
import time

# struct pidfd_info of <linux/pidfd.h>: mask, control group, 11 process and user numbers, wait status.
PIDFD_INFO = struct.Struct("QQ11Ii")
# PIDFD_GET_INFO: _IOWR(0xff, 11, struct pidfd_info).
GET_INFO = 3 << 30 | PIDFD_INFO.size << 16 | 0xFF << 8 | 11
# PIDFD_INFO_EXIT: in a request, asks for the wait status; in a reply, states that it is there.
HAS_EXIT = 1 << 3
# Seconds in which the parent of an ended process takes its status, and between two looks. Before that the kernel does not report it.
REAP_TIME, LOOK_INTERVAL = 2.0, 0.01


def open_process(pid: int) -> int | None:
    """Returns a descriptor of a process of this host. Returns None if the process has ended, or if the kernel has no such descriptors."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def close_process(descriptor: int) -> int | None:
    """Closes the descriptor of a process that is ending. Returns its exit code, which is negative for a signal, or None if it is unknown."""
    try:
        end = time.monotonic() + REAP_TIME
        while time.monotonic() < end:
            mask, *_, status = PIDFD_INFO.unpack(fcntl.ioctl(descriptor, GET_INFO, PIDFD_INFO.pack(HAS_EXIT, *[0] * 13)))
            if mask & HAS_EXIT:
                return os.waitstatus_to_exitcode(status)
            time.sleep(LOOK_INTERVAL)
        return None
    except (OSError, ValueError):
        return None
    finally:
        os.close(descriptor)
