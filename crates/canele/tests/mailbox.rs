//! Mailboxes between processes, under the launcher.

mod launch;

use launch::{run, succeed};

const PROGRAM: &str = "mailbox_check";

#[test]
fn many_post_and_many_retrieve() {
    for ranks in ["1", "2", "4"] {
        succeed(&["-n", ranks], PROGRAM, &["many"]);
    }
}

#[test]
fn a_mailbox_holds_exactly_its_depth() {
    succeed(&["-n", "3"], PROGRAM, &["depth"]);
}

#[test]
fn posters_of_a_full_mailbox_sleep_until_a_retrieval() {
    for wait in ["adaptive", "sleep"] {
        succeed(&["-n", "4", "--wait", wait], PROGRAM, &["full"]);
    }
}

#[test]
fn a_thread_that_waits_keeps_no_other_from_finding_names() {
    for wait in ["adaptive", "sleep", "poll"] {
        succeed(&["-n", "2", "--wait", wait], PROGRAM, &["names"]);
    }
}

#[test]
fn long_messages_arrive_bit_by_bit() {
    succeed(&["-n", "3"], PROGRAM, &["long"]);
    succeed(&["-n", "2", "--env", "CANELE_MESSAGE_REGION_BYTES=0"], PROGRAM, &["many"]);
}

#[test]
fn every_message_is_counted_once_with_its_own_bytes() {
    for wait in ["adaptive", "sleep"] {
        succeed(&["-n", "2", "--wait", wait], "mailbox_counted", &[]);
    }
}

#[test]
fn a_dead_poster_is_told_once_and_leaves_no_slot_taken() {
    for micros in ["0", "300", "1000", "4000", "20000"] {
        let output = run(&["-n", "3", "--on-failure", "continue"], PROGRAM, &["dead", micros]);
        let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(out.contains("told 1"), "after {micros} µs: {}\n{out}\n{error}", output.status);
        assert!(error.contains("rank 2") && !error.contains("rank 0"), "{error}");
    }
}
