//! Flows: making and closing them, and settings of their messages.

use std::mem::MaybeUninit;

use canele::short::KnownRanks;
use canele::{Flow, Source, Tag, TagMatch};

use crate::error::{ReportedError, call, canele_error, value};
use crate::handle::{Head, at, close, get, kind, put};

/// An ordered stream of messages among all ranks of a job. Messages of one flow never match receives of
/// another. Between two ranks, messages of a flow are matched in the order in which they were sent. Made by
/// canele_job_world, canele_flow_duplicate or canele_flow_duplicate_on_lane.
pub struct canele_flow(Head);
kind!(canele_flow, OpenFlow, b"flow", "flow");

/// A flow. It stores whether its job closes it, and the ranks of its last short messages.
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

/// In place of a rank: messages from any rank.
pub const CANELE_ANY_SOURCE: u32 = u32::MAX;
/// In place of a tag: messages with any tag.
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

/// Returns the number of this process in the job; UINT32_MAX if `flow` is no flow.
#[unsafe(no_mangle)]
pub extern "C" fn canele_flow_rank(flow: Option<&canele_flow>) -> u32 {
    value(u32::MAX, || Ok(get(flow)?.flow.rank().0))
}

/// Returns the number of ranks of the job; UINT32_MAX if `flow` is no flow.
#[unsafe(no_mangle)]
pub extern "C" fn canele_flow_size(flow: Option<&canele_flow>) -> u32 {
    value(u32::MAX, || Ok(get(flow)?.flow.size()))
}

/// Makes a new flow of the same ranks, on the same lane, and stores a handle of it in `copy`. Its messages
/// match no receive on any other flow, so a library can have a flow of its own. A collective: all ranks call
/// it.
///
/// Errors: as canele_flow_barrier; CANELE_ERROR_LENGTHS while some 32,000 flows are in use.
#[unsafe(no_mangle)]
pub extern "C" fn canele_flow_duplicate(
    flow: Option<&canele_flow>,
    copy: Option<&mut MaybeUninit<*mut canele_flow>>,
) -> canele_error {
    call(|| put(copy, || Ok(OpenFlow::new(get(flow)?.flow.duplicate()?, false))))
}

/// Makes a new flow as canele_flow_duplicate does, on the lane of this number. Threads that use flows on
/// different lanes do not wait for each other. Lanes are numbered from 0, the lane of canele_job_world; a
/// number beyond the last lane of a rank counts again from 0. The flow lies on lane 0 if a rank cannot open
/// the lane, or if ranks name different lanes. No strategy combines messages of several lanes.
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

/// Closes this rank's handle of a flow; the handle becomes NULL. The flow is released after its requests have
/// ended. Messages that were not received on it are lost. The flow of canele_job_world cannot be closed.
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

/// Sets the priority of this rank's later messages on the flow, from 0 to 7, the most urgent; a new flow has
/// 3. The priority counts only while messages wait, and under a strategy that uses it
/// (canele_job_set_strategy).
///
/// Errors: CANELE_ERROR_LENGTHS: the level is above 7.
#[unsafe(no_mangle)]
pub extern "C" fn canele_flow_set_priority(flow: Option<&canele_flow>, level: u8) -> canele_error {
    call(|| Ok(get(flow)?.flow.set_priority(level)?))
}

/// Chooses the rail for this rank's messages on the flow; while it is full they may use another rail. Rails
/// to other hosts are numbered from 1. Messages through shared memory are not affected.
///
/// Errors: CANELE_ERROR_LENGTHS: there is no such rail.
#[unsafe(no_mangle)]
pub extern "C" fn canele_flow_prefer_rail(flow: Option<&canele_flow>, rail: u8) -> canele_error {
    call(|| Ok(get(flow)?.flow.prefer_rail(rail)?))
}

/// Chooses the only rail for this rank's messages on the flow to other hosts. Messages wait while the rail is
/// cut, and forever if the other host is not on it.
///
/// Errors: CANELE_ERROR_LENGTHS: there is no such rail.
#[unsafe(no_mangle)]
pub extern "C" fn canele_flow_require_rail(flow: Option<&canele_flow>, rail: u8) -> canele_error {
    call(|| Ok(get(flow)?.flow.require_rail(rail)?))
}
