//! Puts and gets (MPI 5.0, §12.3).

use core::ffi::c_int;

use canele_mpi::Result;
use canele_mpi::request::Request;
use canele_mpi::window::{TargetData, Win};

use super::{mapped, member};
use crate::buffer::data;
use crate::constants::MPI_OP_NULL;
use crate::error::CallResult;
use crate::handle::{MPI_Datatype, MPI_Request, MPI_Win};
use crate::point::start::give;
use crate::pointer::{Out, RecvBuffer, SendBuffer};
use crate::width::Count;

/// The elements of a target; nothing for `MPI_PROC_NULL`.
#[inline(always)]
pub(super) fn target<'a>(
    (rank, disp): (c_int, i64),
    (count, datatype): (Count, MPI_Datatype),
) -> Result<Option<TargetData<'a>>> {
    let Some(rank) = member(rank) else { return Ok(None) };
    Ok(Some(TargetData { rank, disp, count: count.get()?, of: datatype.get()? }))
}

/// Makes sure that an access may have a request.
pub(super) fn check_passive(win: &Win, target: Option<TargetData<'_>>) -> Result<()> {
    target.map_or(Ok(()), |target| win.check_locked(target.rank))
}

#[inline(always)]
fn put_elements(
    win: &Win,
    origin: (SendBuffer, Count, MPI_Datatype),
    to: Option<TargetData<'_>>,
    tracked: bool,
) -> Result<Option<Request>> {
    let Some(to) = to else { return Ok(None) };
    win.put(to, data(origin.0, origin.1, origin.2)?, tracked)
}

#[inline(always)]
fn get_elements(
    win: &Win,
    origin: (RecvBuffer, Count, MPI_Datatype),
    from: Option<TargetData<'_>>,
    tracked: bool,
) -> Result<Option<Request>> {
    let Some(from) = from else { return Ok(None) };
    win.get(from, data(origin.0, origin.1, origin.2)?, tracked)
}

/// `MPI_Put` of few bytes where the target's memory is mapped; false if nothing was done.
#[inline(always)]
pub fn put_at_once(
    origin_addr: SendBuffer,
    origin_count: Count,
    origin_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: i64,
    target_count: Count,
    target_datatype: MPI_Datatype,
    win: MPI_Win,
) -> bool {
    let origin = (origin_addr, origin_count, origin_datatype);
    mapped::put(origin, (target_rank, target_disp), (target_count, target_datatype), win)
}

/// `MPI_Put`.
pub fn put(
    origin_addr: SendBuffer,
    origin_count: Count,
    origin_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: i64,
    target_count: Count,
    target_datatype: MPI_Datatype,
    win: MPI_Win,
) -> CallResult {
    let to = target((target_rank, target_disp), (target_count, target_datatype))?;
    put_elements(win.get()?, (origin_addr, origin_count, origin_datatype), to, false)?;
    mapped::learn(win, target_datatype, MPI_OP_NULL, target_rank);
    Ok(())
}

/// `MPI_Rput`.
pub fn rput(
    origin_addr: SendBuffer,
    origin_count: Count,
    origin_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: i64,
    target_count: Count,
    target_datatype: MPI_Datatype,
    win: MPI_Win,
    request: Out<MPI_Request>,
) -> CallResult {
    let win = win.get()?;
    let to = target((target_rank, target_disp), (target_count, target_datatype))?;
    check_passive(win, to)?;
    give(request, put_elements(win, (origin_addr, origin_count, origin_datatype), to, true)?)
}

/// `MPI_Get` of few bytes where the target's memory is mapped; false if nothing was done.
#[inline(always)]
pub fn get_at_once(
    origin_addr: RecvBuffer,
    origin_count: Count,
    origin_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: i64,
    target_count: Count,
    target_datatype: MPI_Datatype,
    win: MPI_Win,
) -> bool {
    let origin = (origin_addr, origin_count, origin_datatype);
    mapped::get(origin, (target_rank, target_disp), (target_count, target_datatype), win)
}

/// `MPI_Get`.
pub fn get(
    origin_addr: RecvBuffer,
    origin_count: Count,
    origin_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: i64,
    target_count: Count,
    target_datatype: MPI_Datatype,
    win: MPI_Win,
) -> CallResult {
    let from = target((target_rank, target_disp), (target_count, target_datatype))?;
    get_elements(win.get()?, (origin_addr, origin_count, origin_datatype), from, false)?;
    mapped::learn(win, target_datatype, MPI_OP_NULL, target_rank);
    Ok(())
}

/// `MPI_Rget`.
pub fn rget(
    origin_addr: RecvBuffer,
    origin_count: Count,
    origin_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: i64,
    target_count: Count,
    target_datatype: MPI_Datatype,
    win: MPI_Win,
    request: Out<MPI_Request>,
) -> CallResult {
    let win = win.get()?;
    let from = target((target_rank, target_disp), (target_count, target_datatype))?;
    check_passive(win, from)?;
    give(request, get_elements(win, (origin_addr, origin_count, origin_datatype), from, true)?)
}
