//! The signals that the launcher passes on to its ranks, as an event like any other.
//!
//! Owns the signal handlers of the launcher's process. (The library installs no handlers.)

use canele_sys::bounded_read::read_kernel;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::process::Signal;
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

use super::events::{Events, Ready, Source};

const PASSED_ON: [Signal; 9] = [
    Signal::INT,
    Signal::TERM,
    Signal::HUP,
    Signal::QUIT,
    Signal::USR1,
    Signal::USR2,
    Signal::WINCH,
    Signal::TSTP,
    Signal::CONT,
];

/// The set of signals that have arrived.
pub struct Signals {
    delivery: SignalDelivery<UnixStream, SignalOnly>,
}

impl Signals {
    /// Catches the signals from now on. SIGHUP stays ignored if it is (`nohup`).
    ///
    /// # Errors
    /// Fails as socketpair(2) and sigaction(2) do.
    pub fn new(events: &Events) -> io::Result<Signals> {
        let ignored = ignored_signals();
        let caught = PASSED_ON
            .iter()
            .filter(|&&signal| signal != Signal::HUP || ignored & (1 << (signal.as_raw() - 1)) == 0)
            .map(|signal| signal.as_raw());
        let (read, write) = UnixStream::pair()?;
        let delivery = SignalDelivery::with_pipe(read, write, SignalOnly, caught)?;
        events.add(delivery.get_read().as_fd(), Source::Signals, Ready::IN)?;
        Ok(Signals { delivery })
    }

    /// Returns the signals that have arrived since the last call, each once.
    pub fn pending(&mut self) -> Vec<Signal> {
        self.delivery.pending().filter_map(Signal::from_named_raw).collect()
    }
}

impl AsFd for Signals {
    /// Returns a descriptor that is readable when a signal has arrived.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.delivery.get_read().as_fd()
    }
}

/// Returns the mask of ignored signals, bit n - 1 for signal n; 0 if the system does not tell.
fn ignored_signals() -> u64 {
    let status = read_kernel("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
