//! The process sets that every session has (MPI 5.0, §11.3.2).

use std::sync::Arc;

use crate::group::Group;
use crate::session::Session;
use crate::{Result, fail};

/// A set of processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProcessSet {
    /// All processes of the job.
    World,
    /// This process.
    Own,
}

impl ProcessSet {
    /// All sets, with their names.
    pub const ALL: [(Self, &str); 2] = [(Self::World, "mpi://WORLD"), (Self::Own, "mpi://SELF")];

    /// Returns the set with a name. Names are URIs, whose scheme and host are case-insensitive (RFC 3986,
    /// §6.2.2.1).
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(set, _)| *set)
    }
}

impl Session {
    /// Returns the group of a process set, derived from this session.
    ///
    /// # Errors
    /// Fails if there is no set of this name.
    pub fn process_set(&self, name: &str) -> Result<Arc<Group>> {
        let world = self.world();
        match ProcessSet::find(name) {
            Some(ProcessSet::World) => Ok(self.derive(world.world.group())),
            Some(ProcessSet::Own) => Ok(self.derive(world.own.group())),
            None => {
                let names = ProcessSet::ALL.map(|(_, name)| name).join(" and ");
                fail!(Argument, "pset_name is {name:?}: there are {names}")
            }
        }
    }
}
