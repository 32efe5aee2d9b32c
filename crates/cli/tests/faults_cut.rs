//! A rank with corrupted memory sends wrong data to another: the reports, and the ranks that go on.

mod support;

use support::ranks::start_job;

const FOUND: &str =
    "canele: rank 0 accepts nothing more from rank 1: rank 1 wrote stamp 23130 in a cell where ";

#[test]
fn a_rank_that_is_cut_off_is_told_and_all_else_goes_on() {
    for wait in ["adaptive", "sleep", "poll"] {
        let options = ["-n", "3", "--wait", wait, "--on-failure", "continue"];
        let ended = start_job(&options, &["cut-off", "200"], &[]).end();
        assert_eq!(ended.code(), Some(1), "{ended:?}");
        assert_eq!(ended.lines(), ["200 messages"; 3], "{ended:?}");
        assert!(ended.error.starts_with(FOUND), "{ended:?}");
        assert!(ended.error.ends_with("its memory or its program is corrupted; the others go on\n"));
        assert_eq!(ended.error.lines().count(), 1, "{ended:?}");
    }
}

#[test]
fn a_corrupted_rank_ends_the_job_where_failures_do() {
    for wait in ["adaptive", "sleep"] {
        let ended = start_job(&["-n", "3", "--wait", wait], &["cut-off-stop"], &[]).end();
        assert_eq!(ended.code(), Some(1), "{ended:?}");
        assert!(ended.error.starts_with(FOUND) && ended.error.ends_with("; ending the job\n"), "{ended:?}");
        assert_eq!(ended.error.lines().count(), 1, "{ended:?}");
    }
}
