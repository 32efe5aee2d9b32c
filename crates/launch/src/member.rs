//! A launcher's data of one rank of its job. Owns the state of the rank; sends nothing.

use canele_control::{RailAddress, RankEnd};

use super::failure::Exit;

/// The data of one rank.
#[derive(Debug, Default)]
pub struct Member {
    /// The process of the rank, once started.
    pub pid: Option<u32>,
    /// The path of the program that its process runs on its host.
    pub executable: Vec<u8>,
    /// True once it has sent Hello.
    pub initialised: bool,
    /// True once it has sent Finalizing.
    pub is_finalizing: bool,
    /// True once it has sent Finished.
    pub finished: bool,
    /// The way in which its process ended.
    pub exit: Option<Exit>,
    /// True if the rank is ended because of another one: it was spawned with a rank that could not be
    /// started, or another rank has aborted it.
    pub unwanted: bool,
    /// The violation, if it broke the rules.
    pub broken: Option<String>,
    /// The addresses at which it listens.
    pub(super) addresses: Option<Vec<RailAddress>>,
    /// True if the other ranks are informed of its end, or are about to be.
    pub(super) end_reported: bool,
    /// True for a rank of another job.
    pub is_elsewhere: bool,
    /// The way in which a rank of another job ended.
    pub(super) gone: Option<RankEnd>,
}

impl Member {
    /// Returns the state of the rank as one word for lists.
    pub fn state(&self) -> &'static str {
        match self {
            Member { exit: Some(_), .. } => "ended",
            Member { pid: None, .. } => "starting",
            Member { finished: true, .. } => "finished",
            Member { initialised: true, .. } => "initialised",
            _ => "running",
        }
    }

    /// Returns true if the rank is in the library.
    pub(super) fn listens(&self) -> bool {
        self.initialised && !self.finished && self.exit.is_none()
    }

    /// Returns the way in which the rank ended, as other ranks are informed of it.
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
