//! The sender of a partitioned message.

use std::sync::Arc;

use canele_engine::{Completion, Envelope, FlowId, Pending, Rank, Submit};
use canele_mem::buffer::OutBuffer;
use canele_sys::atomic::{AtomicU32, Ordering};
use canele_sys::biased_lock::{BiasedLock, Guard};

use super::{MOST_PARTS, PartDivision, Partitioned};
use crate::comm::Comm;
use crate::data::{Data, Elements};
use crate::point::Target;
use crate::request::{Again, Foreign, Request};
use crate::status::Status;
use crate::{Class, Error, Result, fail};

/// A partitioned send.
pub struct Sending {
    comm: Arc<Comm>,
    outbound: Arc<Outbound>,
}

/// The sending side of the partitions. It holds no communicator, so it may be dropped under the engine's
/// lock.
struct Outbound {
    /// The receiver and the flow; none for `MPI_PROC_NULL`.
    to: Option<(Rank, FlowId)>,
    division: PartDivision,
    /// Number of partitions in a group, stored since each `mark_ready` would divide to compute it.
    group_len: usize,
    /// Number of elements in each partition.
    each: usize,
    elements: Elements,
    state: BiasedLock<SendingState>,
    /// Counts events that may complete a wait without the engine.
    steps: AtomicU32,
}

struct SendingState {
    is_active: bool,
    parts: Vec<PartState>,
    groups: Vec<PartGroup>,
    /// Number of partitions that are not sent yet.
    unsent: usize,
    /// True if the next pass splits the groups that are partly ready.
    splits_in_next_pass: bool,
    under_way: Vec<Pending>,
    failed: Option<Box<Error>>,
}

/// The state of a partition.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PartState {
    NotReady,
    Ready,
    Sent,
}

/// The state of a group.
#[derive(Clone, Copy)]
struct PartGroup {
    /// Number of its partitions that are not ready.
    left: usize,
    /// True if the group's partitions are sent one by one.
    is_split: bool,
}

/// The action after a partition became ready.
enum Marked {
    /// Send its group, or the ready part of a split one.
    Sends(usize),
    /// Wait for the others of its group until the next pass.
    SplitsInNextPass,
}

/// Partitions that must be sent after one became ready.
pub struct ReadyPartitions {
    sending: Arc<Sending>,
    marked: Marked,
}

impl Comm {
    /// Makes a persistent send of `parts` partitions; `elements` describes all of them.
    ///
    /// # Errors
    /// Fails if the job is over.
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
        let flow = self.collectives();
        let division = match to {
            Some(to) => self.partitioned.announce(self.engine(), (to.rank, flow, to.tag), (parts, bytes))?,
            None => PartDivision { first: 0, parts, bytes },
        };
        let outbound = Arc::new(Outbound {
            to: to.map(|to| (to.rank, flow)),
            division,
            group_len: division.group_len(),
            each,
            elements,
            state: BiasedLock::new(SendingState::new(division)),
            steps: AtomicU32::new(0),
        });
        let sending = Arc::new(Sending { comm: self.clone(), outbound });
        Ok(Request::persistent(Some(self.clone()), Box::new(StartSending(sending))))
    }
}

impl SendingState {
    fn new(division: PartDivision) -> Self {
        let group = PartGroup { left: 0, is_split: false };
        Self {
            is_active: false,
            parts: vec![PartState::NotReady; division.parts],
            groups: vec![group; division.groups()],
            unsent: division.parts,
            splits_in_next_pass: false,
            under_way: Vec::new(),
            failed: None,
        }
    }

    fn start(&mut self, division: PartDivision) {
        self.parts.fill(PartState::NotReady);
        for (n, group) in self.groups.iter_mut().enumerate() {
            *group = PartGroup { left: division.group(n).len(), is_split: false };
        }
        self.unsent = division.parts;
        (self.is_active, self.failed) = (true, None);
    }
}

