//! Ends of jobs on several hosts: failures, kills of any process, silent hosts. All hosts are this machine.

mod support;

use support::hosts::{on_host, shell_on, start_on, start_on_with, wait_on_host};
use support::ranks::{program, setting};
use support::{kill, state, wait_until};

const TWO: &str = "h0:2,h1:2";

#[test]
fn the_first_failure_decides_and_names_the_host() {
    let ended = shell_on(TWO, &[], "test $CANELE_RANK = 3 && exit 7; exec sleep 1000");
    assert_eq!(ended.code(), Some(7));
    assert_eq!(ended.error, "canele: rank 3 on h1 exited with status 7; ending the job\n");
    let ended = shell_on(TWO, &[], "test $CANELE_RANK = 1 && kill -9 $$; trap '' TERM; sleep 1000");
    assert_eq!(ended.code(), Some(137));
    assert_eq!(ended.error, "canele: rank 1 on h0 was killed by signal 9 (Killed); ending the job\n");
    let ended =
        shell_on(TWO, &["--on-failure", "continue"], "test $CANELE_RANK = 2 && exit 4; echo $CANELE_RANK");
    assert_eq!((ended.code(), ended.lines()), (Some(4), vec!["0", "1", "3"]));
    assert!(ended.error.contains("rank 2 on h1 exited with status 4; the others go on"), "{}", ended.error);
}

#[test]
fn programs_and_directories_that_are_not_there_are_named_with_the_host() {
    let ended = start_on("plain", TWO, &[], &["no-such-program-here"]).end();
    assert_eq!(ended.code(), Some(127));
    assert!(ended.error.contains("cannot start no-such-program-here as rank"), "{}", ended.error);
    assert!(ended.error.contains(" on h") && ended.error.lines().count() == 1, "{}", ended.error);
    let ended = start_on("plain", TWO, &["--wd", "/no/such/dir"], &["true"]).end();
    assert_eq!(ended.code(), Some(127));
    assert!(ended.error.contains("directory /no/such/dir"), "{}", ended.error);
}

#[test]
fn when_the_launcher_is_killed_everything_ends() {
    for how in ["plain", "between", "apart"] {
        let run = start_on(how, TWO, &[], &["sh", "-c", "setsid sleep 1000 & exec sleep 1000"]);
        run.wait_for(8, "sleep");
        kill("KILL", run.pid());
        assert_eq!(support::killed_by(&run.end()), Some(9));
    }
}

#[test]
fn when_an_agent_is_killed_its_host_is_lost_and_everything_ends() {
    for how in ["plain", "between", "apart"] {
        let run = start_on(how, TWO, &[], &["sleep", "1000"]);
        run.wait_for(4, "sleep");
        kill("KILL", wait_on_host(&run, "h1", 1, "canele")[0]);
        let ended = run.end();
        assert_eq!(ended.code(), Some(1), "{how}");
        // The shell and the agent's supervisor may report it, too, in any order.
        let text = "canele: host h1 was lost with ranks 2-3: its remote shell ";
        assert!(ended.error.contains(text) && ended.error.contains("; ending the job\n"), "{}", ended.error);
    }
}

#[test]
fn when_a_shell_is_killed_its_host_is_lost_and_everything_ends() {
    let run = start_on("between", TWO, &[], &["sleep", "1000"]);
    run.wait_for(4, "sleep");
    kill("KILL", wait_on_host(&run, "h0", 1, "bash")[0]);
    let ended = run.end();
    assert_eq!(ended.code(), Some(1));
    assert!(ended.error.contains("host h0 was lost with ranks 0-1"), "{}", ended.error);
}

#[test]
fn when_a_supervisor_is_killed_everything_ends_with_a_message() {
    let run = start_on("plain", TWO, &[], &["sleep", "1000"]);
    run.wait_for(4, "sleep");
    kill("KILL", wait_on_host(&run, "h1", 1, "rank-supervisor")[0]);
    let ended = run.end();
    assert_eq!(ended.code(), Some(1));
    assert!(ended.error.contains("supervisor (process") && ended.error.contains(" on h1"), "{}", ended.error);
}

