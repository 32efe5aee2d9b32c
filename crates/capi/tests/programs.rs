//! C programs that test errors, threads and handles: each checks results and prints the place of a failure.

mod support;

use support::{compiled, folder, name, printed, run, sources, text};

/// Runs a program of the folder on so many ranks, and checks that each one passes.
fn passes(program: &str, ranks: u32) {
    let program = compiled(&folder(&format!("tests/programs/{program}.c")));
    assert_eq!(printed(ranks, &program, &[]), vec!["passed"; ranks as usize], "{}", program.display());
}

#[test]
fn errors_have_codes_and_texts() {
    passes("errors", 2);
}

#[test]
fn requests_and_probes_say_what_came() {
    passes("requests", 2);
}

#[test]
fn regions_mailboxes_and_channels_have_limits() {
    passes("limits", 2);
}

#[test]
fn threads_have_errors_and_messages_of_their_own() {
    passes("threads", 2);
}

#[test]
fn threads_communicate_on_lanes() {
    let program = compiled(&folder("tests/programs/lanes.c"));
    for lanes in [1, 3, 5] {
        let output = run(&["-n", "2", "--env", &format!("CANELE_LANES={lanes}")], &program, &[]);
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(printed.lines().collect::<Vec<_>>(), ["passed"; 2], "{lanes} lanes: {}", text(&output));
    }
}

#[test]
fn a_thread_that_waits_when_the_job_is_finished_is_told_so() {
    passes("finished", 1);
    passes("finished", 2);
}

#[test]
fn handles_of_another_kind_are_refused_by_their_heads() {
    passes("kinds", 1);
}

#[test]
fn nothing_is_left_of_handles_that_are_closed() {
    passes("leaks", 2);
}

#[test]
fn memory_of_a_device_is_refused_by_every_call_that_is_given_data() {
    passes("device", 2);
    let header = std::fs::read_to_string(support::HEADER).unwrap();
    let program = std::fs::read_to_string(folder("tests/programs/device.c")).unwrap();
    for declaration in header.split(';').filter(|text| text.contains("canele_error canele_")) {
        let is_data = ["*data", "*items", "*result", "*all", "*slices"];
        if !is_data.iter().any(|word| declaration.contains(word)) {
            continue;
        }
        let name = declaration.rsplit_once("canele_error ").unwrap().1.split('(').next().unwrap();
        assert!(program.contains(&format!("REFUSED({name}(")), "{name} is given data, and not tried");
    }
}

#[test]
fn a_death_is_told_by_its_rank() {
    let program = compiled(&folder("tests/programs/death.c"));
    let output = run(&["-n", "3", "--on-failure", "continue"], &program, &[]);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(printed.lines().collect::<Vec<_>>(), ["passed"; 2], "{}", text(&output));
}

#[test]
fn a_program_without_a_launcher_is_a_job_of_one_rank() {
    let program = compiled(&folder("examples/hello.c"));
    let mut alone = std::process::Command::new("timeout");
    alone.args(["-k", "5", "60"]).arg(program).env("LD_LIBRARY_PATH", support::library());
    let output = alone.output().unwrap();
    let greeting = "rank 0 of 1: greeted by rank 0, and all numbers add up to 0\n";
    assert_eq!(String::from_utf8_lossy(&output.stdout), greeting, "{}", text(&output));
}

#[test]
fn every_program_in_the_folder_is_run() {
    let programs: Vec<_> = sources("tests/programs").iter().map(|path| name(path)).collect();
    assert_eq!(
        programs,
        ["death", "device", "errors", "finished", "kinds", "lanes", "leaks", "limits", "requests", "threads"]
    );
}
