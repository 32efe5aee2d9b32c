//! The ring of deferred receives, in order.
//!
//! ```text
//!   slots   │ free │ submitted │ deferred │ deferred │ deferred │ free │ …
//!                    row 17      ▲ first                          ▲ next
//! ```
//! A slot is what its handle names. One that was submitted keeps the slot, which says in which row the request stands, until its
//! end was taken; the ring goes round such slots.

use core::cell::UnsafeCell;

use canele_engine::{Completions, FlowId, MAX_INLINE, Rank, Window};
use canele_mem::buffer::RawMut;
use canele_mpi::request::Request;
use canele_mpi::{Result, Tag};
use canele_sys::atomic::{AtomicBool, Ordering::Relaxed};

use super::{FIRST_SLOT, SLOTS};
use crate::handle::{MPI_Comm, MPI_Request, ObjectHandle};
use crate::requests::INDEX_BITS;

/// How many laps are told apart.
const GENERATIONS: u64 = 1 << 8;

/// A receive in its slot.
#[derive(Clone, Copy)]
pub struct DeferredRecv {
    /// Who sends, and on which flow, see [`DeferredRecv::from`].
    pub from: u64,
    /// [`FREE`]; of a deferred receive the handle; of one that was submitted the handle, and above it that of the row of the request.
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

/// Where messages come from, as a slot says it.
#[derive(Clone, Copy)]
pub struct RecvSource {
    /// Who sends, and on which flow.
    pub from: u64,
    /// The communicator, whose handles fit into 32 bits.
    comm: u32,
}

/// Above the bits of a flow, those of the lane.
const LANE_SHIFT: u32 = 24;

impl RecvSource {
    /// From a rank on the flow of a communicator, which is on this lane.
    pub fn new(comm: MPI_Comm, source: Rank, (lane, flow): (u8, FlowId)) -> Self {
        debug_assert!(flow.0 < 1 << LANE_SHIFT);
        let flow = u32::from(lane) << LANE_SHIFT | flow.0;
        Self { from: u64::from(source.0) << 32 | u64::from(flow), comm: comm.value() as u32 }
    }
}

/// Who sends, and on which flow, from how a slot says it.
#[inline(always)]
pub fn source_of(from: u64) -> (Rank, FlowId) {
    (Rank((from >> 32) as u32), FlowId(from as u32 & ((1 << LANE_SHIFT) - 1)))
}

/// The lane of the flow, from how a slot says it.
#[inline(always)]
pub fn lane_of(from: u64) -> u8 {
    (from as u32 >> LANE_SHIFT) as u8
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

    /// The handle of the row of its request, or 0 if it was not submitted.
    fn row(&self) -> u64 {
        self.name >> 32
    }

    fn is_deferred(&self) -> bool {
        self.name != FREE && self.row() == 0
    }

    /// True if it is the deferred receive with this handle.
    #[inline(always)]
    pub fn is_of(&self, handle: MPI_Request) -> bool {
        self.name == handle.value() as u64
    }

    /// True if its message comes from there.
    #[inline(always)]
    pub fn is_from(&self, from: u64) -> bool {
        self.from == from
    }

    /// True if it is of a message of at most [`MAX_INLINE`] bytes.
    #[inline(always)]
    pub fn is_short(&self) -> bool {
        self.bytes as usize <= MAX_INLINE
    }

    /// Who sends, and on which flow.
    #[inline(always)]
    pub fn from(&self) -> (Rank, FlowId) {
        source_of(self.from)
    }

    /// It ends with these bytes, and its slot is free; returns false if they find no room.
    #[inline(always)]
    pub fn end_with(&mut self, bytes: Window<'_>) -> bool {
        let Some(into) = self.memory().get_mut(..bytes.len()) else { return false };
        bytes.read(0, into);
        self.end();
        true
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
        let bytes = completions.receive_next((lane_of(self.from), flow), source, tag, self.memory())?;
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
    /// The handle of the first slot in this lap: above the index stands how often `next` has come to the start.
    first_handle: u64,
}

struct Shared(UnsafeCell<Ring>);

// SAFETY: two threads never reach the ring at a time, see `ring`.
unsafe impl Sync for Shared {}

static RING: Shared = Shared(UnsafeCell::new(Ring {
    slots: [DeferredRecv::EMPTY; SLOTS],
    first: 0,
    next: 0,
    first_handle: FIRST_SLOT as u64,
}));

/// The ring has deferred receives.
static ANY: AtomicBool = AtomicBool::new(false);

/// True if there are deferred receives in the ring.
///
/// The owner of the bias asks without holding it. Where it sees that another thread has submitted the last one, it sees behind that that its bias
/// of the engine has ended, and looks for no message before it has the engine's lock.
#[inline(always)]
pub fn any_in_ring() -> bool {
    // Relaxed: see above.
    ANY.load(Relaxed)
}

/// The ring.
///
/// # Safety
/// Either one thread at a time calls the library, as the program has promised while [`is_one_thread`](super::is_one_thread) holds, or this
/// thread may touch the ring by [`hold`](super::hold), or it holds the lock of the table of requests and no thread may touch the ring otherwise,
/// or the slot that is reached is one of the caller's own requests and the caller holds that lock. No other reference to the ring is in use.
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
        if self.first == self.next || self.slots.get(self.first).is_none_or(|slot| !slot.is_deferred()) {
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
        match rest.clone().find(|at| self.slots[*at].is_deferred()) {
            Some(at) => self.first = at,
            None => {
                ANY.store(false, Relaxed);
                let lap = ((self.first_handle >> INDEX_BITS) + 1) % GENERATIONS;
                (self.first, self.next, self.first_handle) = (0, 0, lap << INDEX_BITS | FIRST_SLOT as u64);
            }
        }
    }

    /// Adds a receive; gives its handle if the next slot is free.
    #[inline(always)]
    pub fn add(&mut self, source: &RecvSource, tag: Tag, into: *mut u8, bytes: usize) -> Option<MPI_Request> {
        let slot = self.slots.get_mut(self.next).filter(|slot| slot.name == FREE)?;
        let handle = self.first_handle + self.next as u64;
        let (RecvSource { from, comm }, bytes) = (*source, bytes as u32);
        *slot = DeferredRecv { from, name: handle, into, tag, bytes, comm };
        self.next += 1;
        ANY.store(true, Relaxed);
        Some(MPI_Request::of(handle as usize))
    }

    /// Goes on to a free slot behind all deferred receives, if the next one is none; returns true if there is one.
    #[cold]
    #[inline(never)]
    pub fn go_to_free(&mut self) -> bool {
        let free = (self.next..SLOTS).find(|at| self.slots[*at].name == FREE);
        let Some(at) = free.filter(|at| *at != self.next) else { return false };
        if !self.any() {
            self.first = at;
        }
        self.next = at;
        true
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
            Some(slot) if slot.row() > 0 => MPI_Request::of(slot.row() as usize),
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
