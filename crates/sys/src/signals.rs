//! The signal state that a process inherits: set aside for the process itself, and restored for the programs
//! that it starts.
//!
//! Owns the mask of the launcher's processes and the set of signals that they ignore. A parent that blocks
//! SIGCHLD, ignores it, or limits the size of files must not decide if a launcher learns of the end of a
//! rank. Installs no handler.

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;

/// Signals that must be able to end a program. Shells start background jobs with some of them ignored, and
/// the launcher may have inherited that.
const ENDING: [libc::c_int; 3] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];
/// The launcher's own signal actions: SIGCHLD is not ignored, and a file that is too large fails the call
/// instead of raising a signal.
const OWN: [(libc::c_int, libc::sighandler_t); 2] =
    [(libc::SIGCHLD, libc::SIG_DFL), (libc::SIGXFSZ, libc::SIG_IGN)];

/// The signal state with which the process was started.
struct Inherited {
    mask: libc::sigset_t,
    /// True for each signal of [`OWN`] that was ignored.
    ignored: [bool; OWN.len()],
}

static INHERITED: OnceLock<Inherited> = OnceLock::new();

/// Sets the calling thread's mask and the process's ignored signals as a process of the launcher needs them.
/// No signal is blocked, SIGCHLD is not ignored, and a file that is too large is an error. Call it before
/// other threads start; later calls change nothing.
pub fn set_aside_inherited() {
    INHERITED.get_or_init(|| {
        let ignored = OWN.map(|(signal, _)| is_ignored(signal));
        Inherited { mask: set_own(), ignored }
    });
}

/// Sets mask and signals as [`OWN`] says; returns the previous mask.
fn set_own() -> libc::sigset_t {
    for (signal, action) in OWN {
        // SAFETY: no handler is installed, and the number is valid.
        unsafe { libc::signal(signal, action) };
    }
    let (mut none, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: both sets are memory of this function; `sigemptyset` and a successful call write all of theirs.
    unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigemptyset(before.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), before.as_mut_ptr());
        before.assume_init()
    }
}

fn is_ignored(signal: libc::c_int) -> bool {
    let mut now = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: nothing is changed, and the place is memory of this function; all zeros is a valid value of it.
    let now = unsafe {
        libc::sigaction(signal, ptr::null(), now.as_mut_ptr());
        now.assume_init()
    };
    now.sa_sigaction == libc::SIG_IGN
}

/// Calls `start` with the signal state that [`set_aside_inherited`] has set aside, so that a started program
/// inherits it. Nothing has to run in the new process, so the standard library can start it in its fast way.
pub fn with_inherited<T>(start: impl FnOnce() -> T) -> T {
    give_back_here();
    let started = start();
    if INHERITED.get().is_some() {
        set_own();
    }
    started
}

/// Restores the state that was set aside, if any was. Allocates nothing, so a new process may call it before
/// its program starts.
fn give_back_here() {
    let Some(inherited) = INHERITED.get() else { return };
    for ((signal, _), was_ignored) in OWN.into_iter().zip(inherited.ignored) {
        // SAFETY: no handler is installed, and the number is valid.
        unsafe { libc::signal(signal, if was_ignored { libc::SIG_IGN } else { libc::SIG_DFL }) };
    }
    // SAFETY: the set is one that the system has given.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &inherited.mask, ptr::null_mut()) };
}

/// Restores the state that was set aside, but resets the [`ENDING`] signals, so that they end the program.
pub(crate) fn give_back_but_ending() {
    give_back_here();
    // SAFETY: plain calls with valid numbers on a set of this function, in a process with one thread.
    unsafe {
        let mut ending = MaybeUninit::uninit();
        libc::sigemptyset(ending.as_mut_ptr());
        for signal in ENDING {
            libc::signal(signal, libc::SIG_DFL);
            libc::sigaddset(ending.as_mut_ptr(), signal);
        }
        libc::pthread_sigmask(libc::SIG_UNBLOCK, ending.as_ptr(), ptr::null_mut());
    }
}

