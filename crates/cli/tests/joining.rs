//! Ranks started by the launcher of another system join one job through PMI. The launcher is the tests' own,
//! on one host and on two in network namespaces.

mod support;

use std::io::Read;
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use support::hosts::Cluster;
use support::pmi::{PmiEnded, PmiJob, start_pmi, start_ranks};
use support::ranks::{program, setting};
use support::{canele, kill, start_command, wait_until};

/// Random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Starts so many ranks of the test program on the two hosts of a cluster, the first half on the first.
fn start_across(cluster: &Cluster, ranks: usize, words: &[&str], variables: &[(&str, &str)]) -> PmiJob {
    let command = |rank: usize| {
        let space = format!("{}-h{}", cluster.name, rank * 2 / ranks);
        let program = program();
        let words = [&["ip", "netns", "exec", &space, program.as_str()], words].concat();
        words.into_iter().map(str::to_owned).collect()
    };
    start_ranks((0..ranks).map(command).collect(), variables)
}

fn succeeds(ended: &PmiEnded, lines: usize) {
    assert!(ended.all_succeeded() && ended.error.is_empty(), "{ended:?}");
    assert_eq!(ended.lines().len(), lines, "{ended:?}");
}

#[test]
fn ranks_of_one_host_find_each_other_through_pmi() {
    for ranks in [1, 2, 5] {
        let ended = start_pmi(ranks, &[&program(), "exchange-alone", "1"], &[]).end();
        succeeds(&ended, ranks);
        assert!(ended.lines().iter().all(|line| line.ends_with("lost []")), "{ended:?}");
    }
}

#[test]
fn ranks_of_two_hosts_find_each_other_through_pmi() {
    let Some(cluster) = Cluster::up() else { return };
    for ranks in [2, 4] {
        succeeds(&start_across(&cluster, ranks, &["exchange-alone", "1"], &[]).end(), ranks);
    }
}

#[test]
fn ranks_of_a_host_need_not_follow_each_other() {
    let Some(cluster) = Cluster::up() else { return };
    for hosts in [&[0, 1, 0, 1][..], &[0, 0, 1, 0, 1], &[1, 0, 1]] {
        let command = |host: &usize| {
            let space = format!("{}-h{host}", cluster.name);
            ["ip", "netns", "exec", &space, &program(), "exchange-alone", "1"].map(str::to_owned).to_vec()
        };
        let ended = start_ranks(hosts.iter().map(command).collect(), &[]).end();
        succeeds(&ended, hosts.len());
        assert!(ended.lines().iter().all(|line| line.ends_with("lost []")), "{ended:?}");
    }
}

#[test]
fn a_rank_that_dies_ends_the_others_or_is_told_to_them() {
    let job = start_pmi(4, &[&program(), "survivors", "600"], &[("CANELE_ON_FAILURE", "continue")]);
    let ended = job.end();
    assert_eq!(ended.lines(), ["2400 messages from the living"], "{ended:?}");
    assert_eq!(ended.error, "canele: rank 3 was killed by signal 9 (Killed); the others go on\n");
    assert_eq!(ended.statuses[3].signal(), Some(9));
    let ended = start_pmi(4, &[&program(), "survivors", "600"], &[]).end();
    assert!(ended.error.contains("rank 3 was killed by signal 9 (Killed); ending the job"), "{ended:?}");
    assert!(ended.statuses.iter().all(|status| !status.success()), "{ended:?}");
}

#[test]
fn a_rank_that_exits_without_finalising_ends_the_job() {
    let ended = start_pmi(2, &[&program(), "unfinished", "1"], &[]).end();
    let is_told = ["without finalising", "ending the job"].iter().all(|words| ended.error.contains(words));
    assert!(is_told, "{ended:?}");
    assert!(ended.statuses.iter().any(|status| !status.success()), "{ended:?}");
}

/// Kills one process at a random moment; no process may be left, and no rank may wait for ever.
fn kill_at_random(start: impl Fn() -> PmiJob, victim: impl Fn(&PmiJob, &mut Random) -> Vec<u32>) {
    let mut random = Random(setting("FAULT_SEED", 1));
    for n in 0..setting("FAULT_KILLS", 12) {
        let job = start();
        let after = Duration::from_millis(random.below(150));
        let mut victims = Vec::new();
        wait_until("a process to kill", || {
            victims = victim(&job, &mut random);
            !victims.is_empty()
        });
        std::thread::sleep(after);
        let victim = victims[random.below(victims.len() as u64) as usize];
        // The process may have ended.
        let _ = std::process::Command::new("kill").args(["-KILL", &victim.to_string()]).status();
        let ended = job.end();
        let what = format!("kill {n} of process {victim} after {after:?}: {ended:?}");
        assert!(!ended.error.is_empty(), "no message: {what}");
        assert!(ended.statuses.iter().all(|status| !status.success()), "{what}");
    }
}

