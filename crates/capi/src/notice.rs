//! Notices, by which puts inform the owner of a region that they are complete.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use canele::Notice;

use crate::error::{ReportedError, call, canele_error};
use crate::job::{canele_job, endpoint};
use crate::memory::{set, wait};

/// A notice: it informs the owner of a region that a put is complete.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct canele_notice {
    /// The rank that put.
    pub source: u32,
    /// The identifier that this rank gave.
    pub id: u64,
}

impl From<Notice> for canele_notice {
    fn from(notice: Notice) -> Self {
        Self { source: notice.from.0, id: notice.id }
    }
}

/// A function that is called for notices, with the context given to canele_job_on_notice.
pub type canele_notice_call = Option<extern "C" fn(notice: *const canele_notice, context: *mut c_void)>;

/// Stores true in `found` if a notice has arrived, and then the next one in `notice`.
///
/// Errors: CANELE_ERROR_FINISHED.
#[unsafe(no_mangle)]
pub extern "C" fn canele_job_try_notice(
    job: Option<&canele_job>,
    found: Option<&mut MaybeUninit<bool>>,
    notice: Option<&mut MaybeUninit<canele_notice>>,
) -> canele_error {
    call(|| {
        let (found, notice) = found.zip(notice).ok_or_else(|| crate::handle::no_place("notice"))?;
        let next = endpoint(job)?.try_notice()?;
        found.write(next.is_some());
        if let Some(next) = next {
            notice.write(next.into());
        }
        Ok(())
    })
}

/// Waits for the next notice, at most `wait_ns` nanoseconds, and stores it in `notice`.
///
/// Errors: CANELE_ERROR_DEADLINE; CANELE_ERROR_FINISHED. With CANELE_FOREVER: CANELE_ERROR_NO_SENDER_LEFT, as
/// for canele_flow_recv.
#[unsafe(no_mangle)]
pub extern "C" fn canele_job_wait_notice(
    job: Option<&canele_job>,
    wait_ns: u64,
    notice: Option<&mut MaybeUninit<canele_notice>>,
) -> canele_error {
    call(|| {
        let notice = notice.ok_or_else(|| crate::handle::no_place("notice"))?;
        set(Some(notice), endpoint(job)?.wait_notice(wait(wait_ns))?.into(), "notice")
    })
}

/// Calls `call` with `context` for each notice whose identifier is at least `first` and below `end`. The call
/// comes from any thread, during any call that makes progress; it must not call the library.
/// canele_job_try_notice and canele_job_wait_notice do not report these notices any more.
///
/// Errors: CANELE_ERROR_FINISHED.
#[unsafe(no_mangle)]
pub extern "C" fn canele_job_on_notice(
    job: Option<&canele_job>,
    first: u64,
    end: u64,
    call: canele_notice_call,
    context: *mut c_void,
) -> canele_error {
    crate::error::call(|| {
        let call =
            call.ok_or_else(|| ReportedError::argument("the function for notices is a null pointer"))?;
        let context = Context(context);
        Ok(endpoint(job)?.on_notice(first..end, move |notice| call(&notice.into(), context.get()))?)
    })
}

/// The context that a program gives to its function.
struct Context(*mut c_void);

// SAFETY: the library only passes it on; the header says that any thread may call the function.
unsafe impl Send for Context {}

impl Context {
    fn get(&self) -> *mut c_void {
        self.0
    }
}
