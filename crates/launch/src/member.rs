//! What a launcher knows of one rank of its job. Owns the state of the rank; sends nothing.

use canele_control::{RailAddress, RankEnd};

use super::failure::Exit;

/// What is known of one rank.
#[derive(Debug, Default)]
pub struct Member {
    /// Its process, once started.
    pub pid: Option<u32>,
    /// The path of the program that its process runs on its host.
    pub executable: Vec<u8>,
    /// It has said Hello.
    pub initialised: bool,
    /// It has said Finalizing.
    pub is_finalizing: bool,
    /// It has said Finished.
    pub finished: bool,
    /// How its process ended.
    pub exit: Option<Exit>,
    /// It is ended because of another rank, whose failure that is: it was spawned with one that could not be started, or one has aborted it.
    pub unwanted: bool,
    /// It broke the rules, thus.
    pub broken: Option<String>,
    /// Where it listens.
    pub(super) addresses: Option<Vec<RailAddress>>,
    /// True if its end was reported to the other ranks, or is about to be.
    pub(super) end_reported: bool,
    /// A rank of another job.
    pub is_elsewhere: bool,
    /// How a rank of another job ended.
    pub(super) gone: Option<RankEnd>,
}

impl Member {
    /// One word for lists.
    pub fn state(&self) -> &'static str {
        match self {
            Member { exit: Some(_), .. } => "ended",
            Member { pid: None, .. } => "starting",
            Member { finished: true, .. } => "finished",
            Member { initialised: true, .. } => "initialised",
            _ => "running",
        }
    }

    /// Whether it is in the library.
    pub(super) fn listens(&self) -> bool {
        self.initialised && !self.finished && self.exit.is_none()
    }

    /// How it ended, as the others are told.
    pub(super) fn end(&self) -> RankEnd {
        match *self {
            Member { gone: Some(how), .. } => how,
            Member { finished: true, .. } => RankEnd::Finished,
            Member { exit: Some(Exit::Signal(signal)), .. } => RankEnd::Killed(signal),
            Member { exit: Some(Exit::Status(0)), initialised: false, .. } => RankEnd::Finished,
            Member { exit: Some(Exit::Status(status)), .. } => RankEnd::Exited(status),
            Member { exit: Some(Exit::Unknown), .. } => RankEnd::Exited(0),
            Member { exit: Some(Exit::Lost), .. } => RankEnd::HostLost,
            Member { exit: None, .. } => RankEnd::Finished,
        }
    }
}
