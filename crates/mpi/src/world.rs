//! A process in the world model: its communicators from the start, and leaving the job (MPI 5.0, §11.2).

use std::sync::Arc;

use canele_engine::{Engine, FailureKind, FlowId, Tag};
use canele_sys::atomic::Ordering;
use canele_sys::tunables::Tunables;

use crate::Result;
use crate::comm::agree::NewFlow;
use crate::comm::{Comm, Parts, Shared};
use crate::dynamic::Ports;
use crate::errhandler::Errhandler;
use crate::group::Group;

/// The communicators and the engine of a process.
pub struct World {
    engine: Arc<Engine>,
    /// `MPI_COMM_WORLD`.
    pub world: Arc<Comm>,
    /// `MPI_COMM_SELF`.
    pub own: Arc<Comm>,
    /// The communicator with the processes that spawned this world, if it was spawned.
    pub parent: Option<Arc<Comm>>,
    pub(crate) ports: Ports,
}

/// The flow of the messages of `MPI_COMM_WORLD`, shared with the world of the native interface.
pub(crate) const WORLD: FlowId = FlowId(0);
/// The flow of this process's messages to itself; a fixed flow like the world's.
const OWN: FlowId = FlowId(2);
/// The flow of messages that belong to no communicator; a fixed flow, on which ranks of other hosts send no
/// RMA requests. Tags of ports have the highest bit clear. Tags of communicators that are made without another
/// one have it set, and the next one clear.
pub(crate) const NO_COMM: FlowId = FlowId(4);
/// The tag of `MPI_Finalize` on that flow.
pub(crate) const FINALIZE: Tag = Tag(0xc000_0000);

impl World {
    /// Joins the job with these settings. `on_failure` is called whenever a communicator is revoked or a rank
    /// dies.
    ///
    /// # Errors
    /// Fails on wrong settings, on a foreign launcher or without memory; the text names the remedy.
    pub fn start(errhandler: &Arc<Errhandler>, tunables: &Tunables, on_failure: fn()) -> Result<Self> {
        let engine = Engine::of_process(tunables)?;
        Self::on(engine.clone(), errhandler, on_failure).inspect_err(|_| engine.leave())
    }

    /// Declares that several threads may call at any time, so new communicators may use other lanes.
    pub fn expect_threads(&self) {
        // Relaxed: only later calls read it.
        self.own.shared.has_threads.store(true, Ordering::Relaxed);
    }

    fn on(engine: Arc<Engine>, errhandler: &Arc<Errhandler>, on_failure: fn()) -> Result<Self> {
        if engine.tunables().progress_thread {
            engine.start_serving();
        }
        let all = Arc::new(Group::range(engine.world()));
        let own = Arc::new(Group::new(vec![engine.rank()])?);
        let shared = Arc::new(Shared::default());
        // This comes first because it fails if another MPI library of the process has joined the job.
        let served = shared.served.clone();
        engine.set_rma_operations(move |lane| served.of_lane(lane).clone())?;
        let (any_revoked, any_failure) = (shared.any_revoked.clone(), shared.any_failure.clone());
        engine.set_failure_hook(Arc::new(move |kind| {
            any_revoked.fetch_or(kind == FailureKind::Revoked, Ordering::Relaxed);
            any_failure.store(true, Ordering::Relaxed);
            on_failure();
        }))?;
        let make = |flow, group: &Arc<Group>, name: &str| {
            let comm = Comm::on(Parts {
                new: NewFlow::on(&engine, flow),
                group: group.clone(),
                remote: None,
                errhandler: errhandler.clone(),
                topology: None,
                shared: shared.clone(),
                session: None,
            });
            comm.set_name(name);
            Arc::new(comm)
        };
        let world = make(WORLD, &all, "MPI_COMM_WORLD");
        let own = make(OWN, &own, "MPI_COMM_SELF");
        world.enter_group()?;
        own.found()?;
        // The job may have ranks outside of this world, now or later.
        world.found()?;
        let parent = crate::dynamic::parent(&world, errhandler)?;
        Ok(Self { engine, world, own, parent, ports: Ports::default() })
    }

    /// Returns the engine.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Returns the name of this process's host.
    pub fn host(&self) -> String {
        let job = self.engine.job();
        job.hosts
            .get(self.engine.host_of(self.engine.rank()))
            .map_or_else(String::new, |host| host.name.clone())
    }

    /// Makes a communicator of a group; collective over its members. The caller is a member.
    ///
    /// # Errors
    /// Fails if a member died.
    pub fn create_from_group(
        &self,
        group: &Arc<Group>,
        name: &str,
        errhandler: Arc<Errhandler>,
    ) -> Result<Arc<Comm>> {
        crate::comm::from_group(&self.engine, &self.own.shared, group, name, errhandler)
    }

    /// Makes an intercommunicator of two groups; collective over their members.
    ///
    /// # Errors
    /// Fails if a member died or the groups overlap.
    pub fn create_between_groups(
        &self,
        local: &Arc<Group>,
        remote: &Arc<Group>,
        name: &str,
        errhandler: Arc<Errhandler>,
    ) -> Result<Arc<Comm>> {
        let own = self.create_from_group(local, name, errhandler.clone())?;
        own.join(remote, name, errhandler)
    }

    /// Leaves the job; everything that was sent still arrives.
    ///
    /// # Errors
    /// Fails if the launcher is gone.
    pub fn finish(&self) -> Result<()> {
        Ok(self.engine.finish()?)
    }
}
