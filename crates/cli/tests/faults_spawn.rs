//! Jobs with spawned processes, killed at any moment: nothing of the job is left.

#[path = "../../mpi-abi/tests/support/mod.rs"]
mod programs;
mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use canele_profile::{HostProfile, MachineIdentity, MeasuredProfile, Profile};
use programs::{compiled, folder, library};
use support::hosts::{Cluster, start_on};
use support::ranks::setting;
use support::{Run, kill, killed_by, start, start_command, wait_until};

fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| compiled("families", &[folder("programs/faults/families.c")]))
}

/// Returns the command that runs the program with these words.
fn command(words: &[&str]) -> Vec<String> {
    let path = format!("LD_LIBRARY_PATH={}", library().display());
    let program = program().to_str().expect("a path of text").to_owned();
    let words = words.iter().map(|word| (*word).to_owned());
    ["env".to_owned(), path, program].into_iter().chain(words).collect()
}

fn job(options: &[&str], words: &[&str]) -> Run {
    let command = command(words);
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    start(&[&["run", "--timeout", "1000"], options, &command[..]].concat())
}

/// Runs the program without a launcher; it starts one itself.
fn alone(on_failure: &str, words: &[&str]) -> Run {
    start_alone(program(), words, ("CANELE_ON_FAILURE", on_failure))
}

/// Starts a program without a launcher, with a variable.
fn start_alone(program: &Path, words: &[&str], (name, value): (&str, &str)) -> Run {
    let launcher = Path::new(env!("CARGO_BIN_EXE_canele")).parent().expect("it lies in a folder").to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(launcher).chain(std::env::split_paths(&path)));
    let mut command = Command::new(program);
    command.args(words).env("LD_LIBRARY_PATH", library()).env("PATH", path.expect("folders of a PATH"));
    start_command(command.env(name, value), b"")
}

