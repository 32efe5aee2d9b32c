//! The operations on regions of ranks of other hosts, each as a call of an RMA request with a wait for its
//! answer.

use std::time::Instant;

use canele_mem::buffer::RegionAddress;
use canele_proto::rma::{
    DATA, Form, LateAnswer, MemoryAddress, MemoryRoute, PutReport, REQUESTS, RmaRequest, route,
};
use canele_rail::{RegionMemory, Rma as _, UnmappedRegion, Verbs};
use canele_sys::ids::{FlowId, Rank, Tag};

use super::call::RmaCall;
use crate::Error;
use crate::core::Core;
use crate::engine::{Engine, Locked};

/// The two messages of a deposit.
pub struct Deposit {
    /// Its announcement: flow, tag, bytes.
    pub head: (FlowId, Tag, Vec<u8>),
    /// The flow and the tag of its data.
    pub data: (FlowId, Tag),
}

impl Engine {
    /// Returns true if a rank runs on another host, so that no memory can be shared with it.
    pub fn is_remote(&self, rank: Rank) -> bool {
        self.host_of(rank) != self.host_of(self.rank())
    }

    /// Returns true if regions of a rank are mapped here; those of other ranks are accessed by verbs or by
    /// requests.
    pub fn maps_memory_of(&self, rank: Rank) -> bool {
        self.lock().is_ok_and(|core| core.maps_memory_of(rank))
    }

    /// Returns true if this rank may access memory of others by verbs.
    pub fn has_verbs(&self) -> bool {
        self.lock().is_ok_and(|core| core.lane.rails.has_verbs())
    }

    /// Asks the layer above of another host's rank a question. If the answer comes after the deadline and is
    /// not 0, the question `undo` follows.
    ///
    /// # Errors
    /// The rank is gone; the deadline passed.
    pub fn ask_owner(
        &self,
        owner: Rank,
        question: [u64; 3],
        undo: Option<[u64; 3]>,
        deadline: Option<Instant>,
    ) -> Result<u64, Error> {
        let late = undo.map_or(LateAnswer::Ignore, LateAnswer::Undo);
        let call = RmaCall { late, ..RmaCall::new(owner, RmaRequest::Ask(question)) };
        self.call_owner(self.lock_to_submit()?, call, deadline)
    }

    /// Returns the messages that deposit `len` bytes at a rank of another host, identified there by `of`.
    ///
    /// # Errors
    /// The job is over.
    pub fn deposit(&self, of: [u64; 2], len: usize) -> Result<Deposit, Error> {
        let sequence = self.lock_to_submit()?.rma.origin.take_sequence();
        let rma_request = RmaRequest::Deposit { of, len: len as u64 };
        let (head, bytes) = rma_request.head(Form::Apart);
        let head = (REQUESTS, rma_request.tag(Form::Apart, sequence), head[..bytes].to_vec());
        Ok(Deposit { head, data: (DATA, Tag(sequence)) })
    }

    /// Reads a region of another host.
    ///
    /// # Errors
    /// The range lies outside of the region; it was dropped; its owner is gone.
    #[cold]
    pub fn get_remote(&self, far: &RegionMemory, offset: usize, bytes: &mut [u8]) -> Result<(), Error> {
        let (owner, place) = find(far, offset, bytes.len())?;
        let rma_request = RmaRequest::Get { place, len: bytes.len() as u64 };
        let call = RmaCall { into: bytes, ..RmaCall::new(owner, rma_request) };
        self.call_owner(self.lock_to_submit()?, call, None).map(drop)
    }

    /// Adds to a word of a region of another host; returns the old value.
    ///
    /// # Errors
    /// Those of [`Engine::get_remote`]; the word is not aligned.
    #[cold]
    pub fn add_remote(&self, far: &RegionMemory, offset: usize, n: u64) -> Result<u64, Error> {
        let (owner, place) = find_word(far, offset)?;
        self.call_owner(self.lock_to_submit()?, RmaCall::new(owner, RmaRequest::Add { place, n }), None)
    }

