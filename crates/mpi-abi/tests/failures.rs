//! Programs that go on when ranks die: the errors that they get, and the agreement of the survivors under any
//! deaths.

mod support;

use std::path::Path;
use std::process::Output;

use support::{all_passed, between_hosts, compiled, folder, names, run, run_limited, text};

/// Makes programs ask for threads, and gives a rank several lanes.
const ON_LANES: &str = "export ASKS_FOR_THREADS=1 CANELE_LANES=3";

fn program(name: &str) -> std::path::PathBuf {
    compiled(name, &[folder("programs/failures").join(format!("{name}.c"))])
}

fn job(program: &Path, ranks: usize, options: &[&str], arguments: &[&str]) -> Output {
    job_after("true", program, ranks, options, arguments)
}

/// Runs a job after the command `set` of the shell that starts it.
fn job_after(set: &str, program: &Path, ranks: usize, options: &[&str], arguments: &[&str]) -> Output {
    let ranks = ranks.to_string();
    let all = ["-n", ranks.as_str(), "--on-failure", "continue"];
    run_limited(set, &[&all, options].concat(), program, arguments)
}

/// Checks that `survivors` ranks have passed, the others were killed, and no other message was printed.
fn survived(output: &Output, survivors: usize, ranks: usize, what: &str) {
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let status = if survivors < ranks { 137 } else { 0 };
    assert_eq!(output.status.code(), Some(status), "{what}: {}", text(output));
    assert_eq!(out.lines().filter(|line| *line == "passed").count(), survivors, "{what}: {}", text(output));
    let killed =
        error.lines().filter(|line| line.ends_with("was killed by signal 9 (Killed); the others go on"));
    assert_eq!(killed.count(), ranks - survivors, "{what}: {}", text(output));
    assert_eq!(error.lines().count(), ranks - survivors, "{what}: {}", text(output));
}

#[test]
fn survivors_are_told_and_agree_and_go_on() {
    let program = program("survive");
    for wait in ["adaptive", "sleep"] {
        survived(&job(&program, 4, &["--wait", wait], &[]), 3, 4, wait);
    }
}

#[test]
fn survivors_are_told_and_go_on_where_communicators_lie_on_lanes() {
    let program = compiled("survive-on-lanes", &[folder("programs/failures/survive.c")]);
    for lanes in ["2", "5"] {
        let set = format!("export ASKS_FOR_THREADS=1 CANELE_LANES={lanes}");
        survived(&job_after(&set, &program, 4, &[], &[]), 3, 4, lanes);
    }
}

#[test]
fn a_communicator_whose_tags_are_spread_is_told_of_deaths_and_revoked_on_all_its_lanes() {
    let program = program("spread");
    for (lanes, wait) in [("1", "adaptive"), ("3", "adaptive"), ("8", "sleep")] {
        let set = format!("export CANELE_LANES={lanes}");
        survived(&job_after(&set, &program, 5, &["--wait", wait], &[]), 3, 5, lanes);
    }
}

#[test]
fn windows_and_files_that_are_revoked_end_whatever_waits_and_refuse_the_rest() {
    let (program, folder) = (program("revoke"), std::env::temp_dir());
    let folder = folder.to_str().expect("a path of text");
    for wait in ["adaptive", "sleep"] {
        for memory in ["direct", "served"] {
            let output = run(Some(&["-n", "4", "--wait", wait]), &program, &[memory, folder]);
            all_passed(&program, &output, 4);
            for set in ["true", ON_LANES] {
                let output = job_after(set, &program, 4, &["--wait", wait], &[memory, folder]);
                survived(&output, 4, 4, memory);
            }
        }
    }
}

#[test]
fn two_groups_are_told_of_a_death_in_either_and_agree_and_go_on_as_two() {
    let program = program("inter");
    for of_first in ["0", "1"] {
        survived(&job(&program, 5, &[], &["halves", of_first]), 4, 5, of_first);
        survived(&job(&program, 2, &[], &["spawn", of_first]), 3, 4, of_first);
    }
}

#[test]
fn two_jobs_are_told_of_a_death_in_either_and_agree_and_go_on_as_two() {
    let program = program("inter");
    for of_first in ["0", "1"] {
        let place = support::library().join(format!("inter-{}-{of_first}", std::process::id()));
        let place = place.to_str().expect("a path of text");
        let serving = std::thread::spawn({
            let (program, place) = (program.clone(), place.to_owned());
            move || job(&program, 3, &[], &["serve", of_first, &place])
        });
        let visiting = job(&program, 2, &[], &["visit", of_first, place]);
        let serving = serving.join().unwrap();
        let dead = usize::from(of_first == "1");
        survived(&serving, 3 - dead, 3, &format!("serve {of_first}: {}", text(&visiting)));
        survived(&visiting, 1 + dead, 2, &format!("visit {of_first}: {}", text(&serving)));
    }
}

#[test]
fn two_groups_whose_members_die_at_any_moment_agree_as_long_as_there_are_two() {
    kill_ranks_of(&program("inter"), 18, &[], "true");
}

#[test]
fn what_follows_many_revoked_communicators_is_not_revoked() {
    let program = program("again");
    survived(&job(&program, 3, &[], &[]), 3, 3, "again");
}

