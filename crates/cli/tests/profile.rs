//! The machine's profile: `canele tune` writes it, `canele info --profile` shows it, and jobs refuse a broken one.

mod support;

use std::fs;
use std::path::Path;

use canele_profile::{HostProfile, MachineIdentity, MeasuredProfile, Profile};
use serde_json::Value;
use support::folder::Folder;
use support::hosts::rsh;
use support::{Ended, canele, kill, start_with};

fn with_profile(args: &[&str], profile: &str) -> Ended {
    start_with(args, &[("CANELE_PROFILE", profile)], b"").end()
}

fn profile_of(machine: MachineIdentity) -> MeasuredProfile {
    let host = HostProfile { wakeup_ns: 4711, ..HostProfile::OWN_CACHES };
    MeasuredProfile::new(machine, Profile { host, networks: Vec::new() }, vec!["host.line_ns.socket".into()])
}

#[test]
fn tune_writes_a_profile_of_this_machine() {
    let folder = Folder::new("tune");
    let path = folder.path("p.toml");
    let ended = canele(&["tune", "--quick", "--output", &path]);
    if std::thread::available_parallelism().unwrap().get() < 2 {
        assert_eq!(ended.code(), Some(2), "{}", ended.error);
        assert!(ended.error.contains("two processors"), "{}", ended.error);
        return;
    }
    assert_eq!(ended.code(), Some(0), "{}", ended.error);
    for part in ["host.ring.near_piece", "host.wakeup_ns", " %", &*format!("written to {path}")] {
        assert!(ended.out.contains(part), "{part}: {}", ended.out);
    }
    let measured = MeasuredProfile::read(Path::new(&path)).unwrap();
    assert_eq!(measured.machine, MachineIdentity::here());
    assert!(
        !measured.not_measured.iter().any(|key| key == "host.system_call_ns"),
        "{:?}",
        measured.not_measured
    );
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1, "nothing else is left");
    let shown = with_profile(&["info", "--profile"], &path);
    assert_eq!(shown.code(), Some(0), "{}", shown.error);
    assert!(shown.out.contains(&path) && !shown.out.contains("WARNING"), "{}", shown.out);
}

#[test]
fn a_check_measures_each_candidate_and_writes_nothing() {
    if std::thread::available_parallelism().unwrap().get() < 2 {
        return;
    }
    let folder = Folder::new("check");
    let words = ["tune", "--check", "--quick", "--json", "--ranks", "3", "--bytes", "64"];
    let ended =
        start_with(&words, &[("CANELE_PROFILE", "built-in"), ("XDG_CONFIG_HOME", &folder.path(""))], b"")
            .end();
    assert_eq!(ended.code(), Some(0), "{}", ended.error);
    let answer: Value = serde_json::from_str(&ended.out).unwrap();
    let rows = answer["rows"].as_array().unwrap();
    let has = |operation: &str, candidate: &str| {
        rows.iter().any(|row| row["operation"] == operation && row["candidate"] == candidate)
    };
    for operation in ["broadcast", "reduce", "allreduce", "gather", "scatter", "allgather"] {
        assert!(has(operation, "flat"), "{operation}: {rows:?}");
    }
    assert!(has("message", "eager") && has("barrier", "doubling") && has("alltoall", "bruck"), "{rows:?}");
    for row in rows {
        let of = |key: &str| row[key].as_f64().unwrap();
        assert!(of("measured_ns") > 0.0 && of("estimated_ns") > 0.0, "{row}");
        let error = (of("estimated_ns") / of("measured_ns") - 1.0) * 100.0;
        assert!((of("error_per_cent") - error).abs() < 1e-6, "{row}");
    }
    assert_eq!(answer["summary"]["estimates"], rows.len());
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0, "no profile is written");
}

#[test]
fn wrong_options_of_a_check_are_refused() {
    for (words, says) in [
        (&["tune", "--check", "--output", "p.toml"][..], "writes no profile"),
        (&["tune", "--check", "--hosts", "a:1,b:1"], "measures this host"),
        (&["tune", "--json"], "with --check only"),
    ] {
        let ended = canele(words);
        assert_eq!(ended.code(), Some(2), "{words:?}");
        assert!(ended.error.contains(says), "{words:?}: {}", ended.error);
    }
}

#[test]
fn networks_between_two_hosts_are_measured_too() {
    if std::thread::available_parallelism().unwrap().get() < 2 {
        return;
    }
    let folder = Folder::new("tune-hosts");
    let (path, rsh) = (folder.path("p.toml"), rsh("plain"));
    let words = ["tune", "--quick", "--output", &path, "--hosts", "a:1,b:1", "--rsh", &rsh];
    // Both hosts are this machine, connected by the loopback interface.
    let ended = start_with(&words, &[("CANELE_RAILS", "lo")], b"").end();
    assert_eq!(ended.code(), Some(0), "{}", ended.error);
    let measured = MeasuredProfile::read(Path::new(&path)).unwrap();
    let names: Vec<&str> = measured.networks.iter().map(|network| &*network.name).collect();
    assert_eq!(names, ["lo"]);
    assert!(ended.out.contains("networks.latency_ns"), "{}", ended.out);
}

