//! Communicators (MPI 5.0, chapter 7): separate contexts of communication among processes.
//!
//! A communicator has a pair of flows, for its messages and for its collectives, which no other live
//! communicator has. This module holds its name, error handler, attributes and so on; messages are in
//! `point`.

pub(crate) mod agree;
mod connection;
mod create;
pub(crate) mod hints;
mod idup;
mod inter;
mod named;
mod naming;
mod resources;
pub mod split_type;
mod spread;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use canele_engine::collective::{FIRST_GIVEN_OUT, Operation, Shape, Team};
use canele_engine::{Engine, FlowId, Rank};
use canele_mem::buffer::{InBuffer, OutBuffer};
use canele_sys::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::attribute::Attributes;
use crate::data::{Data, DataMut};
use crate::errhandler::Errhandler;
use crate::file::Workers;
use crate::group::Group;
use crate::info::Info;
use crate::memory::Allocated;
use crate::partitioned::PartitionedPairs;
use crate::point::Attachment;
use crate::session::Derived;
use crate::topology::Topology;
use crate::window::ServedWindows;
use crate::world::{FINALIZE, NO_COMM, WORLD};
use crate::{Class, Error, Result};
use agree::NewFlow;
use connection::Connection;
use spread::LaneFlow;

pub(crate) use create::from_group;

/// A communicator.
pub struct Comm {
    pub(crate) engine: Arc<Engine>,
    pub(crate) flow: FlowId,
    /// Further flows of its messages on other lanes, if its tags are spread.
    further: Box<[LaneFlow]>,
    /// The cached result of [`Comm::uses_lanes`].
    uses_lanes: OnceLock<bool>,
    group: Arc<Group>,
    /// The other group of an intercommunicator.
    remote: Option<Arc<Group>>,
    /// This process's rank in `group`.
    rank: usize,
    number: AtomicUsize,
    kept: Mutex<CommSettings>,
    attributes: Attributes,
    connection: Connection,
    attachment: Attachment,
    topology: Option<Topology>,
    pub(crate) partitioned: PartitionedPairs,
    /// Number of collective calls that were compared with those of other members.
    checked: AtomicU64,
    /// Number of deaths acknowledged, the first ones that the engine knows.
    pub(crate) deaths_acknowledged: AtomicUsize,
    pub(crate) shared: Arc<Shared>,
}

/// Number of threads for non-blocking accesses to files.
const FILE_THREADS: usize = 4;

/// The state that all communicators of a process share.
pub(crate) struct Shared {
    pub attachment: Attachment,
    pub allocated: Arc<Allocated>,
    /// The windows whose memory is served to others.
    pub served: Arc<ServedWindows>,
    /// Threads for non-blocking accesses to files.
    pub file_workers: Arc<Workers>,
    /// True if a communicator was revoked.
    pub any_revoked: Arc<AtomicBool>,
    /// True if a communicator was revoked or a rank died.
    pub any_failure: Arc<AtomicBool>,
    /// True if the program requested `MPI_THREAD_MULTIPLE`.
    pub has_threads: AtomicBool,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            attachment: Attachment::default(),
            allocated: Arc::default(),
            served: Arc::default(),
            any_revoked: Arc::default(),
            any_failure: Arc::default(),
            has_threads: AtomicBool::new(false),
            file_workers: Workers::new(FILE_THREADS),
        }
    }
}

/// The name, error handler and info that a program sets for a communicator.
struct CommSettings {
    name: String,
    errhandler: Arc<Errhandler>,
    info: Arc<Info>,
}

/// The parts of a new communicator; `group` contains this process.
pub(crate) struct Parts {
    pub new: NewFlow,
    pub group: Arc<Group>,
    pub remote: Option<Arc<Group>>,
    pub errhandler: Arc<Errhandler>,
    pub topology: Option<Topology>,
    pub shared: Arc<Shared>,
    /// The session of the communicator from which this one is made.
    pub session: Option<Arc<Derived>>,
}

impl Comm {
    /// Makes a communicator on a flow of its own, which it frees at its end.
    pub(crate) fn new(parts: Parts) -> Result<Self> {
        let mut comm = Self::on(parts);
        let remote = comm.remote.iter().flat_map(|remote| remote.members());
        comm.connection =
            Connection::new(comm.engine.first_lane(), comm.group.members().iter().chain(remote).copied())?;
        comm.found()?;
        Ok(comm)
    }

