//! `canele doctor`: findings on this machine, on hosts that do not answer or have another release, and
//! between hosts, all made by stand-ins.

mod support;

use std::fs;
use std::process::Command;

use serde_json::Value;
use support::folder::Folder;
use support::hosts::{Cluster, rsh};
use support::{Ended, Run, canele, start_command, start_with};

/// Returns the findings of a section, as `level what: value → remedy`.
fn findings(ended: &Ended, of: &str) -> Vec<String> {
    let report: Value = serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error}: {ended:?}"));
    let sections = report["sections"].as_array().unwrap();
    let names = |section: &&Value| section["of"].as_array().unwrap().iter().any(|name| name == of);
    let section = sections.iter().find(names).unwrap_or_else(|| panic!("no section {of}: {}", ended.out));
    let text = |finding: &Value, name: &str| finding[name].as_str().unwrap().to_owned();
    let words = |finding: &Value| {
        let [level, what, value, remedy] =
            ["level", "what", "value", "remedy"].map(|name| text(finding, name));
        // Each finding other than `ok` has a remedy.
        assert_eq!(level == "ok", remedy.is_empty(), "{finding}");
        format!("{level} {what}: {value} → {remedy}")
    };
    section["findings"].as_array().unwrap().iter().map(words).collect()
}

/// Asserts that one of the findings begins with `start` and contains all `parts`.
#[track_caller]
fn has(found: &[String], start: &str, parts: &[&str]) {
    let of_it = |line: &&String| line.starts_with(start) && parts.iter().all(|part| line.contains(part));
    assert!(
        found.iter().any(|line| of_it(&line)),
        "nothing begins with {start:?} and has {parts:?}: {found:#?}"
    );
}

fn here(variables: &[(&str, &str)], words: &[&str]) -> Ended {
    start_with(&[&["doctor", "--json"], words].concat(), variables, b"").end()
}

/// Runs `canele doctor --hosts HOSTS` through the remote shell that does `how`.
fn on(how: &str, hosts: &str, variables: &[(&str, &str)]) -> Ended {
    let rsh = rsh(how);
    start_with(&["doctor", "--json", "--hosts", hosts, "--rsh", &rsh], variables, b"").end()
}

#[test]
fn this_machine_runs_jobs_and_the_table_says_what_the_object_does() {
    let ended = here(&[], &["-n", "2"]);
    let found = findings(&ended, "this machine");
    for what in
        ["command", "settings", "open files", "processes", "memory", "shared memory", "kernel", "LD_PRELOAD"]
    {
        assert!(
            found.iter().any(|line| line.split(':').next().unwrap().ends_with(what)),
            "{what}: {found:#?}"
        );
    }
    has(&found, "ok shared memory", &["memfd"]);
    let problems = found.iter().any(|line| line.starts_with("problem"));
    assert_eq!(ended.code(), Some(i32::from(problems)), "{found:#?}");
    let table = canele(&["doctor", "-n", "2"]);
    assert_eq!(table.code(), ended.code());
    assert!(
        table.out.starts_with("this machine\n") && table.out.contains("  ok       shared memory"),
        "{}",
        table.out
    );
}

#[test]
fn small_limits_are_problems_that_name_them() {
    let script =
        format!("ulimit -n 100; ulimit -s 512; exec {} doctor --json -n 64", env!("CARGO_BIN_EXE_canele"));
    let ended = start_command(Command::new("bash").args(["-c", &script]), b"").end();
    let found = findings(&ended, "this machine");
    assert_eq!(ended.code(), Some(1), "{found:#?}");
    has(&found, "problem open files", &["100 at once", "64 ranks", "ulimit -Hn"]);
    has(&found, "remark stack", &["512 KiB", "ulimit -s"]);
    has(&found, "remark ranks", &["64 would share"]);
    let ended = here(&[("CANELE_EAGER_BYTE", "1")], &[]);
    assert_eq!(ended.code(), Some(1));
    has(&findings(&ended, "this machine"), "problem settings", &["CANELE_EAGER_BYTE", "CANELE_EAGER_BYTES"]);
    let ended = here(&[], &["-n", "4000"]);
    has(&findings(&ended, "this machine"), "", &["memory: ", "4000 ranks that all talk"]);
}

