//! Deferred receives whose requests a call needs. Their handles are names in the engine, and get rows then.

use canele_control::MOST_LANES;
use canele_engine::{DEFERRED_SLOTS, Engine, FIRST_DEFERRED, SubmittedRecv};
use canele_mpi::Result;
use canele_mpi::request::Request;

use super::tables::table;
use super::{RequestState, Requests, lane_of, requests_with_all};
use crate::constants::MPI_REQUEST_NULL;
use crate::handle::{MPI_Comm, MPI_Request, ObjectHandle};
use crate::library;

/// Number of names of deferred receives that are returned together.
const MOST_GIVEN_BACK: usize = 64;

/// Returns true if the handle is the name of a deferred receive.
#[inline(always)]
pub fn is_deferred(handle: MPI_Request) -> bool {
    let first = FIRST_DEFERRED as usize;
    handle.value() & first == first
}

/// Returns names of completed deferred receives to the engine, if it has no room for a further one. Returns
/// true if this made room.
pub fn make_room_to_defer(engine: &Engine) -> bool {
    table(engine.lane_number().into()).is_ok_and(|mut table| engine.make_room_to_defer(&mut table.given_back))
}

/// Gives rows to all deferred receives.
///
/// # Errors
/// Fails in a forked child.
pub fn add_all_deferred(engine: &Engine) -> Result<()> {
    for number in 0..MOST_LANES {
        let Some(lane) = engine.lane_if_open(number) else { continue };
        let names = lane.submitted_names()?;
        let handles: Vec<_> = names.into_iter().map(|name| MPI_Request::of(name as usize)).collect();
        if let Some(first) = handles.first() {
            requests_with_all(*first, &handles)?;
        }
    }
    Ok(())
}

impl Requests {
    /// Gives rows to the handles that are names of deferred receives on this table's lane.
    #[inline]
    pub(super) fn add_deferred(&mut self, lane: usize, handles: &[MPI_Request]) -> Result<()> {
        let is_new = |handle: &&MPI_Request| {
            is_deferred(**handle) && lane_of(**handle) == lane && self.row_of_deferred(**handle).is_none()
        };
        let mut new = handles.iter().filter(is_new).map(|handle| handle.value() as u32).peekable();
        if new.peek().is_none() {
            return Ok(());
        }
        let names = new.collect();
        self.add_names(lane, names)
    }

    #[cold]
    #[inline(never)]
    fn add_names(&mut self, lane: usize, names: Vec<u32>) -> Result<()> {
        let Some(engine) = library::engine()?.lane_if_open(lane as u8) else { return Ok(()) };
        if self.given_back.len() >= MOST_GIVEN_BACK {
            engine.make_room_to_defer(&mut self.given_back);
        }
        self.deferred.resize(DEFERRED_SLOTS, (0, MPI_REQUEST_NULL));
        Ok(engine.take_submitted(&names, |name, submitted| self.give_row(name, submitted))?)
    }

    fn give_row(&mut self, name: u32, SubmittedRecv { word, started }: SubmittedRecv) {
        let comm = MPI_Comm::of(word as usize).share();
        let request = match (comm, started) {
            (Ok(comm), Ok(pending)) => comm.receiving(pending),
            (Err(error), Ok(_)) => Request::ended_with(None, Err(error)),
            (comm, Err(error)) => Request::ended_with(comm.ok(), Err(error.into())),
        };
        let at = self.free.pop().map_or_else(|| self.add_row(true), |at| Ok(at as usize));
        let at = at.expect("rows are kept for as many receives as can be deferred");
        self.rows[at].held = RequestState::Here(request);
        self.deferred[name as usize % DEFERRED_SLOTS] = (name, self.handle_of(at, self.rows[at].generation));
    }

    /// Returns the handle of a deferred receive's row, if it has one.
    fn row_of_deferred(&self, handle: MPI_Request) -> Option<MPI_Request> {
        let (name, row) = *self.deferred.get(handle.value() % DEFERRED_SLOTS)?;
        (name as usize == handle.value()).then_some(row)
    }

    /// Returns the handle of a request's row, which for a deferred receive is not its own handle. Without a
    /// row it returns the handle unchanged, and that names no row.
    #[inline(always)]
    pub(super) fn resolved(&self, handle: MPI_Request) -> MPI_Request {
        if is_deferred(handle) { self.row_of_deferred(handle).unwrap_or(handle) } else { handle }
    }
}
