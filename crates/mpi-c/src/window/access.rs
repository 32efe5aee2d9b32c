//! Puts and gets (MPI 5.0, §12.3).

use core::ffi::c_int;

use canele_mpi::Result;
use canele_mpi::request::Request;
use canele_mpi::window::{TargetData, Win};

use super::{mapped, member};
use crate::buffer::{UserBuffer, data};
use crate::error::CallResult;
use crate::handle::{MPI_Datatype, MPI_Request, MPI_Win, ObjectHandle};
use crate::point::start::give;
use crate::pointer::{Out, RecvBuffer, SendBuffer};
use crate::width::Count;

/// The origin's elements, as a function gets them.
pub(super) type Origin<B> = (B, Count, MPI_Datatype);
/// A target and its elements, as a function gets them: rank, displacement, count, datatype.
pub(super) type At = (c_int, i64, Count, MPI_Datatype);

/// Returns the elements of a target; none for `MPI_PROC_NULL`.
#[inline(always)]
pub(super) fn target<'a>((rank, disp, count, datatype): At) -> Result<Option<TargetData<'a>>> {
    let Some(rank) = member(rank) else { return Ok(None) };
    Ok(Some(TargetData { rank, disp, count: count.get()?, of: datatype.get()? }))
}

/// Fails unless the target is locked, so that an access may have a request.
pub(super) fn check_passive(win: &Win, target: Option<TargetData<'_>>) -> Result<()> {
    target.map_or(Ok(()), |target| win.check_locked(target.rank))
}

/// A buffer that is put or got.
trait Transferred: UserBuffer {
    /// Transfers elements from or to the buffer. If `tracked`, returns a request unless the transfer
    /// completed at once.
    fn transfer(
        origin: Origin<Self>,
        at: TargetData<'_>,
        win: &Win,
        tracked: bool,
    ) -> Result<Option<Request>>;
}

impl Transferred for SendBuffer {
    #[inline(always)]
    fn transfer(
        origin: Origin<Self>,
        at: TargetData<'_>,
        win: &Win,
        tracked: bool,
    ) -> Result<Option<Request>> {
        win.put(at, data(origin.0, origin.1, origin.2)?, tracked)
    }
}

impl Transferred for RecvBuffer {
    #[inline(always)]
    fn transfer(
        origin: Origin<Self>,
        at: TargetData<'_>,
        win: &Win,
        tracked: bool,
    ) -> Result<Option<Request>> {
        win.get(at, data(origin.0, origin.1, origin.2)?, tracked)
    }
}

/// Transfers elements; a synchronisation completes the transfer.
#[inline(always)]
fn transfer<B: Transferred>(origin: Origin<B>, at: At, win: MPI_Win) -> CallResult {
    let (to, found) = (target(at)?, win.get()?);
    if let Some(to) = to {
        B::transfer(origin, to, found, false)?;
    }
    mapped::learn_transfer(win, at.0, at.3);
    Ok(())
}

/// Transfers elements; the request completes the transfer.
fn transfer_with_request<B: Transferred>(
    origin: Origin<B>,
    at: At,
    win: MPI_Win,
    request: Out<MPI_Request>,
) -> CallResult {
    let (win, to) = (win.get()?, target(at)?);
    check_passive(win, to)?;
    give(request, to.map_or(Ok(None), |to| B::transfer(origin, to, win, true))?)
}

/// Defines functions with the arguments of `MPI_Put`, and their implementations.
macro_rules! transfers {
    ($($(#[$attribute:meta])* $name:ident: $buffer:ty $(, $request:ident)? => $does:path, $returned:ty;)*) => {$(
        $(#[$attribute])*
        pub fn $name(
            origin_addr: $buffer,
            origin_count: Count,
            origin_datatype: MPI_Datatype,
            target_rank: c_int,
            target_disp: i64,
            target_count: Count,
            target_datatype: MPI_Datatype,
            win: MPI_Win,
            $($request: Out<MPI_Request>,)?
        ) -> $returned {
            let origin = (origin_addr, origin_count, origin_datatype);
            $does(origin, (target_rank, target_disp, target_count, target_datatype), win $(, $request)?)
        }
    )*};
}

transfers! {
    /// `MPI_Put` of few bytes to mapped memory; returns false if nothing was done.
    #[inline(always)]
    put_at_once: SendBuffer => mapped::put, bool;
    /// `MPI_Put`.
    put: SendBuffer => transfer, CallResult;
    /// `MPI_Rput`.
    rput: SendBuffer, request => transfer_with_request, CallResult;
    /// `MPI_Get` of few bytes from mapped memory; returns false if nothing was done.
    #[inline(always)]
    get_at_once: RecvBuffer => mapped::get, bool;
    /// `MPI_Get`.
    get: RecvBuffer => transfer, CallResult;
    /// `MPI_Rget`.
    rget: RecvBuffer, request => transfer_with_request, CallResult;
}