#[test]
fn with_continue_the_ranks_of_other_hosts_outlive_a_supervisor() {
    let script = "test $TEST_HOST = h1 && { setsid sleep 1000 & exec sleep 1000; }; while test -e $FILE; do sleep 0.1; done; echo $CANELE_RANK";
    let file = std::env::temp_dir().join(format!("canele-supervisor-{}", std::process::id()));
    std::fs::write(&file, "").unwrap();
    let variables = [("FILE", file.to_str().unwrap())];
    let options = ["--on-failure", "continue"];
    let run = start_on_with("between", TWO, &options, &["sh", "-c", script], &variables, b"");
    wait_on_host(&run, "h1", 4, "sleep");
    kill("KILL", wait_on_host(&run, "h1", 1, "rank-supervisor")[0]);
    // The agent there ends the supervisor's processes, and then itself.
    wait_on_host(&run, "h1", 0, "sleep");
    wait_on_host(&run, "h1", 0, "canele");
    std::fs::remove_file(&file).unwrap();
    let ended = run.end();
    assert_eq!((ended.code(), ended.lines()), (Some(1), vec!["0", "1"]), "{}", ended.error);
    let error = ended.error.as_str();
    assert!(
        error.starts_with("canele: the job's supervisor (process ") && error.lines().count() == 1,
        "{error}"
    );
    assert!(error.ends_with(" on h1) was killed with ranks 2-3; the others go on\n"), "{error}");
}

#[test]
fn when_the_supervisor_of_the_shells_is_killed_everything_ends() {
    let run = start_on("apart", TWO, &[], &["sleep", "1000"]);
    run.wait_for(4, "sleep");
    let supervisors = run.wait_for(3, "rank-supervisor");
    let of_shells = supervisors
        .iter()
        .find(|pid| !["h0", "h1"].iter().any(|host| on_host(&run, host, "rank-supervisor").contains(pid)));
    kill("KILL", *of_shells.unwrap());
    let ended = run.end();
    assert_eq!(ended.code(), Some(1));
    assert!(ended.error.contains("supervisor of the remote shells"), "{}", ended.error);
}

#[test]
fn random_kills_of_anyone_leave_nothing() {
    let mut seed = 4321_u32;
    for round in 0..setting("FAULT_KILLS", 12) {
        let run = start_on(["plain", "between", "apart"][round as usize % 3], TWO, &[], &["sleep", "1000"]);
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // Kills at any moment, also while the job starts.
        std::thread::sleep(std::time::Duration::from_millis(u64::from(seed >> 26)));
        let mut everyone = run.processes();
        everyone.push(run.pid());
        let victim = everyone[(seed >> 8) as usize % everyone.len()];
        // The process may have ended just now.
        let _ = std::process::Command::new("kill").args(["-KILL", &victim.to_string()]).output();
        std::thread::sleep(std::time::Duration::from_millis(100));
        let _ = std::process::Command::new("kill").args(["-KILL", &run.pid().to_string()]).output();
        run.end();
    }
}

// ---- silence ------------------------------------------------------------------------------------------

const SOON: [(&str, &str); 1] = [("CANELE_HOST_LOST_MS", "1600")];

/// Less than the time for which the tests below stop a process.
const STOPPED_FOR_LONGER: [(&str, &str); 1] = [("CANELE_HOST_LOST_MS", "3200")];

#[test]
fn a_host_that_falls_silent_is_lost() {
    let run = start_on_with("apart", TWO, &[], &["sleep", "1000"], &SOON, b"");
    run.wait_for(4, "sleep");
    for cat in wait_on_host(&run, "h1", 2, "cat") {
        kill("STOP", cat);
    }
    let ended = run.end();
    assert_eq!(ended.code(), Some(1));
    assert!(
        ended.error.contains("host h1 was lost with ranks 2-3: nothing was heard of it for 1.6 s"),
        "{}",
        ended.error
    );
}

#[test]
fn with_continue_the_ranks_of_other_hosts_go_on() {
    let script =
        "test $TEST_HOST = h1 && exec sleep 1000; while test -e $FILE; do sleep 0.1; done; echo $CANELE_RANK";
    let file = std::env::temp_dir().join(format!("canele-hosts-{}", std::process::id()));
    std::fs::write(&file, "").unwrap();
    let variables = [SOON[0], ("FILE", file.to_str().unwrap())];
    let options = ["--on-failure", "continue"];
    let run = start_on_with("apart", TWO, &options, &["sh", "-c", script], &variables, b"");
    wait_on_host(&run, "h1", 2, "sleep");
    for cat in wait_on_host(&run, "h1", 2, "cat") {
        kill("STOP", cat);
    }
    // The agent there also gives up the launcher.
    wait_on_host(&run, "h1", 0, "sleep");
    std::fs::remove_file(&file).unwrap();
    let ended = run.end();
    assert_eq!((ended.code(), ended.lines()), (Some(1), vec!["0", "1"]), "{}", ended.error);
    assert!(ended.error.contains("host h1 was lost with ranks 2-3"), "{}", ended.error);
    assert!(ended.error.contains("; the others go on\n"), "{}", ended.error);
}

