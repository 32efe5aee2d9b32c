//! Communicators (MPI 5.0, chapter 7): which processes communicate with each other, apart from all others.
//!
//! A communicator has a pair of flows, of its messages and of its collectives, which no other communicator that lives has.
//! What hangs on it (name, handler, attributes …) is here too; messages are in `point`.

pub(crate) mod agree;
mod connection;
mod create;
pub(crate) mod hints;
mod idup;
mod inter;
mod named;
mod resources;
pub mod split_type;
mod spread;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use canele_engine::collective::{FIRST_PAIR, Operation, Shape, Team};
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
use crate::world::WORLD;
use crate::{Class, Error, Result};
use agree::NewFlow;
use connection::Connection;
use spread::LaneFlow;

pub(crate) use create::from_group;

/// A communicator.
pub struct Comm {
    pub(crate) engine: Arc<Engine>,
    pub(crate) flow: FlowId,
    /// Where its tags are spread, further flows of its messages on other lanes.
    further: Box<[LaneFlow]>,
    /// See [`Comm::uses_lanes`].
    uses_lanes: OnceLock<bool>,
    group: Arc<Group>,
    /// The other group of an intercommunicator.
    remote: Option<Arc<Group>>,
    /// This process in `group`.
    rank: usize,
    number: AtomicUsize,
    kept: Mutex<CommSettings>,
    attributes: Attributes,
    connection: Connection,
    attachment: Attachment,
    topology: Option<Topology>,
    pub(crate) partitioned: PartitionedPairs,
    /// Collective calls that were compared with those of the other members.
    checked: AtomicU64,
    /// Of the deaths that the engine knows the first are acknowledged, so many.
    pub(crate) deaths_acknowledged: AtomicUsize,
    pub(crate) shared: Arc<Shared>,
}

/// Threads that carry out non-blocking accesses to files.
const FILE_THREADS: usize = 4;

/// What all communicators of a process share.
pub(crate) struct Shared {
    pub attachment: Attachment,
    pub allocated: Arc<Allocated>,
    /// Windows whose memory is served to others.
    pub served: Arc<ServedWindows>,
    /// Threads for accesses to files that are not waited for.
    pub file_workers: Arc<Workers>,
    /// A communicator was revoked.
    pub any_revoked: Arc<AtomicBool>,
    /// A communicator was revoked, or a rank has died.
    pub any_failure: Arc<AtomicBool>,
    /// The program has asked for any number of threads that call at any time.
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

/// What a new communicator is made of. `group` contains this process.
pub(crate) struct Parts {
    pub new: NewFlow,
    pub group: Arc<Group>,
    pub remote: Option<Arc<Group>>,
    pub errhandler: Arc<Errhandler>,
    pub topology: Option<Topology>,
    pub shared: Arc<Shared>,
    /// The session of the communicator that this one is made of.
    pub session: Option<Arc<Derived>>,
}

impl Comm {
    /// A communicator on a flow of its own, which it gives back at its end.
    pub(crate) fn new(parts: Parts) -> Result<Self> {
        let mut comm = Self::on(parts);
        let remote = comm.remote.iter().flat_map(|remote| remote.members());
        comm.connection =
            Connection::new(comm.engine.first_lane(), comm.group.members().iter().chain(remote).copied())?;
        comm.found()?;
        Ok(comm)
    }

    /// Says who sends its messages and who takes part in its collectives.
    pub(crate) fn found(&self) -> Result<()> {
        let senders = Arc::from(self.peers().members());
        self.flows().try_for_each(|(lane, flow)| lane.set_senders(flow, Arc::clone(&senders)))?;
        // On the flow of the world a library with the native interface may have begun already: its calls count.
        match self.flow {
            WORLD => self.engine.name_team(self.collectives(), self.team())?,
            _ => self.engine.set_team(self.collectives(), self.team())?,
        }
        self.name_flows(&self.name());
        self.enter_group()
    }

    /// Makes its members known, who learn of failures and may revoke it.
    pub(crate) fn enter_group(&self) -> Result<()> {
        let members = Arc::from(self.all_members().members());
        Ok(self.flows().try_for_each(|(lane, flow)| lane.enter_group(flow, Arc::clone(&members)))?)
    }

    /// The members as its collectives count them.
    fn team(&self) -> Team {
        match &self.remote {
            None => Team::new(self.rank, Arc::from(self.group.members())),
            Some(remote) => {
                let all = [self.group.members(), remote.members()].concat();
                Team::between(self.rank, Arc::from(all), self.group.size())
            }
        }
    }

    /// A communicator whose flow is set up already.
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

    /// The flow of its messages.
    #[inline(always)]
    pub fn flow(&self) -> FlowId {
        self.flow
    }

    /// Its attributes.
    pub fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    /// Its own memory for buffered sends.
    pub fn attachment(&self) -> &Attachment {
        &self.attachment
    }

    /// The process's memory for buffered sends.
    pub fn process_attachment(&self) -> &Attachment {
        &self.shared.attachment
    }

    /// Memory that the library allocated for the program.
    #[inline(always)]
    pub fn allocated(&self) -> &Allocated {
        &self.shared.allocated
    }

    /// Lends elements to be sent.
    pub(crate) fn lend(&self, data: Data<'_>) -> OutBuffer {
        self.shared.allocated.lend(data)
    }

