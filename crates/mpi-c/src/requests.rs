//! Requests: handles to operations under way, and the table of a lane in which they stand.
//!
//! A request stays in its row from its start until its end was taken; calls let it go on there. Only what may call the program
//! leaves its row meanwhile, so that no lock is held. That no two threads wait for the same request is the program's duty (MPI 5.0,
//! §3.7.3). Sends that have left at once share one handle, and receives from `MPI_PROC_NULL` another one. The handle of a deferred receive
//! is its name in the engine; it gets a row when a call asks for its request.

mod deferred;
mod tables;

use std::collections::VecDeque;
use std::sync::Arc;

use canele_control::MOST_LANES;
use canele_engine::{Completions, DEFERRED_BITS, DEFERRED_SLOTS, Pending};
use canele_mpi::request::{Foreign, Request, RequestProgress};
use canele_mpi::{Class, Error, Result, Status, fail};

use crate::constants::MPI_REQUEST_NULL;
use crate::handle::{HandleKind, MPI_Request};
use crate::library;
use crate::status::Got;
use crate::table::FIRST_REQUEST;
pub use deferred::{add_all_deferred, is_deferred, make_room_to_defer};
pub use tables::{all_requests, lane_of, publish, requests, requests_with, requests_with_all};

/// Bits of a handle that say where; above them is the generation.
pub const INDEX_BITS: u32 = DEFERRED_BITS;
/// Below are the constants of the ABI, and the indexes of objects.
const FIRST: usize = FIRST_REQUEST;
const GENERATIONS: u32 = 1 << 8;

/// The handle of every send that has left at once.
pub const LEFT: MPI_Request = MPI_Request::of(FIRST);
/// The handle of every receive from `MPI_PROC_NULL`.
pub const FROM_NO_PROCESS: MPI_Request = MPI_Request::of(FIRST + 1);
const FIRST_ROW: usize = FIRST + 2;
/// Rows that the table of the first lane may have.
const MOST_ROWS: usize = ((LANES + 1) << LANE_BITS) - FIRST_ROW;

/// What an operation got that was over when it began, or null; nothing if the handle is one of a row.
#[inline(always)]
pub fn got_at_once(handle: MPI_Request) -> Option<Got> {
    if handle == LEFT {
        return Some(Got::Sent);
    }
    if handle == FROM_NO_PROCESS {
        return Some(Got::Ended(Status::NO_PROCESS));
    }
    (handle == MPI_REQUEST_NULL).then_some(Got::Nothing)
}

/// The status of such an operation, as [`got_at_once`].
pub fn status_at_once(handle: MPI_Request) -> Option<Status> {
    got_at_once(handle).map(|got| if let Got::Ended(status) = got { status } else { Status::EMPTY })
}

/// Returns true if the handle is of an operation that was over when it began.
#[inline(always)]
pub fn is_over_at_once(handle: MPI_Request) -> bool {
    handle == LEFT || handle == FROM_NO_PROCESS
}

/// Returns how far the request of a handle is that has no row in the table; nothing if it has one.
#[inline(always)]
pub fn progress_without_row(handle: MPI_Request) -> Option<RequestProgress> {
    if is_over_at_once(handle) {
        return Some(RequestProgress::Ended);
    }
    (handle == MPI_REQUEST_NULL).then_some(RequestProgress::Inactive)
}

/// The requests of a lane; those of the first one hold what finds no room in another.
pub struct Requests {
    /// The index of the first row.
    first_row: usize,
    rows: Vec<Row>,
    free: Vec<u32>,
    /// The names of deferred receives that stand in rows, with the handles of these, by slots; empty before the first one.
    deferred: Vec<(u32, MPI_Request)>,
    /// Names that are to be given back.
    given_back: Vec<u32>,
    /// Freed while under way; they end by themselves.
    orphans: VecDeque<Request>,
}

struct Row {
    generation: u32,
    held: RequestState,
}

enum RequestState {
    Nothing,
    Here(Request),
    /// A call lets it go on, and may call the program.
    Away,
    /// The program holds it no more, but is yet to end it.
    GivenUp(Arc<dyn Foreign>),
}