#[test]
fn tune_names_wrong_words() {
    for (args, part) in [
        (&["tune", "--output", "/no/such/folder/p.toml"][..], "there is no folder /no/such/folder"),
        (&["tune", "--output", "/tmp"], "this is a folder"),
        (&["tune", "--hosts", "h0:1"], "between two hosts, with one rank on each: --hosts h0:1,h1:1"),
        (&["tune", "--hosts", "h0:2,h1:1"], "between two hosts"),
        (&["tune", "--hosts", "h0:x,h1:1"], "--hosts h0:x,h1:1"),
        (&["info", "--svg", "p.svg"], "--profile"),
        (&["info", "--profile", "--svg", "p.png"], "must end in .svg"),
    ] {
        let ended = canele(args);
        assert_eq!(ended.code(), Some(2), "{args:?}: {}", ended.error);
        assert!(ended.error.contains(part), "{args:?}: {}", ended.error);
    }
    // Only `canele tune` starts a worker.
    let worker = canele(&["tune-worker", "{}"]);
    assert_eq!(worker.code(), Some(1));
    assert!(worker.error.contains("tune-worker: missing field"), "{}", worker.error);
}

#[test]
fn info_shows_the_profile_that_counts_and_warns_of_another_machine() {
    let folder = Folder::new("info-profile");
    let (path, svg) = (folder.path("p.toml"), folder.path("p.svg"));
    fs::write(&path, profile_of(MachineIdentity { processors: 4096, ..MachineIdentity::here() }).to_text())
        .unwrap();
    let shown = with_profile(&["info", "--profile", "--svg", &svg], &path);
    assert_eq!(shown.code(), Some(0), "{}", shown.error);
    for part in [
        &*format!("{path} (CANELE_PROFILE)"),
        "WARNING      processors: measured on 4096",
        "wake-up      4.71 µs",
    ] {
        assert!(shown.out.contains(part), "{part}: {}", shown.out);
    }
    let picture = fs::read_to_string(&svg).unwrap();
    for part in ["<svg", "both ends copy", "one end copies", "ring, near", "time of a copy"] {
        assert!(picture.contains(part), "{part}");
    }
    let json: Value =
        serde_json::from_str(&with_profile(&["info", "--profile", "--json"], &path).out).unwrap();
    assert_eq!(json["profile"]["host"]["wakeup_ns"], 4711);
    assert_eq!(json["machine"]["processors"], 4096);
    assert_eq!(json["differences"].as_array().unwrap().len(), 1);
    let built_in = with_profile(&["info", "--profile"], "built-in").out;
    assert!(built_in.starts_with("profile      built in\n             for processors"), "{built_in}");
}

#[test]
fn a_signal_to_a_check_ends_all_its_jobs() {
    let words = ["tune", "--check=collectives", "--ranks", "2", "--bytes", "8"];
    let run = start_with(&words, &[("CANELE_PROFILE", "built-in")], b"");
    run.wait_for(1, "rank-supervisor");
    kill("TERM", run.pid());
    let ended = run.end();
    assert_eq!((ended.code(), ended.out.as_str()), (Some(1), ""), "{}", ended.error);
    assert!(ended.error.contains("the job was ended by signal 15"), "{}", ended.error);
}

#[test]
fn a_broken_profile_starts_no_job() {
    let folder = Folder::new("broken-profile");
    let path = folder.path("p.toml");
    let text = profile_of(MachineIdentity::here()).to_text().replacen("far = 12800", "far = 0", 1);
    fs::write(&path, &text).unwrap();
    let line = text.lines().position(|line| line == "far = 0").unwrap() + 1;
    let words = format!("the profile {path}, line {line}: host.ring.far: 0 is not a number from 1 to");
    for args in [&["run", "-n", "2", "true"][..], &["info", "--profile"]] {
        let ended = with_profile(args, &path);
        assert_eq!(ended.code(), Some(2), "{args:?}: {}", ended.error);
        assert!(ended.error.contains(&words), "{args:?}: {}", ended.error);
    }
    let ended = with_profile(&["run", "-n", "1", "true"], &folder.path("missing.toml"));
    assert_eq!(ended.code(), Some(2), "{}", ended.error);
    assert!(ended.error.contains("missing.toml: No such file"), "{}", ended.error);
}