#[test]
fn other_implementations_in_the_way_are_named() {
    let folder = Folder::new("doctor-other");
    let library = folder.file("libmpi.so.12", "no library of Canelé");
    folder.file("libmpi.so.20", "an older Open MPI's, which no program of ours looks for");
    let root = folder.0.to_str().unwrap();
    folder.file("canele", "");
    folder.file("mpicc", "#!/bin/sh\nexec \"$(dirname \"$0\")/canele\" mpicc \"$@\"\n");
    let theirs = Folder::new("doctor-theirs");
    folder.file("unused", "");
    let mpiexec = theirs.file("mpiexec", "#!/bin/sh\n");
    let path = format!("{root}:{}:{}", theirs.0.display(), std::env::var("PATH").unwrap());
    let variables = [
        ("LD_LIBRARY_PATH", root),
        ("LD_PRELOAD", ""),
        ("PATH", path.as_str()),
        ("I_MPI_ROOT", "/opt/intel"),
        ("OMPI_MCA_btl", "self"),
    ];
    let ended = here(&variables, &[]);
    let found = findings(&ended, "this machine");
    assert_eq!(ended.code(), Some(1), "{found:#?}");
    has(&found, "remark LD_LIBRARY_PATH", &[&library, "canele run"]);
    // The path is compared, because the system may have a library of this name.
    let other = format!("{root}/libmpi.so.20");
    assert!(!found.iter().any(|line| line.contains(&other)), "{found:#?}");
    has(&found, "problem commands on PATH", &["mixed", &mpiexec, root]);
    has(&found, "remark variables", &["I_MPI_ROOT", "OMPI_MCA_btl"]);
    // The dynamic linker skips a library that it cannot load, and prints a line of its own.
    let missing = format!("{root}/libmpi.so.20");
    let ended = here(&[("LD_PRELOAD", &missing)], &[]);
    has(&findings(&ended, "this machine"), "problem LD_PRELOAD", &[&missing, "unset LD_PRELOAD"]);
}

#[test]
fn an_mpi4py_for_another_mpi_alone_is_a_problem() {
    if !support::installation::is_there("python3") {
        return;
    }
    let folder = Folder::new("doctor-mpi4py");
    fs::create_dir(folder.0.join("mpi4py")).unwrap();
    folder.file("mpi4py/__init__.py", "");
    folder.file("mpi4py/MPI.msmpi.abi3.so", "");
    let variables = [("PYTHONPATH", folder.0.to_str().unwrap())];
    let found = findings(&here(&variables, &[]), "this machine");
    has(&found, "problem mpi4py", &[folder.0.to_str().unwrap(), "--no-binary"]);
    folder.file("mpi4py/MPI.mpich.cpython-311-x86_64-linux-gnu.so", "");
    has(&findings(&here(&variables, &[]), "this machine"), "ok mpi4py", &[]);
}

