//! Messages of ranks of different hosts to and through the launcher.
//!
//! The ranks are this test program itself, started again to run the one (ignored) test [`as_a_rank`]. The
//! variable `TEST_ROLE` selects its part.

mod support;

use std::time::Instant;

use canele_control::{
    Control, FromLauncher, JobInfo, MessageWithDescriptors, RailAddress, RankEnd, ToLauncher, VERSION,
};
use canele_profile::{HostProfile, MachineIdentity, MeasuredProfile, Profile};
use canele_rail::shm::Shm;
use canele_sys::ids::Rank as Number;
use support::hosts::{start_on_with, wait_on_host};
use support::{LIMIT, Run, kill};

const TWO: &str = "h0:2,h1:2";

fn start_role(how: &str, role: &str, options: &[&str], variables: &[(&str, &str)]) -> Run {
    let own = std::env::current_exe().unwrap();
    let command = [own.to_str().unwrap(), "--exact", "as_a_rank", "--ignored", "--nocapture"];
    let variables = [&[("TEST_ROLE", role)], variables].concat();
    start_on_with(how, TWO, options, &command, &variables, b"")
}

fn succeeds(role: &str) {
    let ended = start_role("plain", role, &[], &[]).end();
    assert_eq!((ended.code(), ended.error.as_str()), (Some(0), ""), "{}", ended.out);
}

#[test]
#[ignore = "runs as a rank of the other tests"]
fn as_a_rank() {
    let Some(control) = Control::from_env().unwrap() else { return };
    let mut rank = Rank { rank: control.place().rank, control };
    let job = rank.hello();
    act(&std::env::var("TEST_ROLE").unwrap(), &mut rank, &job);
    rank.say(&ToLauncher::Finished);
    std::process::exit(0);
}

struct Rank {
    control: Control,
    rank: u32,
}

impl Rank {
    fn say(&self, message: &ToLauncher) {
        self.control.send(message, &[]).unwrap();
    }

    /// Returns the next message that does not report a finished rank.
    fn hear(&mut self) -> FromLauncher {
        self.hear_all().0
    }

    /// Returns the next message that does not report a finished rank, with its descriptors.
    fn hear_all(&mut self) -> MessageWithDescriptors {
        loop {
            let message = self.control.receive(Some(Instant::now() + LIMIT)).unwrap().expect("an answer");
            if !matches!(message.0, FromLauncher::Finished { .. }) {
                return message;
            }
        }
    }

    fn hello(&mut self) -> JobInfo {
        self.say(&ToLauncher::Hello { version: VERSION });
        match self.hear_all() {
            (FromLauncher::Welcome { version: VERSION }, files) => {
                JobInfo::read(files.into_iter().next().expect("the job's file")).unwrap()
            }
            other => panic!("{other:?}"),
        }
    }

    /// Opens an inbox, and sends it and addresses of this rank to the launcher.
    fn listen(&self, size: u32) {
        let rail = Shm::open(Number(self.rank), 0..size, 64, 0, 0).unwrap();
        self.control.send(&ToLauncher::Inbox { settings: Vec::new() }, &[rail.inbox_fd()]).unwrap();
        self.say(&ToLauncher::Addresses { rails: rails(self.rank) });
    }
}

fn rails(rank: u32) -> Vec<RailAddress> {
    let address = |rail: u8| RailAddress { driver: "tcp".into(), address: vec![rail, rank as u8] };
    vec![address(0), address(1)]
}

fn act(role: &str, rank: &mut Rank, job: &JobInfo) {
    let me = rank.rank;
    match role {
        "job" => {
            let hosts: Vec<_> = job.hosts.iter().map(|host| (host.name.as_str(), host.ranks)).collect();
            assert_eq!((job.size, hosts), (4, vec![("h0", 2), ("h1", 2)]));
            assert_eq!(job.host_of(me), me as usize / 2);
            hidden(&job.network.as_ref().expect("ranks of several hosts have a network").key);
        }
        "profile" => println!("rank {me} wakes in {} ns", job.profile.host.wakeup_ns),
        "names" => names(rank, me),
        "reach" => reach(rank, me, job.size),
        "lost" => {
            if me < 2 {
                println!("rank {me} waits");
                for lost in [2, 3] {
                    assert_eq!(rank.hear(), FromLauncher::Gone { rank: lost, how: RankEnd::HostLost });
                }
                println!("rank {me} knows");
            } else {
                std::thread::sleep(LIMIT);
            }
        }
        other => panic!("what is {other}?"),
    }
}

/// Checks that no process shows the key in its command line or environment, and that only ranks get it in a
/// file.
fn hidden(key: &[u8; 32]) {
    let hex: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        for file in ["cmdline", "environ"] {
            let bytes = std::fs::read(entry.path().join(file)).unwrap_or_default();
            let shows = |what: &[u8]| bytes.windows(what.len()).any(|window| window == what);
            // Half of the key would be too much.
            assert!(!shows(&key[..16]) && !shows(&hex.as_bytes()[..32]), "{:?}", entry.path());
        }
    }
}

