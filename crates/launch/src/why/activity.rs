//! The activity of a rank, in one word: it waits, polls, computes, sleeps outside of the library, is stopped,
//! or is gone.
//!
//! Owns the judgement from the rank's report, its answer, and the system's data of its process.

use canele_control::{ThreadWait, WaitOperation};

use crate::job_report::RankReport;

/// The activity of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity<'a> {
    /// The rank's process has not been started.
    Starting,
    /// The rank has left the library.
    Finished,
    /// The rank's process has ended.
    Ended,
    /// The rank's process is stopped by a signal, or traced.
    Stopped,
    /// The rank waits in the library; the wait is that of its first waiting thread.
    Waits(&'a ThreadWait),
    /// The rank is in the library and does not wait: it polls, or is between two calls.
    Calls,
    /// The rank runs outside of the library.
    Computes,
    /// The rank sleeps outside of the library, in this function of the kernel if that is known.
    Sleeps(&'a str),
    /// Nothing is known of the rank's process.
    Unknown,
}

/// Returns true for the library's own thread, which makes progress for the program.
fn is_librarys(wait: &ThreadWait) -> bool {
    matches!(wait.operations[..], [WaitOperation::Library])
}

/// Iterates over the waits of the program's threads.
pub fn waits_of(rank: &RankReport) -> impl Iterator<Item = &ThreadWait> {
    rank.waits.iter().flat_map(|waits| &waits.threads).filter(|wait| !is_librarys(wait))
}

/// Returns the activity of a rank.
pub fn activity(rank: &RankReport) -> Activity<'_> {
    let letter = rank.process.as_ref().map(|process| process.letter.as_str());
    match rank.state.as_str() {
        "starting" => return Activity::Starting,
        "finished" => return Activity::Finished,
        "ended" => return Activity::Ended,
        _ => {}
    }
    if matches!(letter, Some("T" | "t")) {
        return Activity::Stopped;
    }
    if let Some(wait) = waits_of(rank).next() {
        return Activity::Waits(wait);
    }
    let has_answered = rank.current && rank.state == "initialised";
    let by_librarys = rank.waits.as_ref().is_some_and(|waits| waits.calls_of.is_some());
    if has_answered && !by_librarys {
        return Activity::Calls;
    }
    match (letter, &rank.process) {
        (Some("R"), _) => Activity::Computes,
        (Some(_), Some(process)) => Activity::Sleeps(&process.sleeps_in),
        _ => Activity::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use canele_control::{WaitMessage, Waits};

    use super::*;
    use crate::host_ranks::ProcessState;

    fn rank(state: &str, current: bool, letter: &str, operations: &[WaitOperation]) -> RankReport {
        let thread = |operation: &WaitOperation| ThreadWait {
            operations: vec![operation.clone()],
            ..ThreadWait::default()
        };
        let threads: Vec<_> = operations.iter().map(thread).collect();
        let calls_of = (!threads.is_empty()).then_some(0);
        RankReport {
            state: state.into(),
            current,
            waits: Some(Waits { threads, calls_of, ..Waits::default() }),
            process: Some(ProcessState {
                letter: letter.into(),
                sleeps_in: "do_nanosleep".into(),
                ..ProcessState::default()
            }),
            ..RankReport::default()
        }
    }

    #[test]
    fn who_waits_polls_computes_sleeps_and_is_stopped_are_told_apart() {
        let receive = WaitOperation::Receive(WaitMessage::default());
        let waits = rank("initialised", true, "S", std::slice::from_ref(&receive));
        assert!(matches!(activity(&waits), Activity::Waits(_)));
        assert_eq!(
            activity(&rank("initialised", false, "T", std::slice::from_ref(&receive))),
            Activity::Stopped
        );
        assert_eq!(activity(&rank("initialised", true, "R", &[])), Activity::Calls);
        assert_eq!(activity(&rank("initialised", false, "R", &[])), Activity::Computes);
        assert_eq!(activity(&rank("running", false, "S", &[])), Activity::Sleeps("do_nanosleep"));
        assert_eq!(activity(&rank("finished", true, "R", &[])), Activity::Finished);
    }

    #[test]
    fn a_thread_of_the_library_that_answers_is_not_the_program() {
        let serves = rank("initialised", true, "R", &[WaitOperation::Library]);
        assert_eq!(activity(&serves), Activity::Computes);
        let both = [WaitOperation::Library, WaitOperation::Receive(WaitMessage::default())];
        let waits = rank("initialised", true, "S", &both);
        assert!(matches!(activity(&waits), Activity::Waits(wait) if wait.operations == both[1..]));
    }
}