    /// Replaces a word of a region of another host if it is `expected`; returns the old value.
    ///
    /// # Errors
    /// Those of [`Engine::add_remote`].
    #[cold]
    pub fn swap_remote(
        &self,
        far: &RegionMemory,
        offset: usize,
        expected: u64,
        new: u64,
    ) -> Result<u64, Error> {
        let (owner, place) = find_word(far, offset)?;
        self.call_owner(
            self.lock_to_submit()?,
            RmaCall::new(owner, RmaRequest::Swap { place, expected, new }),
            None,
        )
    }

    /// Writes to a region of another host. It does not wait for a put with a notice: a fence does that.
    #[cold]
    pub(crate) fn put_remote(
        &self,
        far: &RegionMemory,
        offset: usize,
        bytes: &[u8],
        notice: Option<u64>,
    ) -> Result<(), Error> {
        let (owner, place) = find(far, offset, bytes.len())?;
        let mut core = self.lock_to_submit()?;
        core.lane.proto.traffic.put(bytes.len());
        if notice.is_some() {
            core.rma.fences.count_put(owner);
        }
        let report = notice.map_or(PutReport::Answer, PutReport::Notice);
        let rma_request = RmaRequest::Put { place, len: bytes.len() as u64, report };
        self.call_owner(core, RmaCall { data: bytes, ..RmaCall::new(owner, rma_request) }, None).map(drop)
    }

    /// Shows a notice without data.
    #[cold]
    pub(crate) fn notify_remote(
        &self,
        core: Locked<'_>,
        to: Rank,
        place: RegionAddress,
        notice: u64,
    ) -> Result<(), Error> {
        core.check()?;
        self.wake_progress_owner(&core);
        let rma_request = RmaRequest::Put { place: place.into(), len: 0, report: PutReport::Notice(notice) };
        self.call_owner(core, RmaCall::new(to, rma_request), None).map(drop)
    }

    /// Waits until the `issued` puts with a notice have been done, and returns the first refusal.
    #[cold]
    pub(crate) fn fence_remote(
        &self,
        core: Locked<'_>,
        owner: Rank,
        issued: u64,
        deadline: Option<Instant>,
    ) -> Result<(), Error> {
        let call = RmaCall { late: LateAnswer::Keep, ..RmaCall::new(owner, RmaRequest::Fence) };
        let result = self.call_owner(core, call, deadline).map(drop);
        let answered = matches!(result, Ok(()) | Err(Error::Refused { .. }));
        if !answered {
            return result;
        }
        let mut guard = self.lock()?;
        let core = &mut *guard;
        core.rma.fences.confirm(owner, issued);
        // Refusals that an earlier fence did not wait for are older.
        match core.rma.origin.take_refusal(owner) {
            Some((memory, why)) => Err(Error::Refused { owner, memory, why }),
            None => result,
        }
    }
}

impl Core {
    /// Returns true if regions of a rank are mapped here.
    pub(crate) fn maps_memory_of(&self, rank: Rank) -> bool {
        route(&self.lane.rails, rank, Verbs::empty()) == MemoryRoute::Map
    }
}

/// Returns the place of a range of a region that is not here.
fn find(far: &RegionMemory, offset: usize, len: usize) -> Result<(Rank, MemoryAddress), Error> {
    let outside = |region: usize| Error::Range { offset, len, region };
    let UnmappedRegion { owner, region, bytes } = far.place().ok_or_else(|| outside(far.len()))?;
    if offset.checked_add(len).is_none_or(|end| end > bytes) {
        return Err(outside(bytes));
    }
    Ok((owner, MemoryAddress { key: region.into(), offset: offset as u64 }))
}

fn find_word(far: &RegionMemory, offset: usize) -> Result<(Rank, MemoryAddress), Error> {
    let region = far.place().map_or(far.len(), |place| place.bytes);
    if !offset.is_multiple_of(8) {
        return Err(Error::Range { offset, len: 8, region });
    }
    find(far, offset, 8)
}
