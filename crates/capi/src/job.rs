//! The job: starting, finishing, and the identity of this process.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use canele::{Endpoint, Job};

use crate::error::{ReportedError, call, canele_error, value};
use crate::flow::{OpenFlow, canele_flow};
use crate::handle::{Head, get, kind, no_handle, no_place, open, put, retire};
use crate::memory::text;

/// The processes that were started together, seen from one of them. Made by canele_job_start.
pub struct canele_job(Head);
kind!(canele_job, OpenJob, b"job ", "job");

/// A job, and its flow, which is open as long as the job.
pub struct OpenJob {
    job: Job,
    world: NonNull<canele_flow>,
}

impl OpenJob {
    pub fn endpoint(&self) -> &Endpoint {
        self.job.endpoint()
    }
}

/// The result if there is no number to return.
const NO_NUMBER: u32 = u32::MAX;

/// Joins the job in which `canele run` started this process, and stores a handle of it in `job`. Without a
/// launcher it is a job of one rank. Call it once in a program.
///
/// Errors: CANELE_ERROR_TUNABLE, CANELE_ERROR_LAUNCHER, CANELE_ERROR_MEMORY, CANELE_ERROR_NETWORK; the text
/// says what to change.
#[unsafe(no_mangle)]
pub extern "C" fn canele_job_start(job: Option<&mut MaybeUninit<*mut canele_job>>) -> canele_error {
    call(|| {
        put(job, || {
            let job = Job::start()?;
            let world = open(OpenFlow::new(job.world(), true));
            Ok(OpenJob { job, world })
        })
    })
}

/// Ends this rank's part in good order, and closes the job. Everything sent before it will arrive. A rank
/// that exits without this call has failed. Close all other handles first. Later calls with them, and waiting
/// calls of other threads, return CANELE_ERROR_FINISHED.
///
/// Errors: CANELE_ERROR_LAUNCHER. The job is closed nevertheless.
#[unsafe(no_mangle)]
pub extern "C" fn canele_job_finish(job: Option<&mut *mut canele_job>) -> canele_error {
    call(|| {
        let place = job.ok_or_else(|| no_place("job"))?;
        let handle = NonNull::new(*place).ok_or_else(|| no_handle::<canele_job>(None))?;
        // SAFETY: what is not NULL is what this library gave, whose memory is never freed.
        let open = get(Some(unsafe { handle.as_ref() }))?;
        let finished = open.endpoint().finish();
        retire(open.world);
        retire(handle);
        *place = std::ptr::null_mut();
        Ok(finished?)
    })
}

/// Returns the number of this process, from 0 to canele_job_size() - 1; UINT32_MAX if `job` is no job.
#[unsafe(no_mangle)]
pub extern "C" fn canele_job_rank(job: Option<&canele_job>) -> u32 {
    value(NO_NUMBER, || Ok(get(job)?.job.rank().0))
}

/// Returns the number of ranks of the job; UINT32_MAX if `job` is no job.
#[unsafe(no_mangle)]
pub extern "C" fn canele_job_size(job: Option<&canele_job>) -> u32 {
    value(NO_NUMBER, || Ok(get(job)?.job.size()))
}

/// Returns the number of this rank among the ranks of its host; UINT32_MAX if `job` is no job.
#[unsafe(no_mangle)]
pub extern "C" fn canele_job_local_rank(job: Option<&canele_job>) -> u32 {
    value(NO_NUMBER, || Ok(get(job)?.job.local_rank()))
}

/// Returns the number of ranks of this host; UINT32_MAX if `job` is no job.
#[unsafe(no_mangle)]
pub extern "C" fn canele_job_local_size(job: Option<&canele_job>) -> u32 {
    value(NO_NUMBER, || Ok(get(job)?.job.local_size()))
}

/// Returns the number of hosts that had ranks of the job at its start; UINT32_MAX if `job` is no job.
#[unsafe(no_mangle)]
pub extern "C" fn canele_job_hosts(job: Option<&canele_job>) -> u32 {
    value(NO_NUMBER, || Ok(get(job)?.job.hosts()))
}

/// Returns the flow that all ranks share from the start; NULL if `job` is no job. It belongs to the job: it
/// is open until canele_job_finish, and canele_flow_close refuses it.
#[unsafe(no_mangle)]
pub extern "C" fn canele_job_world(job: Option<&canele_job>) -> *mut canele_flow {
    value(std::ptr::null_mut(), || Ok(get(job)?.world.as_ptr()))
}

/// Sets the strategy that makes packets of the messages that wait for a peer: "aggregate", "fifo", "priority"
/// or "split". It applies to this rank's messages to all ranks. Set it while no message is under way.
///
/// Errors: CANELE_ERROR_STRATEGY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_job_set_strategy(
    job: Option<&canele_job>,
    name: *const c_char,
) -> canele_error {
    call(|| {
        // SAFETY: the program gives a text that ends with a zero byte.
        let name = unsafe { text(name, "name of the strategy") }?;
        Ok(get(job)?.job.set_strategy(name)?)
    })
}

/// Returns a job's endpoint.
pub fn endpoint(job: Option<&canele_job>) -> Result<&Endpoint, ReportedError> {
    Ok(get(job)?.endpoint())
}
