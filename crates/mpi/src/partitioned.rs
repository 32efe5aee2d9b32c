//! Partitioned messages (MPI 5.0, chapter 4): a message whose parts the program makes ready one by one.
//!
//! The parts travel as one message, which leaves when the last part is ready; so the receiver sees all parts arrive at once,
//! as the standard permits. Such messages match only each other: they go over the communicator's second flow.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use canele_engine::{Ended, FlowId, Mode, Pending, Tag};

use crate::comm::Comm;
use crate::point::{From, Kept, Target};
use crate::request::{Again, Foreign, Request, Step, Steps};
use crate::status::Status;
use crate::{Class, Error, Result, fail};

/// Tags of these messages, apart from those of collectives.
const APART: u32 = 1 << 31;

impl Comm {
    fn parts_flow(&self) -> FlowId {
        FlowId(self.flow.0 + 1)
    }

    /// A send of so many parts, to be started; `kept` holds all of them.
    pub fn psend_init(self: &Arc<Self>, to: Option<Target>, parts: usize, kept: Kept) -> Request {
        let state = State { ready: vec![false; parts], left: parts, under_way: UnderWay::No };
        let parts = Arc::new(Parts { comm: self.clone(), to, kept, state: Mutex::new(state) });
        Request::persistent(Some(self.clone()), Box::new(Sending(parts)))
    }

    /// A receive of parts, to be started.
    pub fn precv_init(self: &Arc<Self>, from: Option<From>, kept: Kept) -> Request {
        Request::persistent(Some(self.clone()), Box::new(Receiving { comm: self.clone(), from, kept }))
    }
}

/// The parts of a send.
pub struct Parts {
    comm: Arc<Comm>,
    to: Option<Target>,
    kept: Kept,
    state: Mutex<State>,
}

struct State {
    ready: Vec<bool>,
    left: usize,
    under_way: UnderWay,
}

enum UnderWay {
    /// Not started.
    No,
    /// Parts are missing.
    Waits,
    Leaves(Pending),
    Ended(Result<Status>),
}

impl Parts {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A part may be sent; with the last one all of them are.
    ///
    /// # Errors
    /// There is no such part, it was ready already, or the operation is not started.
    pub fn ready(&self, part: usize) -> Result<()> {
        let mut state = self.state();
        if !matches!(state.under_way, UnderWay::Waits) {
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
        if state.left == 0 {
            state.under_way = self.leave()?;
        }
        Ok(())
    }

    fn leave(&self) -> Result<UnderWay> {
        let Some(to) = self.to else { return Ok(UnderWay::Ended(Ok(Status::EMPTY))) };
        let (engine, data) = (self.comm.engine(), self.kept.data());
        let tag = Tag(to.tag.0 | APART);
        let started =
            engine.isend(to.rank, self.comm.parts_flow(), tag, Mode::Standard, self.comm.lend(data));
        Ok(UnderWay::Leaves(started.map_err(|refused| refused.0)?))
    }
}

impl Foreign for Parts {
    fn is_complete(&self) -> bool {
        matches!(self.state().under_way, UnderWay::Ended(_))
    }

    fn status(&self) -> Result<Status> {
        match &self.state().under_way {
            UnderWay::Ended(result) => result.clone(),
            _ => Ok(Status::EMPTY),
        }
    }

    fn cancel(&self) -> Result<()> {
        Err(Error::new(Class::Request, "a partitioned operation cannot be cancelled"))
    }

    fn release(&self) -> Result<()> {
        self.state().under_way = UnderWay::No;
        Ok(())
    }

    fn pending(&self) -> Option<Pending> {
        match self.state().under_way {
            UnderWay::Leaves(pending) => Some(pending),
            _ => None,
        }
    }

    fn step(&self, ended: Ended) {
        let result = ended.result.map(|_| Status::EMPTY).map_err(Into::into);
        self.state().under_way = UnderWay::Ended(result);
    }
}

struct Sending(Arc<Parts>);

impl Again for Sending {
    fn start(&mut self) -> Result<Request> {
        let mut state = self.0.state();
        state.ready.fill(false);
        state.left = state.ready.len();
        state.under_way = if state.left == 0 { self.0.leave()? } else { UnderWay::Waits };
        drop(state);
        Ok(Request::foreign(Some(self.0.comm.clone()), self.0.clone()))
    }

    fn name(&self) -> &'static str {
        "partitioned send"
    }

    fn parts(&self) -> Option<Arc<Parts>> {
        Some(self.0.clone())
    }
}

struct Receiving {
    comm: Arc<Comm>,
    from: Option<From>,
    kept: Kept,
}

impl Again for Receiving {
    fn start(&mut self) -> Result<Request> {
        let Some(from) = self.from else {
            return Ok(Request::ended_with(Some(self.comm.clone()), Ok(Status::NO_PROCESS)));
        };
        let tag = from.tag.map(|tag| Tag(tag.0 | APART));
        let want = From { source: from.source, tag }.want();
        let into = self.comm.lend_mut(self.kept.data());
        let started = self.comm.engine().irecv(self.comm.parts_flow(), want, into);
        let pending = started.map_err(|refused| refused.0)?;
        Ok(Request::steps(self.comm.clone(), pending, Box::new(Arriving(self.comm.clone()))))
    }

    fn name(&self) -> &'static str {
        "partitioned receive"
    }
}

/// A receive that was started: its status has the program's tag.
struct Arriving(Arc<Comm>);

impl Steps for Arriving {
    fn step(&mut self, ended: Ended) -> Step {
        let tag = |status: canele_engine::Status| Tag(status.tag.0 & !APART);
        let given = |status| self.0.status(canele_engine::Status { tag: tag(status), ..status });
        Step::Done(ended.result.map(given).map_err(Into::into))
    }
}