/// Returns one rank to kill. A PMI launcher that waits for it ends the other ranks; here the test does.
fn rank(job: &PmiJob, random: &mut Random) -> Vec<u32> {
    // Only after all ranks have exchanged their addresses.
    match job.named("canele-launcher").is_empty() || job.named("rank-supervisor").is_empty() {
        true => Vec::new(),
        false => vec![job.ranks[random.below(4) as usize].id()],
    }
}

#[test]
fn kills_of_ranks_at_any_moment_leave_nothing() {
    kill_at_random(|| start_pmi(4, &[&program(), "exchange-alone", "1000"], &[]), rank);
}

#[test]
fn kills_of_agent_or_launcher_at_any_moment_leave_nothing() {
    let helpers = |job: &PmiJob, _: &mut Random| {
        let agents = job.named("canele-agent");
        if agents.is_empty() { agents } else { [agents, job.named("canele-launcher")].concat() }
    };
    kill_at_random(|| start_pmi(4, &[&program(), "exchange-alone", "1000"], &[]), helpers);
}

#[test]
fn the_agents_say_that_the_launcher_was_killed() {
    let job = start_pmi(2, &[&program(), "exchange-alone", "1000"], &[]);
    // The launcher's supervisor and the agent's; the agent has its ranks by then.
    wait_until("the ranks to run", || job.named("rank-supervisor").len() == 2);
    kill("KILL", job.named("canele-launcher")[0]);
    let ended = job.end();
    assert!(
        ended.error.contains("canele: the job's launcher is gone: its connection has ended"),
        "{ended:?}"
    );
    assert!(ended.statuses.iter().all(|status| !status.success()), "{ended:?}");
}

#[test]
fn kills_on_two_hosts_leave_nothing() {
    let Some(cluster) = Cluster::up() else { return };
    let any_process = |job: &PmiJob, random: &mut Random| {
        let ranks = rank(job, random);
        if ranks.is_empty() {
            ranks
        } else {
            [ranks, job.named("canele-agent"), job.named("canele-launcher")].concat()
        }
    };
    kill_at_random(|| start_across(&cluster, 4, &["exchange-alone", "1000"], &[]), any_process);
}

#[test]
fn ranks_whose_starter_is_killed_end() {
    // A process between launcher and ranks, like a proxy.
    let script = "\"$@\" & wait";
    let command = ["sh", "-c", script, "sh", &program(), "exchange-alone", "1000"];
    let job = start_pmi(2, &command, &[]);
    // The launcher's supervisor and the agent's; the agent has its ranks by then.
    wait_until("the ranks to run", || job.named("rank-supervisor").len() == 2);
    kill("KILL", job.ranks[1].id());
    let ended = job.end();
    assert!(ended.error.contains("outlived the launcher that had started it"), "{ended:?}");
}

#[test]
fn ranks_whose_starter_is_killed_before_all_have_come_end() {
    let begins = std::env::temp_dir().join(format!("canele-joining-{}", std::process::id()));
    let command = |script: &str| {
        ["sh", "-c", script, "sh", &program(), "exchange-alone", "1000"].map(str::to_owned).to_vec()
    };
    let first = command("\"$@\" & wait");
    let last = command("until test -e \"$BEGINS\"; do sleep 0.01; done; exec \"$@\"");
    let mut job = start_ranks(vec![first, last], &[("BEGINS", begins.to_str().expect("a path of text"))]);
    wait_until("the first rank at the barrier", || job.waiting() == 1);
    kill("KILL", job.ranks[0].id());
    wait_until("the end of its starter", || job.ranks[0].try_wait().unwrap().is_some());
    // The first rank waits in PMI, whose server is alive.
    wait_until("the end of the first rank", || job.named("fault").is_empty());
    std::fs::write(&begins, "").unwrap();
    let ended = job.end();
    std::fs::remove_file(&begins).unwrap();
    assert!(ended.error.contains("rank 0 cannot join its job: the process of the launcher"), "{ended:?}");
    assert!(ended.statuses.iter().all(|status| !status.success()), "{ended:?}");
}

