//! Accumulates, fetch-and-op, compare-and-swap (MPI 5.0, §12.3.4).

use core::ffi::c_int;

use canele_mpi::datatype::{Basic, BasicKind, Datatype};
use canele_mpi::op::BuiltIn;
use canele_mpi::request::Request;
use canele_mpi::window::{Accumulation, TargetData, Win};
use canele_mpi::{Result, fail};

use super::access::{At, Origin, check_passive, target};
use super::mapped;
use crate::buffer::data;
use crate::error::CallResult;
use crate::handle::{MPI_Datatype, MPI_Op, MPI_Request, MPI_Win, ObjectHandle};
use crate::operations::{OpObject, element_of};
use crate::point::start::give;
use crate::pointer::{Out, RecvBuffer, SendBuffer};
use crate::width::Count;

/// Returns the operation on the elements of a target's datatype.
pub(super) fn accumulation(op: MPI_Op, of: &Datatype, count: usize) -> Result<Accumulation> {
    let OpObject::BuiltIn(op) = *op.get()? else {
        fail!(
            Operation,
            "op is an operation of the program: windows are accumulated into by predefined ones only"
        );
    };
    let (element, bytes) = match (of.uniform(), of.pair()) {
        _ if of.size() == 0 || count == 0 => (None, 1),
        (Some((basic, _)), _) => (element_of(Datatype::basic(basic)), basic.size()),
        (None, Some(_)) => (element_of(of), of.size()),
        (None, None) => {
            fail!(Datatype, "target_datatype is {of:?}: its elements are to be of one predefined datatype");
        }
    };
    let is_defined_for_all = matches!(op, BuiltIn::Replace | BuiltIn::NoOp) || of.size() == 0 || count == 0;
    if !is_defined_for_all && element.is_none_or(|element| op.accumulation(element).is_err()) {
        let (name, takes) = op.text();
        fail!(Operation, "op is {name}, which is for {takes}, not for elements of {of:?}");
    }
    Ok(Accumulation { op, element, bytes })
}

fn accumulate_elements(
    win: &Win,
    origin: Origin<SendBuffer>,
    result: Option<Origin<RecvBuffer>>,
    to: Option<TargetData<'_>>,
    op: MPI_Op,
    tracked: bool,
) -> Result<Option<Request>> {
    let Some(to) = to else { return Ok(None) };
    let how = accumulation(op, to.of, to.count)?;
    // An unused origin need not be valid.
    let origin = match how.op {
        BuiltIn::NoOp => None,
        _ => Some(data(origin.0, origin.1, origin.2)?),
    };
    let result = result.map(|result| data(result.0, result.1, result.2)).transpose()?;
    win.accumulate(to, how, origin, result, tracked)
}

/// Accumulates elements; a synchronisation completes it.
fn accumulate_counted(
    (origin, result): (Origin<SendBuffer>, Option<Origin<RecvBuffer>>),
    at: At,
    op: MPI_Op,
    win: MPI_Win,
) -> CallResult {
    let to = target(at)?;
    accumulate_elements(win.get()?, origin, result, to, op, false)?;
    Ok(())
}

/// Accumulates elements; the request completes it.
fn accumulate_with_request(
    (origin, result): (Origin<SendBuffer>, Option<Origin<RecvBuffer>>),
    at: At,
    op: MPI_Op,
    win: MPI_Win,
    request: Out<MPI_Request>,
) -> CallResult {
    let (win, to) = (win.get()?, target(at)?);
    check_passive(win, to)?;
    give(request, accumulate_elements(win, origin, result, to, op, true)?)
}

