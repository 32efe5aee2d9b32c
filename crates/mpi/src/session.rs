//! Sessions (MPI 5.0, §11.3): parts of a program that use MPI without knowing of each other.

use std::sync::{Arc, Mutex, PoisonError};

use canele_engine::Engine;
use canele_sys::atomic::{AtomicUsize, Ordering};

use crate::Result;
use crate::comm::hints;
use crate::errhandler::Errhandler;
use crate::group::Group;
use crate::info::Info;
use crate::point::Attachment;
use crate::world::World;

/// The kinds of memory that messages may always lie in (MPI 5.0, §12.4).
const MEMORY_KINDS: &str = "mpi,system";

/// A kind that is told if the program asks for it.
const ALLOCATED: &str = "mpi:alloc_mem";

/// What groups and communicators that are derived from a session have of it.
#[derive(Debug)]
pub struct Derived {
    /// Its memory for buffered sends.
    pub(crate) attachment: Attachment,
    /// The kinds of memory that it supports.
    pub(crate) memory_kinds: String,
}

/// A session.
pub struct Session {
    world: Arc<World>,
    number: AtomicUsize,
    errhandler: Mutex<Arc<Errhandler>>,
    derived: Arc<Derived>,
}

/// The kinds of a session: as its info asks for them, or the launcher.
fn kinds(engine: &Engine, info: &Info) -> String {
    match info.get(hints::MEMORY_KINDS).ok().flatten() {
        Some(asked) => memory_kinds(&String::from_utf8_lossy(&asked)),
        None => memory_kinds(&engine.tunables().mpi_memory_alloc_kinds),
    }
}

/// The kinds that are always supported, and those that are asked for and supported.
pub(crate) fn memory_kinds(asked: &str) -> String {
    match asked.split(',').any(|kind| kind.trim().eq_ignore_ascii_case(ALLOCATED)) {
        true => format!("{MEMORY_KINDS},{ALLOCATED}"),
        false => MEMORY_KINDS.to_owned(),
    }
}

impl Session {
    /// A session of this process.
    pub fn new(world: Arc<World>, errhandler: Arc<Errhandler>, info: &Info) -> Self {
        let derived =
            Derived { attachment: Attachment::default(), memory_kinds: kinds(world.engine(), info) };
        Self {
            world,
            number: AtomicUsize::new(0),
            errhandler: Mutex::new(errhandler),
            derived: Arc::new(derived),
        }
    }

    /// What the process has.
    pub fn world(&self) -> &Arc<World> {
        &self.world
    }

    /// Its memory for buffered sends, on communicators made from its groups.
    pub fn attachment(&self) -> &Attachment {
        &self.derived.attachment
    }

    /// A group of the process's as one of this session's: communicators made of it use the session's memory for buffered sends.
    pub fn derive(&self, group: &Group) -> Arc<Group> {
        Arc::new(group.clone().of_session(Some(self.derived.clone())))
    }

    /// What the session is like: its level of thread support, the kinds of memory that it supports.
    ///
    /// # Errors
    /// None: the values are short.
    pub fn info(&self) -> Result<Info> {
        let info = Info::new();
        info.set("thread_level", "MPI_THREAD_MULTIPLE")?;
        info.set(hints::MEMORY_KINDS, &self.derived.memory_kinds)?;
        Ok(info)
    }

    /// The number under which the edge knows it.
    pub fn number(&self) -> usize {
        // Relaxed: set before another thread can know the session.
        self.number.load(Ordering::Relaxed)
    }

    /// Sets that number.
    pub fn set_number(&self, number: usize) {
        self.number.store(number, Ordering::Relaxed);
    }

    /// What is done with errors.
    pub fn errhandler(&self) -> Arc<Errhandler> {
        self.errhandler.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets it.
    pub fn set_errhandler(&self, errhandler: Arc<Errhandler>) {
        *self.errhandler.lock().unwrap_or_else(PoisonError::into_inner) = errhandler;
    }
}
