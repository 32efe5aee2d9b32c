//! The control socket between a real launcher and ranks that speak to it.
//!
//! The ranks are this test program itself, started again to run the one (ignored) test [`as_a_rank`]. The
//! variable `TEST_ROLE` selects its part.

mod support;

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use canele_control::{Control, FromLauncher, JobInfo, RankEnd, ToLauncher, VERSION};
use canele_profile::{HostProfile, MachineIdentity, MeasuredProfile, Profile};
use canele_rail::shm::Shm;
use canele_sys::ids::Rank as Number;
use support::{Ended, LIMIT, Run, canele, kill, start_with, wait_until};

fn start_role(role: &str, options: &[&str]) -> Run {
    let own = std::env::current_exe().unwrap();
    let mut args = vec!["run"];
    args.extend_from_slice(options);
    args.extend([own.to_str().unwrap(), "--exact", "as_a_rank", "--ignored", "--nocapture"]);
    start_with(&args, &[("TEST_ROLE", role)], b"")
}

fn role(role: &str, options: &[&str]) -> Ended {
    start_role(role, options).end()
}

#[test]
#[ignore = "runs as a rank of the other tests"]
fn as_a_rank() {
    let control = match Control::join(Duration::from_secs(30)) {
        Ok(Some(control)) => control,
        Ok(None) => return,
        Err(error) => {
            eprintln!("refused: {error}");
            std::process::exit(9);
        }
    };
    let rank = control.place().rank;
    std::process::exit(act(&std::env::var("TEST_ROLE").unwrap(), Rank { control, rank }));
}

fn is_asked_for_others(message: &FromLauncher) -> bool {
    matches!(message, FromLauncher::ShowLinks { .. })
}

struct Rank {
    control: Control,
    rank: u32,
}

impl Rank {
    fn say(&self, message: &ToLauncher) {
        self.control.send(message, &[]).unwrap();
    }

    fn hear(&mut self) -> FromLauncher {
        self.receive().0
    }

    /// Returns the next message, without requests of another process that asks about the job, which may come
    /// at any time.
    fn receive(&mut self) -> (FromLauncher, Vec<OwnedFd>) {
        loop {
            let received = self.control.receive(Some(Instant::now() + LIMIT)).unwrap().expect("a message");
            if !is_asked_for_others(&received.0) {
                return received;
            }
        }
    }

    fn hello(&mut self) {
        self.say(&ToLauncher::Hello { version: VERSION });
        assert!(matches!(self.hear(), FromLauncher::Welcome { version: VERSION, .. }));
    }

    fn sleep(&self) -> ! {
        loop {
            std::thread::sleep(LIMIT);
        }
    }
}

fn act(role: &str, mut rank: Rank) -> i32 {
    match (role, rank.rank) {
        ("good", _) => {
            rank.hello();
            rank.say(&ToLauncher::Finished);
            0
        }
        ("profile", _) => {
            rank.say(&ToLauncher::Hello { version: VERSION });
            let (_, files) = rank.receive();
            let job = JobInfo::read(files.into_iter().next().expect("the job's file")).unwrap();
            println!("rank {} has {:016x}", rank.rank, job.profile.fingerprint());
            rank.say(&ToLauncher::Finished);
            0
        }
        ("unfinished", 1) => {
            rank.hello();
            0
        }
        ("hello early", 0) => {
            rank.hello();
            rank.sleep()
        }
        ("garbage", 1) => {
            rank.hello();
            rustix::net::send(&rank.control, &[0xff; 100], rustix::net::SendFlags::empty()).unwrap();
            rank.sleep()
        }
        ("rules", 1) => {
            rank.hello();
            rank.say(&ToLauncher::Connect { peers: vec![77] });
            rank.sleep()
        }
        ("version", 1) => {
            rank.say(&ToLauncher::Hello { version: 99 });
            rank.sleep()
        }
        ("aborts", 1) => {
            rank.hello();
            std::process::abort()
        }
        ("gone", 0) => {
            rank.hello();
            assert_eq!(rank.hear(), FromLauncher::Gone { rank: 1, how: RankEnd::Killed(6) });
            println!("rank 0 knows");
            rank.say(&ToLauncher::Finished);
            0
        }
        ("gone", _) => {
            rank.hello();
            std::process::abort()
        }
        ("deaf", 0) => {
            rank.hello();
            loop {
                rank.say(&ToLauncher::FindRegion { owner: 1, id: 1, is_kept: false });
            }
        }
        ("deaf", _) => {
            rank.hello();
            for round in 0..2000_u64 {
                rank.say(&ToLauncher::FindRegion { owner: 1, id: round, is_kept: false });
                assert_eq!(rank.hear(), FromLauncher::Region { owner: 1, id: round, found: false });
            }
            println!("served");
            42
        }
        ("links", me) => links(rank, me),
        _ => {
            rank.hello();
            rank.sleep()
        }
    }
}

