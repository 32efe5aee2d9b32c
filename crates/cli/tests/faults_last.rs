//! The last living rank of a job waits for messages from any rank.

mod support;

use support::ranks::{start_job, succeeds};

#[test]
fn a_receive_from_any_rank_ends_when_no_other_is_left_and_loses_nothing() {
    for wait in ["adaptive", "sleep", "poll"] {
        for (progress, lanes) in [("0", "1"), ("0", "3"), ("1", "1"), ("1", "3")] {
            let variables = [("CANELE_PROGRESS_THREAD", progress), ("CANELE_LANES", lanes)];
            let ended = succeeds(&["-n", "4", "--wait", wait], &["last-one", "60"], &variables);
            assert_eq!(ended.lines(), ["180 messages, 180 retrieved"]);
        }
    }
}

#[test]
fn ranks_that_died_are_told_first() {
    for lanes in ["1", "3"] {
        let (options, variables) = (["-n", "3", "--on-failure", "continue"], [("CANELE_LANES", lanes)]);
        let ended = start_job(&options, &["last-one", "60", "dies"], &variables).end();
        assert_eq!(ended.code(), Some(137), "{ended:?}");
        assert_eq!(ended.error, "canele: rank 2 was killed by signal 9 (Killed); the others go on\n");
        assert_eq!(ended.lines(), ["120 messages, 120 retrieved"]);
    }
}

#[test]
fn a_single_rank_has_no_other_sender() {
    assert_eq!(succeeds(&["-n", "1"], &["last-one", "1"], &[]).lines(), ["0 messages, 0 retrieved"]);
}
