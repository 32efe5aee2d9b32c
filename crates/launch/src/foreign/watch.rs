//! The ranks that have not joined the job yet, looked at now and then: whether they use another MPI.
//!
//! Owns when they are looked at: soon after they have started, then twice as long after each time. What is seen in the first second counts if the
//! rank ends without having joined; what is seen later counts at once.

use std::path::Path;
use std::time::{Duration, Instant};

use super::mapped::{Foreign, KnownLibraries};
use super::{ALLOW, COMPILE, advice};

/// When ranks are first looked at after one has started.
const FIRST: Duration = Duration::from_millis(125);
/// The longest time between two looks.
const SELDOM: Duration = Duration::from_secs(64);
/// A rank that has not joined after this time uses what it has mapped.
const JOINING_TIME: Duration = Duration::from_secs(1);

/// A rank that has not joined.
#[derive(Debug)]
struct Unjoined {
    rank: u32,
    pid: u32,
    started: Instant,
    seen: Option<Foreign>,
}

/// The ranks of a host that have not joined.
#[derive(Debug, Default)]
pub struct Watch {
    unjoined: Vec<Unjoined>,
    next: Option<(Instant, Duration)>,
    known: KnownLibraries,
}

impl Watch {
    /// The process of a rank runs since now.
    pub fn add(&mut self, rank: u32, pid: u32, now: Instant) {
        self.unjoined.push(Unjoined { rank, pid, started: now, seen: None });
        self.next = Some((now + FIRST, FIRST));
    }

    /// When to look.
    pub fn deadline(&self) -> Option<Instant> {
        self.next.map(|(at, _)| at).filter(|_| !self.unjoined.is_empty())
    }

    /// Looks, if it is time, at those ranks that have not joined. Answers why one of `ranks` ranks cannot join.
    pub fn look(&mut self, now: Instant, ranks: u32, has_joined: impl Fn(u32) -> bool) -> Option<String> {
        let (_, pause) = self.next.filter(|(at, _)| now >= *at)?;
        self.unjoined.retain(|one| !has_joined(one.rank));
        let pause = (2 * pause).min(SELDOM);
        self.next = Some((now + pause, pause));
        for one in &mut self.unjoined {
            one.seen = self.known.foreign_process(one.pid);
        }
        let is_late = |one: &&Unjoined| now >= one.started + JOINING_TIME;
        self.unjoined.iter().filter(is_late).find_map(|one| one.why(ranks))
    }

    /// A rank has ended. Answers why it has not joined, if it has not and that is known.
    pub fn remove(&mut self, rank: u32, ranks: u32, has_joined: bool) -> Option<String> {
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

/// What to do about a Python that has loaded this library.
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
    use super::*;

    fn unjoined(rank: u32, started: Instant) -> Unjoined {
        let seen = Some(Foreign { pid: u32::MAX, library: "/opt/libmpi.so.40".into() });
        Unjoined { rank, pid: u32::MAX, started, seen }
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
            pauses.push((next - now).as_millis());
            now = next;
        }
        assert_eq!(pauses[..4], [125, 250, 500, 1000]);
        assert_eq!(pauses[11], SELDOM.as_millis());
        assert_eq!(watch.look(watch.deadline().unwrap(), 4, |rank| rank == 3), None);
        assert_eq!(watch.deadline(), None);
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
