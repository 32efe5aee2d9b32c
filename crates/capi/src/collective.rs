//! Collectives: operations of all ranks of a flow together.

use std::ffi::c_void;

use canele::{Flow, Op, Rank};

use crate::error::{ReportedError, call, canele_error};
use crate::flow::{canele_flow, flow};
use crate::memory::{bytes as bytes_at, bytes_mut, check_apart, items, items_mut};
use crate::types::{canele_op, canele_type, op as op_of, with_type};

/// Returns after all ranks of the flow have called it. All ranks make the same collective calls on a flow in
/// the same order, with the same lengths, roots and operations. Messages of collectives never match receives
/// on the flow.
///
/// Errors: a rank died (CANELE_ERROR_PEER_FAILED), or finished without this call
/// (CANELE_ERROR_PEER_FINISHED).
#[unsafe(no_mangle)]
pub extern "C" fn canele_flow_barrier(flow: Option<&canele_flow>) -> canele_error {
    call(|| Ok(self::flow(flow)?.barrier()?))
}

/// Copies the `bytes` bytes at `data` of rank `root` to `data` of all other ranks.
///
/// Errors: as canele_flow_barrier; CANELE_ERROR_NO_SUCH_RANK; CANELE_ERROR_LENGTHS: another rank gave another
/// length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_flow_broadcast(
    flow: Option<&canele_flow>,
    root: u32,
    data: *mut c_void,
    bytes: usize,
) -> canele_error {
    call(|| {
        // SAFETY: the program gives memory that can be written, and does not touch it during the call.
        let bytes = unsafe { bytes_mut(data, bytes) }?;
        Ok(self::flow(flow)?.broadcast(Rank(root), bytes)?)
    })
}

