//! The tables of all lanes. Each lane has one, so that threads on different lanes do not contend.

use std::sync::OnceLock;

use canele_control::MOST_LANES;
use canele_engine::{DEFERRED_SLOTS, Pending};
use canele_mpi::Result;
use canele_mpi::request::Request;
use canele_sys::biased_lock::{BiasedLock, Guard};

use super::{INDEX_BITS, LANE_BITS, LANES, RequestState, Requests, is_deferred};
use crate::handle::MPI_Request;

static TABLES: [OnceLock<BiasedLock<Requests>>; MOST_LANES as usize] =
    [const { OnceLock::new() }; MOST_LANES as usize];

/// Returns the lane whose table holds a handle.
#[inline(always)]
pub fn lane_of(handle: MPI_Request) -> usize {
    let above = handle.value() >> LANE_BITS & ((1 << (INDEX_BITS - LANE_BITS)) - 1);
    let lane = above.wrapping_sub(LANES);
    match lane < MOST_LANES as usize {
        true => lane,
        false if is_deferred(handle) => handle.value() / DEFERRED_SLOTS % MOST_LANES as usize,
        false => 0,
    }
}

// The handles of deferred receives lie behind those of all rows.
const _: () = assert!(DEFERRED_SLOTS * MOST_LANES as usize <= 1 << LANE_BITS);

/// Returns the table of the first lane.
///
/// # Errors
/// Fails in a forked child.
#[inline]
pub fn requests() -> Result<Guard<'static, Requests>> {
    table(0)
}

/// Returns the table that holds a handle.
///
/// # Errors
/// Fails in a forked child.
#[inline]
pub fn requests_with(handle: MPI_Request) -> Result<Guard<'static, Requests>> {
    requests_with_all(handle, &[handle])
}

/// Returns the table that holds the first of these handles, with rows for all handles in it.
///
/// # Errors
/// Fails in a forked child.
#[inline]
pub fn requests_with_all(first: MPI_Request, handles: &[MPI_Request]) -> Result<Guard<'static, Requests>> {
    let lane = lane_of(first);
    let mut table = table(lane)?;
    table.add_deferred(lane, handles)?;
    Ok(table)
}

/// Returns the table of a lane.
///
/// # Errors
/// Fails in a forked child.
#[inline]
pub(super) fn table(lane: usize) -> Result<Guard<'static, Requests>> {
    let new = || BiasedLock::new(Requests::of_lane(lane));
    TABLES[lane].get_or_init(new).lock().map_err(|forked| canele_engine::Error::from(forked).into())
}

/// Returns the tables in use, one after the other.
pub fn all_requests() -> impl Iterator<Item = Result<Guard<'static, Requests>>> {
    (0..TABLES.len()).filter(|lane| TABLES[*lane].get().is_some()).map(table)
}

/// Returns a new handle, in the table of the request's lane.
///
/// # Errors
/// Fails if all handles are used.
pub fn publish(request: Request) -> Result<MPI_Request> {
    let lane = request.pending().map_or(0, Pending::lane);
    if lane > 0 {
        let mut table = table(lane.into())?;
        if table.has_room() {
            return table.insert(RequestState::Here(request));
        }
    }
    requests()?.insert(RequestState::Here(request))
}
