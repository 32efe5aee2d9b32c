//! What the mailboxes of one rank share: their numbers, the regions of messages, and messages still on their way out.

use canele_sys::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use canele_engine::{Buffer, Engine, FlowId, Mode, Pending, Tag};
use canele_sys::buffer::Owned;

use crate::message::pool::Pool;
use crate::{Error, Rank};

/// One per endpoint.
pub struct Office {
    engine: Arc<Engine>,
    pub pool: Arc<Pool>,
    numbers: AtomicU32,
    /// Messages that found no room in the rail at once, or no credit; they have their slots.
    leaving: Mutex<Vec<(Pending, Owned<u8>)>>,
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

    /// Sends a message; at the deadline what has not left is kept, to leave as soon as it can.
    #[inline(always)]
    pub fn send(
        &self,
        to: Rank,
        flow: FlowId,
        tag: Tag,
        bytes: &[u8],
        deadline: Option<Instant>,
    ) -> Result<(), Error> {
        if self.count.load(Relaxed) > 0 {
            self.reap()?;
        }
        if self.engine.try_send_now(to, flow, tag, bytes)? {
            return Ok(());
        }
        self.send_later(to, flow, tag, bytes, deadline)
    }

    #[cold]
    fn send_later(
        &self,
        to: Rank,
        flow: FlowId,
        tag: Tag,
        bytes: &[u8],
        deadline: Option<Instant>,
    ) -> Result<(), Error> {
        let mut owned = Owned::new(bytes.to_vec());
        let pending = match self.engine.isend(to, flow, tag, Mode::Standard, owned.lend_out()) {
            Ok(pending) => pending,
            Err(refused) => {
                let (error, buffer) = *refused;
                owned.take_back_out(buffer);
                return Err(error);
            }
        };
        match self.engine.wait(pending, deadline) {
            Ok(ended) => settle(ended, &mut owned),
            Err(Error::Deadline(_)) => {
                self.leaving.lock().unwrap_or_else(PoisonError::into_inner).push((pending, owned));
                self.count.fetch_add(1, Relaxed);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Forgets what has left meanwhile. What could not leave has an owner that is gone, as the next post will say.
    fn reap(&self) -> Result<(), Error> {
        let leaving = &mut *self.leaving.lock().unwrap_or_else(PoisonError::into_inner);
        let mut at = 0;
        while at < leaving.len() {
            match self.engine.test(leaving[at].0)? {
                Some(ended) => drop(settle(ended, &mut leaving.swap_remove(at).1)),
                None => at += 1,
            }
        }
        self.count.store(leaving.len(), Relaxed);
        Ok(())
    }

    /// Waits until everything has left.
    pub fn flush(&self) -> Result<(), Error> {
        let leaving = std::mem::take(&mut *self.leaving.lock().unwrap_or_else(PoisonError::into_inner));
        for (pending, mut owned) in leaving {
            let ended = self.engine.wait(pending, None)?;
            drop(settle(ended, &mut owned));
        }
        Ok(())
    }
}

fn settle(ended: canele_engine::Ended, owned: &mut Owned<u8>) -> Result<(), Error> {
    if let Buffer::Out(buffer) = ended.buffer {
        owned.take_back_out(buffer);
    }
    ended.result.map(drop)
}