#[test]
fn files_of_the_wheel_that_another_package_has_overwritten_are_named_with_that_package() {
    if !support::installation::is_there("python3") {
        return;
    }
    // SHA-256 of "ours\n" and "theirs\n", as wheels write it.
    let ours = "sha256=ExAq1eaKV3oh2-GqaxYYnpPpeSeNa5kX1_J5qaPavRY,5";
    let theirs = "sha256=7ZyGph4FYjq-tx-e7ah4DasOKKL2m7VIE_maLsSzYC8,7";
    let folder = Folder::new("doctor-wheel");
    let package = |name: &str, release: &str, files: &[(&str, &str)]| {
        let info = format!("{name}-{release}.dist-info");
        fs::create_dir(folder.0.join(&info)).unwrap();
        folder.file(
            &format!("{info}/METADATA"),
            &format!("Metadata-Version: 2.1\nName: {name}\nVersion: {release}\n"),
        );
        let lines = files.iter().map(|(file, hash)| format!("{file},{hash}\n")).collect::<String>();
        folder.file(&format!("{info}/RECORD"), &format!("{lines}{info}/RECORD,,\n"));
    };
    package("canele", "0.1.0", &[("mpiexec", ours), ("canele-command", ours)]);
    folder.file("mpiexec", "ours\n");
    folder.file("canele-command", "ours\n");
    let variables = [("PYTHONPATH", folder.0.to_str().unwrap())];
    // A library that is named twice is checked twice.
    let found =
        || findings(&here(&variables, &["--python", "python3", "--python", "python3"]), "this machine");
    let good = found();
    has(&good, "ok Canelé's wheel", &["2 files"]);
    assert_eq!(good.iter().filter(|line| line.starts_with("ok Canelé's wheel")).count(), 2, "{good:#?}");
    package("mpich", "5.0.2", &[("mpiexec", theirs)]);
    has(&found(), "remark Canelé's wheel", &["mpiexec (mpich 5.0.2)", "pip uninstall mpich"]);
    folder.file("mpiexec", "theirs\n");
    has(
        &found(),
        "problem Canelé's wheel",
        &["mpiexec is mpich 5.0.2's now", "pip uninstall mpich", "WHEEL"],
    );
    fs::remove_file(folder.0.join("canele-command")).unwrap();
    has(&found(), "problem Canelé's wheel", &["canele-command is missing"]);
    let nothing = here(&[], &["--python", "/nowhere/python3"]);
    has(&findings(&nothing, "this machine"), "problem python", &["/nowhere/python3"]);
}

#[test]
fn hosts_that_answer_are_looked_at_and_reach_each_other() {
    // Remote shells that print other text, too.
    for how in ["plain", "noisy", "between"] {
        let ended = on(how, "h0:2,h1:2", &[("CANELE_EAGER_BYTES", "4096")]);
        for host in ["h0", "h1"] {
            let found = findings(&ended, host);
            has(&found, "ok version", &[env!("CARGO_PKG_VERSION")]);
            has(&found, "ok settings", &["that are set: 1"]);
            has(&found, "ok open files", &["2 ranks"]);
            assert!(!found.iter().any(|line| line.contains("commands on PATH")), "{found:#?}");
        }
        has(&findings(&ended, "between hosts"), "ok rail tcp 1", &["2 of 2 ways"]);
    }
}

#[test]
fn hosts_that_do_not_answer_are_told_with_the_command_and_what_it_printed() {
    for (how, words) in [
        ("refusing", &["exited with status 255", "no route to h1"][..]),
        ("early", &["exited with status 0"]),
        ("silent", &["did not answer within 0.7 s"]),
        ("loud", &["prints without end"]),
    ] {
        let ended = on(how, "h1", &[("CANELE_REMOTE_START_MS", "700")]);
        assert_eq!(ended.code(), Some(1), "{how}: {ended:?}");
        let parts = [&["shell", "doctor-host", "--rsh"], words].concat();
        has(&findings(&ended, "h1"), "problem reached", &parts);
    }
    // A host that answers is still checked.
    let ended = on("half", "h0:1,h1:1", &[]);
    has(&findings(&ended, "h0"), "ok version", &[]);
    has(&findings(&ended, "h1"), "problem reached", &["255"]);
    has(&findings(&ended, "between hosts"), "problem rails", &["1 of 2 hosts answered"]);
}

