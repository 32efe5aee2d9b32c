//! The sender of a partitioned message.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use canele_engine::{Completion, Envelope, Pending, Rank, Submit};
use canele_sys::atomic::{AtomicU32, Ordering};

use super::{Division, MOST_PARTS, Partitioned};
use crate::comm::Comm;
use crate::data::{Data, Elements};
use crate::point::Target;
use crate::request::{Again, Foreign, Request};
use crate::status::Status;
use crate::{Class, Error, Result, fail};

/// A send whose partitions are made ready one by one.
pub struct Sending {
    comm: Arc<Comm>,
    /// To whom, and with which tags; none to no process.
    to: Option<(Rank, Division)>,
    /// Elements of each partition.
    each: usize,
    elements: Elements,
    state: Mutex<State>,
    /// Counts the partitions that were made ready.
    steps: AtomicU32,
}

struct State {
    is_active: bool,
    ready: Vec<bool>,
    /// Partitions that are not ready.
    left: usize,
    under_way: Vec<Pending>,
    failed: Option<Box<Error>>,
}

impl Comm {
    /// A send of so many partitions, to be started; `elements` are those of all.
    ///
    /// # Errors
    /// The job is over.
    pub fn psend_init(
        self: &Arc<Self>,
        to: Option<Target>,
        parts: usize,
        elements: Elements,
    ) -> Result<Request> {
        if parts > MOST_PARTS {
            fail!(Count, "partitions is {parts}: a send has at most {MOST_PARTS}");
        }
        let each = elements.count.checked_div(parts).unwrap_or(0);
        let bytes = elements.of.total_bytes(each)?;
        let announce = |to: Target| -> Result<(Rank, Division)> {
            let note = (to.rank, self.collectives(), to.tag);
            Ok((to.rank, self.partitioned.announce(self.engine(), note, (parts, bytes))?))
        };
        let to = to.map(announce).transpose()?;
        let ready = vec![false; parts];
        let state = State { is_active: false, ready, left: parts, under_way: Vec::new(), failed: None };
        let (state, steps) = (Mutex::new(state), AtomicU32::new(0));
        let sending = Arc::new(Sending { comm: self.clone(), to, each, elements, state, steps });
        Ok(Request::persistent(Some(self.clone()), Box::new(Start(sending))))
    }
}

impl Sending {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A partition may be sent, and is.
    ///
    /// # Errors
    /// There is no such partition, it was ready already, or the operation is not started.
    pub fn ready(&self, part: usize) -> Result<()> {
        let engine = self.comm.engine();
        engine.submit_with(|submit| self.send(part, submit))??;
        // Release: pairs with `program_steps`.
        self.steps.fetch_add(1, Ordering::Release);
        Ok(engine.notify_waiters()?)
    }

    fn send(&self, part: usize, submit: &mut Submit<'_>) -> Result<()> {
        let mut state = self.state();
        if !state.is_active {
            fail!(
                Request,
                "partition {part} is marked ready, but the operation is not active: start it first"
            );
        }
        match state.ready.get_mut(part) {
            Some(ready) if !*ready => *ready = true,
            Some(_) => fail!(Argument, "partition {part} was marked ready before"),
            None => {
                let last = state.ready.len().saturating_sub(1);
                fail!(Argument, "partition is {part}: it must be from 0 to {last}")
            }
        }
        state.left -= 1;
        if let Some((rank, division)) = self.to {
            let Elements { raw, of, .. } = &self.elements;
            let by = (part * self.each).cast_signed() * of.extent();
            let buffer = self.comm.lend(Data { raw: raw.moved(by), count: self.each, of });
            let envelope = Envelope::new(rank, self.comm.collectives(), division.tag(part));
            state.under_way.push(submit.isend(envelope, buffer));
        }
        Ok(())
    }
}

impl Foreign for Sending {
    fn is_complete(&self) -> bool {
        let state = self.state();
        state.is_active && state.left == 0 && state.under_way.is_empty()
    }

    fn status(&self) -> Result<Status> {
        self.state().failed.clone().map_or(Ok(Status::EMPTY), Err)
    }

    fn cancel(&self) -> Result<()> {
        Err(Error::new(Class::Request, "a partitioned operation cannot be cancelled"))
    }

    fn release(&self) -> Result<()> {
        self.state().is_active = false;
        Ok(())
    }

    fn pending(&self) -> Option<Pending> {
        self.state().under_way.last().copied()
    }

    fn step(&self, pending: Pending, ended: Completion) {
        let mut state = self.state();
        // The one that is waited for is the last.
        if let Some(at) = state.under_way.iter().rposition(|other| *other == pending) {
            state.under_way.swap_remove(at);
        }
        if let Err(error) = ended.result {
            state.failed.get_or_insert(error.into());
        }
    }

    fn program_steps(&self) -> u32 {
        // Acquire: pairs with `ready`.
        self.steps.load(Ordering::Acquire)
    }
}

/// How it is started.
struct Start(Arc<Sending>);

impl Again for Start {
    fn start(&mut self) -> Result<Request> {
        let mut state = self.0.state();
        state.ready.fill(false);
        state.left = state.ready.len();
        (state.is_active, state.failed) = (true, None);
        drop(state);
        Ok(Request::foreign(Some(self.0.comm.clone()), self.0.clone()))
    }

    fn name(&self) -> &'static str {
        "partitioned send"
    }

    fn partitioned(&self) -> Option<Partitioned> {
        Some(Partitioned::Send(self.0.clone()))
    }
}
