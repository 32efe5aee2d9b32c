//! Wrong environments, settings and calls: each is refused in words that say what to change.

mod support;

use std::process::Command;

use support::ranks::{program, start_job, succeeds};

/// The test program without a launcher, with one variable set.
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
        [("PMI_SIZE", "4"), ("OMPI_COMM_WORLD_SIZE", "2"), ("SLURM_NTASKS", "2"), ("PMIX_RANK", "1")]
    {
        let (code, error) = alone(&["idle"], variable);
        assert_eq!(code, Some(1), "{variable:?}: {error}");
        assert!(error.contains(variable.0) && error.contains("canele run"), "{error}");
        // Inside such an allocation our own launcher does its work.
        succeeds(&["-n", "2"], &["idle"], &[variable]);
    }
    assert_eq!(alone(&["idle"], ("SLURM_NTASKS", "1")).0, Some(0));
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
fn a_place_that_makes_no_sense_is_refused() {
    for (name, value) in [("CANELE_RANK", "0"), ("CANELE_RANK", "x")] {
        let (code, error) = alone(&["idle"], (name, value));
        assert_eq!(code, Some(1), "{name}={value}: {error}");
        assert!(error.contains("CANELE_") && error.contains("canele run"), "{error}");
    }
}