#[test]
fn a_signal_to_the_launcher_reaches_the_ranks() {
    for (signal, name) in [("TERM", "15 (Terminated)"), ("INT", "2 (Interrupt)")] {
        let job = start_pmi(2, &[&program(), "exchange-alone", "1000"], &[]);
        wait_until("the ranks to run", || job.named("rank-supervisor").len() == 2);
        kill(signal, job.named("canele-launcher")[0]);
        let ended = job.end();
        assert!(ended.error.contains(&format!("canele: ended by signal {name}\n")), "{ended:?}");
        assert!(ended.statuses.iter().all(|status| !status.success()), "{ended:?}");
    }
}

#[test]
fn a_program_of_a_batch_script_is_a_job_of_one() {
    let mut command = std::process::Command::new(program());
    command.args(["exchange-alone", "1"]).envs([
        ("SLURM_NTASKS", "8"),
        ("SLURM_PROCID", "0"),
        ("SLURM_JOB_ID", "7"),
    ]);
    let ended = start_command(&mut command, b"").end();
    assert_eq!((ended.code(), ended.error.as_str()), (Some(0), ""));
}

#[test]
fn several_ranks_without_a_way_to_find_each_other_are_told_how_to_be_started() {
    let mut command = std::process::Command::new(program());
    command.args(["exchange-alone", "1"]).env("SLURM_STEP_NUM_TASKS", "2");
    let ended = start_command(&mut command, b"").end();
    assert!(ended.code() != Some(0) && ended.error.contains("srun --mpi=pmi2"), "{ended:?}");
}

#[test]
fn a_missing_command_is_named() {
    // The first rank asks for the end of all, so the second, which waits in PMI, ends; `srun` would let it
    // wait.
    let ended = start_pmi(2, &["env", "PATH=/nowhere", &program(), "exchange-alone", "1"], &[]).end();
    assert!(ended.error.contains("put the command `canele` into the PATH"), "{ended:?}");
    assert!(ended.statuses.iter().all(|status| !status.success()), "{ended:?}");
    let ended = canele(&["join", "agent"]);
    assert!(ended.code() == Some(2) && ended.error.contains("another launcher"), "{ended:?}");
}

/// Returns the port of 127.0.0.1 at which a process listens.
fn listening_port(pid: u32) -> Option<u16> {
    let links = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
    let links: Vec<_> = links.filter_map(|entry| std::fs::read_link(entry.path()).ok()).collect();
    let table = std::fs::read_to_string("/proc/net/tcp").ok()?;
    table.lines().skip(1).find_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        let (address, state, inode) = (words.get(1)?, words.get(3)?, words.get(9)?);
        let port = address.strip_prefix("0100007F:").filter(|_| *state == "0A")?;
        let socket = std::path::PathBuf::from(format!("socket:[{inode}]"));
        links.contains(&socket).then(|| u16::from_str_radix(port, 16).ok()).flatten()
    })
}

/// Returns the number of a process's threads, from /proc.
fn threads(pid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Threads:")?.trim().parse().ok())
}

#[test]
fn silent_strangers_cost_the_launcher_no_thread_and_keep_no_rank_out() {
    const STRANGERS: usize = 400;
    const PLACES: usize = 256;
    let begins = std::env::temp_dir().join(format!("canele-strangers-{}", std::process::id()));
    let command = |script: &str| {
        ["sh", "-c", script, "sh", &program(), "exchange-alone", "1"].map(str::to_owned).to_vec()
    };
    let first = command("exec \"$@\"");
    let last = command("until test -e \"$BEGINS\"; do sleep 0.01; done; exec \"$@\"");
    let job = start_ranks(vec![first, last], &[("BEGINS", begins.to_str().expect("a path of text"))]);
    let mut found = None;
    wait_until("the launcher to listen", || {
        let launcher = job.named("canele-launcher").first().copied();
        found = launcher.and_then(|pid| Some((pid, listening_port(pid)?)));
        found.is_some()
    });
    let (launcher, port) = found.expect("it was found");
    let before = threads(launcher).expect("a launcher that runs");
    let strangers: Vec<TcpStream> =
        (0..STRANGERS).map(|_| TcpStream::connect(("127.0.0.1", port)).expect("it listens")).collect();
    strangers.iter().for_each(|stranger| stranger.set_nonblocking(true).expect("a socket"));
    let is_open = |mut stranger: &TcpStream| {
        stranger.read(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    };
    // The launcher has checked all connections once so many are closed; the last connection is among those
    // that have places.
    wait_until("the launcher to make room", || {
        let open = strangers.iter().filter(|stranger| is_open(stranger)).count();
        let now = threads(launcher);
        assert!(now == Some(before), "{before} threads without strangers, {now:?} with {open}");
        open <= PLACES
    });
    std::fs::write(&begins, "").unwrap();
    let ended = job.end();
    std::fs::remove_file(&begins).unwrap();
    succeeds(&ended, 2);
}
