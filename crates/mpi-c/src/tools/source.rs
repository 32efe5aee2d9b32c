//! The source of events (MPI 5.0, §15.3.8). There is one; its events are in the order of their occurrence.

use core::ffi::c_int;
use std::sync::Arc;

use canele_mpi::info::Info;
use canele_mpi::tools::{ToolResult, at};
use canele_sys::clock::monotonic_ns;

use super::{call, write_text};
use crate::constants::MPI_T_SOURCE_ORDERED;
use crate::error::CallResult;
use crate::handle::{MPI_Info, ObjectHandle};
use crate::pointer::{Out, TextOut};

/// The names of the sources.
const SOURCES: [&str; 1] = ["engine"];

/// Number of clock ticks in a second.
const TICKS_PER_SECOND: i64 = 1_000_000_000;

fn check(source_index: c_int) -> ToolResult<&'static str> {
    at(&SOURCES, source_index, "source_index").copied()
}

/// Stores an info object without keys, if the tool wants one.
pub(super) fn put_no_hints(info: Out<MPI_Info>) -> ToolResult<()> {
    if !info.is_null() {
        info.put(MPI_Info::new(Arc::new(Info::new()))?);
    }
    Ok(())
}

/// `MPI_T_source_get_num`.
pub fn source_get_num(num_sources: Out<c_int>) -> CallResult {
    call(|| Ok(num_sources.set(SOURCES.len() as c_int, "num_sources")?))
}

/// `MPI_T_source_get_info`.
pub fn source_get_info(
    source_index: c_int,
    name: TextOut,
    name_len: Out<c_int>,
    desc: TextOut,
    desc_len: Out<c_int>,
    ordering: Out<c_int>,
    ticks_per_second: Out<i64>,
    max_ticks: Out<i64>,
    info: Out<MPI_Info>,
) -> CallResult {
    call(|| {
        write_text(name, name_len, check(source_index)?)?;
        write_text(desc, desc_len, "What the protocols of this rank do, stamped by the clock of MPI_Wtime")?;
        ordering.put(MPI_T_SOURCE_ORDERED);
        ticks_per_second.put(TICKS_PER_SECOND);
        max_ticks.put(i64::MAX);
        put_no_hints(info)
    })
}

/// `MPI_T_source_get_timestamp`.
pub fn source_get_timestamp(source_index: c_int, timestamp: Out<i64>) -> CallResult {
    call(|| {
        check(source_index)?;
        Ok(timestamp.set(monotonic_ns() as i64, "timestamp")?)
    })
}
