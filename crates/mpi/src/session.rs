//! Sessions (MPI 5.0, §11.3): parts of a program that use MPI without knowing of each other.

use std::sync::{Arc, Mutex, PoisonError};

use canele_sys::atomic::{AtomicUsize, Ordering};

use crate::errhandler::Errhandler;
use crate::group::Group;
use crate::point::Attachment;
use crate::world::World;

/// A session.
pub struct Session {
    world: Arc<World>,
    number: AtomicUsize,
    errhandler: Mutex<Arc<Errhandler>>,
    attachment: Arc<Attachment>,
}

impl Session {
    /// A session of this process.
    pub fn new(world: Arc<World>, errhandler: Arc<Errhandler>) -> Self {
        Self {
            world,
            number: AtomicUsize::new(0),
            errhandler: Mutex::new(errhandler),
            attachment: Arc::default(),
        }
    }

    /// What the process has.
    pub fn world(&self) -> &Arc<World> {
        &self.world
    }

    /// Its memory for buffered sends, on communicators made from its groups.
    pub fn attachment(&self) -> &Attachment {
        &self.attachment
    }

    /// A group of the process's as one of this session's: communicators made of it use the session's memory for buffered sends.
    pub fn derive(&self, group: &Group) -> Arc<Group> {
        Arc::new(group.clone().of_session(Some(self.attachment.clone())))
    }

    /// The number under which the edge knows it.
    pub fn number(&self) -> usize {
        // Relaxed: set before anybody else can know the session.
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
