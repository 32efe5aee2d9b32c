//! Deferred receives: they are submitted only before a use of their lane that may concern them.
//!
//! While a program only starts receives and short sends on a lane, its receives rest in a ring, in order. A
//! wait for the first of them then takes its message straight from the link, as a blocking receive does,
//! without posting or matching. Any other use of the lane's lock submits all of them first, so neither the
//! program nor another of its threads can tell the difference. So passes, other receives and probes find them
//! in the right order.
//!
//! ```text
//!   slots   │ free │ submitted │ deferred │ deferred │ deferred │ free │ …
//!                                ▲ first                          ▲ next
//! ```
//! A name identifies a slot. A slot whose receive was submitted stays in use until its name is given back;
//! the ring goes round such slots.
//!
//! If several threads use a lane, one may sleep while another one starts a receive. So a receive is deferred
//! only if no message waits on its flow that it might take. Any later one wakes the sleeping thread, which
//! submits the receive before it looks at the message.

mod ring;

use canele_control::MOST_LANES;
use canele_mem::buffer::RawBlock;
use canele_mem::window::Window;
use canele_proto::matching::Want;
use canele_rail::MAX_INLINE;
use canele_sys::ids::{FlowId, Rank, RequestId, Tag};

use super::pending::Pending;
use crate::core::Core;
use crate::{Error, Status};
pub(crate) use ring::DeferredRecvs;
use ring::Run;

/// Slots of a ring, a power of 2.
pub const DEFERRED_SLOTS: usize = 512;
/// The number of bits of a name for its slot; above them is the lap of the ring.
pub const DEFERRED_BITS: u32 = 22;
/// All bits of a name above those of lane and slot, so that a name is not a smaller number of another kind.
pub const FIRST_DEFERRED: u32 = (1 << DEFERRED_BITS) - MOST_LANES as u32 * DEFERRED_SLOTS as u32;
/// The number of laps that are told apart.
const DEFERRED_LAPS: u32 = 1 << 8;

/// The source of the messages of deferred receives.
#[derive(Clone, Copy)]
pub struct DeferredSource {
    /// The sender and the flow.
    from: u64,
    word: u32,
}

impl DeferredSource {
    /// Makes the source of a rank on a flow; `word` is the caller's.
    pub fn new(source: Rank, flow: FlowId, word: u32) -> Self {
        Self { from: u64::from(source.0) << 32 | u64::from(flow.0), word }
    }

    /// Returns the sender.
    #[inline(always)]
    pub fn source(&self) -> Rank {
        Rank((self.from >> 32) as u32)
    }

    /// Returns the flow.
    #[inline(always)]
    pub fn flow(&self) -> FlowId {
        FlowId(self.from as u32)
    }
}

/// A receive in its slot.
pub struct DeferredRecv {
    source: DeferredSource,
    name: u32,
    tag: Tag,
    state: DeferredState,
}

enum DeferredState {
    Free,
    /// The receive waits for its message, which goes into this memory.
    Deferred(RawBlock),
    Submitted(RequestId),
    /// The job was over before it was submitted.
    Refused,
    /// Its caller knows its result and has not given its name back.
    Known,
}

const _: () = assert!(size_of::<DeferredRecv>() <= 48);

impl DeferredRecv {
    const FREE: Self = Self {
        source: DeferredSource { from: 0, word: 0 },
        name: 0,
        tag: Tag(0),
        state: DeferredState::Free,
    };

    /// Returns the word of its source.
    #[inline(always)]
    pub fn word(&self) -> u32 {
        self.source.word
    }

    /// Returns its status for a message of so many bytes.
    #[inline(always)]
    pub fn status(&self, bytes: usize) -> Status {
        Status { source: self.source.source(), tag: self.tag, bytes }
    }

    fn want(&self) -> Want {
        Want { source: Some(self.source.source()), tag: Some(self.tag) }
    }

    fn is_deferred(&self) -> bool {
        matches!(self.state, DeferredState::Deferred(_))
    }

    fn is_free(&self) -> bool {
        matches!(self.state, DeferredState::Free)
    }

    /// Returns true if it is for a message of at most [`MAX_INLINE`] bytes.
    #[inline(always)]
    fn is_short(&self) -> bool {
        matches!(&self.state, DeferredState::Deferred(into) if into.len() <= MAX_INLINE)
    }

