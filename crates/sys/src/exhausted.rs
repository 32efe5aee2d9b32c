//! A listener's pause while the system has no descriptor or memory for a connection.
//!
//! The connection stays in the queue, so the listener is ready again at once; without a pause its loop would
//! do nothing else.

use std::thread::sleep;
use std::time::Duration;

use rustix::io::Errno;

/// The pause in which descriptors or memory may be freed.
const PAUSE: Duration = Duration::from_millis(10);

/// Returns true if an error says that this process or the system has run out of descriptors or memory.
pub fn is_exhausted(error: Errno) -> bool {
    matches!(error, Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM)
}

/// Pauses if accepting failed because of exhaustion; returns the error.
pub fn pause_if_exhausted(error: Errno) -> Errno {
    if is_exhausted(error) {
        sleep(PAUSE);
    }
    error
}
