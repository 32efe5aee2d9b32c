//! Programs that `canele run` starts, and its own status and message at the end.

mod support;

use support::{canele, shell, start_shell};

#[test]
fn success_is_silent() {
    let ended = shell(&["-n", "3"], "exit 0");
    assert_eq!((ended.code(), ended.error.as_str(), ended.out.as_str()), (Some(0), "", ""));
}

#[test]
fn the_failing_ranks_status_is_the_jobs_and_the_rest_is_ended() {
    let ended = shell(&["-n", "3"], "test $CANELE_RANK = 1 && exit 7; sleep 1000");
    assert_eq!(ended.code(), Some(7));
    assert_eq!(ended.error, "canele: rank 1 exited with status 7; ending the job\n");
}

#[test]
fn a_killed_rank_is_named_with_its_signal() {
    let ended = shell(&["-n", "3"], "test $CANELE_RANK = 2 && kill -9 $$; sleep 1000");
    assert_eq!(ended.code(), Some(137));
    assert_eq!(ended.error, "canele: rank 2 was killed by signal 9 (Killed); ending the job\n");
}

#[test]
fn who_ignores_sigterm_is_ended_all_the_same() {
    let ended =
        shell(&["-n", "2"], "trap '' TERM; test $CANELE_RANK = 1 && exit 3; while :; do sleep 1; done");
    assert_eq!(ended.code(), Some(3));
}

#[test]
fn with_continue_the_others_go_on_and_the_first_failure_decides() {
    let script =
        "case $CANELE_RANK in 1) kill -9 $$;; 2) sleep 0.5; exit 4;; esac; sleep 1; echo $CANELE_RANK";
    let ended = shell(&["-n", "4", "--on-failure", "continue"], script);
    assert_eq!(ended.code(), Some(137));
    assert_eq!(ended.lines(), ["0", "3"]);
    assert!(
        ended.error.contains("rank 1 was killed by signal 9 (Killed); the others go on"),
        "{}",
        ended.error
    );
    assert!(ended.error.contains("rank 2 exited with status 4; the others go on"), "{}", ended.error);
}

#[test]
fn programs_that_cannot_be_started_are_named() {
    let ended = canele(&["run", "-n", "2", "no-such-program-here"]);
    assert_eq!(ended.code(), Some(127));
    assert!(ended.error.starts_with("canele: cannot start no-such-program-here as rank 0: not found"));
    assert_eq!(ended.error.lines().count(), 1, "{}", ended.error);
    let ended = canele(&["run", "-n", "2", "/etc/passwd"]);
    assert_eq!(ended.code(), Some(126));
    assert!(ended.error.contains("cannot start /etc/passwd"), "{}", ended.error);
    let ended = canele(&["run", "-n", "2", "sleep", "1000", ":", "-n", "1", "./no-such-file"]);
    assert_eq!(ended.code(), Some(127));
    assert!(ended.error.contains("./no-such-file as rank 2"), "{}", ended.error);
}

