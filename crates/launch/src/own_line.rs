//! A line that a process of the launcher prints itself because no launcher or agent passes it on. Owns the
//! write to standard error; never waits for its reader.

use std::io;

use canele_sys::signals;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Prints one line, if standard error accepts it at once: its reader may be gone, too, or hung.
pub fn say_at_once(text: &str) {
    let error = io::stderr();
    let mut room = [PollFd::new(&error, PollFlags::OUT)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    if poll(&mut room, Some(&now)).is_ok() && room[0].revents().contains(PollFlags::OUT) {
        let line = format!("canele: {text}\n");
        // A pipe with room accepts a line in one piece.
        let _ = signals::without_terminal_stop(|| rustix::io::write(&error, line.as_bytes()));
    }
}
