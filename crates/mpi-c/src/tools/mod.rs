//! The tools interface at the edge (MPI 5.0, chapter 15): handles, places for results, and the numbers of the ABI.
//!
//! Any thread may call any of it, before MPI is initialised and after it was finalised. A call gives a code of the interface's own and
//! calls no error handler. Handles are numbers that are never given twice, so one that was freed is known as such.

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

/// How often the interface was initialised and not finalised.
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
    // Whatever is asked for, any thread may call it.
    provided.set(MPI_THREAD_MULTIPLE, "provided")?;
    *users() += 1;
    Ok(())
}

/// `MPI_T_finalize`. The last one frees all handles, and waits for a thread that calls functions of tools.
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

/// Tells tools of events at the end of a call.
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
    // A call that a function of the program makes inside of another call leaves it to that one.
    let is_inside = library::PROCESS.world_at_hand().is_some_and(|world| world.engine().is_inside());
    if !is_inside {
        EVENTS.tell(needed_safety());
    }
}

/// Has an engine tell of events, if a tool has asked for any.
pub(crate) fn attach(engine: &Engine) {
    // A thread that has just joined its job is not inside the library, and is that of no forked child.
    let _ = EVENTS.attach(engine);
}

/// The level of safety that functions of tools need now: with several threads, any of them may call one.
fn needed_safety() -> usize {
    match library::PROCESS.threads() {
        Some(level) if level < ThreadLevel::Multiple => 0,
        _ => 2,
    }
}

/// Writes a text as the interface does, where there is room for it; its length with the zero at the end is told in any case (MPI 5.0,
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

/// The number of a verbosity.
fn verbosity_number(verbosity: Verbosity) -> c_int {
    match verbosity {
        Verbosity::UserBasic => MPI_T_VERBOSITY_USER_BASIC,
        Verbosity::UserDetail => MPI_T_VERBOSITY_USER_DETAIL,
        Verbosity::TunerBasic => MPI_T_VERBOSITY_TUNER_BASIC,
        Verbosity::TunerDetail => MPI_T_VERBOSITY_TUNER_DETAIL,
    }
}

/// A pointer of the program's that must not be null.
fn check_buffer(is_null: bool) -> ToolResult<()> {
    if is_null {
        return Err(ToolError::new(
            Reason::Invalid,
            "the buffer is a null pointer: a place for a value is needed",
        ));
    }
    Ok(())
}
