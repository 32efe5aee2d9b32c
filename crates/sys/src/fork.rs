//! The identity of the caller: a number for each thread, and a flag for forked children.
//!
//! A forked child shares its parent's segments but is not the parent's rank, so it must not act in the
//! parent's name. A hook in the child clears the thread's number. Then the comparison that every call makes
//! fails there, and the fast path pays nothing for fork.
//!
//! This module never sees children made without the hooks of `pthread_atfork` (`vfork`, bare `clone`): they
//! may only start another program.

/// The number of a thread.
mod thread_word {
    use super::NO_TOKEN;

    crate::thread_word::thread_word!(u64, "canele_thread_number", const NO_TOKEN, NO_TOKEN);
}

use thiserror::Error;

/// The library was called in a forked child of a rank.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("a forked child cannot use its parent's connections: only the rank itself may call Canelé")]
pub struct Forked;

/// The number of a thread that has none yet, or runs in a forked child.
pub(crate) const NO_TOKEN: u64 = 0;

/// Returns this thread's number, or [`NO_TOKEN`], by one load.
#[inline(always)]
pub(crate) fn known_token() -> u64 {
    thread_word::get()
}

/// Returns this thread's number, unique among the threads of the process. It is 0 before the thread's first
/// call of an engine, and in a forked child.
#[inline(always)]
pub fn thread_number() -> u64 {
    known_token()
}

/// Returns this thread's number, unique among the threads of the process; the first call assigns it.
///
/// It is the system's number, so that all copies of this library in the process ([`crate::copies`]) agree on
/// it. The system may reuse the number of an ended thread; the later thread sees all effects of the earlier
/// one.
///
/// # Errors
/// Fails in a forked child.
pub fn token() -> Result<u64, Forked> {
    if forked() {
        return Err(Forked);
    }
    if known_token() == NO_TOKEN {
        thread_word::set(number());
    }
    Ok(known_token())
}

#[cfg(not(any(loom, miri)))]
fn number() -> u64 {
    rustix::thread::gettid().as_raw_nonzero().get() as u64
}

/// Returns a number from a counter, since models and interpreters have no threads of the system.
#[cfg(any(loom, miri))]
fn number() -> u64 {
    static LAST: std::sync::Mutex<u64> = std::sync::Mutex::new(NO_TOKEN);
    let mut last = LAST.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    *last += 1;
    *last
}

#[cfg(not(loom))]
pub use hook::{forked, watch};

#[cfg(not(loom))]
mod hook {
    use super::{NO_TOKEN, thread_word};
    use crate::atomic::{AtomicBool, Ordering};
    use std::sync::Once;

    static FORKED: AtomicBool = AtomicBool::new(false);

    /// Installs the hook, once. An earlier fork is not noticed.
    ///
    /// # Panics
    /// Panics if there is no memory for the hook.
    pub fn watch() {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| {
            // SAFETY: `in_child` is a function for the rest of the program and only stores two plain values,
            // so it may run in the child of a process with many threads.
            let refused = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
            assert_eq!(refused, 0, "pthread_atfork: no memory");
        });
    }

    /// Returns true if this process was forked from one that had called [`watch`].
    pub fn forked() -> bool {
        // Relaxed: the flag is stored before the child's only thread continues.
        FORKED.load(Ordering::Relaxed)
    }

    /// Clears the number in the child. It is async-signal-safe: the number is a plain thread-local without a
    /// destructor.
    extern "C" fn in_child() {
        FORKED.store(true, Ordering::Relaxed);
        thread_word::set(NO_TOKEN);
    }
}

/// Does nothing: models have no processes.
#[cfg(loom)]
pub fn watch() {}

/// Returns false: models have no processes.
#[cfg(loom)]
pub fn forked() -> bool {
    false
}

#[cfg(all(test, not(loom)))]
pub(crate) mod tests {
    use super::*;

    /// Runs `child` in a forked child and returns its result, a number below 256.
    pub(crate) fn in_forked_child(child: impl FnOnce() -> u8) -> i32 {
        // SAFETY: the child calls nothing that a lock of another thread could block, and leaves by _exit.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0, "fork");
        if pid == 0 {
            let answer = child();
            // SAFETY: ends the child without running anything of the parent's.
            unsafe { libc::_exit(answer.into()) };
        }
        let mut status = 0;
        // SAFETY: waits for our own child, into a local.
        let waited = unsafe { libc::waitpid(pid, &mut status, 0) };
        assert_eq!(waited, pid);
        assert!(libc::WIFEXITED(status), "the child was killed: {status}");
        libc::WEXITSTATUS(status)
    }

    #[test]
    fn threads_have_numbers_of_their_own() {
        let ours = token().unwrap();
        assert_ne!(ours, NO_TOKEN);
        assert_eq!((token(), known_token()), (Ok(ours), ours));
        let theirs = std::thread::spawn(|| token().unwrap()).join().unwrap();
        assert_ne!(theirs, ours);
    }

    #[test]
    fn a_child_has_no_number_and_gets_none() {
        watch();
        watch();
        token().unwrap();
        let answer = in_forked_child(|| {
            let lost = known_token() == NO_TOKEN;
            u8::from(lost && forked() && token() == Err(Forked))
        });
        assert_eq!(answer, 1);
        assert!(!forked(), "the parent is no child");
        assert_ne!(known_token(), NO_TOKEN);
    }

    #[test]
    fn the_error_says_who_may_call() {
        assert_eq!(
            Forked.to_string(),
            "a forked child cannot use its parent's connections: only the rank itself may call Canelé"
        );
    }
}
