//! Independent jobs that are connected by ports: they find each other, communicate, disconnect, and outlive
//! each other.

#[path = "../../mpi-abi/tests/support/mod.rs"]
mod programs;
mod support;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use canele_sys::atomic::{AtomicU32, Ordering};
use programs::{compiled, folder, library};
use support::ranks::setting;
use support::{Ended, Run, kill, start, wait_until};

const LIMIT: Duration = Duration::from_secs(120);

fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| compiled("meetings", &[folder("programs/faults/meetings.c")]))
}

/// Returns a name that no other test has: of a service, or of a file in the folder of the library.
fn place() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    library().join(format!("port-{}-{count}", std::process::id())).to_str().expect("text").to_owned()
}

/// Starts a job of so many ranks.
fn job(ranks: usize, options: &[&str], words: &[&str]) -> Run {
    let path = format!("LD_LIBRARY_PATH={}", library().display());
    let n = ranks.to_string();
    let program = program().to_str().expect("a path of text");
    let all = [&["run", "--timeout", "1000", "-n", &n], options, &["env", &path, program], words].concat();
    start(&all)
}

fn passed(run: Run, ranks: usize) {
    let ended = run.end_within(LIMIT);
    let lines = vec!["passed"; ranks];
    assert_eq!((ended.code(), ended.lines(), ended.error.as_str()), (Some(0), lines, ""));
}

#[test]
fn jobs_are_connected_by_the_name_of_a_port() {
    for (servers, visitors, times) in [(1, 1, "3"), (2, 1, "2"), (1, 3, "2"), (3, 2, "2"), (9, 1, "1")] {
        let place = place();
        let server = job(servers, &[], &["serve", &place, times]);
        passed(job(visitors, &[], &["visit", &place, times]), visitors);
        passed(server, servers);
    }
}

#[test]
fn jobs_are_connected_by_the_name_of_a_service() {
    for (servers, visitors) in [(1, 1), (2, 2)] {
        let place = place();
        let visitor = job(visitors, &[], &["lookup", &place, "2"]);
        let server = job(servers, &[], &["publish", &place, "2"]);
        passed(visitor, visitors);
        passed(server, servers);
    }
}

#[test]
fn several_jobs_are_connected_one_after_the_other() {
    let place = place();
    let server = job(2, &[], &["serve", &place, "4"]);
    let visitors: Vec<Run> = (0..4).map(|_| job(1, &[], &["visit", &place])).collect();
    visitors.into_iter().for_each(|visitor| passed(visitor, 1));
    passed(server, 2);
}

#[test]
fn a_port_that_is_closed_or_whose_job_has_ended_refuses_who_connects() {
    for (how, after) in [("closes", false), ("leaves-port", true)] {
        let place = place();
        let server = job(1, &[], &[how, &place]);
        let server = if after {
            passed(server, 1);
            None
        } else {
            Some(server)
        };
        passed(job(2, &[], &["refused", &place]), 2);
        server.into_iter().for_each(|server| passed(server, 1));
    }
}

#[test]
fn processes_of_two_jobs_that_have_a_socket_are_connected() {
    let place = place();
    let listener = job(1, &[], &["listens", &place]);
    passed(job(1, &[], &["joins", &place]), 1);
    passed(listener, 1);
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Returns the processes of a job that run the program.
fn ranks_of(run: &Run) -> Vec<u32> {
    let mut found = run.processes();
    found.retain(|pid| {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        name.trim_end() == "meetings"
    });
    found
}

/// A rank or the launcher of one of two communicating jobs is killed: the other job learns of it, and no
/// process of either is left.
#[test]
fn a_job_that_is_killed_is_no_more_for_the_other() {
    let mut random = Random(setting("FAULT_SEED", 3));
    for n in 0..setting("FAULT_KILLS", 8) {
        let (after, whom) = (Duration::from_millis(random.below(60)), random.below(4));
        let options = [&[][..], &["--on-failure", "continue"]][random.below(2) as usize];
        let place = place();
        let server = job(2, options, &["serve-forever", &place]);
        let visitor = job(2, options, &["visit-forever", &place]);
        let met = format!("{place}.met");
        wait_until("the connection", || Path::new(&met).exists());
        std::thread::sleep(after);
        let (victim, other) = if whom % 2 == 0 { (server, visitor) } else { (visitor, server) };
        let ranks = ranks_of(&victim);
        kill("KILL", if whom < 2 { victim.pid() } else { ranks[random.below(ranks.len() as u64) as usize] });
        let what = format!("kill {n}: {whom} after {after:?} {options:?}");
        let killed: Ended = victim.end_within(LIMIT);
        assert_ne!(killed.code(), Some(0), "{what}");
        let ended = other.end_within(LIMIT);
        assert_eq!(
            (ended.code(), ended.lines()),
            (Some(0), vec!["passed", "passed", "told", "told"]),
            "{what}: {ended:?}"
        );
    }
}

/// A process is killed at any moment, also while the jobs are being connected. If one job ends before the
/// connection, the other may wait for ever, so the test ends it too.
#[test]
fn nothing_is_left_of_jobs_that_are_killed_while_they_are_connected() {
    let mut random = Random(setting("FAULT_SEED", 5));
    for n in 0..setting("FAULT_KILLS", 8) {
        let place = place();
        let server = job(2, &[], &["serve", &place, "100"]);
        let visitor = job(2, &[], &["visit", &place, "100"]);
        std::thread::sleep(Duration::from_millis(random.below(400)));
        let (victim, other) = if random.below(2) == 0 { (server, visitor) } else { (visitor, server) };
        let mut all = victim.processes();
        all.push(victim.pid());
        // The process may have ended by itself.
        let whom = all[random.below(all.len() as u64) as usize].to_string();
        let _ = std::process::Command::new("kill").args(["-KILL", &whom]).output();
        let pids = [victim.pid(), other.pid()];
        victim.end_within(LIMIT);
        let _ = std::process::Command::new("kill").args(["-TERM", &other.pid().to_string()]).output();
        other.end_within(LIMIT);
        let sockets = std::fs::read_to_string("/proc/net/unix").unwrap();
        let is_left = |line: &str| pids.iter().any(|pid| line.contains(&format!("@canele-{pid}-")));
        assert_eq!(sockets.lines().filter(|line| is_left(line)).count(), 0, "kill {n}");
    }
}