    /// Lends elements to be filled.
    #[inline(always)]
    pub(crate) fn lend_mut(&self, data: DataMut<'_>) -> InBuffer {
        self.shared.allocated.lend_mut(data)
    }

    /// Its topology, if it has one.
    pub fn topology(&self) -> Option<&Topology> {
        self.topology.as_ref()
    }

    /// This process's rank in the (local) group.
    #[inline]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Ranks of the (local) group.
    #[inline]
    pub fn size(&self) -> usize {
        self.group.size()
    }

    /// The (local) group.
    pub fn group(&self) -> &Arc<Group> {
        &self.group
    }

    /// The other group, if there is one.
    pub(crate) fn remote_if(&self) -> Option<&Arc<Group>> {
        self.remote.as_ref()
    }

    /// Whether it joins two groups.
    pub fn is_inter(&self) -> bool {
        self.remote.is_some()
    }

    /// The other group.
    ///
    /// # Errors
    /// This is no intercommunicator.
    pub fn remote(&self) -> Result<&Arc<Group>> {
        let no = || Error::new(Class::Communicator, "comm is an intracommunicator: it has no remote group");
        self.remote.as_ref().ok_or_else(no)
    }

    /// The group whose ranks messages name: the other one, if there is one.
    #[inline]
    pub fn peers(&self) -> &Group {
        self.remote.as_deref().unwrap_or(&self.group)
    }

    /// The rank, as messages name it, of a rank of the job.
    pub(crate) fn rank_of(&self, rank: Rank) -> Option<usize> {
        self.peers().rank_of(rank)
    }

    /// The number under which the edge knows it.
    pub fn number(&self) -> usize {
        // Relaxed: set before another thread can know the communicator.
        self.number.load(Ordering::Relaxed)
    }

    /// Sets that number.
    pub fn set_number(&self, number: usize) {
        self.number.store(number, Ordering::Relaxed);
    }

    /// Counts a collective call that is compared: gives its number, from 1 on.
    pub(crate) fn count_checked(&self) -> u64 {
        // Relaxed: a number for texts alone.
        self.checked.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns once all ranks have called it, in the function `name`.
    ///
    /// # Errors
    /// A rank died, or makes another collective call.
    pub fn barrier(&self, name: &'static str) -> Result<()> {
        self.check_call(name)?;
        let shape = Shape::new(Operation::Barrier, 0);
        Ok(self.engine.collective(self.collectives(), shape, None, &[], &mut [])?)
    }

    /// Waits for the members before they part: for what this one has sent, also by requests that were freed, and then for the others. The
    /// launcher knows of all of them that they have parted before any of them goes on.
    ///
    /// # Errors
    /// A member died.
    pub fn await_parting(&self) -> Result<()> {
        self.flows().try_for_each(|(lane, flow)| lane.wait_for_sends(flow))?;
        self.connection.end(self.engine.first_lane())?;
        let parted = self.barrier("MPI_Comm_disconnect");
        if parted.as_ref().is_err_and(|error| !matches!(error.class, Class::ProcFailed | Class::Revoked)) {
            self.connection.renew(self.engine.first_lane())?;
        }
        parted
    }

    /// Its members stay connected after its end: it is freed, which disconnects no process (MPI 5.0, §11.10.4).
    pub fn stay_connected(&self) {
        self.connection.keep();
    }

    /// The engine its messages go through.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Ends the other members, of both groups if there are two, where the rest of the job goes on after failures: this process is about to
    /// end with `status`.
    pub fn abort(&self, status: u8) {
        self.engine.abort(Some(self.all_members().members()), status);
    }

    fn kept(&self) -> MutexGuard<'_, CommSettings> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its name, empty if it was given none.
    pub fn name(&self) -> String {
        self.kept().name.clone()
    }

    /// Gives it a name.
    pub fn set_name(&self, name: &str) {
        name.clone_into(&mut self.kept().name);
        self.name_flows(name);
    }

    /// Names its flows for people who look at the job; without a name after the first of them.
    fn name_flows(&self, name: &str) {
        let unnamed;
        let name = if name.is_empty() {
            unnamed = format!("communicator {}", self.flow.0);
            &unnamed
        } else {
            name
        };
        for (lane, flow) in self.flows().chain([(&self.engine, self.collectives())]) {
            // A forked child has no flows.
            let _ = lane.name_flow(flow, name);
        }
    }

    /// What is done with errors.
    pub fn errhandler(&self) -> Arc<Errhandler> {
        self.kept().errhandler.clone()
    }

    /// Sets it.
    pub fn set_errhandler(&self, errhandler: Arc<Errhandler>) {
        self.kept().errhandler = errhandler;
    }
}

/// Flows below are those that exist from the start.
const GIVEN_OUT: u32 = 2 * FIRST_PAIR;

impl Drop for Comm {
    fn drop(&mut self) {
        self.connection.drop_now(self.engine.first_lane());
        if self.flow.0 >= GIVEN_OUT {
            let _ = self.engine.name_flow(self.collectives(), "");
            for (lane, flow) in self.flows() {
                let _ = lane.name_flow(flow, "");
                // After the end of the job nothing is left to be given back.
                let _ = lane.free_flow(flow);
            }
        }
    }
}
