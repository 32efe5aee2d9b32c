//! The members of the job: what the launcher says of them, names, the orderly end of a rank.

mod finish;
mod launcher;
pub(crate) mod launcher_watch;
mod names;
mod notifications;
mod ports;
mod spawn;
mod worlds;

use canele_control::JobInfo;
use canele_proto::request::Failure;
use canele_sys::ids::{FlowId, Rank};

pub(crate) use launcher::Launcher;
use names::Names;
pub use ports::Connection;
use ports::Ports;
use spawn::Spawns;
use worlds::ConnectedWorlds;

/// A flow that no group has.
const NO_GROUP: FlowId = FlowId(u32::MAX);

/// What a rank knows of its job.
pub(crate) struct Membership {
    pub launcher: Launcher,
    pub job: JobInfo,
    pub names: Names,
    pub spawns: Spawns,
    pub ports: Ports,
    pub worlds: ConnectedWorlds,
    /// Pairs of other ranks that communicate no more, and groups that are revoked: collectives of both fail. It only grows, as each group knows
    /// up to where none is its own.
    pub splits: Vec<Failure>,
    /// The ranks that died by the word of the launcher, which tells it all lanes of a rank.
    pub told_deaths: Vec<Rank>,
}

impl Membership {
    pub fn new(launcher: Launcher, job: JobInfo) -> Self {
        let (names, spawns, ports) = (Names::default(), Spawns::default(), Ports::default());
        let worlds = ConnectedWorlds::default();
        Self { launcher, job, names, spawns, ports, worlds, splits: Vec::new(), told_deaths: Vec::new() }
    }

    /// A flow may be another group's from now on; says whether a group with it was revoked.
    pub fn forget_revocation(&mut self, flow: FlowId) -> bool {
        let is_of_it = |split: &&mut Failure| matches!(split, Failure::Revoked { flow: of } if *of == flow);
        let revoked = self.splits.iter_mut().find(is_of_it);
        let was_revoked = revoked.is_some();
        // Of no group: what stands behind it keeps its place.
        revoked.into_iter().for_each(|split| *split = Failure::Revoked { flow: NO_GROUP });
        was_revoked
    }
}
