//! Jobs on several hosts, all of them this machine: a remote shell that ignores the host's name.

mod support;

use std::os::unix::fs::PermissionsExt;

use support::folder::Folder;
use support::hosts::{shell_on, start_on, start_on_with};
use support::ranks::program;
use support::{canele, kill, start_with, wait_until};

const TWO: &str = "h0:2,h1:2";

#[test]
fn ranks_are_numbered_host_by_host_and_find_their_place() {
    let script = "echo $TEST_HOST $CANELE_RANK/$CANELE_SIZE $CANELE_LOCAL_RANK/$CANELE_LOCAL_SIZE $CANELE_WAIT $A $(pwd)";
    let options = ["--wd", "/usr", "--env", "A=b c", "--wait", "sleep"];
    let ended = shell_on("h0:1,h1:2", &options, script);
    assert_eq!((ended.code(), ended.error.as_str()), (Some(0), ""));
    let rest = "sleep b c /usr";
    assert_eq!(
        ended.lines(),
        [format!("h0 0/3 0/1 {rest}"), format!("h1 1/3 0/2 {rest}"), format!("h1 2/3 1/2 {rest}")]
    );
}

#[test]
fn settings_of_the_environment_go_to_every_host() {
    let command = ["sh", "-c", "echo $CANELE_YIELDS"];
    let run = start_on_with("plain", "a,b", &["-n", "2"], &command, &[("CANELE_YIELDS", "7")], b"");
    assert_eq!(run.end().lines(), ["7", "7"]);
}

#[test]
fn a_key_of_hosts_is_used_and_refused_where_others_can_read_it() {
    let folder = std::env::temp_dir().join(format!("canele-hosts-key-{}", std::process::id()));
    let path = folder.join("canele/hosts.key");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, [7; 32]).unwrap();
    for (mode, code) in [(0o600, true), (0o644, false)] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let variables = [("XDG_CONFIG_HOME", folder.to_str().unwrap())];
        let ended = start_on_with("plain", "a,b", &["-n", "2"], &["true"], &variables, b"").end();
        assert_eq!(
            (ended.code() == Some(0), ended.error.contains("hosts.key")),
            (code, !code),
            "{}",
            ended.error
        );
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_file_names_hosts_too_and_several_programs_make_one_job() {
    let path = std::env::temp_dir().join(format!("canele-hostfile-{}", std::process::id()));
    std::fs::write(&path, "# two\na slots=2\nb:1\n").unwrap();
    let rsh = support::hosts::rsh("plain");
    let mut args = vec!["run", "-n", "1", "--hostfile", path.to_str().unwrap(), "--rsh", &rsh];
    let print = ["sh", "-c", "echo $0 $CANELE_RANK on $TEST_HOST"];
    args.extend(print);
    args.extend(["master", ":", "-n", "2"]);
    args.extend(print);
    args.push("worker");
    let ended = canele(&args);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(ended.lines(), ["master 0 on a", "worker 1 on a", "worker 2 on b"]);
}