    /// Registers the senders of its messages and the team of its collectives.
    pub(crate) fn found(&self) -> Result<()> {
        let senders = Arc::from(self.peers().members());
        self.flows().try_for_each(|(lane, flow)| lane.set_senders(flow, Arc::clone(&senders)))?;
        // A library with the native interface may have used the flow of the world before; its collectives
        // count.
        match self.flow {
            WORLD => self.engine.name_team(self.collectives(), self.team())?,
            _ => self.engine.set_team(self.collectives(), self.team())?,
        }
        self.name_flows(&self.name());
        self.enter_group()
    }

    /// Registers its members, which learn of failures and may revoke it.
    pub(crate) fn enter_group(&self) -> Result<()> {
        let members = Arc::from(self.all_members().members());
        Ok(self.flows().try_for_each(|(lane, flow)| lane.enter_group(flow, Arc::clone(&members)))?)
    }

    /// Returns the team of its collectives.
    fn team(&self) -> Team {
        match &self.remote {
            None => Team::new(self.rank, Arc::from(self.group.members())),
            Some(remote) => {
                let all = [self.group.members(), remote.members()].concat();
                Team::between(self.rank, Arc::from(all), self.group.size())
            }
        }
    }

    /// Makes a communicator whose flow is set up already.
    pub(crate) fn on(parts: Parts) -> Self {
        let Parts { new, group, remote, errhandler, topology, shared, session } = parts;
        let NewFlow { first: LaneFlow { lane: engine, flow }, further, uses_lanes } = new;
        let rank = group.rank_of(engine.rank()).expect("a communicator contains its process");
        let session = session.filter(|_| group.session().is_none());
        let group = match session {
            Some(session) => Arc::new((*group).clone().of_session(Some(session))),
            None => group,
        };
        Self {
            engine,
            flow,
            further: further.into(),
            uses_lanes: uses_lanes.map(OnceLock::from).unwrap_or_default(),
            group,
            remote,
            rank,
            number: AtomicUsize::new(0),
            kept: Mutex::new(CommSettings { name: String::new(), errhandler, info: Arc::new(Info::new()) }),
            attributes: Attributes::new(),
            connection: Connection::default(),
            attachment: Attachment::default(),
            topology,
            partitioned: PartitionedPairs::default(),
            checked: AtomicU64::new(0),
            deaths_acknowledged: AtomicUsize::new(0),
            shared,
        }
    }

    /// Returns the flow of its messages.
    #[inline(always)]
    pub fn flow(&self) -> FlowId {
        self.flow
    }

    /// Returns the communicator's attributes.
    pub fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    /// Returns the communicator's own memory for buffered sends.
    pub fn attachment(&self) -> &Attachment {
        &self.attachment
    }

    /// Returns the process's memory for buffered sends.
    pub fn process_attachment(&self) -> &Attachment {
        &self.shared.attachment
    }

    /// Returns the memory that the library allocated for the program.
    #[inline(always)]
    pub fn allocated(&self) -> &Allocated {
        &self.shared.allocated
    }

    /// Lends elements to a send.
    pub(crate) fn lend(&self, data: Data<'_>) -> OutBuffer {
        self.shared.allocated.lend(data)
    }

    /// Lends elements to a receive.
    #[inline(always)]
    pub(crate) fn lend_mut(&self, data: DataMut<'_>) -> InBuffer {
        self.shared.allocated.lend_mut(data)
    }

    /// Returns the communicator's topology, if any.
    pub fn topology(&self) -> Option<&Topology> {
        self.topology.as_ref()
    }

    /// Returns this process's rank in the (local) group.
    #[inline]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the size of the (local) group.
    #[inline]
    pub fn size(&self) -> usize {
        self.group.size()
    }

    /// Returns the (local) group.
    pub fn group(&self) -> &Arc<Group> {
        &self.group
    }

    /// Returns the remote group, if any.
    pub(crate) fn remote_if(&self) -> Option<&Arc<Group>> {
        self.remote.as_ref()
    }

    /// Returns true for an intercommunicator.
    pub fn is_inter(&self) -> bool {
        self.remote.is_some()
    }

