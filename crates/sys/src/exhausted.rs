//! What a listener does while the system has no descriptor or no memory for a connection.
//!
//! The connection stays in the queue, so that the listener is ready again at once: a loop that goes on without a pause does nothing else.

use std::thread::sleep;
use std::time::Duration;

use rustix::io::Errno;

/// How long is waited for something to be given back.
const PAUSE: Duration = Duration::from_millis(10);

/// Whether an error says that there is nothing left, of this process or of the system.
pub fn is_exhausted(error: Errno) -> bool {
    matches!(error, Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM)
}

/// Waits a moment if accepting has failed because there was nothing left; gives the error back.
pub fn pause_if_exhausted(error: Errno) -> Errno {
    if is_exhausted(error) {
        sleep(PAUSE);
    }
    error
}