#[test]
fn operations_that_name_a_rank_of_a_lost_host_fail_naming_it() {
    let program = program();
    for silent in [false, true] {
        let options = ["--on-failure", "continue"];
        let run = start_on_with("apart", "h0:2,h1:1", &options, &[&program, "lost", "2"], &SOON, b"");
        wait_on_host(&run, "h0", 2, "fault");
        wait_on_host(&run, "h1", 1, "fault");
        if silent {
            wait_on_host(&run, "h1", 2, "cat").into_iter().for_each(|cat| kill("STOP", cat));
        } else {
            kill("KILL", wait_on_host(&run, "h1", 1, "canele")[0]);
        }
        let ended = run.end();
        assert_eq!(ended.code(), Some(1), "{}", ended.error);
        assert_eq!(ended.lines(), ["all failed, naming rank 2"; 2], "{}", ended.error);
    }
}

#[test]
fn agents_end_their_ranks_when_the_launcher_falls_silent() {
    let run = start_on_with("apart", TWO, &[], &["sleep", "1000"], &SOON, b"");
    run.wait_for(4, "sleep");
    let connections = ["h0", "h1"].map(|host| wait_on_host(&run, host, 2, "cat")).concat();
    for &cat in &connections {
        kill("STOP", cat);
    }
    run.wait_for(0, "sleep");
    let ended = run.end();
    assert_eq!(ended.code(), Some(1));
    assert!(ended.error.contains("was lost with ranks"), "{}", ended.error);
}

#[test]
fn stopped_ranks_and_agents_are_not_dead_ones() {
    let script = ["sh", "-c", "read line; sleep 2; echo $CANELE_RANK"];
    let run = start_on_with("between", TWO, &[], &script, &STOPPED_FOR_LONGER, b"");
    run.wait_for(4, "sleep");
    let agent = wait_on_host(&run, "h1", 1, "canele")[0];
    let rank = wait_on_host(&run, "h0", 2, "sleep")[0];
    kill("STOP", agent);
    kill("STOP", rank);
    wait_until("both to stop", || state(agent) == 'T' && state(rank) == 'T');
    std::thread::sleep(std::time::Duration::from_secs(6));
    kill("CONT", agent);
    kill("CONT", rank);
    let ended = run.end();
    assert_eq!((ended.code(), ended.lines()), (Some(0), vec!["0", "1", "2", "3"]), "{}", ended.error);
}

#[test]
fn a_launcher_that_is_stopped_is_waited_for() {
    let run = start_on_with("apart", TWO, &[], &["sleep", "1000"], &STOPPED_FOR_LONGER, b"");
    run.wait_for(4, "sleep");
    kill("STOP", run.pid());
    std::thread::sleep(std::time::Duration::from_secs(6));
    run.wait_for(4, "sleep");
    kill("CONT", run.pid());
    kill("TERM", run.pid());
    let ended = run.end();
    assert_eq!(
        (ended.code(), ended.error.as_str()),
        (Some(143), "canele: ended by signal 15 (Terminated)\n")
    );
}

#[test]
fn a_launcher_that_is_stopped_as_shells_do_it_is_waited_for() {
    let run = start_on_with("between", TWO, &[], &["sleep", "1000"], &STOPPED_FOR_LONGER, b"");
    let ranks = run.wait_for(4, "sleep");
    kill("TSTP", run.pid());
    wait_until("everyone to stop", || ranks.iter().chain([&run.pid()]).all(|&pid| state(pid) == 'T'));
    std::thread::sleep(std::time::Duration::from_secs(6));
    kill("CONT", run.pid());
    wait_until("everyone to continue", || ranks.iter().all(|&pid| state(pid) != 'T'));
    kill("TERM", run.pid());
    let ended = run.end();
    assert_eq!(
        (ended.code(), ended.error.as_str()),
        (Some(143), "canele: ended by signal 15 (Terminated)\n")
    );
}