    /// Ends it with these bytes and frees its slot; returns false if they find no room.
    #[inline(always)]
    fn end_with(&mut self, bytes: Window<'_>) -> bool {
        let DeferredState::Deferred(into) = &mut self.state else { return false };
        let Some(into) = into.bytes_mut().get_mut(..bytes.len()) else { return false };
        bytes.read(0, into);
        self.state = DeferredState::Free;
        true
    }
}

/// The result of an attempt to defer a receive.
pub enum Deferral {
    /// The receive was deferred under this name.
    Done(u32),
    /// The next slot is used.
    Full,
    /// The lane is in use, or a message waits that it might take.
    NotNow,
}

/// The handles of a caller to receives; it waits for several in this order.
pub trait DeferredHandles {
    /// The handle of one receive.
    type Handle;
    /// Returns true if a handle is of the receive of this name.
    fn is_of(handle: &Self::Handle, name: u32) -> bool;
    /// Marks the receive of a handle as ended.
    fn end(handle: &mut Self::Handle);
}

/// Called for each receive that has ended, with its place among the handles and the number of its bytes.
pub type DeferredEnd<'a, 'b> = &'a mut (dyn FnMut(usize, &DeferredRecv, usize) + 'b);

/// The result of a deferred receive that was submitted.
pub struct SubmittedRecv {
    /// The word of its source.
    pub word: u32,
    /// The operation that it is now; an error if the job was over.
    pub started: Result<Pending, Error>,
}

impl Core {
    /// Ends receives at the front whose messages have come, as far as their caller waits for them in this
    /// order; returns their number.
    #[inline(always)]
    pub fn end_deferred<H: DeferredHandles>(
        &mut self,
        handles: &mut [H::Handle],
        told: Option<DeferredEnd<'_, '_>>,
    ) -> usize {
        let Some(first) = self.lane.deferred.wanted::<H>(handles) else { return 0 };
        match first.is_short() && told.is_none() {
            true => self.end_deferred_run::<true, H>(handles, None),
            false => self.end_deferred_run::<false, H>(handles, told),
        }
    }

    #[inline(never)] // It has the registers for itself.
    fn end_deferred_run<const SHORT: bool, H: DeferredHandles>(
        &mut self,
        handles: &mut [H::Handle],
        told: Option<DeferredEnd<'_, '_>>,
    ) -> usize {
        let lane = &mut self.lane;
        if lane.is_closed {
            return 0;
        }
        let (proto, rails) = (&mut lane.proto, &mut lane.rails);
        let receive =
            |source: (Rank, FlowId), run: &mut Run<'_, '_, H, SHORT>| proto.receive_run(rails, source, run);
        lane.deferred.end_run::<SHORT, H>(handles, told, receive)
    }

    /// Returns the sender for the first deferred receive, if its caller waits for it.
    pub fn awaited_source<H: DeferredHandles>(&self, handles: &[H::Handle]) -> Option<Rank> {
        self.lane.deferred.wanted::<H>(handles).map(|first| first.source.source())
    }

    /// Submits all deferred receives, in their order.
    #[cold]
    #[inline(never)]
    pub fn submit_deferred(&mut self) {
        let is_over = self.check().is_err();
        while let Some(slot) = self.lane.deferred.first_mut() {
            let (flow, want) = (slot.source.flow(), slot.want());
            if let DeferredState::Deferred(into) = std::mem::replace(&mut slot.state, DeferredState::Refused)
                && !is_over
            {
                let id = self.lane.submit_recv(flow, want, into.lend_mut());
                self.lane.deferred.first_mut().expect("it is still the first").state =
                    DeferredState::Submitted(id);
            }
            self.lane.deferred.remove(1);
        }
    }

    /// Takes the result of the receive of this name, once; returns `None` for one that was not deferred here.
    pub fn take_submitted(&mut self, name: u32) -> Option<SubmittedRecv> {
        let over = self.check();
        let lane = self.lane.number;
        let slot = self.lane.deferred.slot(name)?;
        let word = slot.word();
        let started = match slot.state {
            DeferredState::Submitted(id) => Ok(Pending::from(id).on_lane(lane)),
            DeferredState::Refused => Err(over.err()?),
            _ => return None,
        };
        slot.state = DeferredState::Known;
        Some(SubmittedRecv { word, started })
    }
}
