//! Performance variables (MPI 5.0, §15.3.7).

use core::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

use canele_mpi::tools::performance::{
    CounterClass, CounterReading, Handles, PerformanceSessions, performance_index, performances,
};
use canele_mpi::tools::{Reason, ToolError, ToolResult, at};

use super::{call, check_buffer, enumeration, verbosity_number, write_text};
use crate::attributes;
use crate::constants::*;
use crate::error::CallResult;
use crate::handle::MPI_Datatype;
use crate::library;
use crate::pointer::{Out, RecvBuffer, SendBuffer, Text, TextOut};

static SESSIONS: Mutex<PerformanceSessions> = Mutex::new(PerformanceSessions::new());

fn sessions() -> MutexGuard<'static, PerformanceSessions> {
    SESSIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Frees all sessions.
pub(super) fn clear() {
    sessions().clear();
}

/// The classes with their numbers.
const CLASSES: [(CounterClass, c_int); 6] = [
    (CounterClass::Count, MPI_T_PVAR_CLASS_COUNTER),
    (CounterClass::Sum, MPI_T_PVAR_CLASS_AGGREGATE),
    (CounterClass::Timer, MPI_T_PVAR_CLASS_TIMER),
    (CounterClass::Level, MPI_T_PVAR_CLASS_LEVEL),
    (CounterClass::Size, MPI_T_PVAR_CLASS_SIZE),
    (CounterClass::HighWatermark, MPI_T_PVAR_CLASS_HIGHWATERMARK),
];

/// Runs an operation on sessions and a reading of the counters, while no other thread does.
fn with<T>(body: impl FnOnce(&mut PerformanceSessions, &CounterReading) -> ToolResult<T>) -> ToolResult<T> {
    let mut sessions = sessions();
    let world = library::PROCESS.world_at_hand();
    let reading = CounterReading::of(world.as_ref().map(|world| &**world.engine()))?;
    body(&mut sessions, &reading)
}

fn which(handle: usize) -> Handles {
    if handle == MPI_T_PVAR_ALL_HANDLES { Handles::All } else { Handles::One(handle) }
}

/// `MPI_T_pvar_get_num`.
pub fn pvar_get_num(num_pvar: Out<c_int>) -> CallResult {
    call(|| Ok(num_pvar.set(performances().len() as c_int, "num_pvar")?))
}

/// `MPI_T_pvar_get_info`.
pub fn pvar_get_info(
    pvar_index: c_int,
    name: TextOut,
    name_len: Out<c_int>,
    verbosity: Out<c_int>,
    var_class: Out<c_int>,
    datatype: Out<MPI_Datatype>,
    enumtype: Out<usize>,
    desc: TextOut,
    desc_len: Out<c_int>,
    bind: Out<c_int>,
    readonly: Out<c_int>,
    continuous: Out<c_int>,
    atomic: Out<c_int>,
) -> CallResult {
    call(|| {
        let variable = at(performances(), pvar_index, "pvar_index")?;
        write_text(name, name_len, variable.name())?;
        write_text(desc, desc_len, &variable.description())?;
        verbosity.put(verbosity_number(variable.verbosity()));
        let number = CLASSES.iter().find(|(class, _)| *class == variable.class()).map(|(_, number)| *number);
        var_class.put(number.unwrap_or(MPI_T_PVAR_CLASS_GENERIC));
        datatype.put(MPI_UNSIGNED_LONG);
        enumtype.put(enumeration::handle(None));
        bind.put(MPI_T_BIND_NO_OBJECT);
        readonly.put(c_int::from(variable.is_continuous()));
        continuous.put(c_int::from(variable.is_continuous()));
        // A variable that can be reset can be read and reset in one step.
        atomic.put(c_int::from(!variable.is_continuous()));
        Ok(())
    })
}

