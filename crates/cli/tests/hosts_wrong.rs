//! The streams between launcher and agents, cut off or changed at any byte: the job ends with an error
//! message, and leaves nothing.

mod support;

use support::hosts::start_on_with;

/// Bytes of each direction: the preamble, the first messages of any kind, and some of the following ones.
const PLACES: usize = 400;
/// Jobs that run at a time.
const AT_ONCE: usize = 24;

/// Runs jobs of two hosts with a fault at one byte of the stream: about every seventh byte, at varying
/// distances.
fn wrong(how: &str) {
    let places: Vec<usize> = (0..PLACES).step_by(7).enumerate().map(|(n, at)| at + n % 7).collect();
    let mut failed = 0;
    for places in places.chunks(AT_ONCE) {
        let start = |at: &usize| {
            let at = at.to_string();
            let variables =
                [("AT", &*at), ("CANELE_HOST_LOST_MS", "1600"), ("CANELE_REMOTE_START_MS", "3000")];
            start_on_with(how, "h0:1,h1:1", &[], &["sleep", "0.2"], &variables, b"")
        };
        let runs: Vec<_> = places.iter().map(start).collect();
        for (at, run) in places.iter().zip(runs) {
            let ended = run.end();
            let code = ended.code().unwrap_or_else(|| panic!("{how} {at}: {ended:?}"));
            assert!(!ended.error.contains("panicked"), "{how} {at}: {}", ended.error);
            assert_ne!(code, 101, "{how} {at}: {}", ended.error);
            assert!(code == 0 || ended.error.contains("canele: "), "{how} {at}: {ended:?}");
            failed += u32::from(code != 0);
        }
    }
    assert!(failed > 0, "{how}: nothing was wrong");
}

#[test]
fn what_an_agent_says_may_be_wrong_anywhere() {
    wrong("says-wrong");
}

#[test]
fn what_an_agent_hears_may_be_wrong_anywhere() {
    wrong("hears-wrong");
}

#[test]
fn streams_may_end_anywhere() {
    wrong("says-part");
    wrong("hears-part");
}
