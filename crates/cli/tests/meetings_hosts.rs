//! Jobs on several hosts that are connected by ports, with each other and with jobs of one host. The hosts
//! are this machine under several names, or network namespaces if there can be some.

#[path = "../../mpi-abi/tests/support/mod.rs"]
mod programs;
mod support;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use canele_sys::atomic::{AtomicU32, Ordering};
use programs::{compiled, folder, library};
use support::hosts::{Cluster, on_host, start_on};
use support::ranks::setting;
use support::{Run, kill, start, wait_until};

const LIMIT: Duration = Duration::from_secs(200);

fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| compiled("meetings", &[folder("programs/faults/meetings.c")]))
}

/// Returns a name that no other test has: of a service, or of a file in the folder of the library.
fn place() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    library().join(format!("far-{}-{count}", std::process::id())).to_str().expect("text").to_owned()
}

fn command(words: &[&str]) -> Vec<String> {
    let path = format!("LD_LIBRARY_PATH={}", library().display());
    let program = program().to_str().expect("a path of text").to_owned();
    let words = words.iter().map(|word| (*word).to_owned());
    ["env".to_owned(), path, program].into_iter().chain(words).collect()
}

/// The hosts of jobs: this machine under several names, or namespaces with the launchers on the first host.
#[derive(Clone, Copy)]
enum JobSite<'a> {
    Pretended,
    Namespaces(&'a Cluster),
}

/// Starts a job on these hosts, or of so many ranks on the launcher's host if `hosts` is a number.
fn job(place: JobSite, hosts: &str, options: &[&str], words: &[&str]) -> Run {
    let command = command(words);
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    match (place, hosts.parse::<u32>().is_ok()) {
        (JobSite::Pretended, true) => {
            start(&[&["run", "--timeout", "1000", "-n", hosts], options, &command].concat())
        }
        (JobSite::Pretended, false) => start_on("plain", hosts, options, &command),
        (JobSite::Namespaces(cluster), true) => cluster.start_within("h0", &["-n", hosts], options, &command),
        (JobSite::Namespaces(cluster), false) => {
            let rsh = cluster.remote_shell();
            cluster.start_within("h0", &["--hosts", hosts, "--rsh", &rsh], options, &command)
        }
    }
}

/// Returns the number of ranks on these hosts.
fn ranks(hosts: &str) -> usize {
    let of_host = |host: &str| host.rsplit(':').next().and_then(|ranks| ranks.parse::<usize>().ok());
    hosts.split(',').map(|host| of_host(host).expect("a number")).sum()
}

fn passed(run: Run, hosts: &str) {
    let ended = run.end_within(LIMIT);
    let all = vec!["passed"; ranks(hosts)];
    assert_eq!((ended.code(), ended.lines(), ended.error.as_str()), (Some(0), all, ""), "{hosts}");
}

fn meet(at: JobSite, server: &str, visitor: &str) {
    let place = place();
    let (serving, visiting) =
        (job(at, server, &[], &["serve", &place, "2"]), job(at, visitor, &[], &["visit", &place, "2"]));
    passed(visiting, visitor);
    passed(serving, server);
}

#[test]
fn jobs_are_connected_wherever_their_ranks_run() {
    for (server, visitor) in [
        ("a:1,b:1", "a:1,b:1"),
        ("a:1,b:2", "2"),
        ("2", "a:2,b:1"),
        ("a:2", "1"),
        ("1", "a:2"),
        ("a:1", "a:2"),
    ] {
        meet(JobSite::Pretended, server, visitor);
    }
}

#[test]
fn jobs_in_namespaces_are_connected_wherever_their_ranks_run() {
    let Some(cluster) = Cluster::up() else { return };
    for (server, visitor) in [
        ("h0:1,h1:1", "h0:1,h1:1"),
        ("h0:2,h1:1", "2"),
        ("2", "h1:1,h0:2"),
        ("h0:1,h1:1", "h1:2"),
        ("h1:1", "h0:1,h1:1"),
        ("h0:1", "2"),
    ] {
        meet(JobSite::Namespaces(&cluster), server, visitor);
    }
}

