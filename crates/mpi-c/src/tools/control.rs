//! Control variables (MPI 5.0, §15.3.6).

use core::ffi::{CStr, c_char, c_int};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use canele_mpi::tools::control::{ControlScope, ControlValue, ControlVariable, Representation, controls};
use canele_mpi::tools::{Reason, ToolError, ToolResult, at, index_of};

use super::{call, check_buffer, enumeration, verbosity_number, write_text};
use crate::attributes;
use crate::constants::*;
use crate::error::CallResult;
use crate::handle::MPI_Datatype;
use crate::library;
use crate::pointer::{Out, RecvBuffer, SendBuffer, Text, TextOut};

/// Smallest room for a text with its terminating zero, in bytes.
const TEXT_BYTES: usize = 1024;

/// A handle: its variable, and the number of elements of its value; for a text the number of bytes with the
/// terminating zero.
#[derive(Clone, Copy)]
struct Handle {
    variable: &'static ControlVariable,
    count: usize,
}

struct Handles {
    all: BTreeMap<usize, Handle>,
    last: usize,
}

static HANDLES: Mutex<Handles> = Mutex::new(Handles { all: BTreeMap::new(), last: 0x10 });

fn handles() -> MutexGuard<'static, Handles> {
    HANDLES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Frees all handles.
pub(super) fn clear() {
    handles().all.clear();
}

fn find(handle: usize) -> ToolResult<Handle> {
    handles().all.get(&handle).copied().ok_or_else(|| no_handle(handle))
}

fn no_handle(handle: usize) -> ToolError {
    ToolError::new(Reason::InvalidHandle, format!("handle is {handle:#x}: it was freed, or never made"))
}

/// `MPI_T_cvar_get_num`.
pub fn cvar_get_num(num_cvar: Out<c_int>) -> CallResult {
    call(|| Ok(num_cvar.set(controls().len() as c_int, "num_cvar")?))
}

/// `MPI_T_cvar_get_info`.
pub fn cvar_get_info(
    cvar_index: c_int,
    name: TextOut,
    name_len: Out<c_int>,
    verbosity: Out<c_int>,
    datatype: Out<MPI_Datatype>,
    enumtype: Out<usize>,
    desc: TextOut,
    desc_len: Out<c_int>,
    bind: Out<c_int>,
    scope: Out<c_int>,
) -> CallResult {
    call(|| {
        let variable = at(controls(), cvar_index, "cvar_index")?;
        write_text(name, name_len, variable.name())?;
        write_text(desc, desc_len, &variable.description)?;
        verbosity.put(verbosity_number(variable.verbosity()));
        datatype.put(match variable.representation() {
            Representation::Choice => MPI_INT,
            Representation::Number => MPI_UNSIGNED_LONG,
            Representation::Text => MPI_CHAR,
        });
        enumtype.put(enumeration::handle(variable.enumeration));
        bind.put(MPI_T_BIND_NO_OBJECT);
        scope.put(match variable.scope() {
            ControlScope::Constant => MPI_T_SCOPE_CONSTANT,
            ControlScope::Local => MPI_T_SCOPE_LOCAL,
            ControlScope::AllEqual => MPI_T_SCOPE_ALL_EQ,
        });
        Ok(())
    })
}

/// `MPI_T_cvar_get_index`.
pub fn cvar_get_index(name: Text, cvar_index: Out<c_int>) -> CallResult {
    call(|| {
        let index = index_of(controls(), &name.read("name")?, |variable| variable.name())?;
        Ok(cvar_index.set(index, "cvar_index")?)
    })
}

/// `MPI_T_cvar_handle_alloc`.
pub fn cvar_handle_alloc(
    cvar_index: c_int,
    _obj_handle: attributes::Value,
    handle: Out<usize>,
    count: Out<c_int>,
) -> CallResult {
    call(|| {
        let variable = at(controls(), cvar_index, "cvar_index")?;
        let elements = match variable.read(&library::PROCESS) {
            Ok(ControlValue::Text(text)) => TEXT_BYTES.max(text.len() + 1),
            Err(_) if variable.representation() == Representation::Text => TEXT_BYTES,
            _ => 1,
        };
        count.set(elements as c_int, "count")?;
        let mut handles = handles();
        let number = handles.last + 1;
        handle.set(number, "handle")?;
        handles.last = number;
        handles.all.insert(number, Handle { variable, count: elements });
        Ok(())
    })
}

/// `MPI_T_cvar_handle_free`.
pub fn cvar_handle_free(handle: Out<usize>) -> CallResult {
    call(|| {
        let number = handle.get("handle")?;
        handles().all.remove(&number).ok_or_else(|| no_handle(number))?;
        // The null handle.
        Ok(handle.set(0, "handle")?)
    })
}

/// `MPI_T_cvar_read`.
pub fn cvar_read(handle: usize, buf: RecvBuffer) -> CallResult {
    call(|| {
        let Handle { variable, count } = find(handle)?;
        check_buffer(buf.is_null())?;
        // SAFETY: the standard asks for room for as many elements of the variable's type as the handle was
        // made with.
        unsafe {
            match variable.read(&library::PROCESS)? {
                ControlValue::Choice(place) => buf.cast::<c_int>().write_unaligned(place),
                ControlValue::Number(number) => buf.cast::<u64>().write_unaligned(number),
                ControlValue::Text(text) => {
                    let bytes = &text.as_bytes()[..text.len().min(count - 1)];
                    core::ptr::copy_nonoverlapping(bytes.as_ptr(), buf.cast(), bytes.len());
                    buf.cast::<u8>().add(bytes.len()).write(0);
                }
            }
        }
        Ok(())
    })
}

/// `MPI_T_cvar_write`.
pub fn cvar_write(handle: usize, buf: SendBuffer) -> CallResult {
    call(|| {
        let Handle { variable, .. } = find(handle)?;
        check_buffer(buf.is_null())?;
        // SAFETY: the standard asks for a value of the variable's type; a text ends with a zero.
        let value = unsafe {
            match variable.representation() {
                Representation::Choice => ControlValue::Choice(buf.cast::<c_int>().read_unaligned()),
                Representation::Number => ControlValue::Number(buf.cast::<u64>().read_unaligned()),
                Representation::Text => {
                    ControlValue::Text(CStr::from_ptr(buf.cast::<c_char>()).to_string_lossy().into_owned())
                }
            }
        };
        variable.write(&library::PROCESS, &value)
    })
}
