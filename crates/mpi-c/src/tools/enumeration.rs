//! Enumerations (MPI 5.0, §15.3.5). A handle is the index of the enumeration, counted from 1.

use core::ffi::c_int;

use canele_mpi::tools::enumeration::{Enumeration, enumerations};
use canele_mpi::tools::{Reason, ToolError, ToolResult, at};

use super::{call, write_text};
use crate::error::CallResult;
use crate::pointer::{Out, TextOut};

/// Returns the handle of the enumeration at an index; the null handle for none.
pub(super) fn handle(place: Option<usize>) -> usize {
    place.map_or(0, |place| place + 1)
}

fn find(handle: usize) -> ToolResult<&'static Enumeration> {
    handle.checked_sub(1).and_then(|place| enumerations().get(place)).ok_or_else(|| {
        ToolError::new(Reason::InvalidHandle, format!("enumtype is {handle:#x}, which is no enumeration"))
    })
}

/// `MPI_T_enum_get_info`.
pub fn enum_get_info(enumtype: usize, num: Out<c_int>, name: TextOut, name_len: Out<c_int>) -> CallResult {
    call(|| {
        let found = find(enumtype)?;
        num.put(found.items.len() as c_int);
        write_text(name, name_len, found.name)
    })
}

/// `MPI_T_enum_get_item`.
pub fn enum_get_item(
    enumtype: usize,
    indx: c_int,
    value: Out<c_int>,
    name: TextOut,
    name_len: Out<c_int>,
) -> CallResult {
    call(|| {
        let item = at(&find(enumtype)?.items, indx, "indx")?;
        value.put(indx);
        write_text(name, name_len, item)
    })
}
