//! MPI programs on ranks of two hosts, in network namespaces; skipped with a message if there can be none.

#[path = "../../mpi-abi/tests/support/mod.rs"]
mod programs;
mod support;

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use programs::{compiled, conformance, conforming, folder, library};
use support::hosts::Cluster;
use support::ranks::setting;
use support::{Ended, wait_until};

/// Runs a job of such a program.
fn job(cluster: &Cluster, hosts: &str, program: &Path, words: &[&str]) -> Ended {
    start(cluster, hosts, &[], program, words).end_within(Duration::from_secs(90))
}

fn start(cluster: &Cluster, hosts: &str, options: &[&str], program: &Path, words: &[&str]) -> support::Run {
    start_by(cluster, ["--hosts", hosts], options, program, words)
}

fn start_by(
    cluster: &Cluster,
    place: [&str; 2],
    options: &[&str],
    program: &Path,
    words: &[&str],
) -> support::Run {
    let path = format!("LD_LIBRARY_PATH={}", library().display());
    let command = ["env", path.as_str(), program.to_str().expect("a path of text")];
    cluster.start_by(place, options, &[&command, words].concat())
}

fn fault(name: &str) -> std::path::PathBuf {
    compiled(name, &[folder("programs/faults").join(format!("{name}.c"))])
}

#[test]
fn the_conformance_program_prints_the_same() {
    let Some(cluster) = Cluster::up() else { return };
    let program = compiled("conformance", &conformance());
    for (hosts, ranks) in [("h0:1,h1:1", 2), ("h0:1,h1:2", 3), ("h0:2,h1:2", 4)] {
        let ended = job(&cluster, hosts, &program, &[]);
        assert_eq!(ended.code(), Some(0), "{hosts}: {}", ended.error);
        // Ranks of several hosts share no memory.
        let shared = |line: &&str| !line.starts_with("sharing");
        let expected = conforming(ranks);
        let (said, expected): (Vec<_>, Vec<_>) =
            (ended.out.lines().filter(shared).collect(), expected.lines().filter(shared).collect());
        let differs = said.iter().zip(&expected).find(|(said, expected)| said != expected);
        assert!(said == expected, "{hosts}: {differs:?}");
    }
}

/// Programs, and a rankfile, by which the ranks of each host do not follow each other.
#[test]
fn ranks_of_a_host_need_not_follow_each_other() {
    let Some(cluster) = Cluster::up() else { return };
    let world = compiled("world", &[folder("programs/launched/world.c")]);
    let file = library().join(format!("ranks-{}", std::process::id()));
    let lines = (0..4).map(|rank| format!("rank {rank}=h{} slot=0\n", [0, 1, 1, 0][rank]));
    std::fs::write(&file, lines.collect::<String>()).expect("a folder of the tests");
    let file = file.to_str().expect("a path of text");
    let in_turn: &[&str] = &["--map-by", "node"];
    for (place, options) in [
        (["--hosts", "h0:2,h1:2"], in_turn),
        (["--hosts", "h0:3,h1:1"], in_turn),
        (["--rankfile", file], &[]),
    ] {
        let started = start_by(&cluster, place, options, &world, &["4", "2"]);
        let ended = started.end_within(Duration::from_secs(90));
        assert_eq!((ended.code(), ended.lines()), (Some(0), vec!["passed"; 4]), "{place:?}: {}", ended.error);
    }
    let program = compiled("conformance", &conformance());
    let started = start(&cluster, "h0:2,h1:2", in_turn, &program, &[]);
    let ended = started.end_within(Duration::from_secs(90));
    let shared = |line: &&str| !line.starts_with("sharing");
    let expected = conforming(4);
    assert_eq!(ended.code(), Some(0), "{}", ended.error);
    assert!(ended.out.lines().filter(shared).eq(expected.lines().filter(shared)), "{}", ended.out);
    // The report of a death names the host of the rank.
    let killed = "canele: rank 1 on h1 was killed by signal 9 (Killed); ending the job\n";
    let ends = start(&cluster, "h0:2,h1:2", in_turn, &fault("ends"), &["collective"]);
    let ended = ends.end_within(Duration::from_secs(90));
    assert_eq!((ended.code(), ended.error.as_str()), (Some(137), killed));
}

