//! The receiver of a partitioned message.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use canele_engine::{Buffer, Completion, Engine, FlowId, Pending, Rank, Submit, Tag, Want};
use canele_mem::buffer::{Divided, InBuffer, Owned, RawMut};
use canele_sys::atomic::{AtomicU32, Ordering};

use super::{MOST_EMPTY_PARTS, PartDivision, Partitioned};
use crate::comm::Comm;
use crate::data::ElementsMut;
use crate::datatype::Datatype;
use crate::request::{Again, Foreign, Request};
use crate::status::Status;
use crate::{Class, Error, Result, fail};

/// A partitioned receive.
pub struct Receiving {
    comm: Arc<Comm>,
    /// The sender and the program's tag; none for `MPI_PROC_NULL`.
    from: Option<(Rank, Tag)>,
    parts: usize,
    inbound: Arc<Inbound>,
}

/// The receiving side of the partitions. It holds no communicator, so it may be dropped under the engine's
/// lock.
pub(super) struct Inbound {
    /// The sender, and the flow.
    from: (Rank, FlowId),
    count: usize,
    of: Arc<Datatype>,
    /// Length of all elements in bytes.
    bytes: usize,
    state: Mutex<ReceivingState>,
    /// Counts events that may complete a wait without the engine.
    steps: AtomicU32,
}

struct ReceivingState {
    memory: ReceiveMemory,
    /// The division of the sender's message, after its note has arrived.
    division: Option<PartDivision>,
    is_active: bool,
    /// The sender's partitions that have arrived since the start of the operation.
    arrived: Vec<bool>,
    under_way: Vec<Arriving>,
    /// Groups that the sender has split, whose partitions have no receives yet.
    split: Vec<Range<usize>>,
    failed: Option<Box<Error>>,
    /// The error after which no sender can be found.
    lost: Option<Box<Error>>,
}

/// The memory of the elements.
enum ReceiveMemory {
    /// Contiguous elements; partitions are received in place.
    Contiguous(Divided),
    /// Elements with gaps, at which partitions need not end; each partition is unpacked after it has arrived.
    Gaps(RawMut),
}

/// Partitions of the sender that arrive in one message.
struct Arriving {
    pending: Pending,
    parts: Range<usize>,
    /// Temporary memory, if the message is not received in place.
    aside: Option<Owned<u8>>,
}

impl Comm {
    /// Makes a persistent receive of `parts` partitions; `elements` describes all of them.
    ///
    /// # Errors
    /// Fails if the job is over.
    pub fn precv_init(
        self: &Arc<Self>,
        from: Option<(Rank, Tag)>,
        parts: usize,
        elements: ElementsMut,
    ) -> Result<Request> {
        let ElementsMut { raw, count, of } = elements;
        let bytes = of.total_bytes(count)?;
        let memory = if of.is_contiguous() {
            ReceiveMemory::Contiguous(Divided::of(raw))
        } else {
            ReceiveMemory::Gaps(raw)
        };
        let state = ReceivingState {
            memory,
            division: None,
            is_active: false,
            arrived: Vec::new(),
            under_way: Vec::new(),
            split: Vec::new(),
            failed: None,
            lost: None,
        };
        let flow = self.collectives();
        let inbound = Arc::new(Inbound {
            from: (from.map_or(Rank(0), |(rank, _)| rank), flow),
            count,
            of,
            bytes,
            state: Mutex::new(state),
            steps: AtomicU32::new(0),
        });
        if let Some((rank, tag)) = from {
            self.partitioned.expect(self.engine(), (rank, flow, tag), &inbound)?;
        }
        let receiving = Arc::new(Receiving { comm: self.clone(), from, parts, inbound });
        Ok(Request::persistent(Some(self.clone()), Box::new(StartReceiving(receiving))))
    }
}

impl Inbound {
    fn state(&self) -> MutexGuard<'_, ReceivingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the division of the sender's message and posts the receives of a started operation.
    pub(super) fn pair(&self, division: PartDivision, submit: &mut Submit<'_>) {
        let mut state = self.state();
        state.division = Some(division);
        if state.is_active {
            self.post(&mut state, submit);
        }
        self.stepped();
    }

    /// Marks the operation as failed: no sender will be found.
    pub(super) fn fail(&self, error: Box<Error>) {
        let mut state = self.state();
        state.division = Some(PartDivision { first: 0, parts: 0, bytes: 0 });
        (state.failed, state.lost) = (Some(error.clone()), Some(error));
        self.stepped();
    }