#[test]
fn a_host_of_another_release_is_told_as_such() {
    let folder = Folder::new("doctor-release");
    // One release that has no doctor, and one whose versions all differ.
    let usage = "echo 'canele: unrecognized subcommand' >&2; exit 2";
    let older = format!("#!/bin/sh\n[ \"$1\" != --version ] || {{ echo canele 0.0.1; exit; }}\n{usage}\n");
    let newer = "#!/bin/sh\nread request\necho 'canele-doctor {\"version\":9999,\"release\":\"7.0.0\",\"identity\":1,\
                 \"interfaces\":[],\"listening\":[],\"report\":{\"another\":\"shape\"}}'\ncat >/dev/null\n";
    for (name, text, release) in [("older", older.as_str(), "0.0.1"), ("newer", newer, "7.0.0")] {
        let command = folder.file(name, text);
        let rsh = rsh("plain");
        let words = ["doctor", "--json", "--hosts", "h1", "--rsh", &rsh, "--canele", &command];
        let ended = canele(&words);
        assert_eq!(ended.code(), Some(1), "{name}: {ended:?}");
        has(&findings(&ended, "h1"), "problem version", &[release, "--canele"]);
    }
}

#[test]
fn the_hosts_of_an_allocation_are_asked() {
    let folder = Folder::new("doctor-allocation");
    let nodes = folder.file("nodes", "h0\nh1\nh1\n");
    folder.file(
        "ssh",
        "#!/bin/sh\nwhile [ \"$1\" != h0 ] && [ \"$1\" != h1 ]; do shift; done\nshift\nexec \"$@\"\n",
    );
    let path = format!("{}:{}", folder.0.display(), std::env::var("PATH").unwrap());
    let ended = here(&[("PBS_NODEFILE", &nodes), ("PATH", &path)], &[]);
    has(&findings(&ended, "h0"), "ok open files", &["1 ranks"]);
    has(&findings(&ended, "h1"), "ok open files", &["2 ranks"]);
}

#[test]
fn wrong_usage_is_refused() {
    for words in
        [&["--hosts", "h0,h0"][..], &["--hosts", "-x"], &["-n", "0"], &["--hosts", "h0:1", "-n", "2"], &["x"]]
    {
        let ended = canele(&[&["doctor"], words].concat());
        assert_eq!(ended.code(), Some(2), "{words:?}: {ended:?}");
    }
    for subcommand in ["doctor-host", "doctor-peer"] {
        assert!(!canele(&["--help"]).out.contains(subcommand));
    }
}

/// Runs `canele doctor` on the hosts of a cluster.
fn on_cluster(cluster: &Cluster, variables: &[(&str, &str)]) -> Ended {
    let rsh = cluster.remote_shell();
    let words = ["doctor", "--json", "--hosts", "h0:1,h1:1", "--rsh", &rsh];
    let run: Run = start_with(&words, &[&[("CLUSTER", cluster.name.as_str())], variables].concat(), b"");
    run.end()
}

#[test]
fn rails_between_namespaces_are_found_and_those_that_lead_nowhere_named() {
    let Some(cluster) = Cluster::up() else { return };
    let ended = on_cluster(&cluster, &[]);
    let between = findings(&ended, "between hosts");
    assert_eq!(between.len(), 3, "{between:#?}");
    for (number, rail) in ["ra0", "rb0", "rc0"].iter().enumerate() {
        let address = format!("10.77.{}.2", number + 1);
        has(&between, "ok rail tcp", &[rail, &address, "2 of 2 ways"]);
    }
    // Packets over one of the interfaces vanish; the others still work.
    assert!(cluster.does(&["swallow", "rb0"]).status.success());
    let between = findings(&on_cluster(&cluster, &[]), "between hosts");
    has(
        &between,
        "remark rail tcp",
        &["rb0", "h0 does not reach h1", "10.77.2.2: no answer within", "h1 does not reach h0"],
    );
    has(&between, "ok rail tcp", &["ra0"]);
    // It is the only interface that may be used.
    let ended = on_cluster(&cluster, &[("CANELE_RAILS", "rb0")]);
    assert_eq!(ended.code(), Some(1));
    let between = findings(&ended, "between hosts");
    assert_eq!(between.len(), 1, "{between:#?}");
    has(&between, "problem rail tcp 1", &["0 of 2 ways"]);
    has(
        &findings(&on_cluster(&cluster, &[("CANELE_RAILS", "rx0")]), "between hosts"),
        "problem rails",
        &["rx0"],
    );
}