#[test]
fn wrong_arguments_threads_and_children_trouble_no_rank() {
    let Some(cluster) = Cluster::up() else { return };
    for name in ["arguments", "threads", "child"] {
        let ended = job(&cluster, "h0:1,h1:2", &fault(name), &[]);
        assert_eq!((ended.code(), ended.lines()), (Some(0), vec!["passed"; 3]), "{name}: {}", ended.error);
    }
}

#[test]
fn ranks_that_die_or_abort_on_another_host_end_the_job() {
    let Some(cluster) = Cluster::up() else { return };
    let program = fault("ends");
    let killed = "canele: rank 1 on h1 was killed by signal 9 (Killed); ending the job\n";
    for how in ["receive", "any", "probe", "collective", "waitall"] {
        let ended = job(&cluster, "h0:1,h1:2", &program, &[how]);
        assert_eq!((ended.code(), ended.error.as_str()), (Some(137), killed), "{how}");
    }
    let ended = job(&cluster, "h0:1,h1:2", &program, &["abort"]);
    assert_eq!(ended.code(), Some(7), "{}", ended.error);
    assert!(ended.error.contains("by rank 1 of MPI_COMM_WORLD with error code 7"), "{}", ended.error);
    let ended = job(&cluster, "h0:1,h1:2", &program, &["exit"]);
    assert_eq!(ended.code(), Some(1), "{}", ended.error);
    assert!(ended.error.contains("rank 1 on h1 exited with status 0 without finalising"), "{}", ended.error);
}

#[test]
fn ranks_of_several_hosts_share_files() {
    let Some(cluster) = Cluster::up() else { return };
    for name in ["file_accesses", "file_hints", "file_views"] {
        let program = compiled(name, &[folder("programs").join(format!("{name}.c"))]);
        for (hosts, ranks) in [("h0:1,h1:1", 2), ("h0:2,h1:2", 4)] {
            let ended = job(&cluster, hosts, &program, &[]);
            assert_eq!(
                (ended.code(), ended.lines()),
                (Some(0), vec!["passed"; ranks]),
                "{name}: {}",
                ended.error
            );
        }
    }
}

#[test]
fn ranks_of_several_hosts_access_windows() {
    let Some(cluster) = Cluster::up() else { return };
    for name in ["accumulates", "onesided", "window_kinds"] {
        let program = compiled(name, &[folder("programs").join(format!("{name}.c"))]);
        for (hosts, ranks) in [("h0:1,h1:1", 2), ("h0:1,h1:2", 3), ("h0:2,h1:2", 4)] {
            // With a progress thread an owner computes, too, while other ranks access its memory.
            for progress in ["0", "1"] {
                let setting = format!("CANELE_PROGRESS_THREAD={progress}");
                let run = start(&cluster, hosts, &["--env", &setting], &program, &[]);
                let ended = run.end_within(Duration::from_secs(90));
                let said = (ended.code(), ended.lines());
                assert_eq!(said, (Some(0), vec!["passed"; ranks]), "{name}, {hosts}: {}", ended.error);
            }
        }
    }
}

#[test]
fn a_rail_that_is_lost_amid_accesses_to_windows_loses_none_and_doubles_none() {
    let Some(cluster) = Cluster::up() else { return };
    let program = compiled("accumulates-on", &[folder("programs/accumulates.c")]);
    let run = start(&cluster, "h0:1,h1:1", &[], &program, &["6"]);
    for rail in ["ra0", "rb0"] {
        sleep(Duration::from_secs(1));
        assert!(cluster.does(&["cut", rail]).status.success());
        sleep(Duration::from_millis(1500));
        assert!(cluster.does(&["mend", rail]).status.success());
    }
    let ended = run.end_within(Duration::from_secs(90));
    assert_eq!((ended.code(), ended.lines()), (Some(0), vec!["passed"; 2]), "{}", ended.error);
}

#[test]
fn a_rank_of_another_host_that_dies_amid_accesses_to_windows_is_told() {
    let Some(cluster) = Cluster::up() else { return };
    let program = compiled("windows-and-deaths", &[folder("programs/faults/windows.c")]);
    for how in ["fence", "start", "wait", "free", "unlock", "complete", "elements"] {
        for (hosts, lanes) in [("h0:1,h1:2", &[][..]), ("h0:2,h1:1", &[]), ("h0:1,h1:2", ON_LANES)] {
            let options = [&["--on-failure", "continue"], lanes].concat();
            let ended =
                start(&cluster, hosts, &options, &program, &[how]).end_within(Duration::from_secs(90));
            assert_eq!(ended.lines(), ["passed"; 2], "{how}, {hosts}, {lanes:?}: {}", ended.error);
        }
    }
}

