//! What the mailboxes of one rank share: their numbers, the regions of messages, and messages still on their way out.

use canele_sys::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use canele_engine::{Engine, FlowId, Pending, Started, Tag};

use crate::message::pool::Pool;
use crate::{Error, Flow, Rank, Request};

/// Where a message goes: on which flow to whom, with which tag.
pub type Way = (FlowId, Rank, Tag);

/// One per endpoint.
pub struct Office {
    engine: Arc<Engine>,
    pub pool: Arc<Pool>,
    numbers: AtomicU32,
    /// Messages that found no room in the rail at once, or no credit; they have their slots.
    leaving: Mutex<Vec<Request<u8>>>,
    /// How many these are, so that a post need not look for none.
    count: AtomicUsize,
}

impl Office {
    pub fn new(engine: Arc<Engine>) -> Result<Self, Error> {
        let pool = Pool::start(engine.clone())?;
        let leaving = Mutex::default();
        Ok(Self { engine, pool, numbers: AtomicU32::new(0), leaving, count: AtomicUsize::new(0) })
    }

    /// A number for a mailbox of this rank.
    pub fn number(&self) -> Tag {
        Tag(self.numbers.fetch_add(1, Relaxed))
    }

    fn leaving(&self) -> MutexGuard<'_, Vec<Request<u8>>> {
        self.leaving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message; at the deadline what has not left is kept, to leave as soon as it can.
    #[inline(always)]
    pub fn send(&self, way: Way, bytes: &[u8], deadline: Option<Instant>) -> Result<(), Error> {
        if self.count.load(Relaxed) > 0 {
            self.reap();
        }
        let (flow, to, tag) = way;
        match self.engine.try_send_now(to, flow, tag, bytes)? {
            Started::Left => Ok(()),
            Started::Waits(copy) => self.wait_for_copy(copy, deadline),
            Started::NotHere => self.send_later(way, bytes, deadline),
        }
    }

    /// A copy leaves as soon as it can, deadline or not.
    #[cold]
    fn wait_for_copy(&self, copy: Pending, deadline: Option<Instant>) -> Result<(), Error> {
        match self.engine.wait(copy, deadline) {
            Err(Error::Deadline(_)) => Ok(()),
            ended => ended?.result.map(drop),
        }
    }

    #[cold]
    fn send_later(&self, (flow, to, tag): Way, bytes: &[u8], deadline: Option<Instant>) -> Result<(), Error> {
        let mut request = Flow::new(self.engine.clone(), flow).isend(to, tag, bytes.to_vec())?;
        match request.block(deadline) {
            Err(Error::Deadline(_)) => {
                self.leaving().push(request);
                self.count.fetch_add(1, Relaxed);
                Ok(())
            }
            ended => ended.and_then(|()| request.take()).map(drop),
        }
    }

    /// Forgets what has left meanwhile. What could not leave has an owner that is gone, as the next post will say.
    fn reap(&self) {
        let mut leaving = self.leaving();
        leaving.retain_mut(|request| !request.test().unwrap_or(false));
        self.count.store(leaving.len(), Relaxed);
    }

    /// Waits until everything has left.
    pub fn flush(&self) -> Result<(), Error> {
        let leaving = std::mem::take(&mut *self.leaving());
        leaving.into_iter().try_for_each(|mut request| request.block(None))
    }
}