impl Outbound {
    /// # Panics
    /// Panics in a forked child, in which the engine and the table of requests refuse every earlier call.
    #[inline(always)]
    fn state(&self) -> Guard<'_, SendingState> {
        self.state.lock().expect("no call of a forked child comes so far")
    }

    fn stepped(&self) {
        // Release: pairs with `program_steps`.
        self.steps.fetch_add(1, Ordering::Release);
    }

    #[inline]
    fn mark_ready(&self, part: usize) -> Result<Option<Marked>> {
        let mut state = self.state();
        if !state.is_active {
            fail!(
                Request,
                "partition {part} is marked ready, but the operation is not active: start it first"
            );
        }
        match state.parts.get_mut(part) {
            Some(part) if *part == PartState::NotReady => *part = PartState::Ready,
            Some(_) => fail!(Argument, "partition {part} was marked ready before"),
            None => {
                let last = state.parts.len().saturating_sub(1);
                fail!(Argument, "partition is {part}: it must be from 0 to {last}")
            }
        }
        let n = if state.groups.len() == 1 { 0 } else { part / self.group_len };
        let group = &mut state.groups[n];
        group.left -= 1;
        if group.left == 0 || group.is_split {
            return Ok(Some(Marked::Sends(n)));
        }
        // The pass that is already planned sends this partition, too.
        let is_planned = std::mem::replace(&mut state.splits_in_next_pass, true);
        Ok((!is_planned).then_some(Marked::SplitsInNextPass))
    }

    /// Sends a group that is ready, or the ready partitions of a split one. Another thread may have done so.
    fn send_group(&self, n: usize, submit: &mut Submit<'_>, lend: impl Fn(Data<'_>) -> OutBuffer) {
        let (mut state, group) = (self.state(), self.division.group(n));
        if state.groups[n].is_split {
            return self.send_ready(n, &mut state, submit);
        }
        if state.groups[n].left > 0 || state.parts[group.start] != PartState::Ready {
            return;
        }
        state.parts[group.clone()].fill(PartState::Sent);
        state.unsent -= group.len();
        let Some((rank, flow)) = self.to else { return };
        let envelope = Envelope::new(rank, flow, self.division.group_tag(n));
        state.under_way.push(submit.isend(envelope, lend(self.data(group.start, group.len()))));
    }

    /// Sends the ready partitions of a split group, one by one.
    fn send_ready(&self, n: usize, state: &mut SendingState, submit: &mut Submit<'_>) {
        for part in self.division.group(n) {
            if state.parts[part] != PartState::Ready {
                continue;
            }
            state.parts[part] = PartState::Sent;
            state.unsent -= 1;
            if let Some((rank, flow)) = self.to {
                let envelope = Envelope::new(rank, flow, self.division.tag(part));
                state.under_way.push(submit.isend(envelope, lend_small(self.data(part, 1))));
            }
        }
    }

    /// Splits the groups that are partly ready, since the receiver may wait for those partitions.
    fn split(&self, submit: &mut Submit<'_>) {
        let mut state = self.state();
        state.splits_in_next_pass = false;
        if !state.is_active {
            return;
        }
        for n in 0..state.groups.len() {
            let (PartGroup { left, is_split }, group) = (state.groups[n], self.division.group(n));
            if is_split || left == 0 || left == group.len() {
                continue;
            }
            state.groups[n].is_split = true;
            if let Some((rank, flow)) = self.to {
                let envelope = Envelope::new(rank, flow, self.division.group_tag(n));
                state.under_way.push(submit.isend(envelope, lend_small(self.data(group.start, 0))));
            }
            self.send_ready(n, &mut state, submit);
        }
        drop(state);
        self.stepped();
    }

    /// Returns the elements of `parts` partitions.
    fn data(&self, first: usize, parts: usize) -> Data<'_> {
        let Elements { raw, of, .. } = &self.elements;
        let by = (first * self.each).cast_signed() * of.extent();
        Data { raw: raw.moved(by), count: parts * self.each, of }
    }
}

/// Lends few elements, whose place in memory does not matter.
fn lend_small(data: Data<'_>) -> OutBuffer {
    data.of.lend(data.raw, data.count)
}

impl Sending {
    /// Marks a partition as ready. Returns the partitions to send now or in the next pass, if any. Most small
    /// partitions wait for the last one of their group, so that each costs a few writes.
    ///
    /// # Errors
    /// Fails if there is no such partition, it is ready already, or the operation is not started.
    #[inline]
    pub fn mark_ready(self: &Arc<Self>, part: usize) -> Result<Option<ReadyPartitions>> {
        let marked = self.outbound.mark_ready(part)?;
        Ok(marked.map(|marked| ReadyPartitions { sending: self.clone(), marked }))
    }
}

impl ReadyPartitions {
    /// Sends the partitions, at the latest in the next pass. The caller must hold no lock.
    ///
    /// # Errors
    /// Fails if the job is over.
    pub fn send(self) -> Result<()> {
        let Sending { comm, outbound } = &*self.sending;
        let engine = comm.engine();
        match self.marked {
            Marked::SplitsInNextPass => {
                let outbound = outbound.clone();
                Ok(engine.do_in_next_pass(Box::new(move |submit| outbound.split(submit)))?)
            }
            Marked::Sends(group) => {
                engine.submit_with(|submit| outbound.send_group(group, submit, |data| comm.lend(data)))?;
                outbound.stepped();
                Ok(engine.notify_waiters()?)
            }
        }
    }
}

impl Foreign for Sending {
    fn is_complete(&self) -> bool {
        let state = self.outbound.state();
        state.is_active && state.unsent == 0 && state.under_way.is_empty()
    }

    fn status(&self) -> Result<Status> {
        self.outbound.state().failed.clone().map_or(Ok(Status::EMPTY), Err)
    }

    fn cancel(&self) -> Result<()> {
        Err(Error::new(Class::Request, "a partitioned operation cannot be cancelled"))
    }

    fn release(&self) -> Result<()> {
        self.outbound.state().is_active = false;
        Ok(())
    }

    fn pending(&self) -> Option<Pending> {
        self.outbound.state().under_way.last().copied()
    }

    fn lane(&self) -> u8 {
        self.comm.engine().lane_number()
    }

    fn step(&self, pending: Pending, ended: Completion) {
        let mut state = self.outbound.state();
        // A wait always waits for the last pending message of the list.
        if let Some(at) = state.under_way.iter().rposition(|other| *other == pending) {
            state.under_way.swap_remove(at);
        }
        if let Err(error) = ended.result {
            state.failed.get_or_insert(error.into());
        }
    }

    fn program_steps(&self) -> u32 {
        // Acquire: pairs with `stepped`.
        self.outbound.steps.load(Ordering::Acquire)
    }
}

/// The start of a partitioned send.
struct StartSending(Arc<Sending>);

impl Again for StartSending {
    fn start(&mut self) -> Result<Request> {
        let Sending { comm, outbound } = &*self.0;
        outbound.state().start(outbound.division);
        Ok(Request::foreign(Some(comm.clone()), self.0.clone()))
    }

    fn name(&self) -> &'static str {
        "partitioned send"
    }

    fn partitioned(&self) -> Option<Partitioned<'_>> {
        Some(Partitioned::Send(&self.0))
    }
}