const _: () = assert!(size_of::<Row>() <= 48);

/// Bits of an index that are one lane's.
const LANE_BITS: u32 = 16;
/// Above them stands this with the lane's number, of lanes beyond the first.
const LANES: usize = (1 << (INDEX_BITS - LANE_BITS)) - 1 - MOST_LANES as usize;

impl Requests {
    fn of_lane(lane: usize) -> Self {
        let first_row = if lane == 0 { FIRST_ROW } else { (LANES + lane) << LANE_BITS };
        Self {
            first_row,
            rows: Vec::new(),
            free: Vec::new(),
            deferred: Vec::new(),
            given_back: Vec::new(),
            orphans: VecDeque::new(),
        }
    }

    /// True if there is room for one more, in the table of another lane than the first.
    fn has_room(&self) -> bool {
        !self.free.is_empty() || self.rows.len() < (1 << LANE_BITS) - DEFERRED_SLOTS
    }

    /// Gives what stands for an operation a handle.
    #[inline(always)]
    fn insert(&mut self, held: RequestState) -> Result<MPI_Request> {
        let at = match self.free.pop() {
            Some(at) => at as usize,
            None => self.add_row(false)?,
        };
        let row = &mut self.rows[at];
        row.held = held;
        let generation = row.generation;
        Ok(self.handle_of(at, generation))
    }

    #[cold]
    #[inline(never)]
    fn add_row(&mut self, deferred: bool) -> Result<usize> {
        let at = self.rows.len();
        // The last rows are kept for receives that were deferred, which have their handles already.
        let most = MOST_ROWS - DEFERRED_SLOTS * usize::from(!deferred);
        if self.first_row == FIRST_ROW && at >= most {
            fail!(NoMemory, "{at} requests are under way: wait for some before others are started");
        }
        self.rows.push(Row { generation: 0, held: RequestState::Nothing });
        Ok(at)
    }

    /// What an ordinary message got, which no call has treated as a request so far, if it has ended well. Its row is freed.
    #[inline(always)]
    pub fn end_message(&mut self, handle: MPI_Request, completions: &mut Completions<'_>) -> Option<Got> {
        let RequestState::Here(request) = &mut self.row(handle).ok()?.held else { return None };
        if request.is_persistent()
            || request.advance(completions) != RequestProgress::Ended
            || !request.is_plain()
        {
            return None;
        }
        let ended = self.free(handle)?.take()?;
        ended.ok().map(Got::Ended)
    }

    #[inline(always)]
    fn row(&mut self, handle: MPI_Request) -> Result<&mut Row> {
        let handle = self.resolved(handle);
        let at = self.index(handle);
        match self.rows.get_mut(at) {
            Some(row) if row.generation as usize == handle.value() >> INDEX_BITS => Ok(row),
            _ => Err(handle.invalid()),
        }
    }

    /// What the engine is to be asked about the message of a handle, as [`Request::message`].
    #[inline(always)]
    pub fn message(&mut self, handle: MPI_Request) -> Option<Pending> {
        match &self.row(handle).ok()?.held {
            RequestState::Here(request) => request.message(),
            _ => None,
        }
    }

    /// The request of a handle.
    ///
    /// # Errors
    /// There is none, or another thread waits for it.
    pub fn get(&mut self, handle: MPI_Request) -> Result<&mut Request> {
        match &mut self.row(handle)?.held {
            RequestState::Here(request) => Ok(request),
            RequestState::Away => Err(busy(handle)),
            RequestState::Nothing | RequestState::GivenUp(_) => Err(handle.invalid()),
        }
    }

    /// Takes the request out of its row, to which it comes back.
    ///
    /// # Errors
    /// As [`Requests::get`].
    pub fn take(&mut self, handle: MPI_Request) -> Result<Request> {
        self.get(handle)?;
        match std::mem::replace(&mut self.row(handle)?.held, RequestState::Away) {
            RequestState::Here(request) => Ok(request),
            _ => Err(busy(handle)),
        }
    }