/// Returns the name of a process; empty if it has ended.
fn name_of(pid: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

/// Returns the process of a rank, once its program runs.
fn wait_for_rank(run: &Run, rank: u32) -> u32 {
    let entry = format!("CANELE_RANK={rank}");
    let mut found = None;
    wait_until(&format!("rank {rank}"), || {
        found = run.processes().into_iter().find(|pid| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            name_of(*pid) == "families" && environment.split(|b| *b == 0).any(|e| e == entry.as_bytes())
        });
        found.is_some()
    });
    found.expect("it was found")
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

#[test]
fn a_parent_or_a_child_that_is_killed_ends_the_job() {
    let mut random = Random(setting("FAULT_SEED", 1));
    for n in 0..setting("FAULT_KILLS", 8) {
        let (victim, after) = (random.below(4) as u32, Duration::from_millis(random.below(60)));
        let run = job(&["-n", "2"], &["forever"]);
        let pid = wait_for_rank(&run, victim);
        std::thread::sleep(after);
        kill("KILL", pid);
        // The end of a run checks that no process is left.
        let ended = run.end_within(Duration::from_secs(60));
        let what = format!("kill {n}: rank {victim} after {after:?}: {ended:?}");
        assert_eq!(ended.code(), Some(137), "{what}");
        assert!(ended.error.contains(&format!("rank {victim} was killed by signal 9 (Killed)")), "{what}");
    }
}

#[test]
fn where_the_job_goes_on_the_other_side_is_told_of_the_dead() {
    let mut random = Random(setting("FAULT_SEED", 7));
    for n in 0..setting("FAULT_KILLS", 8) {
        let (victim, after) = (random.below(4) as u32, Duration::from_millis(random.below(60)));
        let run = job(&["-n", "2", "--on-failure", "continue"], &["survive"]);
        let pid = wait_for_rank(&run, victim);
        std::thread::sleep(after);
        kill("KILL", pid);
        let ended = run.end_within(Duration::from_secs(60));
        let what = format!("kill {n}: rank {victim} after {after:?}: {ended:?}");
        assert_eq!(ended.code(), Some(137), "{what}");
        // All other ranks end: the operations that they wait for have failed.
        assert!(ended.lines().iter().all(|line| *line == "told" || *line == "alone"), "{what}");
    }
}

#[test]
fn a_program_that_was_started_alone_and_is_killed_ends_its_children() {
    for (on_failure, words) in [("stop", "forever"), ("continue", "survive")] {
        let run = alone(on_failure, &[words]);
        wait_for_rank(&run, 2);
        kill("KILL", run.pid());
        let ended = run.end_within(Duration::from_secs(60));
        assert_eq!(killed_by(&ended), Some(9), "{}", ended.error);
        // All children end: the operations that they wait for have failed, MPI_Init too.
        assert!(ended.lines().iter().all(|line| *line == "told"), "{ended:?}");
        assert!(ended.error.contains("rank 0 was killed by signal 9 (Killed)"), "{}", ended.error);
    }
}

/// The parent polls for a message, and never waits.
#[test]
fn a_program_that_was_started_alone_and_polls_ends_when_its_launcher_is_killed() {
    for words in ["tests", "probes"] {
        let run = alone("continue", &[words]);
        // If the launcher is killed earlier, the spawn fails.
        wait_until("a parent that polls", || name_of(run.pid()) == "polling");
        kill("KILL", run.wait_for(1, "canele")[0]);
        let ended = run.end_within(Duration::from_secs(60));
        assert_eq!(killed_by(&ended), Some(9), "{}", ended.error);
        assert!(
            ended.error.contains("rank 0: the launcher was killed, so this rank ends"),
            "{}",
            ended.error
        );
    }
}

/// The parent gets the profile of its launcher, which checks that all ranks have equal settings.
#[test]
fn a_program_that_was_started_alone_gets_the_profile_of_its_launcher() {
    let spawns = compiled("spawn", &[folder("programs/spawn.c")]);
    let file = std::env::temp_dir().join(format!("canele-spawns-{}.toml", std::process::id()));
    let host = HostProfile { wakeup_ns: 4711, ..HostProfile::OWN_CACHES };
    let profile = Profile { host, networks: Vec::new() };
    let text = MeasuredProfile::new(MachineIdentity::here(), profile, Vec::new()).to_text();
    std::fs::write(&file, text).expect("a file for the profile");
    let variable = ("CANELE_PROFILE", file.to_str().expect("a path of text"));
    let ended = start_alone(&spawns, &[], variable).end_within(Duration::from_secs(60));
    std::fs::remove_file(&file).expect("it was written");
    assert_eq!((ended.code(), ended.out.as_str()), (Some(0), "passed\n"), "{}", ended.error);
}

#[test]
fn a_setting_that_its_launcher_cannot_use_is_named() {
    let spawns = compiled("spawn", &[folder("programs/spawn.c")]);
    for (name, value, words) in [
        ("CANELE_PROFILE", "/no/such/profile.toml", "cannot read the profile /no/such/profile.toml: "),
        ("CANELE_ON_FAILURE", "sometimes", "CANELE_ON_FAILURE is \"sometimes\": it is stop or continue"),
    ] {
        let ended = start_alone(&spawns, &[], (name, value)).end_within(Duration::from_secs(60));
        assert_ne!(ended.code(), Some(0), "{}", ended.error);
        assert!(ended.error.contains(&format!("canele: {words}")), "{}", ended.error);
        assert!(!ended.error.contains("adopt: only"), "{}", ended.error);
    }
}

#[test]
fn how_a_program_that_was_started_alone_ends_after_it_has_finalised_is_no_failure() {
    let ended = alone("stop", &["outlived", "killed"]).end_within(Duration::from_secs(60));
    let mut lines = ended.lines();
    lines.sort_unstable();
    assert_eq!((killed_by(&ended), lines, ended.error.as_str()), (Some(9), vec!["child", "parent"], ""));
}

/// Returns all processes of a job, the launcher among them.
fn all_of(run: &Run) -> Vec<u32> {
    let mut all = run.processes();
    all.push(run.pid());
    all.sort_unstable();
    all
}

/// Parents spawn children, connect to them by ports, disconnect, and spawn others. At any moment a process is
/// killed: one of theirs, the launcher or its supervisor.
#[test]
fn nothing_is_left_of_a_job_that_spawns_when_any_process_of_it_is_killed() {
    let mut random = Random(setting("FAULT_SEED", 11));
    for n in 0..setting("FAULT_KILLS", 10) {
        let goes_on = random.below(2) == 1;
        // If the job goes on, a rank may accept connections for ever.
        let (options, how) = match goes_on {
            true => (&["-n", "2", "--on-failure", "continue"][..], "quiet-storm"),
            false => (&["-n", "2"][..], "storm"),
        };
        let run = job(options, &[how]);
        wait_for_rank(&run, 0);
        std::thread::sleep(Duration::from_millis(random.below(400)));
        let all = all_of(&run);
        let victim = all[random.below(all.len() as u64) as usize];
        let (name, launcher) = (std::fs::read_to_string(format!("/proc/{victim}/comm")), run.pid());
        // The process may have ended by itself.
        let _ = Command::new("kill").args(["-KILL", &victim.to_string()]).output();
        let ended = run.end_within(Duration::from_secs(60));
        let sockets = std::fs::read_to_string("/proc/net/unix").unwrap();
        let left = sockets.lines().filter(|line| line.contains(&format!("@canele-{launcher}-")));
        assert_eq!(left.count(), 0, "kill {n}: {victim} {name:?}: {ended:?}");
    }
}

#[test]
fn children_of_children_outlive_their_parents_and_the_job_ends_with_the_last() {
    let ended = job(&["-n", "1"], &["outlived"]).end_within(Duration::from_secs(60));
    // The order of the two processes' output is not defined.
    let mut lines = ended.lines();
    lines.sort_unstable();
    assert_eq!((ended.code(), lines), (Some(0), vec!["child", "parent"]), "{}", ended.error);
}

#[test]
fn processes_are_started_on_several_hosts() {
    for hosts in ["a:1,b:1", "a:2,b:1"] {
        let command = command(&["spread"]);
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let ended = start_on("plain", hosts, &[], &command).end_within(Duration::from_secs(90));
        assert_eq!((ended.code(), ended.error.as_str()), (Some(0), ""), "{hosts}");
        assert!(!ended.lines().is_empty() && ended.lines().iter().all(|line| *line == "passed"), "{ended:?}");
    }
}

#[test]
fn processes_are_started_on_a_host_that_had_none() {
    for (hosts, ranks, host) in [("a:1,b:2", 1, "b"), ("a:1,b:1,c:9", 2, "c"), ("a:1,b:1", 2, "b")] {
        let command = command(&["later", host]);
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let n = ranks.to_string();
        let ended = start_on("plain", hosts, &["-n", &n], &command).end_within(Duration::from_secs(90));
        let all = vec!["passed"; ranks + 6];
        assert_eq!((ended.code(), ended.lines(), ended.error.as_str()), (Some(0), all, ""), "{hosts}");
    }
}

#[test]
fn processes_are_started_in_a_namespace_that_had_none() {
    let Some(cluster) = Cluster::up() else { return };
    let command = command(&["later", "h1"]);
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    for (hosts, options) in [("h0:2,h1:2", ["-n", "2"]), ("h0:1,h1:2", ["-n", "1"])] {
        let ended = cluster.start(hosts, &options, &command).end_within(Duration::from_secs(90));
        let all = vec!["passed"; options[1].parse::<usize>().unwrap() + 6];
        assert_eq!((ended.code(), ended.lines(), ended.error.as_str()), (Some(0), all, ""), "{hosts}");
    }
}

/// The remote shell reaches h0 alone.
#[test]
fn a_job_goes_on_where_no_process_can_be_started_on_a_host() {
    let command = command(&["never", "h1"]);
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let ended = start_on("half", "h0:1,h1:1", &["-n", "1"], &command).end_within(Duration::from_secs(90));
    assert_eq!((ended.code(), ended.lines()), (Some(0), vec!["passed"; 3]), "{}", ended.error);
}