/// Checks that every rank links with every other and gets the right inbox.
fn links(mut rank: Rank, me: u32) -> i32 {
    rank.hello();
    let size = rank.control.place().size;
    let rail = Shm::open(Number(me), 0..size, 64, 0, 0).unwrap();
    let own = rustix::fs::fstat(rail.inbox_fd()).unwrap();
    for peer in (0..size).filter(|&peer| peer != me) {
        rank.say(&ToLauncher::Connect { peers: vec![peer] });
    }
    rank.control.send(&ToLauncher::Inbox { settings: Vec::new() }, &[rail.inbox_fd()]).unwrap();
    let mut seen = std::collections::HashSet::new();
    while seen.len() + 1 < size as usize {
        let (message, descriptors) = loop {
            let received = rank.receive();
            // Other ranks may have ended already.
            if !matches!(received.0, FromLauncher::Finished { .. }) {
                break received;
            }
        };
        let FromLauncher::Peers { peers } = message else { panic!("{message:?}") };
        assert_eq!(peers.len(), descriptors.len());
        for (peer, descriptor) in peers.iter().zip(descriptors) {
            let inbox = rustix::fs::fstat(descriptor).unwrap();
            assert_ne!(inbox.st_ino, own.st_ino);
            assert!(seen.insert(inbox.st_ino), "rank {} has an inbox of its own", peer.rank);
        }
    }
    assert!(rank.control.try_receive().unwrap().is_none_or(|(message, _)| {
        matches!(message, FromLauncher::Gone { .. } | FromLauncher::Finished { .. })
            || is_asked_for_others(&message)
    }));
    rank.say(&ToLauncher::Finished);
    0
}

#[test]
fn initialising_and_finishing_is_a_success() {
    let ended = role("good", &["-n", "4"]);
    assert_eq!((ended.code(), ended.error.as_str()), (Some(0), ""));
}

