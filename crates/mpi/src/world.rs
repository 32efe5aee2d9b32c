//! A process's life in MPI: what it has from the start, and how it leaves (MPI 5.0, §11.2).

use std::sync::Arc;

use canele_engine::{Engine, FailureKind, FlowId};
use canele_sys::atomic::Ordering;
use canele_sys::tunables::Tunables;

use crate::Result;
use crate::comm::agree::NewFlow;
use crate::comm::{Comm, Parts, Shared};
use crate::dynamic::Ports;
use crate::errhandler::Errhandler;
use crate::group::Group;

/// What a process has from the start.
pub struct World {
    engine: Arc<Engine>,
    /// `MPI_COMM_WORLD`.
    pub world: Arc<Comm>,
    /// `MPI_COMM_SELF`.
    pub own: Arc<Comm>,
    /// The communicator with the processes that started this one and those of its world, if processes did.
    pub parent: Option<Arc<Comm>>,
    pub(crate) ports: Ports,
}

/// The flow of the messages of `MPI_COMM_WORLD`, which is that of the world of the native interface too.
pub(crate) const WORLD: FlowId = FlowId(0);
/// The flows of this process's messages to itself. Below those that are given out, as the world's.
const OWN: FlowId = FlowId(2);

impl World {
    /// Joins the job with these settings. `on_failure` is called whenever a communicator was revoked or a rank has died.
    ///
    /// # Errors
    /// Wrong settings, a foreign launcher, no memory: the text says what to change.
    pub fn start(errhandler: &Arc<Errhandler>, tunables: &Tunables, on_failure: fn()) -> Result<Self> {
        let engine = Engine::of_process(tunables)?;
        Self::on(engine.clone(), errhandler, on_failure).inspect_err(|_| engine.leave())
    }

    /// Any number of the program's threads may call at any time from now on: communicators that are made may lie on lanes.
    pub fn expect_threads(&self) {
        // Relaxed: it is looked at by calls that come after this one.
        self.own.shared.has_threads.store(true, Ordering::Relaxed);
    }

    fn on(engine: Arc<Engine>, errhandler: &Arc<Errhandler>, on_failure: fn()) -> Result<Self> {
        if engine.tunables().progress_thread {
            engine.start_serving();
        }
        let all = Arc::new(Group::range(engine.world()));
        let own = Arc::new(Group::new(vec![engine.rank()])?);
        let shared = Arc::new(Shared::default());
        // First, because it fails if another MPI library of the process has joined the job.
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
        // Beside the ranks of this world the job may have, or get, others.
        world.found()?;
        let parent = crate::dynamic::parent(&world, errhandler)?;
        Ok(Self { engine, world, own, parent, ports: Ports::default() })
    }

    /// The engine under all.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The name of this process's host.
    pub fn host(&self) -> String {
        let job = self.engine.job();
        job.hosts
            .get(self.engine.host_of(self.engine.rank()))
            .map_or_else(String::new, |host| host.name.clone())
    }

    /// Returns a communicator of a group, made by its members alone. The caller is one of them.
    ///
    /// # Errors
    /// A member died.
    pub fn create_from_group(
        &self,
        group: &Arc<Group>,
        name: &str,
        errhandler: Arc<Errhandler>,
    ) -> Result<Arc<Comm>> {
        crate::comm::from_group(&self.engine, &self.own.shared, group, name, errhandler)
    }

    /// A communicator between two groups, made by their members alone.
    ///
    /// # Errors
    /// A member died; the groups have members in common.
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

    /// Leaves the job in good order: everything that was sent arrives.
    ///
    /// # Errors
    /// The launcher is gone.
    pub fn finish(&self) -> Result<()> {
        Ok(self.engine.finish()?)
    }
}
