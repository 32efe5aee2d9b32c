//! The members of the job: the launcher's notices about them, names, the orderly end of a rank.

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

/// The number of no group's flow.
const NO_GROUP: FlowId = FlowId(u32::MAX);

/// The state of the job, as a rank knows it.
pub(crate) struct Membership {
    pub launcher: Launcher,
    pub job: JobInfo,
    pub names: Names,
    pub spawns: Spawns,
    pub ports: Ports,
    pub worlds: ConnectedWorlds,
    /// Pairs of other ranks that communicate no more, and groups that are revoked: collectives of both fail.
    /// It only grows: each group keeps the index up to which no entry is its own.
    pub splits: Vec<Failure>,
    /// The ranks that died according to the launcher, which informs all lanes of a rank.
    pub told_deaths: Vec<Rank>,
}

impl Membership {
    pub fn new(launcher: Launcher, job: JobInfo) -> Self {
        let (names, spawns, ports) = (Names::default(), Spawns::default(), Ports::default());
        let worlds = ConnectedWorlds::default();
        Self { launcher, job, names, spawns, ports, worlds, splits: Vec::new(), told_deaths: Vec::new() }
    }

    /// Forgets the revocation of a flow that may become another group's; returns true if there was one.
    pub fn forget_revocation(&mut self, flow: FlowId) -> bool {
        let is_of_it = |split: &&mut Failure| matches!(split, Failure::Revoked { flow: of } if *of == flow);
        let revoked = self.splits.iter_mut().find(is_of_it);
        let was_revoked = revoked.is_some();
        // It becomes an entry of no group: those behind it keep their places.
        revoked.into_iter().for_each(|split| *split = Failure::Revoked { flow: NO_GROUP });
        was_revoked
    }
}
