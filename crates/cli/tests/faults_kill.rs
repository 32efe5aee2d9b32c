//! Ranks killed at any moment of their traffic: the remains of the job, and the losses of the survivors.

mod support;

use std::process::Command;
use std::time::Duration;

use support::ranks::{FaultJob, program, setting, start_job, succeeds};
use support::{kill, killed_by, start_shell, state, wait_until};

/// Random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

const RANKS: u32 = 4;
const SINGLE_COPIES: [&str; 3] = ["both", "always", "auto"];

/// Kills a rank at a random moment, also during its start.
fn kill_one(job: &FaultJob, victim: u32, after: Duration) {
    let pid = job.wait_for_rank(victim);
    std::thread::sleep(after);
    kill("KILL", pid);
}

#[test]
fn kills_at_any_moment_leave_nothing_and_are_named() {
    let kills = setting("FAULT_KILLS", 12);
    let mut random = Random(setting("FAULT_SEED", 1));
    for n in 0..kills {
        let survive = random.below(2) == 1;
        let (victim, after) = (random.below(RANKS.into()) as u32, Duration::from_millis(random.below(80)));
        let wait = ["adaptive", "poll", "sleep"][random.below(3) as usize];
        let on_failure = if survive { "continue" } else { "stop" };
        // Long messages go through rings, or the receiver or both ends copy them.
        let single_copy = SINGLE_COPIES[n as usize % SINGLE_COPIES.len()];
        let options = ["-n", "4", "--wait", wait, "--on-failure", on_failure];
        let job = start_job(&options, &["exchange", "1000"], &[("CANELE_SINGLE_COPY", single_copy)]);
        kill_one(&job, victim, after);
        let ended = job.end();
        let what = format!(
            "kill {n}: rank {victim} after {after:?}, {on_failure}, {wait}, {single_copy}: {ended:?}"
        );
        assert_eq!(ended.code(), Some(137), "{what}");
        assert!(ended.error.contains(&format!("rank {victim} was killed by signal 9 (Killed)")), "{what}");
        assert_eq!(ended.error.lines().count(), 1, "{what}");
        if survive {
            assert_eq!(ended.lines().len(), RANKS as usize - 1, "{what}");
            let first = ended.lines()[0].to_owned();
            assert!(first.ends_with(&format!("lost [{victim}]")), "{what}");
            assert!(ended.lines().iter().all(|line| *line == first), "survivors did as many rounds: {what}");
        }
    }
}

#[test]
fn kills_amid_collectives_mailboxes_and_channels_end_them_all() {
    let mut random = Random(setting("FAULT_SEED", 1));
    for n in 0..setting("FAULT_KILLS", 12) {
        let (victim, after) = (random.below(RANKS.into()) as u32, Duration::from_millis(random.below(80)));
        let wait = ["adaptive", "poll", "sleep"][random.below(3) as usize];
        let job = start_job(&["-n", "4", "--wait", wait, "--on-failure", "continue"], &["together"], &[]);
        kill_one(&job, victim, after);
        let ended = job.end();
        let what = format!("kill {n}: rank {victim} after {after:?}, {wait}: {ended:?}");
        assert_eq!(ended.code(), Some(137), "{what}");
        assert_eq!(ended.lines().len(), RANKS as usize - 1, "{what}");
        let lost = format!("lost {victim}");
        assert!(ended.lines().iter().all(|line| *line == lost || *line == "stopped"), "{what}");
    }
}

#[test]
fn survivors_lose_nothing_and_are_told_once() {
    for wait in ["adaptive", "sleep"] {
        let options = ["-n", "4", "--wait", wait, "--on-failure", "continue"];
        let ended = start_job(&options, &["survivors", "600"], &[]).end();
        assert_eq!(ended.code(), Some(137), "{ended:?}");
        assert_eq!(ended.lines(), ["2400 messages from the living"]);
        assert_eq!(ended.error, "canele: rank 3 was killed by signal 9 (Killed); the others go on\n");
    }
}

#[test]
fn two_deaths_are_survived_by_the_other_two() {
    let job = start_job(&["-n", "4", "--on-failure", "continue"], &["exchange", "1000"], &[]);
    let pids = [1, 2].map(|rank| job.wait_for_rank(rank));
    std::thread::sleep(Duration::from_millis(100));
    pids.iter().for_each(|pid| kill("KILL", *pid));
    let ended = job.end();
    assert_eq!(ended.code(), Some(137), "{ended:?}");
    assert_eq!(ended.lines().len(), 2, "{ended:?}");
    for rank in [1, 2] {
        let said = format!("rank {rank} was killed by signal 9 (Killed); the others go on");
        assert!(ended.error.contains(&said), "{ended:?}");
    }
}