/// Reduces `count` items of a type of each rank, element by element, into `count` items at `result` of rank
/// `root`. On other ranks `result` is not used and may be NULL. The result has the same bits in every run
/// with as many ranks. `items` and `result` must not overlap.
///
/// Errors: as canele_flow_broadcast; CANELE_ERROR_ARGUMENT: there is no such type or operation, or memory is
/// not aligned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_flow_reduce(
    flow: Option<&canele_flow>,
    root: u32,
    items: *const c_void,
    result: *mut c_void,
    count: usize,
    r#type: canele_type,
    op: canele_op,
) -> canele_error {
    call(|| {
        let (flow, op) = (self::flow(flow)?, op_of(op)?);
        // SAFETY: the program gives memory for so many items, and nothing else touches it during the call.
        unsafe { reduce(flow, (items, count), result, r#type, op, Some(Rank(root))) }
    })
}

/// Reduces `count` items of a type of each rank, element by element, into `count` items at `result` on all
/// ranks. The result has the same bits on every rank and in every run with as many ranks. `items` and
/// `result` must not overlap.
///
/// Errors: as canele_flow_reduce.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_flow_allreduce(
    flow: Option<&canele_flow>,
    items: *const c_void,
    result: *mut c_void,
    count: usize,
    r#type: canele_type,
    op: canele_op,
) -> canele_error {
    call(|| {
        let op = op_of(op)?;
        // SAFETY: as in `canele_flow_reduce`.
        unsafe { reduce(self::flow(flow)?, (items, count), result, r#type, op, None) }
    })
}

/// Reduces at one rank or at all.
///
/// # Safety
/// There are `count` items, and no other code accesses the memory during the call.
unsafe fn reduce(
    flow: &Flow,
    (from, count): (*const c_void, usize),
    result: *mut c_void,
    of: canele_type,
    op: Op,
    root: Option<Rank>,
) -> Result<(), ReportedError> {
    with_type!(of, T => {
        // SAFETY: as the caller says.
        let from = unsafe { items::<T>(from, count) }?;
        let is_used = root.is_none_or(|root| root == flow.rank());
        // SAFETY: as the caller says.
        let result = unsafe { items_mut::<T>(result, if is_used { count } else { 0 }) }?;
        check_apart(from, result)?;
        match root {
            Some(root) => Ok(flow.reduce(root, from, result, op)?),
            None => Ok(flow.allreduce(from, result, op)?),
        }
    })
}

/// Returns the total number of bytes of all ranks' parts.
fn of_all(flow: &Flow, bytes: usize) -> Result<usize, ReportedError> {
    let all = bytes.checked_mul(flow.size() as usize);
    all.ok_or_else(|| {
        ReportedError::argument(format!(
            "{bytes} bytes for each of {} ranks are more than memory has",
            flow.size()
        ))
    })
}

/// Gathers `bytes` bytes at `data` of each rank, in the order of ranks, at `all` of rank `root`, which has
/// room for `bytes` bytes of each rank. On other ranks `all` is not used and may be NULL. `data` and `all`
/// must not overlap.
///
/// Errors: as canele_flow_broadcast.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_flow_gather(
    flow: Option<&canele_flow>,
    root: u32,
    data: *const c_void,
    bytes: usize,
    all: *mut c_void,
) -> canele_error {
    call(|| {
        let flow = self::flow(flow)?;
        let room = if flow.rank().0 == root { of_all(flow, bytes)? } else { 0 };
        // SAFETY: the program gives memory of these lengths, and nothing else touches it during the call.
        let (data, all) = unsafe { (bytes_at(data, bytes)?, bytes_mut(all, room)?) };
        check_apart(data, all)?;
        Ok(flow.gather(Rank(root), data, all)?)
    })
}

/// Copies to `data` of each rank its part of the bytes at `all` of rank `root`, which has `bytes` bytes for
/// each rank, in the order of ranks. On other ranks `all` is not used and may be NULL. `data` and `all` must
/// not overlap.
///
/// Errors: as canele_flow_broadcast.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_flow_scatter(
    flow: Option<&canele_flow>,
    root: u32,
    all: *const c_void,
    data: *mut c_void,
    bytes: usize,
) -> canele_error {
    call(|| {
        let flow = self::flow(flow)?;
        let there = if flow.rank().0 == root { of_all(flow, bytes)? } else { 0 };
        // SAFETY: as in `canele_flow_gather`.
        let (all, data) = unsafe { (bytes_at(all, there)?, bytes_mut(data, bytes)?) };
        check_apart(all, data)?;
        Ok(flow.scatter(Rank(root), all, data)?)
    })
}

/// Gathers `bytes` bytes at `data` of each rank, in the order of ranks, at `all` of all ranks, which has room
/// for `bytes` bytes of each rank. `data` and `all` must not overlap.
///
/// Errors: as canele_flow_broadcast.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_flow_allgather(
    flow: Option<&canele_flow>,
    data: *const c_void,
    bytes: usize,
    all: *mut c_void,
) -> canele_error {
    call(|| {
        let flow = self::flow(flow)?;
        let room = of_all(flow, bytes)?;
        // SAFETY: as in `canele_flow_gather`.
        let (data, all) = unsafe { (bytes_at(data, bytes)?, bytes_mut(all, room)?) };
        check_apart(data, all)?;
        Ok(flow.allgather(data, all)?)
    })
}

/// Sends each rank its `bytes` bytes of those at `data`, and receives `bytes` bytes from each rank at
/// `result`, both in the order of ranks. Part n of rank m becomes part m of rank n. Both have `bytes` bytes
/// for each rank, and must not overlap.
///
/// Errors: as canele_flow_broadcast.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_flow_alltoall(
    flow: Option<&canele_flow>,
    data: *const c_void,
    result: *mut c_void,
    bytes: usize,
) -> canele_error {
    call(|| {
        let flow = self::flow(flow)?;
        let all = of_all(flow, bytes)?;
        // SAFETY: as in `canele_flow_gather`.
        let (data, result) = unsafe { (bytes_at(data, all)?, bytes_mut(result, all)?) };
        check_apart(data, result)?;
        Ok(flow.alltoall(data, result)?)
    })
}
