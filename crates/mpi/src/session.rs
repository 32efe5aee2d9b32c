//! Sessions (MPI 5.0, §11.3): independent uses of MPI by parts of a program.

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

/// The kinds of memory that messages may always use (MPI 5.0, §12.4).
const MEMORY_KINDS: &str = "mpi,system";

/// A kind that is reported if the program asks for it.
const ALLOCATED: &str = "mpi:alloc_mem";

/// The state of a session that derived groups and communicators share.
#[derive(Debug)]
pub struct Derived {
    /// The session's memory for buffered sends.
    pub(crate) attachment: Attachment,
    /// The kinds of memory that the session supports.
    pub(crate) memory_kinds: String,
}

/// A session.
pub struct Session {
    world: Arc<World>,
    number: AtomicUsize,
    errhandler: Mutex<Arc<Errhandler>>,
    derived: Arc<Derived>,
}

/// Returns the memory kinds of a session, as its info or the launcher requests them.
fn kinds(engine: &Engine, info: &Info) -> String {
    match info.get(hints::MEMORY_KINDS).ok().flatten() {
        Some(asked) => memory_kinds(&String::from_utf8_lossy(&asked)),
        None => memory_kinds(&engine.tunables().mpi_memory_alloc_kinds),
    }
}

/// Returns the kinds that are always supported, followed by those requested kinds that are supported.
pub(crate) fn memory_kinds(asked: &str) -> String {
    match asked.split(',').any(|kind| kind.trim().eq_ignore_ascii_case(ALLOCATED)) {
        true => format!("{MEMORY_KINDS},{ALLOCATED}"),
        false => MEMORY_KINDS.to_owned(),
    }
}

impl Session {
    /// Makes a session of this process.
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

    /// Returns the communicators of the process.
    pub fn world(&self) -> &Arc<World> {
        &self.world
    }

    /// Returns the session's memory for buffered sends, for communicators made from its groups.
    pub fn attachment(&self) -> &Attachment {
        &self.derived.attachment
    }

    /// Derives a group of this session from a group of the process. Communicators made of it use the
    /// session's memory for buffered sends.
    pub fn derive(&self, group: &Group) -> Arc<Group> {
        Arc::new(group.clone().of_session(Some(self.derived.clone())))
    }

    /// Returns the properties of the session: its thread level, and the kinds of memory that it supports.
    ///
    /// # Errors
    /// Never fails, since the values are short.
    pub fn info(&self) -> Result<Info> {
        let info = Info::new();
        info.set("thread_level", "MPI_THREAD_MULTIPLE")?;
        info.set(hints::MEMORY_KINDS, &self.derived.memory_kinds)?;
        Ok(info)
    }

    /// Returns the session's number in the C interface.
    pub fn number(&self) -> usize {
        // Relaxed: set before another thread can know the session.
        self.number.load(Ordering::Relaxed)
    }

    /// Sets the session's number in the C interface.
    pub fn set_number(&self, number: usize) {
        self.number.store(number, Ordering::Relaxed);
    }

    /// Returns the session's error handler.
    pub fn errhandler(&self) -> Arc<Errhandler> {
        self.errhandler.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the session's error handler.
    pub fn set_errhandler(&self, errhandler: Arc<Errhandler>) {
        *self.errhandler.lock().unwrap_or_else(PoisonError::into_inner) = errhandler;
    }
}