    /// Returns the remote group.
    ///
    /// # Errors
    /// Fails for an intracommunicator.
    pub fn remote(&self) -> Result<&Arc<Group>> {
        let no = || Error::new(Class::Communicator, "comm is an intracommunicator: it has no remote group");
        self.remote.as_ref().ok_or_else(no)
    }

    /// Returns the group whose ranks messages name: the remote one for an intercommunicator.
    #[inline]
    pub fn peers(&self) -> &Group {
        self.remote.as_deref().unwrap_or(&self.group)
    }

    /// Returns the rank, as messages name it, of a rank of the job.
    pub(crate) fn rank_of(&self, rank: Rank) -> Option<usize> {
        self.peers().rank_of(rank)
    }

    /// Returns the communicator's number in the C interface.
    pub fn number(&self) -> usize {
        // Relaxed: set before another thread can know the communicator.
        self.number.load(Ordering::Relaxed)
    }

    /// Sets the communicator's number in the C interface.
    pub fn set_number(&self, number: usize) {
        self.number.store(number, Ordering::Relaxed);
    }

    /// Counts a compared collective call; returns its number, from 1 on.
    pub(crate) fn count_checked(&self) -> u64 {
        // Relaxed: the number is used in texts only.
        self.checked.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns after all ranks have called it, in the function `name`.
    ///
    /// # Errors
    /// Fails if a rank died or makes another collective call.
    pub fn barrier(&self, name: &'static str) -> Result<()> {
        self.check_call(name)?;
        let shape = Shape::new(Operation::Barrier, 0);
        Ok(self.engine.collective(self.collectives(), shape, None, &[], &mut [])?)
    }

    /// Returns after all ranks have called it in `MPI_Finalize`. No other collective call of a rank completes
    /// it, and it completes none of another rank.
    ///
    /// # Errors
    /// Fails if a rank died. With calls checked, it also fails if a rank makes another collective call.
    pub(crate) fn final_barrier(&self) -> Result<()> {
        self.check_call("MPI_Finalize")?;
        self.engine.name_flow(NO_COMM, "all ranks")?;
        let (team, shape) =
            (agree::team_of(self.group(), self.engine.rank()), Shape::new(Operation::Barrier, 0));
        Ok(self.engine.collective_among(&team, (NO_COMM, FINALIZE), shape, None, &[], &mut [])?)
    }

    /// Completes communication before a disconnection: waits for this member's sends, freed requests
    /// included, and for the other members. The launcher knows all disconnections before any member returns.
    ///
    /// # Errors
    /// Fails if a member died.
    pub fn await_parting(&self) -> Result<()> {
        self.flows().try_for_each(|(lane, flow)| lane.wait_for_sends(flow))?;
        self.connection.end(self.engine.first_lane())?;
        let parted = self.barrier("MPI_Comm_disconnect");
        if parted.as_ref().is_err_and(|error| !matches!(error.class, Class::ProcFailed | Class::Revoked)) {
            self.connection.renew(self.engine.first_lane())?;
        }
        parted
    }

    /// Keeps its members connected after its end: freeing it disconnects no process (MPI 5.0, §11.10.4).
    pub fn stay_connected(&self) {
        self.connection.keep();
    }

    /// Returns the engine of its messages.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Ends the other members of all its groups, if the rest of the job continues after failures. This
    /// process is about to end with `status`.
    pub fn abort(&self, status: u8) {
        self.engine.abort(Some(self.all_members().members()), status);
    }

    fn kept(&self) -> MutexGuard<'_, CommSettings> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the communicator's error handler.
    pub fn errhandler(&self) -> Arc<Errhandler> {
        self.kept().errhandler.clone()
    }

    /// Sets the communicator's error handler.
    pub fn set_errhandler(&self, errhandler: Arc<Errhandler>) {
        self.kept().errhandler = errhandler;
    }
}

impl Drop for Comm {
    fn drop(&mut self) {
        self.connection.drop_now(self.engine.first_lane());
        if self.flow.0 >= FIRST_GIVEN_OUT {
            let _ = self.engine.name_flow(self.collectives(), "");
            for (lane, flow) in self.flows() {
                let _ = lane.name_flow(flow, "");
                // This fails only after the end of the job, when nothing is left to free.
                let _ = lane.free_flow(flow);
            }
        }
    }
}