#[test]
fn a_stopped_rank_is_not_dead() {
    let seconds = setting("FAULT_STOP_SECONDS", 3);
    for wait in ["adaptive", "sleep"] {
        let whole = (seconds + 2).to_string();
        let job = start_job(&["-n", "4", "--wait", wait], &["exchange", &whole], &[]);
        let pid = job.wait_for_rank(2);
        std::thread::sleep(Duration::from_millis(300));
        kill("STOP", pid);
        wait_until("the rank to stop", || state(pid) == 'T');
        std::thread::sleep(Duration::from_secs(seconds));
        kill("CONT", pid);
        let ended = job.end();
        assert_eq!((ended.code(), ended.error.as_str()), (Some(0), ""), "{ended:?}");
        assert_eq!(ended.lines().len(), 4, "{ended:?}");
        assert!(ended.lines().iter().all(|line| line.ends_with("lost []")), "{ended:?}");
    }
}

/// A stopped rank may hold a piece of a message that both ends copy.
#[test]
fn ranks_stopped_amid_copies_by_both_ends_go_on_and_no_byte_is_wrong() {
    let mut random = Random(setting("FAULT_SEED", 1));
    for ranks in ["2", "4"] {
        let job = start_job(&["-n", ranks], &["exchange", "4"], &[("CANELE_SINGLE_COPY", "both")]);
        let pids = [0, 1].map(|rank| job.wait_for_rank(rank));
        std::thread::sleep(Duration::from_millis(200));
        for _ in 0..setting("FAULT_STOPS", 40) {
            let pid = pids[random.below(2) as usize];
            kill("STOP", pid);
            std::thread::sleep(Duration::from_millis(random.below(20)));
            kill("CONT", pid);
            std::thread::sleep(Duration::from_micros(random.below(5000)));
        }
        let ended = job.end();
        assert_eq!((ended.code(), ended.error.as_str()), (Some(0), ""), "{ended:?}");
        assert!(ended.lines().iter().all(|line| line.ends_with("lost []")), "{ended:?}");
    }
}

#[test]
fn with_the_launcher_dies_everything() {
    let mut random = Random(7);
    for _ in 0..4 {
        let job = start_job(&["-n", "4"], &["exchange", "1000"], &[]);
        job.wait_for_rank(random.below(RANKS.into()) as u32);
        std::thread::sleep(Duration::from_millis(random.below(60)));
        kill("KILL", job.run.pid());
        assert_eq!(killed_by(&job.end()), Some(9));
    }
}

#[test]
fn ranks_and_launcher_killed_together_leave_nothing() {
    let mut random = Random(11);
    for _ in 0..4 {
        let job = start_job(&["-n", "4"], &["exchange", "1000"], &[]);
        let victim = job.wait_for_rank(random.below(RANKS.into()) as u32);
        std::thread::sleep(Duration::from_millis(random.below(60)));
        let pids = [victim, job.run.pid()].map(|pid| pid.to_string());
        // Otherwise the launcher of a busy machine may end the job between the two kills.
        kill("STOP", job.run.pid());
        wait_until("the launcher to stop", || state(job.run.pid()) == 'T');
        assert!(Command::new("kill").arg("-KILL").args(&pids).status().unwrap().success());
        assert_eq!(killed_by(&job.end()), Some(9));
    }
}

/// Below a shell no signal of the kernel reaches a rank whose supervisor dies: the rank finds it out itself,
/// asleep or not.
#[test]
fn ranks_below_a_shell_end_when_launcher_and_supervisor_are_killed_together() {
    for wait in ["adaptive", "sleep", "poll"] {
        let script = format!("{} exchange 1000; :", program());
        let run = start_shell(&["-n", "3", "--wait", wait], &script);
        let ranks = run.wait_for(3, "fault");
        // The other ranks wait for this one.
        kill("STOP", ranks[0]);
        wait_until("the rank to stop", || state(ranks[0]) == 'T');
        // Otherwise the launcher would do the supervisor's work between the two kills.
        kill("STOP", run.pid());
        wait_until("the launcher to stop", || state(run.pid()) == 'T');
        kill("KILL", run.wait_for(1, "rank-supervisor")[0]);
        kill("KILL", run.pid());
        wait_until("the end of the ranks that wait", || {
            !run.processes().iter().any(|pid| ranks[1..].contains(pid))
        });
        // The stopped rank, and children of ranks that have lost their parent.
        for pid in run.processes() {
            let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).output();
        }
        assert_eq!(killed_by(&run.end()), Some(9));
    }
}

#[test]
fn a_rank_that_exits_without_finishing_is_named() {
    let ended = start_job(&["-n", "3"], &["unfinished", "1"], &[]).end();
    assert_eq!(ended.code(), Some(1), "{ended:?}");
    assert!(ended.error.contains("rank 1 exited with status 0 without finalising"), "{ended:?}");
    let ours = ended.error.lines().filter(|line| line.starts_with("canele: "));
    assert_eq!(ours.count(), 1, "{ended:?}");
}

#[test]
fn a_rank_that_never_initialises_fails_what_names_it_and_nothing_else() {
    assert_eq!(succeeds(&["-n", "3"], &["absent", "1"], &[]).lines(), ["refused"; 2]);
}

#[test]
fn a_put_before_the_end_arrives() {
    assert_eq!(succeeds(&["-n", "2"], &["late-put"], &[]).lines(), ["5 77"]);
}
