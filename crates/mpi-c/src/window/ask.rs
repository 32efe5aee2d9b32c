//! Queries of windows: name, group, hints, parts of other members.

use core::ffi::{c_int, c_void};
use std::sync::Arc;

use crate::cache;
use crate::comm::create::given;
use crate::constants::{MPI_GROUP_EMPTY, MPI_MAX_OBJECT_NAME, MPI_WIN_NULL};
use crate::error::CallResult;
use crate::handle::{MPI_Group, MPI_Info, MPI_Win, ObjectHandle};
use crate::pointer::{Out, Text, TextOut};
use crate::width::OutCount;

use super::member;

/// `MPI_Win_set_name`.
pub fn win_set_name(win: MPI_Win, win_name: Text) -> CallResult {
    win.get()?.set_name(&win_name.read("win_name")?);
    Ok(())
}

/// `MPI_Win_get_name`.
pub fn win_get_name(win: MPI_Win, win_name: TextOut, resultlen: Out<c_int>) -> CallResult {
    // The null handle has a name but no object.
    let name = if win == MPI_WIN_NULL { "MPI_WIN_NULL".to_owned() } else { win.get()?.name() };
    let len = win_name.write(&name, MPI_MAX_OBJECT_NAME as usize, "win_name")?;
    Ok(resultlen.set(len as c_int, "resultlen")?)
}

/// `MPI_Win_get_group`.
pub fn win_get_group(win: MPI_Win, group: Out<MPI_Group>) -> CallResult {
    let members = win.get()?.group();
    let handle = if members.is_empty() { MPI_GROUP_EMPTY } else { MPI_Group::new(members.clone())? };
    Ok(group.set(handle, "group")?)
}

/// `MPI_Win_set_info`.
pub fn win_set_info(win: MPI_Win, info: MPI_Info) -> CallResult {
    win.get()?.update_info(&*given(info)?);
    Ok(())
}

/// `MPI_Win_get_info`.
pub fn win_get_info(win: MPI_Win, info_used: Out<MPI_Info>) -> CallResult {
    Ok(info_used.set(MPI_Info::new(Arc::new(win.get()?.hints()))?, "info_used")?)
}

/// `MPI_Win_shared_query`.
pub fn win_shared_query(
    win: MPI_Win,
    rank: c_int,
    size: Out<i64>,
    disp_unit: OutCount,
    baseptr: Out<*mut c_void>,
) -> CallResult {
    let part = win.get()?.shared_part(member(rank))?;
    // From now on each flush fences.
    cache::forget();
    size.set(part.bytes as i64, "size")?;
    disp_unit.set(Some(part.unit as i64), "disp_unit")?;
    Ok(baseptr.set(core::ptr::with_exposed_provenance_mut(part.address), "baseptr")?)
}
