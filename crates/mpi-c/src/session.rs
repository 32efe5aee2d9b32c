//! Sessions (MPI 5.0, §11.3).

use core::ffi::c_int;
use std::sync::Arc;

use canele_mpi::info::Info;
use canele_mpi::process_set::ProcessSet;
use canele_mpi::session::Session;
use canele_mpi::{Result, fail};

use crate::comm::create::given;
use crate::constants::MPI_SESSION_NULL;
use crate::error::CallResult;
use crate::handle::{MPI_Errhandler, MPI_Group, MPI_Info, MPI_Session, ObjectHandle};
use crate::library;
use crate::pointer::{Out, Text, TextOut};
use crate::{tools, traced};

/// `MPI_Session_init`.
pub fn session_init(info: MPI_Info, errhandler: MPI_Errhandler, session: Out<MPI_Session>) -> CallResult {
    library::predefine();
    canele_engine::find_command_by(crate::dynamic::command::beside_library);
    let (handler, info) = (errhandler.share()?, given(info)?);
    let has_threads = asks_for_threads(&info)?;
    // This comes first, since no later step is undone.
    session.set(MPI_SESSION_NULL, "session")?;
    // The threads that use the session are unknown.
    crate::cache::own::allow(false);
    crate::cache::share();
    let world = library::PROCESS.enter()?;
    if has_threads {
        world.expect_threads();
    }
    tools::attach(world.engine());
    traced::attach(world.engine());
    let made = Arc::new(Session::new(world, handler, &info));
    library::leave_at_exit();
    let handle = MPI_Session::new(made.clone())?;
    made.set_number(handle.value());
    Ok(session.set(handle, "session")?)
}

/// Returns true if the info requests the highest thread level, or no level; every session has the highest
/// one. Fails on an unknown level.
fn asks_for_threads(info: &Info) -> Result<bool> {
    const MULTIPLE: &str = "MPI_THREAD_MULTIPLE";
    const LEVELS: [&str; 4] = ["MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", MULTIPLE];
    let Some(asked) = info.get("thread_level")? else { return Ok(true) };
    if !LEVELS.iter().any(|level| level.as_bytes() == &*asked) {
        fail!(InfoValue, "thread_level is {}: it is one of {}", asked.escape_ascii(), LEVELS.join(", "));
    }
    Ok(&*asked == MULTIPLE.as_bytes())
}

/// `MPI_Session_finalize`.
pub fn session_finalize(session: Out<MPI_Session>) -> CallResult {
    session.get("session")?.free()?;
    session.set(MPI_SESSION_NULL, "session")?;
    Ok(library::PROCESS.leave()?)
}

/// `MPI_Session_get_info`.
pub fn session_get_info(session: MPI_Session, info_used: Out<MPI_Info>) -> CallResult {
    let info = session.get()?.info()?;
    Ok(info_used.set(MPI_Info::new(Arc::new(info))?, "info_used")?)
}

/// `MPI_Session_set_info` of Open MPI; no hint has an effect, since the properties of a session are fixed at
/// its start.
pub fn session_set_info(session: MPI_Session, info: MPI_Info) -> CallResult {
    session.get()?;
    crate::infos::check(info)
}

/// `MPI_Session_get_num_psets`.
pub fn session_get_num_psets(session: MPI_Session, _info: MPI_Info, npset_names: Out<c_int>) -> CallResult {
    session.get()?;
    Ok(npset_names.set(ProcessSet::ALL.len() as c_int, "npset_names")?)
}

/// `MPI_Session_get_nth_pset`.
pub fn session_get_nth_pset(
    session: MPI_Session,
    _info: MPI_Info,
    n: c_int,
    pset_len: Out<c_int>,
    pset_name: TextOut,
) -> CallResult {
    session.get()?;
    let Some((_, name)) = usize::try_from(n).ok().and_then(|n| ProcessSet::ALL.get(n)) else {
        fail!(Argument, "n is {n}: there are {} process sets, counted from 0", ProcessSet::ALL.len());
    };
    let room = usize::try_from(pset_len.get("pset_len")?).unwrap_or(0);
    pset_name.write(name, room, "pset_name")?;
    Ok(pset_len.set(name.len() as c_int + 1, "pset_len")?)
}

/// `MPI_Session_get_pset_info`.
pub fn session_get_pset_info(session: MPI_Session, pset_name: Text, info: Out<MPI_Info>) -> CallResult {
    let group = session.get()?.process_set(&pset_name.read("pset_name")?)?;
    let made = Info::new();
    made.set(b"mpi_size", group.size().to_string().as_bytes())?;
    Ok(info.set(MPI_Info::new(Arc::new(made))?, "info")?)
}

/// `MPI_Group_from_session_pset`.
pub fn group_from_session_pset(
    session: MPI_Session,
    pset_name: Text,
    newgroup: Out<MPI_Group>,
) -> CallResult {
    let group = session.get()?.process_set(&pset_name.read("pset_name")?)?;
    Ok(newgroup.set(MPI_Group::new(group)?, "newgroup")?)
}
