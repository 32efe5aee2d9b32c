//! Requests: handles to operations under way, and the table of each lane that holds them.
//!
//! A request stays in its row from its start until its result was taken; calls advance it there. A request
//! that may call the program leaves its row meanwhile, so that no lock is held. The program must ensure that
//! no two threads wait for one request (MPI 5.0, §3.7.3). Sends that have left at once share one handle, and
//! so do receives from `MPI_PROC_NULL`. The handle of a deferred receive is its name in the engine; it gets a
//! row when a call needs its request.

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

/// Number of index bits of a handle; above them is the generation.
pub const INDEX_BITS: u32 = DEFERRED_BITS;
/// The first index of requests; below are the constants of the ABI, and the indexes of objects.
const FIRST: usize = FIRST_REQUEST;
const GENERATIONS: u32 = 1 << 8;

/// The handle of every send that has left at once.
pub const LEFT: MPI_Request = MPI_Request::of(FIRST);
/// The handle of every receive from `MPI_PROC_NULL`.
pub const FROM_NO_PROCESS: MPI_Request = MPI_Request::of(FIRST + 1);
const FIRST_ROW: usize = FIRST + 2;
/// Largest number of rows in the table of the first lane.
const MOST_ROWS: usize = ((LANES + 1) << LANE_BITS) - FIRST_ROW;

/// Returns the result of a handle that is null or completed at its start; none for a handle with a row.
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

/// Returns the status of a handle that is null or completed at its start; none for a handle with a row.
pub fn status_at_once(handle: MPI_Request) -> Option<Status> {
    got_at_once(handle).map(|got| if let Got::Ended(status) = got { status } else { Status::EMPTY })
}

/// Returns true if the handle's operation completed at its start.
#[inline(always)]
pub fn is_over_at_once(handle: MPI_Request) -> bool {
    handle == LEFT || handle == FROM_NO_PROCESS
}

/// Returns the progress of a request without a row in the table; none if it has one.
#[inline(always)]
pub fn progress_without_row(handle: MPI_Request) -> Option<RequestProgress> {
    if is_over_at_once(handle) {
        return Some(RequestProgress::Ended);
    }
    (handle == MPI_REQUEST_NULL).then_some(RequestProgress::Inactive)
}

/// The requests of a lane; the table of the first lane also holds those that find no room in another.
pub struct Requests {
    /// The index of the first row.
    first_row: usize,
    rows: Vec<Row>,
    free: Vec<u32>,
    /// The names of deferred receives with rows, and the handles of these rows, by slot; empty before the
    /// first one.
    deferred: Vec<(u32, MPI_Request)>,
    /// Names that must be returned to the engine.
    given_back: Vec<u32>,
    /// Requests freed while pending; they complete by themselves.
    orphans: VecDeque<Request>,
}

struct Row {
    generation: u32,
    held: RequestState,
}

enum RequestState {
    Nothing,
    Here(Request),
    /// A call has taken the request out to advance it, and may call the program.
    Away,
    /// The program has freed the request, but must still complete its operation.
    GivenUp(Arc<dyn Foreign>),
}

const _: () = assert!(size_of::<Row>() <= 48);

