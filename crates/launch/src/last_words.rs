//! The last line of a process of the launcher whose own launcher or agent is gone. Owns the way to standard error; never waits for its reader.

use std::io;

use canele_sys::signals;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Says one line, if standard error takes it at once: its reader may be gone, too, or hung.
pub fn say_last(text: &str) {
    signals::ignore_terminal_stop();
    let error = io::stderr();
    let mut room = [PollFd::new(&error, PollFlags::OUT)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    if poll(&mut room, Some(&now)).is_ok() && room[0].revents().contains(PollFlags::OUT) {
        // A pipe with room takes as much as a line in one piece.
        let _ = rustix::io::write(&error, format!("canele: {text}\n").as_bytes());
    }
}