#[test]
fn ranks_of_all_hosts_have_the_profile_of_their_launcher() {
    let host = HostProfile { wakeup_ns: 4711, ..HostProfile::OWN_CACHES };
    let profile = Profile { host, networks: Vec::new() };
    let measured = MeasuredProfile::new(MachineIdentity::here(), profile, Vec::new());
    let name = format!("hosts-profile-{}", std::process::id());
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, measured.to_text()).unwrap();
    let ended = start_role("plain", "profile", &[], &[("CANELE_PROFILE", path.to_str().unwrap())]).end();
    std::fs::remove_file(&path).unwrap();
    assert_eq!((ended.code(), ended.error.as_str()), (Some(0), ""), "{}", ended.out);
    for rank in 0..4 {
        assert!(ended.out.contains(&format!("rank {rank} wakes in 4711 ns")), "{}", ended.out);
    }
}

/// Publishes a name and finds the names of all ranks; a name exists once in the whole job.
fn names(rank: &mut Rank, me: u32) {
    let large = vec![me as u8; 30_000];
    rank.say(&ToLauncher::Publish { name: format!("of {me}"), value: large });
    for other in 0..4_u32 {
        rank.say(&ToLauncher::Find { ticket: other.into(), name: format!("of {other}") });
    }
    let mut found = [false; 4];
    while found.contains(&false) {
        match rank.hear() {
            FromLauncher::Found { ticket, value } => {
                assert_eq!(value, vec![ticket as u8; 30_000]);
                found[ticket as usize] = true;
            }
            other => panic!("{other:?}"),
        }
    }
    rank.say(&ToLauncher::Publish { name: "mine".into(), value: vec![me as u8] });
    rank.say(&ToLauncher::Find { ticket: 9, name: "mine".into() });
    let mut refused = false;
    let owner = loop {
        match rank.hear() {
            FromLauncher::PublishRefused { name } => refused = name == "mine",
            FromLauncher::Found { ticket: 9, value } => break u32::from(value[0]),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(owner == me, !refused);
    println!("the name is of {owner}");
}

/// Checks that ranks of one host get each other's inbox, and ranks of different hosts each other's addresses.
fn reach(rank: &mut Rank, me: u32, size: u32) {
    // Half of the ranks ask before they can be reached.
    if me % 2 == 1 {
        rank.listen(size);
    }
    for peer in (0..size).filter(|&peer| peer != me) {
        rank.say(&ToLauncher::Connect { peers: vec![peer] });
    }
    if me.is_multiple_of(2) {
        rank.listen(size);
    }
    rank.say(&ToLauncher::FindRegion { owner: (me + 2) % size, id: 7, is_kept: false });
    let mut met = Vec::new();
    while met.len() < 4 {
        match rank.hear() {
            FromLauncher::Peers { peers } => {
                assert!(peers.iter().all(|peer| peer.rank / 2 == me / 2));
                met.extend(peers.iter().map(|peer| peer.rank));
            }
            FromLauncher::Reach { rank: peer, rails: where_it_listens } => {
                assert_ne!(peer / 2, me / 2);
                assert_eq!(where_it_listens, rails(peer));
                met.push(peer);
            }
            FromLauncher::Region { found: false, .. } => met.push(me),
            other => panic!("{other:?}"),
        }
    }
    met.sort_unstable();
    assert_eq!(met, [0, 1, 2, 3]);
}

#[test]
fn every_rank_knows_the_hosts_and_a_key_that_no_process_shows() {
    succeeds("job");
}

#[test]
fn names_are_those_of_the_whole_job() {
    let ended = start_role("plain", "names", &[], &[]).end();
    assert_eq!(ended.code(), Some(0), "{}{}", ended.out, ended.error);
    // On one processor the test harness writes "test as_a_rank ... " first, without an end of line.
    let lines: Vec<_> =
        ended.out.lines().filter_map(|line| line.find("the name is of").map(|at| &line[at..])).collect();
    assert!(lines.len() == 4 && lines.iter().all(|line| *line == lines[0]), "{lines:?}");
}

#[test]
fn ranks_meet_over_memory_on_a_host_and_over_addresses_between_hosts() {
    succeeds("reach");
}

#[test]
fn survivors_are_told_that_a_host_was_lost() {
    for silent in [false, true] {
        let variables = [("CANELE_HOST_LOST_MS", "1600")];
        let run = start_role("apart", "lost", &["--on-failure", "continue"], &variables);
        let program = std::env::current_exe().unwrap();
        // A process's short name has at most 15 letters.
        let name: String = program.file_name().unwrap().to_str().unwrap().chars().take(15).collect();
        wait_on_host(&run, "h1", 2, &name);
        wait_on_host(&run, "h0", 2, &name);
        if silent {
            wait_on_host(&run, "h1", 2, "cat").into_iter().for_each(|cat| kill("STOP", cat));
        } else {
            kill("KILL", wait_on_host(&run, "h1", 1, "canele")[0]);
        }
        let ended = run.end();
        assert_eq!(ended.code(), Some(1));
        assert_eq!(ended.out.matches(" knows").count(), 2, "{}{}", ended.out, ended.error);
        assert!(ended.error.contains("host h1 was lost with ranks 2-3"), "{}", ended.error);
    }
}