#[test]
fn an_allocation_gives_hosts_ranks_and_the_remote_shell() {
    let folder = Folder::new("allocation");
    let slots = folder
        .file("slots", "no-such-1 2 all.q@no-such-1 UNDEFINED\nno-such-2 1 all.q@no-such-2 UNDEFINED\n");
    // Each command leaves out its options, the last of which is before the host.
    for (command, last) in [("srun", "--nodelist"), ("qrsh", "-inherit")] {
        let text = format!(
            "#!/bin/sh\nwhile [ \"$1\" != {last} ]; do shift; done\nexport TEST_HOST=$2\nshift 2\nexec \"$@\"\n"
        );
        folder.file(command, &text);
    }
    let path = format!("{}:{}", folder.0.display(), std::env::var("PATH").unwrap());
    let slurm = [("SLURM_JOB_NODELIST", "no-such-[1-2]"), ("SLURM_TASKS_PER_NODE", "2,1")];
    for variables in [&slurm[..], &[("PE_HOSTFILE", slots.as_str())]] {
        let variables = [&[("PATH", path.as_str())], variables].concat();
        let print =
            "echo $TEST_HOST $OMPI_COMM_WORLD_RANK/$PMI_SIZE $MPI_LOCALRANKID/$OMPI_COMM_WORLD_LOCAL_SIZE";
        let ended = start_with(&["run", "sh", "-c", print], &variables, b"").end();
        let few = start_with(&["run", "-np", "1", "sh", "-c", print], &variables, b"").end();
        let many = start_with(&["run", "-n", "4", "true"], &variables, b"").end();
        assert_eq!(
            ended.lines(),
            ["no-such-1 0/3 0/2", "no-such-1 1/3 1/2", "no-such-2 2/3 0/1"],
            "{}",
            ended.error
        );
        assert_eq!(few.lines(), ["no-such-1 0/1 0/1"], "{}", few.error);
        assert!(many.code() == Some(2) && many.error.contains("take 3 in all"), "{}", many.error);
    }
}

#[test]
fn wrong_usage_is_2_and_says_what_is_wrong() {
    for (args, word) in [
        (&["--hosts", "h0:2,h1:2", "-n", "5", "true"][..], "take 4 in all"),
        (&["--hosts", "h0,h1", "true"], "-n N is needed"),
        (&["--hosts", "h0,h0", "-n", "2", "true"], "named twice"),
        (&["--hosts", "h0:1,h1", "true"], "every host"),
        (&["--hosts", "fd77::1", "-n", "1", "true"], "brackets"),
        (&["--hosts=-oProxyCommand", "-n", "1", "true"], "no host"),
        (&["--hosts", "h0", "--hostfile", "x", "-n", "1", "true"], "--hostfile"),
        (&["--hostfile", "/no/such/file", "true"], "/no/such/file"),
        (&["-n", "1", "--rsh", "x", "true"], "--hosts"),
        (&["--hosts", "h0:1,h1:1", "true", ":", "-n", "1", "true"], "-n N is needed"),
        (&["--hosts", "h0:4000000000", "true"], "at most"),
    ] {
        let ended = canele(&[&["run"], args].concat());
        assert_eq!(ended.code(), Some(2), "{args:?}: {}", ended.error);
        assert!(ended.error.contains(word), "{args:?}: {}", ended.error);
    }
}

// ---- remote shells ------------------------------------------------------------------------------------

#[test]
fn shells_may_print_noise_or_stay_in_between() {
    for (how, remarks) in [("between", 0), ("apart", 0), ("noisy", 2)] {
        let ended = start_on(how, TWO, &[], &["sh", "-c", "echo $CANELE_RANK; exit 0"]).end();
        assert_eq!(
            (ended.code(), ended.lines()),
            (Some(0), vec!["0", "1", "2", "3"]),
            "{how}: {}",
            ended.error
        );
        assert_eq!(ended.error.lines().count(), remarks, "{how}: {}", ended.error);
        assert!(remarks == 0 || ended.error.contains("[h1] a remark\n"), "{}", ended.error);
    }
}

#[test]
fn a_shell_that_starts_no_agent_makes_one_error_that_says_why() {
    for (how, words) in [
        ("refusing", &["exited with status 255", "no route to h"][..]),
        ("half", &["host h1", "exited with status 255", "it printed nothing"]),
        ("early", &["exited with status 0", "it printed nothing"]),
        ("loud", &["started no agent", "\n  y\n"]),
        ("silent", &["did not answer within 1 s"]),
        ("garbage", &["cannot start on host"]),
        ("older", &["canele 0.0.1", "version 1,", "install the same"]),
        ("no-such-way", &["exited with status 0"]),
    ] {
        let variables =
            [("CANELE_REMOTE_START_MS", "1000"), ("CARGO_PKG_VERSION", env!("CARGO_PKG_VERSION"))];
        let ended = start_on_with(how, TWO, &[], &["sleep", "1000"], &variables, b"").end();
        assert_eq!(ended.code(), Some(1), "{how}: {}", ended.error);
        let start = if how == "garbage" { "canele: " } else { "canele: cannot start on host h" };
        assert!(ended.error.starts_with(start), "{how}: {}", ended.error);
        assert_eq!(ended.error.matches("canele: ").count(), 1, "{how}: {}", ended.error);
        for word in words.iter().filter(|_| how != "garbage") {
            assert!(ended.error.contains(word), "{how}: {}", ended.error);
        }
    }
}