/// Ranks that have sockets from their start, and ranks of one host that get sockets by the connection.
#[test]
fn ranks_that_wait_for_another_job_sleep_until_it_sends() {
    for (waiting, telling) in [("2", "a:1,b:1"), ("a:1,b:1", "2"), ("a:1,b:1", "a:1,b:1")] {
        let place = place();
        let at = JobSite::Pretended;
        let waits = job(at, waiting, &["--wait", "sleep"], &["waits", &place]);
        passed(job(at, telling, &[], &["tells", &place]), telling);
        passed(waits, waiting);
    }
}

#[test]
fn three_jobs_are_connected_one_after_the_other_and_by_the_name_of_a_service() {
    let place = place();
    let at = JobSite::Pretended;
    let server = job(at, "a:1,b:1", &[], &["publish", &place, "3"]);
    for visitor in ["a:1,b:1", "2", "a:1"] {
        passed(job(at, visitor, &[], &["lookup", &place]), visitor);
    }
    passed(server, "a:1,b:1");
}

#[test]
fn jobs_without_a_host_in_common_are_not_connected() {
    let Some(cluster) = Cluster::up() else { return };
    let at = JobSite::Namespaces(&cluster);
    for (server, visitor) in [("h0:1", "h1:1"), ("h1:1", "1"), ("1", "h1:1")] {
        let place = place();
        let serving = job(at, server, &[], &["serve", &place]);
        let ended = job(at, visitor, &[], &["refused", &place]).end_within(LIMIT);
        assert_eq!(ended.lines(), ["passed"], "{ended:?}");
        kill("TERM", serving.pid());
        assert_ne!(serving.end_within(LIMIT).code(), Some(0));
    }
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

/// A rank, an agent or the launcher of one of two communicating jobs is killed: the other job learns of it,
/// and no process of either is left.
#[test]
fn a_job_on_several_hosts_that_is_killed_is_no_more_for_the_other() {
    let mut random = Random(setting("FAULT_SEED", 3));
    for n in 0..setting("FAULT_KILLS", 8) {
        let (after, whom, kinds) =
            (Duration::from_millis(random.below(60)), random.below(6), random.below(3));
        let (of_server, of_visitor) =
            [("a:1,b:1", "a:1,b:1"), ("2", "a:1,b:1"), ("a:1,b:1", "2")][kinds as usize];
        let options = [&[][..], &["--on-failure", "continue"]][random.below(2) as usize];
        let place = place();
        let server = job(JobSite::Pretended, of_server, options, &["serve-forever", &place]);
        let visitor = job(JobSite::Pretended, of_visitor, options, &["visit-forever", &place]);
        let met = format!("{place}.met");
        wait_until("the connection", || Path::new(&met).exists());
        std::thread::sleep(after);
        let (victim, other) = if whom % 2 == 0 { (server, visitor) } else { (visitor, server) };
        let (found, agents) = (ranks_of(&victim), on_host(&victim, "b", "canele"));
        let pid = match whom {
            0 | 1 => victim.pid(),
            2 | 3 if !agents.is_empty() => agents[random.below(agents.len() as u64) as usize],
            _ => found[random.below(found.len() as u64) as usize],
        };
        kill("KILL", pid);
        let what = format!("kill {n}: {whom} after {after:?} {options:?} {of_server} {of_visitor}");
        let killed = victim.end_within(LIMIT);
        assert_ne!(killed.code(), Some(0), "{what}");
        let ended = other.end_within(LIMIT);
        assert_eq!(
            (ended.code(), ended.lines()),
            (Some(0), vec!["passed", "passed", "told", "told"]),
            "{what}: {ended:?}"
        );
    }
}