/// Number of index bits within one lane.
const LANE_BITS: u32 = 16;
/// For lanes beyond the first, the bits above hold this value plus the lane's number.
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

    /// Returns true if there is room for another request, in the table of a lane beyond the first.
    fn has_room(&self) -> bool {
        !self.free.is_empty() || self.rows.len() < (1 << LANE_BITS) - DEFERRED_SLOTS
    }

    /// Adds an operation and returns its handle.
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
        // The last rows are reserved for deferred receives, which have their handles already.
        let most = MOST_ROWS - DEFERRED_SLOTS * usize::from(!deferred);
        if self.first_row == FIRST_ROW && at >= most {
            fail!(NoMemory, "{at} requests are under way: wait for some before others are started");
        }
        self.rows.push(Row { generation: 0, held: RequestState::Nothing });
        Ok(at)
    }

    /// Returns the result of a successful message whose request no other call has used, and frees its row.
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

    /// Returns the pending operation of a message's handle ([`Request::message`]).
    #[inline(always)]
    pub fn message(&mut self, handle: MPI_Request) -> Option<Pending> {
        match &self.row(handle).ok()?.held {
            RequestState::Here(request) => request.message(),
            _ => None,
        }
    }

    /// Returns the request of a handle.
    ///
    /// # Errors
    /// Fails if there is none, or if another thread waits for it.
    pub fn get(&mut self, handle: MPI_Request) -> Result<&mut Request> {
        match &mut self.row(handle)?.held {
            RequestState::Here(request) => Ok(request),
            RequestState::Away => Err(busy(handle)),
            RequestState::Nothing | RequestState::GivenUp(_) => Err(handle.invalid()),
        }
    }

    /// Takes a request out of its row temporarily.
    ///
    /// # Errors
    /// Fails like [`Requests::get`].
    pub fn take(&mut self, handle: MPI_Request) -> Result<Request> {
        self.get(handle)?;
        match std::mem::replace(&mut self.row(handle)?.held, RequestState::Away) {
            RequestState::Here(request) => Ok(request),
            _ => Err(busy(handle)),
        }
    }

    /// Puts a request back into its row.
    pub fn put(&mut self, handle: MPI_Request, request: Request) {
        if let Ok(row) = self.row(handle) {
            row.held = RequestState::Here(request);
        }
    }

    /// Frees the row of a request that was taken or freed.
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

    /// Frees the row of a request for the program, unless the program must still complete its operation.
    ///
    /// # Errors
    /// Fails like [`Requests::get`].
    pub fn give_up(&mut self, handle: MPI_Request) -> Result<Option<Request>> {
        match self.get(handle)?.operation().cloned() {
            Some(operation) if operation.is_ended_by_program() && !operation.is_complete() => {
                self.row(handle)?.held = RequestState::GivenUp(operation);
                Ok(None)
            }
            _ => Ok(self.free(handle)),
        }
    }

    /// Returns an operation that completes outside of the engine, even while a thread waits for it.
    ///
    /// # Errors
    /// Fails for other requests.
    pub fn foreign(&mut self, handle: MPI_Request) -> Result<Arc<dyn Foreign>> {
        let operation = match &self.row(handle)?.held {
            RequestState::Here(request) => request.operation().cloned(),
            RequestState::GivenUp(operation) => Some(operation.clone()),
            RequestState::Nothing | RequestState::Away => None,
        };
        operation.ok_or_else(|| Error::new(Class::Request, "the request is of another kind of operation"))
    }

    /// Lets a freed request complete by itself.
    pub fn orphan(&mut self, request: Request) {
        self.orphans.push_back(request);
    }

    /// Takes at most `most` freed requests from the front to be advanced; pending ones are added again at the
    /// back.
    pub fn take_orphans(&mut self, most: usize) -> Vec<Request> {
        let n = most.min(self.orphans.len());
        self.orphans.drain(..n).collect()
    }

    /// Returns the pending operations of the engine that use the program's memory, except deferred receives
    /// without a row.
    pub fn under_way(&self) -> Vec<Option<Pending>> {
        let pending = |row: &Row| match &row.held {
            RequestState::Here(request) => request.pending(),
            _ => None,
        };
        let held = self.rows.iter().filter_map(pending).map(Some);
        held.chain(self.orphans.iter().map(Request::pending)).collect()
    }

    /// Returns the handle of a row.
    #[inline(always)]
    fn handle_of(&self, at: usize, generation: u32) -> MPI_Request {
        MPI_Request::of((generation as usize) << INDEX_BITS | (at + self.first_row))
    }

    /// Returns the row index of a handle.
    #[inline(always)]
    fn index(&self, handle: MPI_Request) -> usize {
        (handle.value() & ((1 << INDEX_BITS) - 1)).wrapping_sub(self.first_row)
    }

    /// Returns the number of requests that the program holds.
    pub fn used(&self) -> usize {
        self.rows.len() - self.free.len()
    }
}

/// Completes an operation of the program.
///
/// # Errors
/// Fails if it is no such operation, was completed before, or a function of the program fails.
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