    fn stepped(&self) {
        // Release: pairs with `program_steps`.
        self.steps.fetch_add(1, Ordering::Release);
    }

    /// Posts the receives of all partitions.
    fn post(&self, state: &mut ReceivingState, submit: &mut Submit<'_>) {
        let Some(division) = state.division else { return };
        let PartDivision { parts, bytes, .. } = division;
        state.arrived.clear();
        state.split.clear();
        if state.lost.is_some() {
            state.failed.clone_from(&state.lost);
            return;
        }
        if parts.checked_mul(bytes) != Some(self.bytes) {
            let text = format!(
                "the sender's {parts} partitions of {bytes} bytes are not the {} bytes of the receiver: both sides need the same",
                self.bytes
            );
            state.failed = Some(Error::new(Class::Truncate, text));
            return;
        }
        if bytes == 0 && parts > MOST_EMPTY_PARTS {
            let text = format!(
                "the sender has {parts} partitions without elements: at most {MOST_EMPTY_PARTS} are received"
            );
            state.failed = Some(Error::new(Class::Count, text));
            return;
        }
        state.arrived.resize(parts, false);
        for group in 0..division.groups() {
            let parts = division.group(group);
            self.post_one(state, (parts, bytes), division.group_tag(group), submit);
        }
    }

    /// Posts the receive of partitions that arrive in one message.
    fn post_one(
        &self,
        state: &mut ReceivingState,
        (parts, bytes): (Range<usize>, usize),
        tag: Tag,
        submit: &mut Submit<'_>,
    ) {
        let (buffer, aside) = state.memory.lend(parts.start * bytes..parts.end * bytes);
        let want = Want { source: Some(self.from.0), tag: Some(tag) };
        let pending = submit.irecv(self.from.1, want, buffer);
        state.under_way.push(Arriving { pending, parts, aside });
    }

    /// Posts the receives of the partitions of split groups.
    fn post_split(&self, submit: &mut Submit<'_>) {
        let mut state = self.state();
        let Some(division) = state.division else { return };
        while let Some(group) = state.split.pop() {
            for part in group {
                self.post_one(&mut state, (part..part + 1, division.bytes), division.tag(part), submit);
            }
        }
    }

    fn any_split(&self) -> bool {
        !self.state().split.is_empty()
    }

    /// Handles a message with partitions of the sender, or an empty one that announces single partitions.
    fn arrive(&self, state: &mut ReceivingState, at: usize, ended: Completion) {
        let Arriving { parts, aside, .. } = state.under_way.swap_remove(at);
        let bytes = state.division.map_or(0, |division| division.bytes);
        let is_split = parts.len() > 1 && matches!(ended.result, Ok(of) if of.bytes == 0);
        match (&mut state.memory, aside, ended.buffer) {
            (ReceiveMemory::Contiguous(memory), _, Buffer::In(buffer)) => memory.take_back_mut(buffer),
            (ReceiveMemory::Gaps(raw), Some(mut aside), Buffer::In(buffer)) => {
                aside.take_back_in(buffer);
                if !is_split {
                    self.of.unpack(raw, self.count, parts.start * bytes, aside.bytes());
                }
            }
            _ => {}
        }
        match ended.result {
            Ok(_) if is_split => state.split.push(parts),
            Ok(of) if of.bytes == parts.len() * bytes => state.arrived[parts].fill(true),
            Ok(of) => {
                let text = format!("{} bytes have come for {} partitions of {bytes}", of.bytes, parts.len());
                state.failed.get_or_insert(Error::new(Class::Internal, text));
            }
            Err(error) => drop(state.failed.get_or_insert(error.into())),
        }
    }

    fn is_complete(state: &ReceivingState) -> bool {
        state.is_active && state.division.is_some() && state.under_way.is_empty() && state.split.is_empty()
    }
}

impl ReceiveMemory {
    fn lend(&mut self, bytes: Range<usize>) -> (InBuffer, Option<Owned<u8>>) {
        match self {
            Self::Contiguous(memory) => (memory.lend_mut(bytes), None),
            Self::Gaps(_) => {
                let mut aside = Owned::new(vec![0; bytes.len()]);
                (aside.lend_in(), Some(aside))
            }
        }
    }
}

