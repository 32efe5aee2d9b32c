//! The tools interface for C (MPI 5.0, chapter 15): handles, places for results, and the numbers of the ABI.
//!
//! Any thread may call any function, also before and after MPI is active. A call returns a code of the tools
//! interface and calls no error handler. Handles are numbers that are never reused, so a freed one is
//! recognised.

use core::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

use canele_engine::Engine;
use canele_mpi::ThreadLevel;
use canele_mpi::tools::event::ToolEvents;
use canele_mpi::tools::{Reason, ToolError, ToolResult, Verbosity};

use crate::constants::*;
use crate::error::CallResult;
use crate::library;
use crate::pointer::{Out, TextOut};

pub mod category;
pub(crate) mod codes;
pub mod control;
pub mod enumeration;
pub mod event;
pub mod performance;
pub mod source;

/// The events of the process.
static EVENTS: ToolEvents = ToolEvents::new();

/// Number of initialisations without a finalisation.
static USERS: Mutex<usize> = Mutex::new(0);

fn users() -> MutexGuard<'static, usize> {
    USERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a call, if the interface is initialised.
fn call(body: impl FnOnce() -> ToolResult<()>) -> CallResult {
    if *users() == 0 {
        let text = "the tools interface is not initialised: call MPI_T_init_thread first";
        return Err(ToolError::new(Reason::NotInitialized, text).into());
    }
    Ok(body()?)
}

/// `MPI_T_init_thread`.
pub fn init_thread(required: c_int, provided: Out<c_int>) -> CallResult {
    if library::thread_level(required).is_none() {
        let text = format!("required is {required}: it is one of the MPI_THREAD_ levels");
        return Err(ToolError::new(Reason::Invalid, text).into());
    }
    // Any thread may call the interface, whatever level is requested.
    provided.set(MPI_THREAD_MULTIPLE, "provided")?;
    *users() += 1;
    Ok(())
}

/// `MPI_T_finalize`; the last one frees all handles and waits for a thread that calls callbacks.
pub fn finalize() -> CallResult {
    call(|| {
        let is_last = {
            let mut users = users();
            // Another thread may have finalised in between.
            *users = users.saturating_sub(1);
            *users == 0
        };
        if is_last {
            control::clear();
            performance::clear();
            EVENTS.clear();
        }
        Ok(())
    })
}

/// Reports events to tools at the end of a call.
pub struct TellGuard;

impl Drop for TellGuard {
    #[inline(always)]
    fn drop(&mut self) {
        if EVENTS.is_pending() {
            tell();
        }
    }
}

#[cold]
#[inline(never)]
fn tell() {
    // A nested call, made by a function of the program, leaves the reports to the outer call.
    let is_inside = library::PROCESS.world_at_hand().is_some_and(|world| world.engine().is_inside());
    if !is_inside {
        EVENTS.tell(needed_safety());
    }
}

/// Has an engine report events, if a tool has registered for any.
pub(crate) fn attach(engine: &Engine) {
    // This cannot fail: a thread that has just joined the job is neither inside the library nor in a forked
    // child.
    let _ = EVENTS.attach(engine);
}

/// Returns the safety level that callbacks need now; with several threads, any of them may run one.
fn needed_safety() -> usize {
    match library::PROCESS.threads() {
        Some(level) if level < ThreadLevel::Multiple => 0,
        _ => 2,
    }
}

/// Stores a text if there is room for it; always stores its length with the terminating zero (MPI 5.0,
/// §15.3.3).
fn write_text(to: TextOut, len: Out<c_int>, text: &str) -> ToolResult<()> {
    if len.is_null() {
        return Ok(());
    }
    let room = usize::try_from(len.get("the length")?).unwrap_or(0);
    if !to.is_null() {
        to.write(text, room, "the text")?;
    }
    len.put(text.len() as c_int + 1);
    Ok(())
}

/// Returns the number of a verbosity.
fn verbosity_number(verbosity: Verbosity) -> c_int {
    match verbosity {
        Verbosity::UserBasic => MPI_T_VERBOSITY_USER_BASIC,
        Verbosity::UserDetail => MPI_T_VERBOSITY_USER_DETAIL,
        Verbosity::TunerBasic => MPI_T_VERBOSITY_TUNER_BASIC,
        Verbosity::TunerDetail => MPI_T_VERBOSITY_TUNER_DETAIL,
    }
}

/// Fails if a pointer of the program is null.
fn check_buffer(is_null: bool) -> ToolResult<()> {
    if is_null {
        return Err(ToolError::new(
            Reason::Invalid,
            "the buffer is a null pointer: a place for a value is needed",
        ));
    }
    Ok(())
}