/// Calls `write`, whose writes to this process's terminal do not stop the process while it runs in the
/// background.
pub fn without_terminal_stop<T>(write: impl FnOnce() -> T) -> T {
    let (mut stop, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: both sets are memory of this function, the number is valid, and `before` is read only after a
    // successful call has written it.
    unsafe {
        libc::sigemptyset(stop.as_mut_ptr());
        libc::sigaddset(stop.as_mut_ptr(), libc::SIGTTOU);
        let is_blocked = libc::pthread_sigmask(libc::SIG_BLOCK, stop.as_ptr(), before.as_mut_ptr()) == 0;
        let written = write();
        if is_blocked {
            libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut());
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// Returns the masks of blocked and ignored signals of a program that `start` starts.
    fn masks(start: impl FnOnce(&mut Command) -> std::io::Result<Child>) -> [u64; 2] {
        let mut command = Command::new("cat");
        // The program ends with its input, after `start`: where SIGCHLD is ignored, the status of an ended
        // process is lost.
        command.args(["/proc/self/status", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = start(&mut command).unwrap();
        let status = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        ["SigBlk:", "SigIgn:"].map(|name| {
            let mask = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            u64::from_str_radix(mask.trim(), 16).unwrap()
        })
    }

    /// Runs in a process of its own, this test started again, because signals belong to a process.
    #[test]
    fn what_was_inherited_is_set_aside_and_given_back() {
        let bit = |signal: libc::c_int| 1_u64 << (signal - 1);
        if std::env::var_os("INHERITS").is_none() {
            let mut again = Command::new(std::env::current_exe().unwrap());
            again.args(["--exact", "signals::tests::what_was_inherited_is_set_aside_and_given_back"]);
            // SAFETY: async-signal-safe calls with valid numbers, in a new process.
            unsafe {
                again.env("INHERITS", "").pre_exec(|| {
                    let mut all = MaybeUninit::uninit();
                    libc::sigfillset(all.as_mut_ptr());
                    libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), ptr::null_mut());
                    libc::signal(libc::SIGCHLD, libc::SIG_IGN);
                    libc::signal(libc::SIGTERM, libc::SIG_IGN);
                    Ok(())
                });
            }
            let output = again.output().unwrap();
            return assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        }
        set_aside_inherited();
        let [blocked, ignored] = masks(Command::spawn);
        assert_eq!((blocked, ignored & bit(libc::SIGCHLD)), (0, 0));
        assert_ne!(ignored & bit(libc::SIGXFSZ), 0);
        let [blocked, ignored] = masks(|command| with_inherited(|| command.spawn()));
        assert_eq!(ignored & (bit(libc::SIGCHLD) | bit(libc::SIGXFSZ)), bit(libc::SIGCHLD));
        assert!([libc::SIGUSR1, libc::SIGTERM].iter().all(|signal| blocked & bit(*signal) != 0));
        let [blocked_again, ignored_again] = masks(Command::spawn);
        assert_eq!((blocked_again, ignored_again & bit(libc::SIGCHLD)), (0, 0), "only meanwhile");
        let preparation = crate::spawn::Preparation { keep: None, processors: None };
        let [blocked, ignored] = masks(|command| {
            crate::spawn::prepare(command, preparation);
            command.spawn()
        });
        let ending = ENDING.into_iter().fold(0, |mask, signal| mask | bit(signal));
        assert_eq!((blocked & ending, ignored & ending), (0, 0), "a rank can be ended");
        assert_ne!(blocked & bit(libc::SIGUSR1), 0);
        assert_ne!(ignored & bit(libc::SIGCHLD), 0);
    }

    #[test]
    fn a_terminal_stops_no_write_and_nothing_of_it_is_passed_on() {
        let stop = 1_u64 << (libc::SIGTTOU - 1);
        // The test runs on a thread of its own, whose mask differs from that of other tests.
        let test = move || {
            let [blocked, ignored] = without_terminal_stop(|| masks(Command::spawn));
            assert_eq!((blocked & stop, ignored & stop), (stop, 0), "blocked meanwhile");
            let [blocked, ignored] = masks(Command::spawn);
            assert_eq!(
                (blocked & stop, ignored & stop),
                (0, 0),
                "a program that is started later can be stopped"
            );
        };
        std::thread::spawn(test).join().unwrap();
    }
}
