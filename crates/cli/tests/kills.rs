//! Signals, and the processes that must end when another one dies.

mod support;

use std::process::Command;

use support::{kill, start_shell, state, wait_until};

/// The script of a rank with a child, a grandchild in another session, and a daemon whose parents have ended.
const FAMILY: &str = "sleep 1000 & setsid sh -c 'sleep 1000; :' & \
     (setsid sh -c 'trap \"\" TERM HUP INT; (sleep 1000; :) & sleep 1000 & exit' &) ; exec sleep 1000";
const SLEEPERS: usize = 5;

#[test]
fn a_killed_rank_takes_the_whole_family_with_it() {
    let run = start_shell(&["-n", "2"], &format!("echo $$ >&2; {FAMILY}"));
    let sleepers = run.wait_for(2 * SLEEPERS, "sleep");
    let rank = *sleepers.iter().min().unwrap();
    kill("KILL", rank_of(&sleepers).unwrap_or(rank));
    let ended = run.end();
    assert_eq!(ended.code(), Some(137));
    assert!(ended.error.contains("was killed by signal 9 (Killed); ending the job"), "{}", ended.error);
}

/// Returns the process that leads its process group, but no session.
fn rank_of(sleepers: &[u32]) -> Option<u32> {
    sleepers.iter().copied().find(|&pid| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields: Vec<u32> = stat
            .rsplit_once(") ")
            .map(|(_, rest)| rest.split(' ').skip(1).take(3).filter_map(|field| field.parse().ok()).collect())
            .unwrap_or_default();
        // The fields are parent, process group and session. Only a rank leads its group but not a session.
        fields.len() == 3 && fields[1] == pid && fields[2] != pid
    })
}

#[test]
fn when_the_launcher_is_killed_everything_ends() {
    let run = start_shell(&["-n", "3"], FAMILY);
    run.wait_for(3 * SLEEPERS, "sleep");
    let launcher = run.pid();
    kill("KILL", launcher);
    let ended = run.end();
    assert_eq!(support::killed_by(&ended), Some(9));
    let text = format!("canele: the job's launcher (process {launcher}) is gone: it was killed");
    assert!(ended.error.contains(&text), "{}", ended.error);
}

#[test]
fn when_the_supervisor_is_killed_everything_ends_with_a_message() {
    let run = start_shell(&["-n", "3"], FAMILY);
    run.wait_for(3 * SLEEPERS, "sleep");
    kill("KILL", run.wait_for(1, "rank-supervisor")[0]);
    let ended = run.end();
    assert_eq!(ended.code(), Some(1));
    assert!(ended.error.contains("supervisor"), "{}", ended.error);
}

#[test]
fn killing_all_commands_of_the_name_still_ends_everything() {
    let run = start_shell(&["-n", "2"], FAMILY);
    run.wait_for(2 * SLEEPERS, "sleep");
    // The processes of this run that `pkill -9 canele` would choose.
    for pid in run.processes().into_iter().chain([run.pid()]) {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        if name.contains("canele") {
            kill("KILL", pid);
        }
    }
    assert_eq!(support::killed_by(&run.end()), Some(9));
}

#[test]
fn processes_left_behind_by_ranks_that_succeeded_end_too() {
    let run = start_shell(&["-n", "2"], "setsid sleep 1000 & (setsid sleep 1000 &); exit 0");
    assert_eq!(run.end().code(), Some(0));
}

#[test]
fn the_first_interrupt_is_the_ranks_to_handle() {
    let script = "trap 'echo caught; exit 0' INT; echo ready; while :; do sleep 0.1; done";
    let run = start_shell(&["-n", "2"], script);
    run.wait_for(2, "sleep");
    kill("INT", run.pid());
    let ended = run.end();
    assert_eq!(ended.code(), Some(0), "{}", ended.error);
    assert_eq!(ended.lines(), ["caught", "caught", "ready", "ready"]);
}