#[test]
fn a_missing_interpreter_is_not_a_missing_program() {
    use std::os::unix::fs::PermissionsExt;
    let path = std::env::temp_dir().join(format!("canele-interpreter-{}", std::process::id()));
    std::fs::write(&path, "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let ended = canele(&["run", "-n", "1", path.to_str().unwrap()]);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(ended.code(), Some(127));
    assert!(ended.error.contains("interpreter"), "{}", ended.error);
}

#[test]
fn wrong_usage_is_2_and_says_what_is_wrong() {
    for (args, word) in [
        (&["run", "-n", "0", "true"][..], "-n 0"),
        (&["run", "-n", "x", "true"], "\"x\""),
        (&["run", "-n", "2"], "PROG"),
        (&["run", "true"], "canele run -n 4"),
        (&["run", "-n", "1", "true", ":"], "after `:`"),
        (&["run", "-n", "1", "true", ":", "-n", "0", "true"], "-n 0"),
        (&["run", "-n", "4000000000", "true"], "a job has at most 16777216"),
        (&["run", "-n", "4294967295", "true", ":", "-n", "5", "true"], "4294967300 ranks"),
        (&["run", "-n", "4098", "--hosts", "a:1,b:4097", "true"], "4097 ranks on b: a host has at most 4096"),
        (&["run", "-n", "20000", "--hosts", "a,b,c,d", "true"], "5000 ranks on a: a host has at most 4096"),
        (&["run", "-n", "4096", "true", ":", "-n", "1", "true"], "4097 ranks on "),
        (&["run", "-n", "1", "--timeout", "-3", "true"], "--timeout"),
        (&["run", "-n", "1", "--timeout", "0", "true"], "--timeout"),
        (&["run", "-n", "1", "--env", "nothing", "true"], "NAME=VALUE"),
        (&["run", "-n", "1", "--wd", "/no/such/dir", "true"], "/no/such/dir"),
        (&["run", "-n", "1", "--env", "CANELE_SPIN_NS=-1", "true"], "CANELE_SPIN_NS=-1"),
        (&["run", "-n", "1", "--env", "CANELE_SPIN_N=1", "true"], "did you mean CANELE_SPIN_NS"),
        (&["run", "-n", "1", "--bind", "sockets", "true"], "core"),
        (&["run", "-n", "1", "--wait", "never", "true"], "adaptive"),
        (&["nonsense"], "nonsense"),
        (&["info", "--counters"], "--job"),
        (&["demo", "chess"], "chess"),
        (&["demo", "laplace", "-n", "two"], "two"),
        (&["demo", "-n", "2", "laplace", "-n", "3"], "-n"),
        (&[], "command"),
    ] {
        let ended = canele(args);
        assert_eq!(ended.code(), Some(2), "{args:?}: {}", ended.error);
        assert!(
            ended.error.starts_with("canele: ") && ended.error.contains(word),
            "{args:?}: {}",
            ended.error
        );
        assert_eq!(ended.out, "", "{args:?}");
    }
}

#[test]
fn a_time_limit_ends_the_job_naming_who_still_ran() {
    let ended = shell(&["-n", "4", "--timeout", "0.7"], "test $CANELE_RANK = 1 && exit 0; sleep 1000");
    assert_eq!(ended.code(), Some(124));
    assert!(ended.error.contains("ranks 0, 2-3 still running"), "{}", ended.error);
    let ended = shell(&["-n", "2", "--timeout", "1000"], "exit 0");
    assert_eq!(ended.code(), Some(0));
}

#[test]
fn the_job_ends_with_a_process_that_the_caller_names() {
    use std::process::{Command, Stdio};
    let mut other = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let pid = other.id().to_string();
    let input = other.stdin.take();
    let job = start_shell(&["-n", "2", "--end-with", &pid], "sleep 1000; exit 0");
    job.wait_for(2, "sleep");
    drop(input);
    other.wait().unwrap();
    let ended = job.end();
    assert_eq!(ended.code(), Some(143), "{}", ended.error);
    assert!(
        ended.error.starts_with(&format!("canele: process {pid} of --end-with has ended")),
        "{}",
        ended.error
    );
    let ended = shell(&["-n", "1", "--end-with", "4194305"], "exit 0");
    assert_eq!(ended.code(), Some(1));
    assert!(ended.error.contains("--end-with 4194305: there is no such process"), "{}", ended.error);
}

#[test]
fn ranks_find_their_place_variables_and_directory() {
    let script =
        "echo $CANELE_RANK/$CANELE_SIZE $CANELE_LOCAL_RANK/$CANELE_LOCAL_SIZE $CANELE_WAIT $A $(pwd)";
    let options = ["-n", "2", "--env", "A=b=c", "--env", "B=x", "--wd", "/usr", "--wait", "sleep"];
    let ended = shell(&options, script);
    assert_eq!(ended.lines(), ["0/2 0/2 sleep b=c /usr", "1/2 1/2 sleep b=c /usr"]);
}

#[test]
fn several_programs_make_one_job() {
    let print = ["sh", "-c", "echo $0 $CANELE_RANK of $CANELE_SIZE"];
    let mut args = vec!["run", "-n", "1"];
    args.extend(print);
    args.extend(["master", ":", "-n", "2"]);
    args.extend(print);
    args.push("worker");
    let ended = canele(&args);
    assert_eq!(ended.lines(), ["master 0 of 3", "worker 1 of 3", "worker 2 of 3"]);
}

#[test]
fn binding_gives_each_rank_one_processor_and_says_which() {
    let script = "grep Cpus_allowed_list: /proc/self/status | tr -dc '0-9,-' ; echo \" $CANELE_BIND\"";
    let ended = shell(&["-n", "3", "--bind", "core"], script);
    assert_eq!(ended.code(), Some(0));
    for line in ended.lines() {
        let (allowed, said) = line.split_once(' ').unwrap();
        assert_eq!(allowed, said);
    }
    assert!(shell(&["-n", "1"], script).out.ends_with(" none\n"));
    assert!(shell(&["-n", "2", "--bind", "none"], script).out.ends_with(" none\n"));
}

#[test]
fn ranks_say_to_which_processors_they_are_bound() {
    let ended = shell(&["-n", "1", "--report-bindings"], "true");
    assert_eq!(ended.error, "canele: rank 0 is not bound to processors\n");
    let ended = shell(&["-n", "2", "--bind", "core", "--report-bindings"], "echo $CANELE_RANK $CANELE_BIND");
    for line in ended.lines() {
        let (rank, processors) = line.split_once(' ').unwrap();
        let said = format!("canele: rank {rank} is bound to processors {processors}");
        assert!(ended.error.contains(&said), "{said}: {}", ended.error);
    }
}

/// Ranks of two jobs that run at the same time have no processor in common.
#[test]
fn jobs_side_by_side_are_not_bound_to_the_same_processors() {
    let folder = std::env::temp_dir().join(format!("canele-bound-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let started = |job: usize| folder.join(format!("{job}"));
    let script = |job| {
        let (here, other) = (started(job), started(1 - job));
        let (here, other) = (here.display(), other.display());
        format!("echo $CANELE_BIND; touch {here}; until test -e {other}; do sleep 0.05; done")
    };
    let jobs = [0, 1].map(|job| support::start_shell(&["-n", "2"], &script(job)));
    let mut bound: Vec<String> = Vec::new();
    for job in jobs {
        let ended = job.end();
        assert_eq!(ended.code(), Some(0), "{}", ended.error);
        bound.extend(ended.lines().into_iter().filter(|line| *line != "none").map(String::from));
    }
    std::fs::remove_dir_all(&folder).unwrap();
    let count = bound.len();
    bound.sort_unstable();
    bound.dedup();
    assert_eq!(bound.len(), count, "{bound:?}");
}

#[test]
fn many_ranks_on_few_processors_start_and_end() {
    let ended = shell(&["-n", "64"], "echo $CANELE_RANK");
    assert_eq!(ended.code(), Some(0), "{}", ended.error);
    assert_eq!(ended.lines().len(), 64);
}

#[test]
fn help_is_there_with_examples() {
    for command in [&["--help"][..], &["run", "--help"], &["info", "--help"], &["demo", "--help"]] {
        let ended = canele(command);
        assert_eq!(ended.code(), Some(0));
        assert!(ended.out.contains("Examples:\n  canele "), "{command:?}: {}", ended.out);
        assert!(!ended.out.contains("supervise"), "the supervisor's command is internal");
    }
}

#[test]
fn only_a_launcher_starts_the_supervisor() {
    let ended = canele(&["supervise", "1"]);
    assert_eq!(ended.code(), Some(2));
    assert!(ended.error.contains("only `canele run`"), "{}", ended.error);
}