/// `MPI_T_pvar_get_index`.
pub fn pvar_get_index(name: Text, var_class: c_int, pvar_index: Out<c_int>) -> CallResult {
    call(|| {
        let class = CLASSES.iter().find(|(_, number)| *number == var_class).map(|(class, _)| *class);
        Ok(pvar_index.set(performance_index(&name.read("name")?, class)?, "pvar_index")?)
    })
}

/// `MPI_T_pvar_session_create`.
pub fn pvar_session_create(session: Out<usize>) -> CallResult {
    call(|| {
        // This comes first, since no later step is undone.
        session.set(0, "session")?;
        Ok(session.set(sessions().create(), "session")?)
    })
}

/// `MPI_T_pvar_session_free`.
pub fn pvar_session_free(session: Out<usize>) -> CallResult {
    call(|| {
        sessions().free(session.get("session")?)?;
        // The null handle.
        Ok(session.set(0, "session")?)
    })
}

/// `MPI_T_pvar_handle_alloc`.
pub fn pvar_handle_alloc(
    session: usize,
    pvar_index: c_int,
    _obj_handle: attributes::Value,
    handle: Out<usize>,
    count: Out<c_int>,
) -> CallResult {
    call(|| {
        count.set(1, "count")?;
        handle.set(0, "handle")?;
        Ok(handle.set(sessions().allocate(session, pvar_index)?, "handle")?)
    })
}

/// `MPI_T_pvar_handle_free`.
pub fn pvar_handle_free(session: usize, handle: Out<usize>) -> CallResult {
    call(|| {
        sessions().release(session, handle.get("handle")?)?;
        // The null handle.
        Ok(handle.set(0, "handle")?)
    })
}

/// `MPI_T_pvar_start`.
pub fn pvar_start(session: usize, handle: usize) -> CallResult {
    call(|| with(|sessions, reading| sessions.start(session, which(handle), reading)))
}

/// `MPI_T_pvar_stop`.
pub fn pvar_stop(session: usize, handle: usize) -> CallResult {
    call(|| with(|sessions, reading| sessions.stop(session, which(handle), reading)))
}

/// `MPI_T_pvar_reset`.
pub fn pvar_reset(session: usize, handle: usize) -> CallResult {
    call(|| with(|sessions, reading| sessions.reset(session, which(handle), reading)))
}

/// `MPI_T_pvar_read`.
pub fn pvar_read(session: usize, handle: usize, buf: RecvBuffer) -> CallResult {
    call(|| {
        check_one(handle)?;
        check_buffer(buf.is_null())?;
        store(buf, with(|sessions, reading| sessions.read(session, handle, reading))?);
        Ok(())
    })
}

/// `MPI_T_pvar_readreset`.
pub fn pvar_readreset(session: usize, handle: usize, buf: RecvBuffer) -> CallResult {
    call(|| {
        check_one(handle)?;
        check_buffer(buf.is_null())?;
        store(buf, with(|sessions, reading| sessions.read_and_reset(session, handle, reading))?);
        Ok(())
    })
}

/// `MPI_T_pvar_write`.
pub fn pvar_write(session: usize, handle: usize, buf: SendBuffer) -> CallResult {
    call(|| {
        check_one(handle)?;
        check_buffer(buf.is_null())?;
        // SAFETY: the standard asks for a value of the variable's type, which is that of all of them.
        let value = unsafe { buf.cast::<u64>().read_unaligned() };
        with(|sessions, reading| sessions.write(session, handle, value, reading))
    })
}

fn store(buf: RecvBuffer, value: u64) {
    // SAFETY: the standard asks for room for a value of the variable's type, which is that of all of them.
    unsafe { buf.cast::<u64>().write_unaligned(value) };
}

/// Fails for all handles, since a call reads or writes one value.
fn check_one(handle: usize) -> ToolResult<()> {
    if handle == MPI_T_PVAR_ALL_HANDLES {
        let text = "handle is MPI_T_PVAR_ALL_HANDLES: a value is that of one handle";
        return Err(ToolError::new(Reason::InvalidHandle, text));
    }
    Ok(())
}