#[test]
fn windows_and_files_outlive_a_member_until_all_others_have_given_them_up() {
    let (program, folder) = (program("outlive"), std::env::temp_dir());
    let folder = folder.to_str().expect("a path of text");
    for wait in ["adaptive", "sleep"] {
        for memory in ["direct", "served"] {
            for set in ["true", ON_LANES] {
                let output = job_after(set, &program, 4, &["--wait", wait], &[memory, folder]);
                survived(&output, 3, 4, memory);
            }
        }
    }
}

/// Returns a number that the environment may set.
fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
}

/// Lets all ranks but one of such jobs die, until `kills` ranks or as many as `FAULT_KILLS` says are killed.
/// Checks that the survivor of each job has passed. Each job starts after the command `set` of the shell.
fn kill_ranks_of(program: &Path, kills: u64, arguments: &[&str], set: &str) {
    kill_ranks_with(program, kills, arguments, set, &[]);
}

/// Like [`kill_ranks_of`], with further options of the launcher.
fn kill_ranks_with(program: &Path, kills: u64, arguments: &[&str], set: &str, options: &[&str]) {
    let (kills, seed) = (number("FAULT_KILLS", kills), number("FAULT_SEED", 1));
    let mut killed = 0;
    for n in 0.. {
        if killed >= kills {
            break;
        }
        let ranks = [4, 8, 6, 3][n % 4];
        let (seed, within) = ((seed * 1000 + n as u64).to_string(), ["60", "200", "15"][n % 3]);
        let wait = ["adaptive", "sleep", "poll"][n / 2 % 3];
        let arguments = [&[seed.as_str(), within], arguments].concat();
        let output = job_after(set, program, ranks, &[&["--wait", wait], options].concat(), &arguments);
        survived(&output, 1, ranks, &format!("{ranks} ranks, seed {seed}, within {within} ms, {wait}"));
        killed += ranks as u64 - 1;
    }
}

#[test]
fn ranks_that_die_at_any_moment_leave_the_others_in_agreement() {
    kill_ranks_of(&program("endure"), 28, &[], "true");
}

#[test]
fn threads_on_lanes_agree_when_ranks_die_at_any_moment() {
    let program = compiled("endure-on-lanes", &[folder("programs/failures/endure.c")]);
    for lanes in ["1", "3"] {
        let set = format!("export ASKS_FOR_THREADS=1 CANELE_LANES={lanes}");
        kill_ranks_of(&program, 18, &[], &set);
    }
}

#[test]
fn what_was_written_together_stays_when_ranks_die_at_any_moment() {
    let folder = std::env::temp_dir();
    kill_ranks_of(&program("files"), 18, &[folder.to_str().expect("a path of text")], "true");
}

#[test]
fn what_hosts_have_written_together_stays_where_communicators_lie_on_lanes() {
    let (program, folder) = (program("files"), std::env::temp_dir());
    let (arguments, hosts) = ([folder.to_str().expect("a path of text")], between_hosts("h0:2,h1:6"));
    kill_ranks_with(&program, 18, &arguments, ON_LANES, &hosts.each_ref().map(String::as_str));
}

#[test]
fn a_death_amid_collective_writes_ends_the_job() {
    let folder = std::env::temp_dir().join(format!("canele-deaths-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let program = program("files");
    for (seed, within) in [("1", "50"), ("2", "100"), ("3", "20")] {
        let output = run(Some(&["-n", "4"]), &program, &[seed, within, folder.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(137), "seed {seed}: {}", text(&output));
        assert!(
            text(&output).contains("was killed by signal 9 (Killed); ending the job"),
            "{}",
            text(&output)
        );
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The communicator that rank 1 aborts, the launcher's report, and the number of ranks that go on.
const ABORTS: [(&str, &str, usize); 6] = [
    ("world", "has aborted all ranks; ending the job", 0),
    ("fatal", "has aborted all ranks; ending the job", 0),
    ("part", "has aborted rank 3 too; the others go on", 2),
    ("abort", "has aborted rank 3 too; the others go on", 2),
    ("window", "has aborted rank 3 too; the others go on", 2),
    ("self", "exited with status 7; the others go on", 3),
];

#[test]
fn a_rank_that_aborts_ends_the_members_of_the_communicator_and_no_others() {
    let program = program("aborts");
    let on_lanes = [1, 3].into_iter().flat_map(|lanes| ABORTS.map(|how| (lanes, how)));
    for (lanes, (how, said, survivors)) in on_lanes {
        let set = format!("export ASKS_FOR_THREADS=1 CANELE_LANES={lanes}");
        let output = job_after(&set, &program, 4, &[], &[how]);
        let (all, error) = (text(&output), String::from_utf8_lossy(&output.stderr));
        let own = error.lines().filter(|line| line.starts_with("canele: rank 1: ")).count();
        let status = if ["fatal", "abort", "window"].contains(&how) { 6 } else { 7 };
        assert_eq!(output.status.code(), Some(status), "{how}: {all}");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout).matches("passed\n").count(),
            survivors,
            "{how}: {all}"
        );
        assert!(error.contains(&format!("canele: rank 1 {said}\n")), "{how}: {all}");
        assert_eq!((own, error.lines().count()), (1, 2), "{how}: {all}");
    }
}

#[test]
fn every_program_in_the_folder_is_run() {
    assert_eq!(
        names(&folder("programs/failures")),
        ["aborts", "again", "endure", "files", "inter", "outlive", "revoke", "spread", "survive"]
    );
}
