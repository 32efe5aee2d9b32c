//! Starting processes, and their communicator with those that started them (MPI 5.0, §11.8).
//!
//! The root has the launcher start the processes and informs the other members. Then all of them and the new
//! processes, during their initialisation, make the communicator between both groups.

use std::sync::Arc;

use canele_engine::{Engine, JobRank, Rank};

use super::Command;
use crate::comm::Comm;
use crate::errhandler::Errhandler;
use crate::group::Group;
use crate::{Class, Error, Result, fail};

/// The result of starting processes.
pub struct Spawned {
    /// The communicator with the new processes, or the error.
    pub comm: Result<Arc<Comm>>,
    /// For each process, true if it was started.
    pub started: Vec<bool>,
}

/// The message of the root to the other members.
enum SpawnOutcome {
    /// The first of the new ranks, by its job-independent name, and their number.
    Started(JobRank, u32),
    /// Class and text of the error, and for each process true if it was started.
    Failed(Class, String, Vec<bool>),
}

impl Comm {
    /// Starts processes with a world of their own, in the function `name`; collective. The commands of the
    /// `root` are used.
    ///
    /// # Errors
    /// Fails if a member died, there is no such root, or this is an intercommunicator.
    pub fn spawn(
        &self,
        name: &'static str,
        root: usize,
        commands: impl FnOnce() -> Result<Vec<Command>>,
    ) -> Result<Spawned> {
        if self.is_inter() {
            fail!(Communicator, "comm is an intercommunicator: processes are started by those of one group");
        }
        if root >= self.size() {
            fail!(Root, "root is {root}: it must be from 0 to {}", self.size() - 1);
        }
        self.check_call(name)?;
        let mine = match root == self.rank() {
            true => start(self.engine.first_lane(), self.group(), commands).encode(),
            false => Vec::new(),
        };
        match SpawnOutcome::decode(&self.tell(root, mine)?) {
            Some(SpawnOutcome::Started(first, count)) => {
                let (first, name) = (self.engine.first_lane().rank_of(first)?.0, name_of(first));
                let started = vec![true; count as usize];
                let children = Arc::new(Group::range(first..first.saturating_add(count)));
                Ok(Spawned { comm: self.join(&children, &name, self.errhandler()), started })
            }
            Some(SpawnOutcome::Failed(class, text, started)) => {
                Ok(Spawned { comm: Err(Error::new(class, text)), started })
            }
            None => fail!(Internal, "what the root says of the new processes cannot be understood"),
        }
    }
}

/// Starts the processes, for the root.
fn start(engine: &Engine, parents: &Group, commands: impl FnOnce() -> Result<Vec<Command>>) -> SpawnOutcome {
    let programs = commands().and_then(|commands| commands.iter().map(Command::program).collect());
    let programs = match programs {
        Ok(programs) => programs,
        Err(error) => return SpawnOutcome::Failed(error.class, error.text.clone(), Vec::new()),
    };
    let spawned = engine.spawn(programs, parents.members());
    let spawned = spawned.and_then(|ranks| Ok((engine.process(Rank(ranks.start))?, ranks.len() as u32)));
    match spawned {
        Ok((first, count)) => SpawnOutcome::Started(first, count),
        Err(error) => {
            let started = match &error {
                canele_engine::Error::NotSpawned(reasons) => reasons.iter().map(String::is_empty).collect(),
                _ => Vec::new(),
            };
            let error = Box::<Error>::from(error);
            SpawnOutcome::Failed(error.class, error.text.clone(), started)
        }
    }
}

impl SpawnOutcome {
    fn encode(&self) -> Vec<u8> {
        match self {
            Self::Started(JobRank { job, rank }, count) => {
                [&[0][..], &rank.to_le_bytes(), &count.to_le_bytes(), &job.to_le_bytes()].concat()
            }
            Self::Failed(class, text, started) => {
                let started: Vec<u8> = started.iter().map(|started| u8::from(*started)).collect();
                let head = [1, class.number()];
                [&head[..], &(started.len() as u32).to_le_bytes(), &started, text.as_bytes()].concat()
            }
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        match bytes.first()? {
            0 => {
                let job = u64::from_le_bytes(bytes.get(9..17)?.try_into().ok()?);
                Some(Self::Started(JobRank { job, rank: number(1)? }, number(5)?))
            }
            _ => {
                let class = Class::of_number(*bytes.get(1)?)?;
                let (started, text) = bytes.get(6..)?.split_at_checked(number(2)? as usize)?;
                let started = started.iter().map(|started| *started == 1).collect();
                Some(Self::Failed(class, String::from_utf8_lossy(text).into_owned(), started))
            }
        }
    }
}

/// Returns the name under which the members of both groups make the communicator.
fn name_of(first: JobRank) -> String {
    format!("spawned ranks from {} of job {:016x} on", first.rank, first.job)
}

/// Makes the communicator between the processes of `world` and those that spawned them; none if they were not
/// spawned.
///
/// # Errors
/// Fails if a process of either group died.
pub(crate) fn parent(world: &Comm, errhandler: &Arc<Errhandler>) -> Result<Option<Arc<Comm>>> {
    let engine = world.engine();
    let Some(spawned) = engine.job().spawned_with(engine.rank().0) else { return Ok(None) };
    let parents = Group::new(spawned.parents.iter().map(|rank| Rank(*rank)).collect())?;
    let parent =
        world.join(&Arc::new(parents), &name_of(engine.process(Rank(spawned.first))?), errhandler.clone())?;
    parent.set_name("MPI_COMM_PARENT");
    Ok(Some(parent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_root_says_is_understood_or_refused() {
        let first = JobRank { job: 1 << 40, rank: 7 };
        let started = SpawnOutcome::Started(first, 3).encode();
        assert!(
            matches!(SpawnOutcome::decode(&started), Some(SpawnOutcome::Started(back, 3)) if back == first)
        );
        let failed = SpawnOutcome::Failed(Class::Spawn, "no such file".into(), vec![true, false]).encode();
        let Some(SpawnOutcome::Failed(class, text, of_each)) = SpawnOutcome::decode(&failed) else {
            panic!("{failed:?}")
        };
        assert_eq!((class, text.as_str(), of_each), (Class::Spawn, "no such file", vec![true, false]));
        for short in [&[][..], &started[..5], &failed[..7], &[1, 255, 0, 0, 0, 0]] {
            assert!(SpawnOutcome::decode(short).is_none(), "{short:?}");
        }
    }
}