/// Defines functions with the arguments of `MPI_Accumulate`, some with a result, and their implementations.
macro_rules! accumulates {
    ($(
        $(#[$attribute:meta])*
        $name:ident $(($result:ident, $result_count:ident, $result_datatype:ident))? $(, $request:ident)? => $does:path;
    )*) => {$(
        $(#[$attribute])*
        pub fn $name(
            origin_addr: SendBuffer,
            origin_count: Count,
            origin_datatype: MPI_Datatype,
            $($result: RecvBuffer, $result_count: Count, $result_datatype: MPI_Datatype,)?
            target_rank: c_int,
            target_disp: i64,
            target_count: Count,
            target_datatype: MPI_Datatype,
            op: MPI_Op,
            win: MPI_Win,
            $($request: Out<MPI_Request>,)?
        ) -> CallResult {
            let origin = (origin_addr, origin_count, origin_datatype);
            let result = None$(.or(Some(($result, $result_count, $result_datatype))))?;
            let at = (target_rank, target_disp, target_count, target_datatype);
            $does((origin, result), at, op, win $(, $request)?)
        }
    )*};
}

accumulates! {
    /// `MPI_Accumulate`.
    accumulate => accumulate_counted;
    /// `MPI_Raccumulate`.
    raccumulate, request => accumulate_with_request;
    /// `MPI_Get_accumulate`.
    get_accumulate(result_addr, result_count, result_datatype) => accumulate_counted;
    /// `MPI_Rget_accumulate`.
    rget_accumulate(result_addr, result_count, result_datatype), request => accumulate_with_request;
}

/// One element.
const ONE: Count = Count { value: 1, large: false };

/// `MPI_Fetch_and_op` of a word in mapped memory; returns false if nothing was done.
#[inline(always)]
pub fn fetch_and_op_at_once(
    origin_addr: SendBuffer,
    result_addr: RecvBuffer,
    datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: i64,
    op: MPI_Op,
    win: MPI_Win,
) -> bool {
    mapped::fetch_and_op_word((origin_addr, result_addr), (datatype, op), (target_rank, target_disp), win)
}

/// `MPI_Fetch_and_op`.
pub fn fetch_and_op(
    origin_addr: SendBuffer,
    result_addr: RecvBuffer,
    datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: i64,
    op: MPI_Op,
    win: MPI_Win,
) -> CallResult {
    if mapped::fetch_and_op((origin_addr, result_addr), (datatype, op), (target_rank, target_disp), win) {
        return Ok(());
    }
    let found = win.get()?;
    let Some(to) = target((target_rank, target_disp, ONE, datatype))? else { return Ok(()) };
    if !to.of.is_predefined() {
        fail!(Datatype, "datatype is {:?}: one element of a predefined datatype is fetched", to.of);
    }
    let how = accumulation(op, to.of, to.count)?;
    let origin = match how.op {
        BuiltIn::NoOp => None,
        _ => Some(data(origin_addr, ONE, datatype)?),
    };
    found.fetch_and_op(to, how, origin, data(result_addr, ONE, datatype)?)?;
    mapped::learn_change(win, target_rank, datatype, op);
    Ok(())
}

/// Returns true if elements of a datatype can be compared and swapped. The standard excludes characters, but
/// other implementations accept `MPI_CHAR`, and programs use it for bytes.
pub(super) fn is_swapped(of: &Datatype) -> bool {
    let swaps = |basic: Basic| {
        matches!(basic.kind(), BasicKind::Signed | BasicKind::Unsigned | BasicKind::Logical | BasicKind::Byte)
            || matches!(basic, Basic::Char)
    };
    of.as_basic().is_some_and(swaps)
}

/// `MPI_Compare_and_swap` in mapped memory; returns false if nothing was done.
#[inline(always)]
pub fn compare_and_swap_at_once(
    origin_addr: SendBuffer,
    compare_addr: SendBuffer,
    result_addr: RecvBuffer,
    datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: i64,
    win: MPI_Win,
) -> bool {
    mapped::compare_and_swap(
        (origin_addr, compare_addr, result_addr),
        datatype,
        (target_rank, target_disp),
        win,
    )
}

/// `MPI_Compare_and_swap`.
pub fn compare_and_swap(
    origin_addr: SendBuffer,
    compare_addr: SendBuffer,
    result_addr: RecvBuffer,
    datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: i64,
    win: MPI_Win,
) -> CallResult {
    let found = win.get()?;
    let Some(to) = target((target_rank, target_disp, ONE, datatype))? else { return Ok(()) };
    if !is_swapped(to.of) {
        fail!(Datatype, "datatype is {:?}: integers, logicals and bytes are compared and swapped", to.of);
    }
    let operands = [data(compare_addr, ONE, datatype)?, data(origin_addr, ONE, datatype)?];
    found.compare_and_swap(to, operands, data(result_addr, ONE, datatype)?)?;
    mapped::learn_transfer(win, target_rank, datatype);
    Ok(())
}
