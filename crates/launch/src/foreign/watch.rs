//! Watches ranks that have not joined the job yet, to detect that they use another MPI.
//!
//! Owns the times of the checks: the first soon after the start, then at doubled intervals. A finding in the
//! first second counts if the rank ends without having joined; a later finding counts at once. A thread
//! checks, because mappings and libraries can have any size: the launcher never waits for it.

use std::path::Path;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use super::mapped::{Foreign, KnownLibraries};
use super::{ALLOW, COMPILE, advice};

/// The time from the start of a rank to the first check.
const FIRST: Duration = Duration::from_millis(125);
/// The longest time between two checks.
const SELDOM: Duration = Duration::from_secs(64);
/// The time after which a rank that has not joined counts as using the libraries that it has mapped.
const JOINING_TIME: Duration = Duration::from_secs(1);
/// The interval at which the launcher asks the thread for its results.
const BETWEEN_RESULTS: Duration = Duration::from_millis(20);
/// The stack of the thread, which makes no deep calls.
const STACK_BYTES: usize = 256 << 10;

/// A function that checks the process of a rank.
type LookAt = fn(&mut KnownLibraries, u32) -> Option<Foreign>;

/// A rank that has not joined.
#[derive(Debug)]
struct Unjoined {
    rank: u32,
    pid: u32,
    started: Instant,
    seen: Option<Foreign>,
}

/// A thread that checks each of some processes once.
#[derive(Debug)]
struct Looking {
    thread: JoinHandle<KnownLibraries>,
    seen: Receiver<(u32, Option<Foreign>)>,
    /// The time to ask for its results.
    ask_at: Instant,
}

/// The ranks of a host that have not joined.
#[derive(Debug)]
pub struct Watch {
    unjoined: Vec<Unjoined>,
    next: Option<(Instant, Duration)>,
    known: KnownLibraries,
    looking: Option<Looking>,
    look_at: LookAt,
}

impl Default for Watch {
    fn default() -> Watch {
        Watch {
            unjoined: Vec::new(),
            next: None,
            known: KnownLibraries::default(),
            looking: None,
            look_at: KnownLibraries::foreign_process,
        }
    }
}

impl Watch {
    /// Adds a rank whose process starts to run now.
    pub fn add(&mut self, rank: u32, pid: u32, now: Instant) {
        self.unjoined.push(Unjoined { rank, pid, started: now, seen: None });
        self.next = Some((now + FIRST, FIRST));
    }

    /// Returns the time of the next check, or of the next request for results.
    pub fn deadline(&self) -> Option<Instant> {
        let asking = self.looking.as_ref().map(|looking| looking.ask_at);
        asking.or(self.next.map(|(at, _)| at)).filter(|_| !self.unjoined.is_empty())
    }

    /// Starts a check of the ranks that have not joined, if it is time. Returns the reason why one of `ranks`
    /// ranks cannot join, once it is known.
    pub fn look(&mut self, now: Instant, ranks: u32, has_joined: impl Fn(u32) -> bool) -> Option<String> {
        if self.deadline().is_none_or(|at| now < at) {
            return None;
        }
        self.unjoined.retain(|one| !has_joined(one.rank));
        match self.looking.take() {
            Some(looking) => self.take_seen(looking, now + BETWEEN_RESULTS),
            None => self.start_looking(now),
        }
        let is_late = |one: &&Unjoined| now >= one.started + JOINING_TIME;
        self.unjoined.iter().filter(is_late).find_map(|one| one.why(ranks))
    }

    /// Starts the thread. If no thread can be started, this check is skipped, and the next one comes at its
    /// usual time.
    fn start_looking(&mut self, now: Instant) {
        let pause = self.next.map_or(FIRST, |(_, pause)| (2 * pause).min(SELDOM));
        self.next = Some((now + pause, pause));
        let pids: Vec<_> = self.unjoined.iter().map(|one| one.pid).collect();
        if pids.is_empty() {
            return;
        }
        let (mut known, look_at) = (std::mem::take(&mut self.known), self.look_at);
        let (sender, seen) = channel();
        let look = move || {
            // The launcher may no longer need the result.
            let _ = pids.into_iter().try_for_each(|pid| sender.send((pid, look_at(&mut known, pid))));
            known
        };
        let thread = Builder::new().name("foreign-mpi".into()).stack_size(STACK_BYTES).spawn(look);
        self.looking = thread.ok().map(|thread| Looking { thread, seen, ask_at: now + BETWEEN_RESULTS });
    }

    /// Takes the thread's results. The thread is asked again at `ask_at` if more results are to come.
    fn take_seen(&mut self, mut looking: Looking, ask_at: Instant) {
        loop {
            match looking.seen.try_recv() {
                Ok((pid, foreign)) => {
                    if let Some(one) = self.unjoined.iter_mut().find(|one| one.pid == pid) {
                        one.seen = foreign;
                    }
                }
                Err(TryRecvError::Empty) => {
                    looking.ask_at = ask_at;
                    self.looking = Some(looking);
                    return;
                }
                // The thread has checked all processes, and ends.
                Err(TryRecvError::Disconnected) => {
                    self.known = looking.thread.join().unwrap_or_default();
                    return;
                }
            }
        }
    }

