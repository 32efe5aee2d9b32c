//! The ring of deferred receives, in order.
//!
//! ```text
//!   slots   │ free │ submitted │ deferred │ deferred │ deferred │ free │ …
//!                    row 17      ▲ first                          ▲ next
//! ```
//! A slot is what its handle names. One that was submitted keeps the slot, which says in which row the request stands, until its
//! end was taken; the ring goes round such slots.

use core::cell::UnsafeCell;

use canele_engine::{Completions, FlowId, Rank};
use canele_mem::buffer::RawMut;
use canele_mpi::request::Request;
use canele_mpi::{Result, Tag};

use super::{FIRST_SLOT, SLOTS};
use crate::handle::{MPI_Comm, MPI_Request};
use crate::requests::INDEX_BITS;

/// How many laps are told apart.
const GENERATIONS: u32 = 1 << 8;

/// A receive in its slot.
#[derive(Clone, Copy)]
pub struct DeferredRecv {
    /// Who sends, and on which flow, see [`DeferredRecv::from`].
    pub from: u64,
    /// The handle, and above it what stands in the slot: [`FREE`], [`DEFERRED`], or the handle of the row of the request.
    name: u64,
    /// Where the message goes.
    into: *mut u8,
    /// The tag.
    pub tag: Tag,
    /// At most [`MOST_BYTES`].
    bytes: u32,
    /// The communicator, whose handles fit into 32 bits.
    comm: u32,
}

const _: () = assert!(size_of::<DeferredRecv>() <= 40);
const FREE: u64 = 0;
const DEFERRED: u64 = 1;

#[inline(always)]
fn from(source: Rank, flow: FlowId) -> u64 {
    u64::from(source.0) << 32 | u64::from(flow.0)
}

impl DeferredRecv {
    const EMPTY: Self =
        Self { from: 0, name: FREE, into: core::ptr::null_mut(), tag: Tag(0), bytes: 0, comm: 0 };

    /// The communicator.
    #[inline(always)]
    pub fn comm(&self) -> MPI_Comm {
        MPI_Comm::of(self.comm as usize)
    }

    /// Its handle.
    fn handle(&self) -> usize {
        self.name as u32 as usize
    }

    fn held(&self) -> u64 {
        self.name >> 32
    }

    /// True if it is the deferred receive with this handle.
    #[inline(always)]
    pub fn is_of(&self, handle: MPI_Request) -> bool {
        self.name == DEFERRED << 32 | handle.value() as u64
    }

    /// True if its message comes from there.
    #[inline(always)]
    pub fn is_from(&self, from: u64) -> bool {
        self.from == from
    }

    /// True if so many bytes find room.
    #[inline(always)]
    pub fn has_room(&self, bytes: usize) -> bool {
        bytes <= self.bytes as usize
    }

    /// Who sends, and on which flow.
    #[inline(always)]
    pub fn from(&self) -> (Rank, FlowId) {
        (Rank((self.from >> 32) as u32), FlowId(self.from as u32))
    }

    /// It has ended: its slot is free.
    #[inline(always)]
    pub fn end(&mut self) {
        self.name = FREE;
    }

    /// The memory of the message.
    #[inline(always)]
    pub fn memory(&mut self) -> &mut [u8] {
        // SAFETY: the program gave this memory to `MPI_Irecv`, where the address was found not to be null unless there are no
        // bytes, and does not touch it before the receive has ended (MPI 5.0, §3.7.2).
        unsafe { core::slice::from_raw_parts_mut(self.into, self.bytes as usize) }
    }

    /// What is known of it when it has got so many bytes.
    #[inline(always)]
    pub fn status(&self, bytes: usize) -> canele_engine::Status {
        canele_engine::Status { source: self.from().0, tag: self.tag, bytes }
    }

    /// Takes its message, if that is the next one there.
    #[inline(always)]
    pub fn take(&mut self, completions: &mut Completions<'_>) -> Option<canele_engine::Status> {
        let ((source, flow), tag) = (self.from(), self.tag);
        let bytes = completions.receive_next(flow, source, tag, self.memory())?;
        Some(self.status(bytes))
    }

    /// Submits it.
    ///
    /// # Errors
    /// The job is over.
    pub fn submit(&self) -> Result<Request> {
        // SAFETY: as in `memory`; a receive is submitted once, so no other value has this promise.
        let into = unsafe { RawMut::new(self.into, 0, self.bytes as isize) };
        let comm = self.comm().share()?;
        let pending = comm.start_receive_bytes(self.from().0, self.tag, into, self.bytes as usize)?;
        Ok(comm.receiving(pending))
    }

    /// What stands for one on a communicator that could not be submitted.
    pub fn failed(comm: MPI_Comm, error: Box<canele_mpi::Error>) -> Request {
        Request::ended_with(comm.share().ok(), Err(error))
    }
}

/// The deferred receives of the process.
pub struct Ring {
    slots: [DeferredRecv; SLOTS],
    first: usize,
    next: usize,
    /// Counts how often `next` has come to the start.
    lap: u32,
}

