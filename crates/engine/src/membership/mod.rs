//! The members of the job: what the launcher says of them, names, the orderly end of a rank.

mod finish;
mod launcher;
mod names;
mod notifications;
mod ports;
mod spawn;

use canele_control::JobInfo;
use canele_proto::request::Failure;

pub(crate) use launcher::Launcher;
use names::Names;
pub use ports::Connection;
use ports::Ports;
pub use spawn::FindCommand;
use spawn::Spawns;

/// What a rank knows of its job.
pub(crate) struct Membership {
    pub launcher: Launcher,
    pub job: JobInfo,
    pub names: Names,
    pub spawns: Spawns,
    pub ports: Ports,
    /// Pairs of other ranks that communicate no more: collectives of both fail.
    pub splits: Vec<Failure>,
}

impl Membership {
    pub fn new(launcher: Launcher, job: JobInfo) -> Self {
        let (names, spawns, ports) = (Names::default(), Spawns::default(), Ports::default());
        Self { launcher, job, names, spawns, ports, splits: Vec::new() }
    }
}