    /// Removes a rank that has ended. Returns the reason why it has not joined, if it has not and the reason
    /// is known.
    pub fn remove(&mut self, rank: u32, ranks: u32, has_joined: bool) -> Option<String> {
        if let Some(looking) = self.looking.take() {
            let ask_at = looking.ask_at;
            self.take_seen(looking, ask_at);
        }
        let at = self.unjoined.iter().position(|one| one.rank == rank)?;
        let one = self.unjoined.swap_remove(at);
        if has_joined { None } else { one.why(ranks) }
    }
}

impl Unjoined {
    fn why(&self, ranks: u32) -> Option<String> {
        let Foreign { pid, library } = self.seen.as_ref()?;
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let whose = match (program.as_os_str().is_empty(), *pid == self.pid) {
            (true, _) => format!("rank {} used", self.rank),
            (false, true) => format!("rank {}, {}, uses", self.rank, program.display()),
            (false, false) => format!("process {pid} of rank {}, {}, uses", self.rank, program.display()),
        };
        let what_to_do = if name.starts_with("python") { of_python(library) } else { advice(library) };
        Some(format!(
            "{whose} another MPI, {}, and has not joined: each of the {ranks} ranks is a job of its own. {what_to_do}; {ALLOW}",
            library.display()
        ))
    }
}

/// Returns the advice for a Python that has loaded this library.
fn of_python(library: &Path) -> &'static str {
    match advice(library) {
        COMPILE => {
            "An mpi4py of pip's loads Canelé's library (pip install --force-reinstall --no-cache-dir mpi4py); another one, and other modules \
             with MPI, are built with MPICC=mpicc"
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn unjoined(rank: u32, started: Instant) -> Unjoined {
        let seen = Some(Foreign { pid: u32::MAX, library: "/opt/libmpi.so.40".into() });
        Unjoined { rank, pid: u32::MAX, started, seen }
    }

    /// Asks until the thread has ended.
    fn wait(watch: &mut Watch, ranks: u32) -> Option<String> {
        let mut why = None;
        while let Some(looking) = &watch.looking {
            std::thread::yield_now();
            why = why.or(watch.look(looking.ask_at, ranks, |_| false));
        }
        why
    }

    #[test]
    fn ranks_are_looked_at_ever_more_seldom_until_they_have_joined() {
        let start = Instant::now();
        let mut watch = Watch::default();
        assert_eq!(watch.deadline(), None);
        watch.add(3, u32::MAX, start);
        let mut pauses = Vec::new();
        let mut now = start;
        for _ in 0..12 {
            let next = watch.deadline().unwrap();
            assert_eq!(watch.look(next - Duration::from_millis(1), 4, |_| panic!("too early")), None);
            assert_eq!(watch.look(next, 4, |_| false), None);
            assert_eq!(wait(&mut watch, 4), None);
            pauses.push((next - now).as_millis());
            now = next;
        }
        assert_eq!(pauses[..4], [125, 250, 500, 1000]);
        assert_eq!(pauses[11], SELDOM.as_millis());
        assert_eq!(watch.look(watch.deadline().unwrap(), 4, |rank| rank == 3), None);
        assert_eq!(watch.deadline(), None);
    }

    /// Checks a process until the test lets it end.
    fn look_long(_: &mut KnownLibraries, pid: u32) -> Option<Foreign> {
        *STARTED.lock().unwrap() += 1;
        drop(LOOKS_LAST.lock().unwrap());
        Some(Foreign { pid, library: "/opt/libmpi.so.40".into() })
    }

    static STARTED: Mutex<u32> = Mutex::new(0);
    static LOOKS_LAST: Mutex<()> = Mutex::new(());

    #[test]
    fn a_look_that_takes_long_delays_no_call_and_is_the_only_one() {
        let start = Instant::now();
        let mut watch = Watch { look_at: look_long, ..Watch::default() };
        let held = LOOKS_LAST.lock().unwrap();
        for rank in 0..2 {
            watch.add(rank, u32::MAX - rank, start);
        }
        for _ in 0..200 {
            // The first call would not return if it checked by itself.
            assert_eq!(watch.look(watch.deadline().unwrap(), 4, |_| false), None);
        }
        while *STARTED.lock().unwrap() == 0 {
            std::thread::yield_now();
        }
        assert_eq!(*STARTED.lock().unwrap(), 1);
        // Rank 0 joins meanwhile.
        assert_eq!(watch.look(watch.deadline().unwrap(), 4, |rank| rank == 0), None);
        drop(held);
        assert!(wait(&mut watch, 4).unwrap().contains("rank 1 used another MPI"));
        assert_eq!(*STARTED.lock().unwrap(), 2);
    }

    #[test]
    fn what_was_seen_counts_at_the_end_of_a_rank_that_has_not_joined() {
        let now = Instant::now();
        let mut watch = Watch { unjoined: vec![unjoined(0, now), unjoined(1, now)], ..Watch::default() };
        let why = watch.remove(0, 4, false).unwrap();
        for part in ["rank 0", "/opt/libmpi.so.40", "each of the 4", "mpicc", "--foreign allow"] {
            assert!(why.contains(part), "{part}: {why}");
        }
        assert_eq!(watch.remove(1, 4, true), None);
        assert_eq!(watch.remove(1, 4, false), None);
    }
}
