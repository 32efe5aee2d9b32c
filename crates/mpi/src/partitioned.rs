//! Partitioned messages (MPI 5.0, chapter 4): a message whose parts the program makes ready one by one.
//!
//! The parts travel as one message, which leaves when the last part is ready; so the receiver sees all parts arrive at once,
//! as the standard permits. Such messages match only each other: they go over the communicator's second flow.
//!
//! They match in the order in which they were initialised (§4.2.1), whatever the order in which they are started. Both ends count
//! the initialisations with a tag, and the count is part of the tag that travels:
//!
//! ```text
//!   the first of its tag    10 tag (30 bits)
//!   later ones, tag < 2^20  1101 count (8 bits) tag (20 bits)
//! ```
//! So 256 with one tag may exist at a time between two processes. Later ones of a tag that is larger travel as the first does,
//! and match in the order in which they are started.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use canele_engine::{Buffer, Completion, FlowId, Mode, Pending, Rank, Tag, Want};
use canele_mem::buffer::ReusableMemory;

use crate::comm::Comm;
use crate::data::{Elements, ElementsMut};
use crate::datatype::Datatype;
use crate::point::Target;
use crate::request::{Again, Foreign, Request, Step, Steps};
use crate::status::Status;
use crate::{Class, Error, Result, fail};

/// Tags of these messages, apart from those of collectives and of what makes communicators.
const FIRST: u32 = 1 << 31;
const LATER: u32 = 0xd000_0000;
/// Bits that tags have for which later messages are told apart, and bits of the count.
const TAG_BITS: u32 = 20;
const COUNT_BITS: u32 = 8;

/// How many messages with each tag were initialised towards a rank and from it.
#[derive(Default)]
pub(crate) struct Counts(Mutex<HashMap<(Way, Rank, Tag), u32>>);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Way {
    Out,
    In,
}

impl Counts {
    /// The tag that the next one travels with: the same at both ends.
    fn next(&self, way: Way, peer: Rank, tag: Tag) -> Tag {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry((way, peer, tag)).or_default();
        let travels = travelling(tag, *count);
        *count = count.wrapping_add(1);
        travels
    }
}

/// The tag of message number `count` among those with a tag.
fn travelling(tag: Tag, count: u32) -> Tag {
    if count == 0 || tag.0 >= 1 << TAG_BITS {
        return Tag(FIRST | tag.0);
    }
    let count = count % (1 << COUNT_BITS);
    Tag(LATER | count << TAG_BITS | tag.0)
}

impl Comm {
    fn parts_flow(&self) -> FlowId {
        FlowId(self.flow.0 + 1)
    }

    /// A send of so many parts, to be started; `elements` are those of all.
    pub fn psend_init(self: &Arc<Self>, to: Option<Target>, parts: usize, elements: Elements) -> Request {
        let state = State { ready: vec![false; parts], left: parts, under_way: UnderWay::No };
        let next = |to: Target| self.partitioned.next(Way::Out, to.rank, to.tag);
        let to = to.map(|to| Target { tag: next(to), ..to });
        let parts = Arc::new(Parts { comm: self.clone(), to, elements, state: Mutex::new(state) });
        Request::persistent(Some(self.clone()), Box::new(Sending(parts)))
    }

    /// A receive of parts, to be started.
    pub fn precv_init(self: &Arc<Self>, from: Option<(Rank, Tag)>, elements: ElementsMut) -> Request {
        let ElementsMut { raw, count, of } = elements;
        let from = from.map(|(rank, tag)| (rank, tag, self.partitioned.next(Way::In, rank, tag)));
        Request::persistent(
            Some(self.clone()),
            Box::new(Receiving { comm: self.clone(), from, memory: ReusableMemory::new(raw), count, of }),
        )
    }
}

/// The parts of a send.
pub struct Parts {
    comm: Arc<Comm>,
    to: Option<Target>,
    elements: Elements,
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
        let (engine, data) = (self.comm.engine(), self.elements.data());
        let started =
            engine.isend(to.rank, self.comm.parts_flow(), to.tag, Mode::Standard, self.comm.lend(data));
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

    fn step(&self, ended: Completion) {
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
    /// From whom, with which tag of the program, and with which one it travels.
    from: Option<(Rank, Tag, Tag)>,
    memory: ReusableMemory,
    count: usize,
    of: Arc<Datatype>,
}

impl Again for Receiving {
    fn start(&mut self) -> Result<Request> {
        let Some((source, tag, travels)) = self.from else {
            return Ok(Request::ended_with(Some(self.comm.clone()), Ok(Status::NO_PROCESS)));
        };
        let want = Want { source: Some(source), tag: Some(travels) };
        self.of.total_bytes(self.count)?;
        let into = self.comm.allocated().lend_again(&mut self.memory, self.count, &self.of);
        match self.comm.engine().irecv(self.comm.parts_flow(), want, into) {
            Ok(pending) => {
                Ok(Request::steps(self.comm.clone(), pending, Box::new(Arriving(self.comm.clone(), tag))))
            }
            Err(refused) => {
                let (error, buffer) = *refused;
                self.memory.take_back_mut(buffer);
                Err(error.into())
            }
        }
    }

    fn take_back(&mut self, buffer: Buffer) {
        if let Buffer::In(buffer) = buffer {
            self.memory.take_back_mut(buffer);
        }
    }

    fn name(&self) -> &'static str {
        "partitioned receive"
    }
}

/// A receive that was started: its status has the program's tag.
struct Arriving(Arc<Comm>, Tag);

impl Steps for Arriving {
    fn step(&mut self, ended: Completion) -> Step {
        let given = |status| self.0.status(canele_engine::Status { tag: self.1, ..status });
        Step::Returned(ended.result.map(given).map_err(Into::into), ended.buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_with_one_tag_are_told_apart_at_both_ends() {
        let (here, there) = (Counts::default(), Counts::default());
        let mut seen = Vec::new();
        for (tag, times) in [(Tag(0), 257), (Tag((1 << TAG_BITS) - 1), 257), (Tag((1 << 30) - 1), 1)] {
            for _ in 0..times {
                let travels = here.next(Way::Out, Rank(1), tag);
                assert_eq!(there.next(Way::In, Rank(0), tag), travels);
                assert!(!seen.contains(&travels), "{travels} stands for two");
                seen.push(travels);
            }
        }
        let others = [0, (1 << 31) - 1, 0xc000_0000, 0xe000_0000];
        assert!(others.iter().all(|other| !seen.contains(&Tag(*other))));
        assert!(seen.iter().all(|tag| (0x8000_0000..0xe000_0000).contains(&tag.0)));
    }
}
