//! Collectives of several processes, under the launcher.

mod launch;

#[test]
fn collectives_do_what_they_mean_on_any_number_of_ranks() {
    for ranks in ["1", "2", "3", "4", "5", "8"] {
        launch::succeed(&["-n", ranks], "collective_check", &[]);
    }
}

#[test]
fn collectives_work_while_ranks_sleep_and_while_they_never_do() {
    for wait in ["sleep", "poll"] {
        launch::succeed(&["-n", "2", "--wait", wait], "collective_check", &[]);
    }
    launch::succeed(&["-n", "5", "--wait", "sleep"], "collective_check", &[]);
}

#[test]
fn what_a_rank_gave_reaches_those_who_come_when_it_has_ended() {
    for numbers in ["10", "3000", "40000"] {
        launch::succeed(&["-n", "5"], "collective_check", &["leave", numbers]);
    }
}

#[test]
fn who_expects_more_than_is_given_is_told() {
    for ranks in ["2", "5"] {
        launch::succeed(&["-n", ranks], "collective_check", &["disagree"]);
    }
}

#[test]
fn a_death_fails_the_collective_on_every_rank() {
    for numbers in ["1", "3000", "300000"] {
        for (ranks, victim) in [(2, 0), (5, 0), (5, 3)] {
            let options = ["-n", &ranks.to_string(), "--on-failure", "continue"];
            let output = launch::run(&options, "collective_check", &["die", &victim.to_string(), numbers]);
            let told = String::from_utf8_lossy(&output.stdout);
            let errors = String::from_utf8_lossy(&output.stderr);
            for rank in (0..ranks).filter(|rank| *rank != victim) {
                assert!(told.contains(&format!("rank {rank} was told")), "{numbers}: {told}{errors}");
            }
        }
    }
}

/// Runs a job of two ranks that publish wherever they can. A machine with two processors gives each rank one.
fn publishing(options: &[&str], arguments: &[&str]) -> std::process::Output {
    let mut command = launch::command();
    command.env("CANELE_COLLECTIVE", "shared-buffer").args(["run", "--timeout", "120", "-n", "2"]);
    command.args(options).arg(launch::path("collective_check")).args(arguments);
    command.output().expect("the launcher starts")
}

#[test]
fn ranks_with_a_processor_each_publish_what_others_need() {
    for arguments in [&[][..], &["leave", "10"], &["leave", "3000"], &["leave", "300000"], &["disagree"]] {
        let ended = publishing(&[], arguments);
        let errors = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{arguments:?}: {}{errors}", ended.status);
    }
}

#[test]
fn a_death_is_told_while_ranks_with_a_processor_each_publish() {
    for numbers in ["1", "3000", "300000"] {
        for (victim, other) in [("0", "1"), ("1", "0")] {
            let ended = publishing(&["--on-failure", "continue"], &["die", victim, numbers]);
            let told = String::from_utf8_lossy(&ended.stdout);
            let errors = String::from_utf8_lossy(&ended.stderr);
            assert!(told.contains(&format!("rank {other} was told")), "{numbers}: {told}{errors}");
        }
    }
}