#[test]
fn ranks_that_die_of_it_make_one_message() {
    for (signal, number, name) in [("INT", 2, "Interrupt"), ("TERM", 15, "Terminated"), ("HUP", 1, "Hangup")]
    {
        let run = start_shell(&["-n", "4"], "exec sleep 1000");
        run.wait_for(4, "sleep");
        kill(signal, run.pid());
        let ended = run.end();
        assert_eq!(ended.code(), Some(128 + number));
        assert_eq!(ended.error, format!("canele: ended by signal {number} ({name})\n"));
    }
}

#[test]
fn the_second_interrupt_kills() {
    let run = start_shell(&["-n", "2"], "trap '' INT TERM; echo ready; while :; do sleep 0.1; done");
    run.wait_for(2, "sleep");
    kill("INT", run.pid());
    // Two signals at once would be one.
    std::thread::sleep(std::time::Duration::from_millis(300));
    kill("INT", run.pid());
    let ended = run.end();
    assert_eq!(ended.code(), Some(130));
    assert!(ended.error.contains("signal 2 (Interrupt) again; killing the job"), "{}", ended.error);
}

#[test]
fn a_signal_ends_stopped_ranks() {
    let run = start_shell(&["-n", "2"], "kill -STOP $$; sleep 1000");
    let is_stopped = |pid: &u32| state(*pid) == 'T';
    wait_until("the ranks are stopped", || run.processes().iter().filter(|pid| is_stopped(pid)).count() == 2);
    kill("TERM", run.pid());
    assert_eq!(run.end().code(), Some(143));
}

#[test]
fn other_signals_reach_every_rank() {
    let script = "trap 'echo usr; exit 0' USR1; while :; do sleep 0.1; done";
    let run = start_shell(&["-n", "3"], script);
    run.wait_for(3, "sleep");
    kill("USR1", run.pid());
    assert_eq!(run.end().lines(), ["usr"; 3]);
}

#[test]
fn stopping_and_continuing_the_launcher_does_the_same_to_the_ranks() {
    let run = start_shell(&["-n", "2"], "exec sleep 1000");
    let ranks = run.wait_for(2, "sleep");
    let everyone = || ranks.iter().copied().chain([run.pid()]);
    kill("TSTP", run.pid());
    wait_until("everyone to stop", || everyone().all(|pid| state(pid) == 'T'));
    kill("CONT", run.pid());
    wait_until("everyone to continue", || everyone().all(|pid| state(pid) != 'T'));
    kill("TERM", run.pid());
    assert_eq!(run.end().code(), Some(143));
}

#[test]
fn a_stopped_supervisor_needs_one_signal() {
    let run = start_shell(&["-n", "2"], "exec sleep 1000");
    run.wait_for(2, "sleep");
    let supervisor = run.wait_for(1, "rank-supervisor")[0];
    kill("STOP", supervisor);
    wait_until("the supervisor to stop", || state(supervisor) == 'T');
    kill("TERM", run.pid());
    let ended = run.end();
    assert_eq!(ended.code(), Some(143));
    assert_eq!(ended.error, "canele: ended by signal 15 (Terminated)\n");
}

#[test]
fn a_stopped_rank_is_not_a_dead_one_but_ends_with_the_job() {
    let run = start_shell(&["-n", "2"], "exec sleep 1000");
    let ranks = run.wait_for(2, "sleep");
    kill("STOP", ranks[0]);
    wait_until("the rank to stop", || state(ranks[0]) == 'T');
    kill("KILL", ranks[1]);
    assert_eq!(run.end().code(), Some(137));
}

#[test]
fn random_kills_of_anyone_leave_nothing() {
    let mut seed = 12345_u32;
    for round in 0..10 {
        let run = start_shell(&["-n", "4"], FAMILY);
        // Kills at any moment, also while the job starts.
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        std::thread::sleep(std::time::Duration::from_millis(u64::from(seed >> 27)));
        let mut everyone = run.processes();
        everyone.push(run.pid());
        let victim = everyone[(seed >> 8) as usize % everyone.len()];
        // The process may have ended just now.
        let _ = Command::new("kill").args(["-KILL", &victim.to_string()]).output();
        if round % 2 == 0 {
            let _ = Command::new("kill").args(["-TERM", &run.pid().to_string()]).output();
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
        let _ = Command::new("kill").args(["-KILL", &run.pid().to_string()]).output();
        run.end();
    }
}