struct Shared(UnsafeCell<Ring>);

// SAFETY: two threads never reach the ring at a time, see `ring`.
unsafe impl Sync for Shared {}

static RING: Shared =
    Shared(UnsafeCell::new(Ring { slots: [DeferredRecv::EMPTY; SLOTS], first: 0, next: 0, lap: 0 }));

/// The ring.
///
/// # Safety
/// Either one thread at a time calls the library, as the program has promised while [`is_one_thread`](super::is_one_thread) holds, or this is the main thread, or
/// the slot that is reached is one of the caller's own requests and the caller holds the lock of their table. No other reference to
/// the ring is in use.
#[inline(always)]
pub unsafe fn ring<'a>() -> &'a mut Ring {
    // SAFETY: as the caller says.
    unsafe { &mut *RING.0.get() }
}

impl Ring {
    /// True if there are deferred receives.
    #[inline(always)]
    pub fn any(&self) -> bool {
        self.first != self.next
    }

    /// The first deferred receive.
    #[inline(always)]
    pub fn first(&mut self) -> Option<&mut DeferredRecv> {
        if self.any() { self.slots.get_mut(self.first) } else { None }
    }

    /// The slots from the first deferred receive on; between them may be others.
    #[inline(always)]
    pub fn deferred(&mut self) -> &mut [DeferredRecv] {
        self.slots.get_mut(self.first..self.next).unwrap_or_default()
    }

    /// So many receives at the front have ended.
    #[inline(always)]
    pub fn remove(&mut self, count: usize) {
        self.first += count;
        if self.first == self.next || self.slots.get(self.first).is_none_or(|slot| slot.held() != DEFERRED) {
            self.skip();
        }
    }

    /// The first receive was submitted, and its request stands in a row.
    pub fn give_first_a_row(&mut self, row: MPI_Request) {
        let slot = &mut self.slots[self.first];
        slot.name = (row.value() as u64) << 32 | slot.handle() as u64;
        self.remove(1);
    }

    /// Goes on to the next deferred receive; an empty ring begins again at its start, whose slots are in the cache.
    #[inline(never)]
    fn skip(&mut self) {
        let rest = self.first..self.next;
        match rest.clone().find(|at| self.slots[*at].held() == DEFERRED) {
            Some(at) => self.first = at,
            None => (self.first, self.next, self.lap) = (0, 0, (self.lap + 1) % GENERATIONS),
        }
    }

    /// Adds a receive; gives its handle if there is a slot for it.
    #[inline(always)]
    pub fn add(
        &mut self,
        (comm, flow): (MPI_Comm, FlowId),
        (source, tag): (Rank, Tag),
        into: *mut u8,
        bytes: usize,
    ) -> Option<MPI_Request> {
        let at = match self.slots.get(self.next) {
            Some(slot) if slot.name == FREE => self.next,
            _ => self.find_free()?,
        };
        let handle = self.lap << INDEX_BITS | (FIRST_SLOT + at) as u32;
        let (comm, bytes) = (comm.value() as u32, bytes as u32);
        let name = DEFERRED << 32 | u64::from(handle);
        self.slots[at] = DeferredRecv { from: from(source, flow), name, into, tag, bytes, comm };
        self.next = at + 1;
        Some(MPI_Request::of(handle as usize))
    }

    /// A free slot behind all deferred receives.
    #[cold]
    #[inline(never)]
    fn find_free(&mut self) -> Option<usize> {
        let at = (self.next..SLOTS).find(|at| self.slots[*at].name == FREE)?;
        if !self.any() {
            self.first = at;
        }
        Some(at)
    }

    fn slot(&mut self, handle: MPI_Request) -> Option<&mut DeferredRecv> {
        let index = handle.value() & ((1 << INDEX_BITS) - 1);
        let slot = self.slots.get_mut(index.checked_sub(FIRST_SLOT)?)?;
        (slot.name != FREE && slot.handle() == handle.value()).then_some(slot)
    }

    /// The handle of the row in which the request of a slot stands; another handle as it is.
    #[inline(always)]
    pub fn resolve(&mut self, handle: MPI_Request) -> MPI_Request {
        if handle.value() & FIRST_SLOT != FIRST_SLOT { handle } else { self.row_of(handle) }
    }

    #[inline(never)]
    fn row_of(&mut self, handle: MPI_Request) -> MPI_Request {
        match self.slot(handle) {
            Some(slot) if slot.held() > DEFERRED => MPI_Request::of(slot.held() as usize),
            _ => handle,
        }
    }

    /// The request of a slot has ended: the slot is free, if the handle is one of a slot.
    #[inline(always)]
    pub fn free(&mut self, handle: MPI_Request) {
        if handle.value() & FIRST_SLOT == FIRST_SLOT
            && let Some(slot) = self.slot(handle)
        {
            slot.end();
        }
    }
}