impl Receiving {
    /// Returns true if a partition of the receiver has arrived with all its bytes.
    ///
    /// # Errors
    /// Fails if there is no such partition, and in a forked child.
    pub fn has_arrived(&self, part: usize) -> Result<bool> {
        if part >= self.parts {
            fail!(Argument, "partition is {part}: it must be from 0 to {}", self.parts.saturating_sub(1));
        }
        if self.is_here(part) {
            return Ok(true);
        }
        self.comm.engine().poll()?;
        self.look(self.comm.engine())?;
        let failed = self.inbound.state().failed.clone();
        // The partition will never arrive.
        failed.map_or_else(|| Ok(self.is_here(part)), Err)
    }

    fn is_here(&self, part: usize) -> bool {
        let state = self.inbound.state();
        let each = self.inbound.bytes / self.parts;
        if !state.is_active {
            return true;
        }
        let Some(division) = state.division else { return false };
        if each == 0 {
            // Empty partitions have no bytes, so they do not determine the partitions of the sender that they
            // need.
            let same = division.parts == self.parts;
            let arrived = |at: usize| state.arrived.get(at).copied().unwrap_or(false);
            return if same { arrived(part) } else { (0..division.parts).all(arrived) };
        }
        if division.bytes == 0 {
            return false;
        }
        let (first, last) = (part * each / division.bytes, ((part + 1) * each - 1) / division.bytes);
        state.arrived.get(first..=last).is_some_and(|parts| parts.iter().all(|arrived| *arrived))
    }

    /// Takes the completions of all partitions that have arrived.
    fn look(&self, engine: &Engine) -> Result<()> {
        engine.completions(|completions| {
            let mut state = self.inbound.state();
            for at in (0..state.under_way.len()).rev() {
                if let Some(ended) = completions.take(state.under_way[at].pending) {
                    self.inbound.arrive(&mut state, at, ended);
                }
            }
        })?;
        self.post_split()
    }

    /// Posts the receives for split groups, if there are any.
    fn post_split(&self) -> Result<()> {
        if self.inbound.any_split() {
            let engine = self.comm.engine();
            engine.submit_with(|submit| self.inbound.post_split(submit))?;
            // A thread that waits for the group must wait for the new receives instead.
            self.inbound.stepped();
            engine.notify_waiters()?;
        }
        Ok(())
    }
}

impl Foreign for Receiving {
    fn is_complete(&self) -> bool {
        Inbound::is_complete(&self.inbound.state())
    }

    fn status(&self) -> Result<Status> {
        let (state, Some((source, tag))) = (self.inbound.state(), self.from) else {
            return Ok(Status::NO_PROCESS);
        };
        let bytes = self.inbound.bytes;
        let status = || self.comm.status(canele_engine::Status { source, tag, bytes });
        state.failed.clone().map_or_else(|| Ok(status()), Err)
    }

    fn cancel(&self) -> Result<()> {
        Err(Error::new(Class::Request, "a partitioned operation cannot be cancelled"))
    }

    fn release(&self) -> Result<()> {
        self.inbound.state().is_active = false;
        Ok(())
    }

    fn pending(&self) -> Option<Pending> {
        self.inbound.state().under_way.last().map(|arriving| arriving.pending)
    }

    fn lane(&self) -> u8 {
        self.comm.engine().lane_number()
    }

    fn step(&self, pending: Pending, ended: Completion) {
        let mut state = self.inbound.state();
        if let Some(at) = state.under_way.iter().rposition(|arriving| arriving.pending == pending) {
            self.inbound.arrive(&mut state, at, ended);
        }
        drop(state);
        if let Err(error) = self.post_split() {
            let mut state = self.inbound.state();
            state.split.clear();
            state.failed.get_or_insert(error);
        }
    }

    fn program_steps(&self) -> u32 {
        // Acquire: pairs with `stepped`.
        self.inbound.steps.load(Ordering::Acquire)
    }
}

/// The start of a partitioned receive.
struct StartReceiving(Arc<Receiving>);

impl Again for StartReceiving {
    fn start(&mut self) -> Result<Request> {
        let receiving = &self.0;
        if receiving.from.is_none() {
            return Ok(Request::ended_with(Some(receiving.comm.clone()), Ok(Status::NO_PROCESS)));
        }
        receiving.comm.engine().submit_with(|submit| {
            let mut state = receiving.inbound.state();
            (state.is_active, state.failed) = (true, None);
            receiving.inbound.post(&mut state, submit);
        })?;
        Ok(Request::foreign(Some(receiving.comm.clone()), receiving.clone()))
    }

    fn name(&self) -> &'static str {
        "partitioned receive"
    }

    fn partitioned(&self) -> Option<Partitioned<'_>> {
        Some(Partitioned::Receive(&self.0))
    }
}