#[test]
fn all_ranks_have_the_profile_of_their_launcher() {
    let host = HostProfile { wakeup_ns: 4711, ..HostProfile::OWN_CACHES };
    let profile = Profile { host, networks: Vec::new() };
    let measured = MeasuredProfile::new(MachineIdentity::here(), profile.clone(), Vec::new());
    let path =
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("profile-{}", std::process::id()));
    std::fs::write(&path, measured.to_text()).unwrap();
    for (value, profile) in [(path.to_str().unwrap(), profile), ("built-in", Profile::built_in())] {
        let own = std::env::current_exe().unwrap();
        // Ranks have the profile of the launcher, whatever their own environment names.
        let words = ["run", "-n", "2", "--env", "CANELE_PROFILE=/no/such", own.to_str().unwrap()];
        let args = [&words[..], &["--exact", "as_a_rank", "--ignored", "--nocapture"]].concat();
        let ended = start_with(&args, &[("TEST_ROLE", "profile"), ("CANELE_PROFILE", value)], b"").end();
        assert_eq!((ended.code(), ended.error.as_str()), (Some(0), ""));
        for rank in 0..2 {
            let line = format!("rank {rank} has {:016x}", profile.fingerprint());
            assert!(ended.out.contains(&line), "{value}: {}", ended.out);
        }
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn exit_0_without_finalising_is_a_failure_that_names_the_rank() {
    let ended = role("unfinished", &["-n", "3"]);
    assert_eq!(ended.code(), Some(1));
    assert!(ended.error.contains("rank 1 exited with status 0 without finalising"), "{}", ended.error);
}

#[test]
fn what_a_rank_sends_wrongly_is_its_own_failure() {
    for (name, words) in [
        ("garbage", "rank 1 sent"),
        ("rules", "rank 77 of 3"),
        ("version", "version 99 of the launcher's protocol"),
    ] {
        let ended = role(name, &["-n", "3"]);
        assert_eq!(ended.code(), Some(1), "{name}: {}", ended.error);
        assert!(
            ended.error.contains("canele: rank 1 ") && ended.error.contains(words),
            "{name}: {}",
            ended.error
        );
    }
}

#[test]
fn a_dying_rank_is_named_with_its_signal() {
    let ended = role("aborts", &["-n", "2"]);
    assert_eq!(ended.code(), Some(134));
    assert!(
        ended.error.contains("rank 1 was killed by signal 6 (Aborted); ending the job"),
        "{}",
        ended.error
    );
}

#[test]
fn survivors_are_told_who_died() {
    let ended = role("gone", &["-n", "2", "--on-failure", "continue"]);
    assert_eq!(ended.code(), Some(134));
    assert!(ended.out.contains("rank 0 knows"), "{}{}", ended.out, ended.error);
}

#[test]
fn a_rank_that_asks_without_reading_delays_no_rank() {
    let ended = role("deaf", &["-n", "2"]);
    assert!(ended.out.contains("served"), "{}{}", ended.out, ended.error);
    assert_eq!(ended.code(), Some(42));
}

#[test]
fn every_pair_gets_each_others_inboxes() {
    let ended = role("links", &["-n", "8"]);
    assert_eq!(ended.code(), Some(0), "{}", ended.error);
}

#[test]
fn foreign_launchers_and_bad_descriptors_are_refused_naming_the_variable() {
    let own = std::env::current_exe().unwrap();
    let alone = |variables: &[(&str, &str)]| {
        let output = std::process::Command::new(&own)
            .args(["--exact", "as_a_rank", "--ignored", "--nocapture"])
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(alone(&[]).0, Some(0));
    let (code, error) = alone(&[("OMPI_COMM_WORLD_SIZE", "4")]);
    assert_eq!(code, Some(9));
    assert!(error.contains("OMPI_COMM_WORLD_SIZE=4") && error.contains("canele run"), "{error}");
    let place =
        [("CANELE_RANK", "0"), ("CANELE_SIZE", "1"), ("CANELE_LOCAL_RANK", "0"), ("CANELE_LOCAL_SIZE", "1")];
    for fd in ["987", "1", "", "-4"] {
        let mut variables = place.to_vec();
        variables.push(("CANELE_CONTROL_FD", fd));
        let (code, error) = alone(&variables);
        assert_eq!(code, Some(9));
        assert!(error.contains("CANELE_CONTROL_FD"), "{error}");
    }
}

#[test]
fn a_running_job_can_be_asked_about() {
    let run = start_role("wait", &["-n", "2"]);
    let pid = run.pid().to_string();
    let ask = |more: &[&str]| {
        let mut args = vec!["info", "--job", &pid];
        args.extend_from_slice(more);
        canele(&args)
    };
    wait_until("both ranks to initialise", || ask(&[]).out.matches("initialised").count() == 2);
    let answer: serde_json::Value = serde_json::from_str(&ask(&["--json"]).out).unwrap();
    assert_eq!(answer["size"], 2);
    assert_eq!(answer["job"], run.pid());
    assert_eq!(answer["ranks"][1]["state"], "initialised");
    kill("TERM", run.pid());
    assert_eq!(run.end().code(), Some(143));
    let ended = ask(&[]);
    assert_eq!(ended.code(), Some(1));
    assert!(ended.error.contains("no launcher"), "{}", ended.error);
}