    /// Brings a request back.
    pub fn put(&mut self, handle: MPI_Request, request: Request) {
        if let Ok(row) = self.row(handle) {
            row.held = RequestState::Here(request);
        }
    }

    /// Frees the row of a request that was taken or is given up.
    #[inline]
    pub fn free(&mut self, handle: MPI_Request) -> Option<Request> {
        let row = self.row(handle).ok()?;
        let held = std::mem::replace(&mut row.held, RequestState::Nothing);
        row.generation = (row.generation + 1) % GENERATIONS;
        let at = self.index(self.resolved(handle));
        self.free.push(at as u32);
        if is_deferred(handle) {
            self.deferred[handle.value() % DEFERRED_SLOTS] = (0, MPI_REQUEST_NULL);
            self.given_back.push(handle.value() as u32);
        }
        match held {
            RequestState::Here(request) => Some(request),
            _ => None,
        }
    }

    /// Frees the row of a request that the program gives up, unless the program is yet to end its operation.
    ///
    /// # Errors
    /// As [`Requests::get`].
    pub fn give_up(&mut self, handle: MPI_Request) -> Result<Option<Request>> {
        match self.get(handle)?.operation().cloned() {
            Some(operation) if operation.is_ended_by_program() && !operation.is_complete() => {
                self.row(handle)?.held = RequestState::GivenUp(operation);
                Ok(None)
            }
            _ => Ok(self.free(handle)),
        }
    }

    /// An operation that ends elsewhere, though a thread may wait for it.
    ///
    /// # Errors
    /// It is none.
    pub fn foreign(&mut self, handle: MPI_Request) -> Result<Arc<dyn Foreign>> {
        let operation = match &self.row(handle)?.held {
            RequestState::Here(request) => request.operation().cloned(),
            RequestState::GivenUp(operation) => Some(operation.clone()),
            RequestState::Nothing | RequestState::Away => None,
        };
        operation.ok_or_else(|| Error::new(Class::Request, "the request is of another kind of operation"))
    }

    /// Lets a request that was given up end by itself.
    pub fn orphan(&mut self, request: Request) {
        self.orphans.push_back(request);
    }

    /// The first of those that were given up, at most as many, to be looked after; what is under way still comes back behind the others.
    pub fn take_orphans(&mut self, most: usize) -> Vec<Request> {
        let n = most.min(self.orphans.len());
        self.orphans.drain(..n).collect()
    }

    /// The operations that have begun and not ended, which need the program's memory, as far as the engine knows them; no deferred receive that
    /// has no row.
    pub fn under_way(&self) -> Vec<Option<Pending>> {
        let pending = |row: &Row| match &row.held {
            RequestState::Here(request) => request.pending(),
            _ => None,
        };
        let held = self.rows.iter().filter_map(pending).map(Some);
        held.chain(self.orphans.iter().map(Request::pending)).collect()
    }

    /// The handle of a row.
    #[inline(always)]
    fn handle_of(&self, at: usize, generation: u32) -> MPI_Request {
        MPI_Request::of((generation as usize) << INDEX_BITS | (at + self.first_row))
    }

    /// The row that a handle would have.
    #[inline(always)]
    fn index(&self, handle: MPI_Request) -> usize {
        (handle.value() & ((1 << INDEX_BITS) - 1)).wrapping_sub(self.first_row)
    }

    /// How many requests the program holds.
    pub fn used(&self) -> usize {
        self.rows.len() - self.free.len()
    }
}

/// The program has ended an operation of its own.
///
/// # Errors
/// It is none of those, or was ended before; the program's function failed.
pub fn complete(handle: MPI_Request) -> Result<()> {
    let mut table = requests_with(handle)?;
    let operation = table.foreign(handle)?;
    operation.complete()?;
    if matches!(table.row(handle)?.held, RequestState::GivenUp(_)) {
        table.free(handle);
        // The program's function may use requests.
        drop(table);
        return operation.release();
    }
    drop(table);
    Ok(library::engine()?.notify_waiters()?)
}

#[cold]
fn busy(handle: MPI_Request) -> Box<Error> {
    Error::new(Class::Request, format!("another thread waits for the request {:#x}", handle.value()))
}
