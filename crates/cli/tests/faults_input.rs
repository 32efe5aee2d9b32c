//! Wrong environments, settings and calls: the error says what to change.

mod support;

use std::process::Command;

use support::ranks::{program, start_job, succeeds};
use support::{Ended, canele};

/// Runs the test program without a launcher, with one variable set.
fn alone(words: &[&str], variable: (&str, &str)) -> (Option<i32>, String) {
    let output = Command::new(program()).args(words).envs([variable]).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn calls_that_cannot_be_right_are_refused_and_harm_nothing() {
    assert_eq!(succeeds(&["-n", "2"], &["bad-calls"], &[]).lines(), ["all refused"; 2]);
}

#[test]
fn a_program_started_by_another_systems_launcher_refuses_to_be_alone() {
    for variable in
        [("PMI_SIZE", "4"), ("OMPI_COMM_WORLD_SIZE", "2"), ("SLURM_STEP_NUM_TASKS", "2"), ("PMIX_RANK", "1")]
    {
        let (code, error) = alone(&["idle"], variable);
        assert_eq!(code, Some(1), "{variable:?}: {error}");
        assert!(error.contains(variable.0) && error.contains("canele run"), "{error}");
        // Canelé's own launcher works inside such an allocation.
        succeeds(&["-n", "2"], &["idle"], &[variable]);
    }
    // The step of a batch script is one process.
    assert_eq!(alone(&["idle"], ("SLURM_NTASKS", "2")).0, Some(0));
}

#[test]
fn settings_that_do_not_exist_or_are_out_of_range_stop_the_start() {
    for (name, value, word) in [
        ("CANELE_FOO", "1", "CANELE_FOO"),
        ("CANELE_EAGER_BYTE", "1", "CANELE_EAGER_BYTES"),
        ("CANELE_RING_CELLS", "63", "64"),
        ("CANELE_RING_CELLS", "many", "CANELE_RING_CELLS"),
        ("CANELE_WAIT", "maybe", "adaptive"),
        ("CANELE_EAGER_BYTES", "-1", "CANELE_EAGER_BYTES"),
        ("CANELE_PAYLOAD_RING_BYTES", "99999999999999999999999", "CANELE_PAYLOAD_RING_BYTES"),
    ] {
        let (code, error) = alone(&["idle"], (name, value));
        assert_eq!(code, Some(1), "{name}={value}: {error}");
        assert!(error.contains(word), "{name}={value}: {error}");
        let ended = start_job(&["-n", "2"], &["idle"], &[(name, value)]).end();
        assert_eq!(ended.code(), Some(2), "{name}={value}: {ended:?}");
        assert!(ended.error.starts_with("canele: ") && ended.error.contains(word), "{ended:?}");
        assert_eq!(ended.error.lines().count(), 1, "said once, not by each rank: {ended:?}");
    }
}

#[test]
fn ranks_whose_settings_differ_where_they_must_agree_are_refused() {
    let program = program();
    for (name, one, other) in [
        ("CANELE_UNEXPECTED_BYTES", "1000000", "67108864"),
        ("CANELE_EAGER_BYTES", "1000", "16384"),
        ("CANELE_RING_CELLS", "64", "256"),
        ("CANELE_PAYLOAD_RING_BYTES", "65536", "2097152"),
    ] {
        let setting = format!("{name}={one}");
        // The ranks wait for each other, so only the launcher can end the job.
        let words = ["run", "-n", "1", &program, "exchange", "1000", ":", "-n", "1"];
        let ended = canele(&[&words[..], &["env", &setting, &program, "exchange", "1000"]].concat());
        assert_eq!(ended.code(), Some(1), "{ended:?}");
        let says = |rank: u32, mine: &str, first: u32, theirs: &str| {
            format!(
                "canele: rank {rank} has {name}={mine}, but rank {first} has {name}={theirs}: \
                 all ranks of a job must have the same; ending the job\n"
            )
        };
        // The error names the rank that arrives first.
        let texts = [says(1, one, 0, other), says(0, other, 1, one)];
        assert!(texts.contains(&ended.error), "{ended:?}");
    }
    // Settings that need not agree may differ.
    let words = ["run", "-n", "1", &program, "idle", ":", "-n", "1", "env", "CANELE_SPIN_NS=1000"];
    assert_eq!(canele(&[&words[..], &[&program, "idle"]].concat()).code(), Some(0));
}

#[test]
fn a_place_that_makes_no_sense_is_refused() {
    for (name, value) in [("CANELE_RANK", "0"), ("CANELE_RANK", "x")] {
        let (code, error) = alone(&["idle"], (name, value));
        assert_eq!(code, Some(1), "{name}={value}: {error}");
        assert!(error.contains("CANELE_") && error.contains("canele run"), "{error}");
    }
}

/// Runs a job whose ranks can each open `free` descriptors beside the inherited ones.
fn all_to_all_with_free_descriptors(free: u32, ranks: &str) -> Ended {
    let script = format!(
        "free=0; n=0; while [ $free -lt {free} ]; do [ -h /proc/$$/fd/$n ] || free=$((free + 1)); n=$((n + 1)); done; \
         ulimit -n $n; exec {} all-to-all 1",
        program()
    );
    canele(&["run", "-n", ranks, "sh", "-c", &script])
}

#[test]
fn too_few_descriptors_are_said_to_be_that() {
    // A rank needs all of these descriptors for itself.
    let ended = all_to_all_with_free_descriptors(2, "3");
    assert_eq!(ended.code(), Some(1), "{}", ended.error);
    assert!(
        ended.error.contains("no descriptor left") && ended.error.contains("ulimit -n"),
        "{}",
        ended.error
    );
}

#[test]
fn links_in_memory_keep_no_descriptor() {
    // Enough descriptors for a rank itself and for a message of inboxes, but fewer than it has links.
    let ended = all_to_all_with_free_descriptors(36, "40");
    assert_eq!((ended.code(), ended.error.as_str()), (Some(0), ""));
}

#[test]
fn ranks_may_open_as_many_files_as_the_hard_limit_allows() {
    let script = format!(
        "ulimit -Sn 64; exec {} run -n 2 sh -c 'test $(ulimit -Sn) = $(ulimit -Hn) && echo raised'",
        env!("CARGO_BIN_EXE_canele")
    );
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "raised\nraised\n", "{output:?}");
}

#[test]
fn a_missing_proc_is_named_with_what_it_is_needed_for() {
    let script = format!("mount -t tmpfs none /proc && exec {} run -n 1 true", env!("CARGO_BIN_EXE_canele"));
    let output = Command::new("unshare").args(["-m", "sh", "-c", &script]).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    if !error.contains("canele") {
        return eprintln!("skipped: mounts need root: {error}");
    }
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("/proc/self/exe") && error.contains("mount /proc"), "{error}");
}