/// Makes programs ask for threads, and gives ranks several lanes.
const ON_LANES: &[&str] = &["--env", "ASKS_FOR_THREADS=1", "--env", "CANELE_LANES=3"];

/// Runs a program that goes on after failures, on two ranks of each of two hosts.
fn survivor_job(cluster: &Cluster, options: &[&str], program: &Path, words: &[&str]) -> Ended {
    let options = [&["--on-failure", "continue"], options].concat();
    let run = start(cluster, "h0:2,h1:2", &options, program, words);
    run.end_within(Duration::from_secs(90))
}

/// Checks that all ranks but one were killed, that this one has passed, and that there is no other output.
fn one_is_left(ended: &Ended, seed: &str) {
    assert_eq!(ended.code(), Some(137), "seed {seed}: {}", ended.error);
    assert!(ended.lines().contains(&"passed"), "seed {seed}: {}", ended.error);
    let told = ended.error.lines().filter(|line| line.ends_with("; the others go on")).count();
    assert_eq!((told, ended.error.lines().count()), (3, 3), "seed {seed}: {}", ended.error);
}

#[test]
fn windows_and_files_of_several_hosts_are_revoked_and_outlive_a_member() {
    let Some(cluster) = Cluster::up() else { return };
    let files = std::env::temp_dir();
    for (name, survivors) in [("revoke", 4), ("outlive", 3)] {
        let program = compiled(name, &[folder("programs/failures").join(format!("{name}.c"))]);
        for (memory, lanes) in
            [("direct", &[][..]), ("served", &[]), ("direct", ON_LANES), ("served", ON_LANES)]
        {
            let words = [memory, files.to_str().expect("a path of text")];
            let ended = survivor_job(&cluster, lanes, &program, &words);
            assert_eq!(ended.lines(), vec!["passed"; survivors], "{name}, {memory}: {}", ended.error);
            assert_eq!(ended.error.lines().count(), 4 - survivors, "{name}, {memory}: {}", ended.error);
        }
    }
}

#[test]
fn ranks_of_several_hosts_that_die_at_any_moment_leave_the_others_in_agreement() {
    let Some(cluster) = Cluster::up() else { return };
    let program = compiled("endure", &[folder("programs/failures/endure.c")]);
    let (kills, first) = (setting("FAULT_KILLS", 12), setting("FAULT_SEED", 1));
    for seed in first..first + kills.div_ceil(3) {
        let within = ["60", "200", "15"][(seed % 3) as usize];
        let seed = seed.to_string();
        for options in [&[], ON_LANES] {
            one_is_left(&survivor_job(&cluster, options, &program, &[&seed, within]), &seed);
        }
    }
}

#[test]
fn ranks_of_several_hosts_that_abort_end_the_members_of_the_communicator_and_no_others() {
    let Some(cluster) = Cluster::up() else { return };
    let program = compiled("aborts", &[folder("programs/failures/aborts.c")]);
    for (how, said, survivors) in [
        ("world", "canele: rank 1 on h0 has aborted all ranks; ending the job\n", 0),
        ("part", "canele: rank 1 on h0 has aborted rank 3 too; the others go on\n", 2),
        ("self", "canele: rank 1 on h0 exited with status 7; the others go on\n", 3),
    ] {
        let ended = survivor_job(&cluster, &[], &program, &[how]);
        assert_eq!(ended.lines(), vec!["passed"; survivors], "{how}: {}", ended.error);
        assert_eq!((ended.code(), ended.error.lines().count()), (Some(7), 2), "{how}: {}", ended.error);
        assert!(ended.error.contains(said), "{how}: {}", ended.error);
    }
}

#[test]
fn nothing_is_left_of_what_ranks_of_two_hosts_make_and_free() {
    let Some(cluster) = Cluster::up() else { return };
    let program = compiled("leaks", &[folder("programs/leaks/leaks.c")]);
    let rounds = setting("LEAK_ROUNDS", 100).to_string();
    let libraries = format!("LD_LIBRARY_PATH={}", library().display());
    // Otherwise glibc keeps up to 64 MB, because buffers of closed links raise its limit for mapped
    // allocations.
    let options = ["--env", &libraries, "--env", "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=131072"];
    let run = start(&cluster, "h0:1,h1:1", &options, &program, &[&rounds]);
    let ended = run.end_within(Duration::from_secs(900));
    assert_eq!((ended.code(), ended.lines()), (Some(0), vec!["passed"; 2]), "{}", ended.error);
}