#[test]
fn a_shell_that_is_not_there_is_named() {
    let ended = canele(&["run", "--hosts", "h0:1", "--rsh", "/no/such/shell", "true"]);
    assert_eq!(ended.code(), Some(1));
    assert!(ended.error.contains("/no/such/shell h0"), "{}", ended.error);
}

#[test]
fn a_wrong_path_of_the_command_is_shown_as_the_shell_says_it() {
    let ended = start_on("plain", TWO, &["--canele", "/no/such/canele"], &["true"]).end();
    assert_eq!(ended.code(), Some(1));
    assert!(ended.error.contains("/no/such/canele agent` exited with status 127"), "{}", ended.error);
}

#[test]
fn only_a_launcher_starts_an_agent() {
    for input in [&b""[..], b"hello, who is there? \0\0\0\0\0\0", &[0xff; 1000], &[0; 1000]] {
        let ended = start_with(&["agent"], &[], input).end();
        assert!(ended.code() == Some(0) && ended.out.starts_with("\0canele-agent:"), "{}", ended.error);
    }
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_canele"))
        .arg("agent")
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("only `canele run --hosts`"));
}

// ---- streams and signals ------------------------------------------------------------------------------

#[test]
fn standard_input_goes_to_rank_0_only_whole_and_to_its_end() {
    let input: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    let sum = "echo \"$CANELE_RANK $(cksum)\"";
    let run = start_on_with("between", "h0:1,h1:2", &[], &["sh", "-c", sum], &[], &input);
    let ended = run.end();
    let lines = ended.lines();
    assert_eq!(lines[1..], ["1 4294967295 0", "2 4294967295 0"]);
    assert!(lines[0].starts_with("0 ") && lines[0].ends_with(" 3000000"), "{lines:?}");
    let alone = start_with(&["run", "-n", "1", "sh", "-c", sum], &[], &input).end();
    assert_eq!(alone.lines()[0], lines[0]);
}

#[test]
fn a_rank_that_does_not_read_its_input_harms_no_other() {
    let run = start_on_with("plain", TWO, &[], &["sh", "-c", "exec <&-; sleep 0.3"], &[], &[b'x'; 1000]);
    assert_eq!(run.end().code(), Some(0));
}

#[test]
fn megabytes_from_all_ranks_come_whole_and_each_ranks_lines_in_order() {
    let script = "i=0; while [ $i -lt 20000 ]; do echo $CANELE_RANK $i aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; i=$((i+1)); done";
    let ended = shell_on(TWO, &["--label"], script);
    assert_eq!(ended.code(), Some(0), "{}", ended.error);
    let mut next = [0; 4];
    for line in ended.out.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let rank: usize = words[1].parse().unwrap();
        assert_eq!((words[0], words[2]), (format!("[{rank}]").as_str(), next[rank].to_string().as_str()));
        next[rank] += 1;
    }
    assert_eq!(next, [20000; 4]);
}

#[test]
fn a_reader_that_does_not_read_holds_the_ranks_up_and_no_memory() {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_canele"))
        .args(["run", "--timeout", "1000", "--hosts", TWO, "--rsh", &support::hosts::rsh("plain"), "yes"])
        .env("TEST_MARK", "stalled")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // Long enough for gigabytes.
    std::thread::sleep(std::time::Duration::from_secs(2));
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kilobytes: u64 = resident.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kilobytes < 50_000, "the launcher holds {kilobytes} KB");
    // Without a reader the launcher ends like any program in a pipe.
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(128 + 13));
}

