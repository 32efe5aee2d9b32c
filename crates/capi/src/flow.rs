//! Flows: making and closing them, and settings of their messages.

use std::mem::MaybeUninit;

use canele::short::KnownRanks;
use canele::{Flow, Source, Tag, TagMatch};

use crate::error::{ReportedError, call, canele_error, value};
use crate::handle::{Head, at, close, get, kind, put};

/// An ordered stream of messages among all ranks of a job; messages of one flow never match receives of another. Between two ranks
/// messages of a flow are matched in the order in which they were sent. Made by canele_job_world, canele_flow_duplicate or
/// canele_flow_duplicate_on_lane.
pub struct canele_flow(Head);
kind!(canele_flow, OpenFlow, b"flow", "flow");

/// A flow. It stores if its job closes it, and the ranks of its last short messages.
pub struct OpenFlow {
    pub flow: Flow,
    pub is_world: bool,
    pub known: KnownRanks,
}

impl OpenFlow {
    pub fn new(flow: Flow, is_world: bool) -> Self {
        Self { flow, is_world, known: KnownRanks::default() }
    }
}

/// Returns the flow of a handle.
#[inline(always)]
pub fn flow(handle: Option<&canele_flow>) -> Result<&Flow, ReportedError> {
    Ok(&get(handle)?.flow)
}

/// In place of a rank: messages of any rank.
pub const CANELE_ANY_SOURCE: u32 = u32::MAX;
/// In place of a tag: messages of any tag.
pub const CANELE_ANY_TAG: u64 = u64::MAX;

/// Returns the source that a number names in a receive.
#[inline(always)]
pub fn source(from: u32) -> Source {
    if from == CANELE_ANY_SOURCE { Source::Any } else { Source::Is(canele::Rank(from)) }
}

/// Returns the tags that a number names in a receive.
#[inline(always)]
pub fn tag_match(tag: u64) -> Result<TagMatch, ReportedError> {
    match u32::try_from(tag) {
        Ok(tag) => Ok(TagMatch::Is(Tag(tag))),
        Err(_) if tag == CANELE_ANY_TAG => Ok(TagMatch::Any),
        Err(_) => Err(no_tag(tag)),
    }
}

#[cold]
#[inline(never)]
fn no_tag(tag: u64) -> ReportedError {
    ReportedError::argument(format!(
        "there is no tag {tag}: tags go from 0 to {}, beside CANELE_ANY_TAG",
        u32::MAX
    ))
}

/// Returns this process's number in the job; UINT32_MAX if `flow` is no flow.
#[unsafe(no_mangle)]
pub extern "C" fn canele_flow_rank(flow: Option<&canele_flow>) -> u32 {
    value(u32::MAX, || Ok(get(flow)?.flow.rank().0))
}

/// Returns how many ranks the job has; UINT32_MAX if `flow` is no flow.
#[unsafe(no_mangle)]
pub extern "C" fn canele_flow_size(flow: Option<&canele_flow>) -> u32 {
    value(u32::MAX, || Ok(get(flow)?.flow.size()))
}

/// Makes a new flow of the same ranks, on the same lane, and stores a handle of it in `copy`: its messages match no receive on any other, as a
/// library needs it. A collective: all ranks call it.
///
/// Errors: as canele_flow_barrier; CANELE_ERROR_LENGTHS while some 32,000 flows are in use.
#[unsafe(no_mangle)]
pub extern "C" fn canele_flow_duplicate(
    flow: Option<&canele_flow>,
    copy: Option<&mut MaybeUninit<*mut canele_flow>>,
) -> canele_error {
    call(|| put(copy, || Ok(OpenFlow::new(get(flow)?.flow.duplicate()?, false))))
}

/// As canele_flow_duplicate, on the lane of this number: threads that use flows on different lanes do not wait for each other. Lanes are counted from
/// 0, that of canele_job_world, and beyond those that a rank may have from the first again. The flow lies on the first lane where a rank
/// cannot open the lane, or the ranks name different ones. No strategy plans what waits on several lanes together.
///
/// Errors: as canele_flow_duplicate.
#[unsafe(no_mangle)]
pub extern "C" fn canele_flow_duplicate_on_lane(
    flow: Option<&canele_flow>,
    lane: u32,
    copy: Option<&mut MaybeUninit<*mut canele_flow>>,
) -> canele_error {
    call(|| put(copy, || Ok(OpenFlow::new(get(flow)?.flow.duplicate_on_lane(lane)?, false))))
}

/// Closes this rank's handle of a flow, which becomes NULL. The flow is given back once its requests have ended, too: messages that were not
/// received there are lost. The flow of canele_job_world cannot be closed.
#[unsafe(no_mangle)]
pub extern "C" fn canele_flow_close(flow: Option<&mut *mut canele_flow>) -> canele_error {
    call(|| {
        let (flow, open) = at(flow)?;
        if open.is_world {
            return Err(ReportedError::argument(
                "the flow of canele_job_world belongs to the job: canele_job_finish closes it",
            ));
        }
        close(Some(flow)).map(drop)
    })
}

/// Says how urgent this rank's messages on the flow are from now on, from 0 to 7; a flow begins with 3. It counts where messages wait, and
/// under a strategy that heeds it (canele_job_set_strategy).
///
/// Errors: CANELE_ERROR_LENGTHS: there is no such level.
#[unsafe(no_mangle)]
pub extern "C" fn canele_flow_set_priority(flow: Option<&canele_flow>, level: u8) -> canele_error {
    call(|| Ok(get(flow)?.flow.set_priority(level)?))
}

/// Says which rail takes this rank's messages on the flow while it has room, others when it has none. Rails to other hosts are numbered
/// from 1; shared memory is not concerned.
///
/// Errors: CANELE_ERROR_LENGTHS: there is no such rail.
#[unsafe(no_mangle)]
pub extern "C" fn canele_flow_prefer_rail(flow: Option<&canele_flow>, rail: u8) -> canele_error {
    call(|| Ok(get(flow)?.flow.prefer_rail(rail)?))
}

/// Says which rail alone takes this rank's messages to other hosts on the flow. They wait while it is cut, and for ever where the other host
/// is not on it.
///
/// Errors: CANELE_ERROR_LENGTHS: there is no such rail.
#[unsafe(no_mangle)]
pub extern "C" fn canele_flow_require_rail(flow: Option<&canele_flow>, rail: u8) -> canele_error {
    call(|| Ok(get(flow)?.flow.require_rail(rail)?))
}