/// Returns the processes on a host that have one of these names.
fn named(cluster: &Cluster, host: &str, names: &[&str]) -> Vec<u32> {
    let comm = |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    cluster.processes(host).into_iter().filter(|pid| names.contains(&comm(pid).trim_end())).collect()
}

#[test]
fn ranks_go_on_when_another_host_dies() {
    let Some(cluster) = Cluster::up() else { return };
    let program = compiled("endure-hosts", &[folder("programs/failures/endure.c")]);
    for (host, victims, options) in [
        ("h1", &["rank-supervisor"][..], ON_LANES),
        ("h0", &["rank-supervisor"], &[]),
        ("h1", &["canele"], &[]),
        ("h0", &["canele", "rank-supervisor"], ON_LANES),
    ] {
        let options = [&["--on-failure", "continue"], options].concat();
        let run = start(&cluster, "h0:2,h1:2", &options, &program, &["0", "0", "2"]);
        wait_until("the ranks of both hosts", || {
            ["h0", "h1"].iter().all(|host| named(&cluster, host, &["endure-hosts"]).len() == 2)
        });
        // The programs are in the middle of their rounds.
        sleep(Duration::from_millis(500));
        // All at once, because the end of one soon ends the other.
        let pids = named(&cluster, host, victims);
        let killed =
            std::process::Command::new("kill").arg("-KILL").args(pids.iter().map(u32::to_string)).status();
        assert!(killed.is_ok_and(|status| status.success()), "{victims:?} of {host}: {pids:?}");
        let ended = run.end_within(Duration::from_secs(90));
        let what = format!("{victims:?} of {host}: {}", ended.error);
        assert_eq!(ended.code(), Some(1), "{what}");
        assert_eq!(ended.lines().iter().filter(|line| **line == "passed").count(), 2, "{what}");
        let with = if host == "h0" { "with ranks 0-1" } else { "with ranks 2-3" };
        assert!(ended.error.contains(with) && ended.error.contains("; the others go on\n"), "{what}");
        wait_until("the host to be empty", || named(&cluster, host, &["endure-hosts"]).is_empty());
    }
}

#[test]
fn ranks_go_on_when_no_network_joins_the_hosts_any_more() {
    let Some(cluster) = Cluster::up() else { return };
    let program = compiled("endure-severed", &[folder("programs/failures/endure.c")]);
    // The host with fewer ranks is given up.
    for (hosts, left, given_up) in [("h0:2,h1:2", "2", "ranks 2-3 on h1"), ("h0:1,h1:2", "2", "rank 0 on h0")]
    {
        let run = start(&cluster, hosts, &["--on-failure", "continue"], &program, &["0", "0", left]);
        wait_until("the ranks of both hosts", || {
            ["h0", "h1"].iter().all(|host| !named(&cluster, host, &["endure-severed"]).is_empty())
        });
        sleep(Duration::from_secs(1));
        for rail in ["ra0", "rb0", "rc0"] {
            assert!(cluster.does(&["cut", rail]).status.success());
        }
        let ended = run.end_within(Duration::from_secs(90));
        let what = format!("{hosts}: {}", ended.error);
        assert_eq!((ended.code(), ended.error.lines().count()), (Some(1), 1), "{what}");
        assert_eq!(ended.lines().iter().filter(|line| **line == "passed").count(), 2, "{what}");
        assert!(ended.error.contains(&format!("; ending {given_up}, the others go on\n")), "{what}");
        for rail in ["ra0", "rb0", "rc0"] {
            assert!(cluster.does(&["mend", rail]).status.success());
        }
    }
}

#[test]
fn what_was_written_together_stays_when_ranks_of_several_hosts_die() {
    let Some(cluster) = Cluster::up() else { return };
    let program = compiled("files", &[folder("programs/failures").join("files.c")]);
    let files = std::env::temp_dir();
    for (seed, within) in [("1", "150"), ("2", "60"), ("3", "200"), ("4", "20")] {
        let words = [seed, within, files.to_str().expect("a path of text")];
        one_is_left(&survivor_job(&cluster, &[], &program, &words), seed);
    }
}