#[test]
fn signals_reach_the_ranks_of_every_host() {
    let run = start_on(
        "between",
        TWO,
        &[],
        &["sh", "-c", "trap 'echo usr; exit 0' USR1; while :; do sleep 0.1; done"],
    );
    run.wait_for(4, "sleep");
    kill("USR1", run.pid());
    assert_eq!(run.end().lines(), ["usr"; 4]);
    for (signal, number, name) in [("INT", 2, "Interrupt"), ("TERM", 15, "Terminated")] {
        let run = start_on("between", TWO, &[], &["sleep", "1000"]);
        run.wait_for(4, "sleep");
        kill(signal, run.pid());
        let ended = run.end();
        assert_eq!(ended.code(), Some(128 + number));
        assert_eq!(ended.error, format!("canele: ended by signal {number} ({name})\n"));
    }
}

// ---- more than one ------------------------------------------------------------------------------------

#[test]
fn two_jobs_share_hosts_without_knowing_each_other() {
    let runs: Vec<_> = ["a", "b"]
        .iter()
        .map(|name| start_on("plain", TWO, &[], &["sh", "-c", "sleep 0.3; echo $0 $CANELE_RANK", name]))
        .collect();
    for (run, name) in runs.into_iter().zip(["a", "b"]) {
        let ended = run.end();
        assert_eq!(ended.code(), Some(0), "{}", ended.error);
        assert_eq!(ended.lines(), [0, 1, 2, 3].map(|rank| format!("{name} {rank}")));
    }
}

/// Every rank reserves as much of its inbox as in a job on its host alone.
#[test]
fn inboxes_are_as_large_as_the_ranks_of_their_host_make_them() {
    let program = support::ranks::example("connect_all");
    let inbox = |ended: support::Ended| {
        assert_eq!(ended.code(), Some(0), "{}", ended.error);
        let rest = ended.out.split_once("inbox ").unwrap_or_else(|| panic!("{}", ended.out)).1;
        rest.split(',').next().unwrap().to_owned()
    };
    let alone = inbox(canele(&["run", "-n", "4", &program]));
    let together = inbox(start_on("plain", "a:4,b:4,c:4,d:4", &[], &[&program]).end());
    assert_eq!(together, alone);
    assert_ne!(inbox(canele(&["run", "-n", "16", &program])), alone);
}

#[test]
fn many_ranks_on_two_hosts_start_and_end() {
    let ended = shell_on("h0:16,h1:16", &[], "echo $CANELE_RANK");
    assert_eq!(ended.code(), Some(0), "{}", ended.error);
    assert_eq!(ended.lines().len(), 32);
}

#[test]
fn a_running_job_shows_the_ranks_of_all_hosts_with_their_counters() {
    let program = program();
    let run = start_on("plain", "h0:2,other:2", &[], &[&program, "counted"]);
    let pid = run.pid().to_string();
    let ask = |more: &[&str]| canele(&[&["info", "--job", &pid, "--counters"], more].concat()).out;
    wait_until("the counters of ranks on both hosts", || {
        let report: serde_json::Value = serde_json::from_str(&ask(&["--json"])).unwrap_or_default();
        let ranks = &report["ranks"];
        let count = |rank: usize, name: &str| ranks[rank]["counters"][name].as_u64();
        ranks[0]["host"] == "h0"
            && ranks[3]["host"] == "other"
            && ranks[0]["current"] == true
            && count(0, "short_sent") == Some(5)
            && count(1, "short_received") >= Some(5)
            && count(3, "system_calls") > Some(0)
    });
    let table = ask(&[]);
    assert!(table.contains(" rank host ") && table.contains("    3 other "), "{table}");
    kill("TERM", run.pid());
    assert_eq!(run.end().code(), Some(143));
}
