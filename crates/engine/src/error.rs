//! The errors of calls: the party at fault, and the remedy.

use std::fmt;

use canele_proto::request::Failure;
use canele_proto::rma::{AttachError, MemoryKey, Refusal};
use canele_rail::{ConnectError, OpenError};
use canele_sys::ids::{Rank, RegionId};
use canele_sys::segment::SegmentError;
use canele_sys::sleep::EventError;
use canele_sys::tunables::TunableError;

use canele_control::ControlError;

/// The error of every call of the engine. Its `Debug` form is its text, because a `main` that returns it
/// prints that.
#[derive(thiserror::Error)]
pub enum Error {
    /// The caller named a rank that the job does not have.
    #[error("there is no {rank} in a job of {size} ranks (0 to {last})", last = size.saturating_sub(1))]
    NoSuchRank {
        /// The rank named.
        rank: Rank,
        /// The number of ranks.
        size: u32,
    },
    /// The operation itself failed.
    #[error(transparent)]
    Failed(Failure),
    /// The deadline passed; the operation was withdrawn and has no further effect.
    #[error("the deadline passed while waiting for {0}")]
    Deadline(String),
    /// The call was made in a forked child.
    #[error("a forked child takes no part in the job: call exec, or communicate in the parent only")]
    Forked,
    /// The peer cannot be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// Memory could not be allocated.
    #[error(transparent)]
    Memory(#[from] SegmentError),
    /// The rails cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// No event to sleep on could be made.
    #[error(transparent)]
    Event(#[from] EventError),
    /// The launcher cannot be reached, or the program was started by another system's launcher.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// A setting is wrong.
    #[error(transparent)]
    Tunable(#[from] TunableError),
    /// A name is published already.
    #[error("the name {0:?} is taken: names are published once in a job")]
    NameTaken(String),
    /// There is no such policy for packets.
    #[error("there is no strategy {0:?}: there are {list}", list = canele_sys::tunables::STRATEGIES.join(", "))]
    Strategy(String),
    /// A list of buffers does not fit what the call needs.
    #[error("{what}: {given} given, {needed} needed")]
    Lengths {
        /// The argument.
        what: &'static str,
        /// The number of elements or bytes that were given.
        given: usize,
        /// The number that is needed.
        needed: usize,
    },
    /// A region does not have the range, or is gone.
    #[error("{len} bytes at {offset} lie outside of the region of {region} bytes")]
    Range {
        /// Offset in bytes.
        offset: usize,
        /// Length in bytes.
        len: usize,
        /// Length of the region.
        region: usize,
    },
    /// The message holds another item next than the one to be unpacked.
    #[error("{asked} cannot be unpacked: the message holds {there} there")]
    Unpack {
        /// The item that was asked for.
        asked: String,
        /// The item that the message holds.
        there: String,
    },
    /// The owner of memory refused an operation there. Nothing of it was done.
    #[error("{owner} refused an operation on its {name}: {why}", name = name_of(*memory))]
    Refused {
        /// The owner of the memory.
        owner: Rank,
        /// The memory; `None` if the operation needs none.
        memory: Option<MemoryKey>,
        /// The reason.
        why: Refusal,
    },
    /// Memory was not attached or detached.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// The mailbox was closed by its owner.
    #[error("the mailbox of {0} is closed")]
    Closed(Rank),
    /// Ranks were not started. Each has a reason, empty for those that were started and ended because of the
    /// others.
    #[error("{}", .0.iter().find(|why| !why.is_empty()).map_or("the processes were not started", |why| why))]
    NotSpawned(Vec<String>),
    /// No job is connected at a port.
    #[error("{0}")]
    Port(String),
    /// The job was finished before.
    #[error("the job was finished by this rank: no more calls")]
    Finished,
}

/// Describes memory in words.
fn name_of(memory: Option<MemoryKey>) -> String {
    match memory {
        Some(MemoryKey::Exposure(key)) => format!("exposed memory {:#x}", key.0),
        Some(MemoryKey::Region(RegionId { index, generation })) => {
            format!("region {index} (generation {generation})")
        }
        None => "memory".into(),
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Finished => Self::Finished,
            failure => Self::Failed(failure),
        }
    }
}

impl From<canele_collective::Error> for Error {
    fn from(error: canele_collective::Error) -> Self {
        match error {
            canele_collective::Error::NoSuchRank { rank, size } => Self::NoSuchRank { rank, size },
            canele_collective::Error::Failed(failure) => failure.into(),
            canele_collective::Error::Lengths { what, given, needed } => {
                Self::Lengths { what, given, needed }
            }
        }
    }
}

impl From<canele_sys::fork::Forked> for Error {
    fn from(_: canele_sys::fork::Forked) -> Self {
        Self::Forked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_main_that_returns_an_error_prints_its_text() {
        let error = Error::NoSuchRank { rank: Rank(9), size: 2 };
        assert_eq!(format!("{error:?}"), "there is no rank 9 in a job of 2 ranks (0 to 1)");
    }
}
