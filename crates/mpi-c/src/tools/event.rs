//! Events (MPI 5.0, §15.3.8). Callbacks run at the end of a call of the program, without any lock.

use core::ffi::{c_int, c_void};
use std::sync::Arc;

use canele_mpi::tools::enumeration::enumeration_of;
use canele_mpi::tools::event::{Callback, Dropped, ElementKind, EventKind, Freed, TABLE};
use canele_mpi::tools::{Reason, ToolError, ToolResult, at, index_of};

use super::{
    EVENTS, call, check_buffer, enumeration, needed_safety, source::put_no_hints, verbosity_number,
    write_text,
};
use crate::attributes::Value;
use crate::constants::*;
use crate::error::CallResult;
use crate::handle::{MPI_Datatype, MPI_Info};
use crate::library;
use crate::pointer::{Out, RecvBuffer, Text, TextOut};
use crate::program_call::call_program;

/// A callback for an event: its handle, the registration's, the required safety level, the state.
pub type EventCallback = unsafe extern "C-unwind" fn(usize, usize, c_int, *mut c_void);
/// A callback for a freed registration: its handle, the safety level, the state.
pub type EventFreed = unsafe extern "C-unwind" fn(usize, c_int, *mut c_void);
/// A callback for dropped events: their number, the registration's handle, the source, the safety level, the
/// state.
pub type EventsDropped = unsafe extern "C-unwind" fn(i64, usize, c_int, c_int, *mut c_void);

/// The name of all three callbacks in texts.
const FUNCTION: &str = "a function that is told of events";

/// The safety levels in rising order.
const SAFETY: [c_int; 4] = [
    MPI_T_CB_REQUIRE_NONE,
    MPI_T_CB_REQUIRE_MPI_RESTRICTED,
    MPI_T_CB_REQUIRE_THREAD_SAFE,
    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE,
];

fn safety(cb_safety: c_int) -> ToolResult<usize> {
    SAFETY.iter().position(|number| *number == cb_safety).ok_or_else(|| {
        let text = format!("cb_safety is {cb_safety}: it is one of the MPI_T_CB_REQUIRE_ levels");
        ToolError::new(Reason::Invalid, text)
    })
}

fn state(address: usize) -> *mut c_void {
    core::ptr::with_exposed_provenance_mut(address)
}

/// `MPI_T_event_get_num`.
pub fn event_get_num(num_events: Out<c_int>) -> CallResult {
    call(|| Ok(num_events.set(TABLE.len() as c_int, "num_events")?))
}

/// `MPI_T_event_get_info`.
pub fn event_get_info(
    event_index: c_int,
    name: TextOut,
    name_len: Out<c_int>,
    verbosity: Out<c_int>,
    array_of_datatypes: Out<MPI_Datatype>,
    array_of_displacements: Out<i64>,
    num_elements: Out<c_int>,
    enumtype: Out<usize>,
    info: Out<MPI_Info>,
    desc: TextOut,
    desc_len: Out<c_int>,
    bind: Out<c_int>,
) -> CallResult {
    call(|| {
        let kind = at(&TABLE, event_index, "event_index")?;
        write_text(name, name_len, kind.name)?;
        write_text(desc, desc_len, &kind.description())?;
        verbosity.put(verbosity_number(kind.verbosity));
        describe_elements(kind, array_of_datatypes, array_of_displacements, num_elements)?;
        enumtype.put(enumeration::handle(enumeration_of(kind.name)));
        bind.put(MPI_T_BIND_NO_OBJECT);
        put_no_hints(info)
    })
}

/// Stores types and offsets of as many elements as fit, and the total number.
fn describe_elements(
    kind: &EventKind,
    datatypes: Out<MPI_Datatype>,
    displacements: Out<i64>,
    num_elements: Out<c_int>,
) -> ToolResult<()> {
    if num_elements.is_null() {
        return Ok(());
    }
    let room = usize::try_from(num_elements.get("num_elements")?).unwrap_or(0);
    if !datatypes.is_null() {
        let types = kind.elements.iter().map(|element| match element.kind {
            ElementKind::Int => MPI_INT,
            ElementKind::Unsigned => MPI_UNSIGNED,
            ElementKind::UnsignedLong => MPI_UNSIGNED_LONG,
        });
        datatypes.set_all(types.take(room), "array_of_datatypes")?;
    }
    if !displacements.is_null() {
        let places = kind.displacements().into_iter().map(|at| at as i64);
        displacements.set_all(places.take(room), "array_of_displacements")?;
    }
    num_elements.put(kind.elements.len() as c_int);
    Ok(())
}

/// `MPI_T_event_get_index`.
pub fn event_get_index(name: Text, event_index: Out<c_int>) -> CallResult {
    call(|| {
        let index = index_of(&TABLE, &name.read("name")?, |kind| kind.name)?;
        Ok(event_index.set(index, "event_index")?)
    })
}

/// `MPI_T_event_handle_alloc`.
pub fn event_handle_alloc(
    event_index: c_int,
    _obj_handle: Value,
    _info: MPI_Info,
    event_registration: Out<usize>,
) -> CallResult {
    call(|| {
        // This comes first, since no later step is undone.
        event_registration.set(0, "event_registration")?;
        Ok(event_registration.set(EVENTS.register(event_index)?, "event_registration")?)
    })
}

/// `MPI_T_event_handle_free`.
pub fn event_handle_free(
    event_registration: usize,
    user_data: Value,
    free_cb_function: Option<EventFreed>,
) -> CallResult {
    call(|| {
        let address = user_data.expose_provenance();
        let freed = free_cb_function.map(|function| -> Freed {
            Box::new(move |needed| {
                // SAFETY: the program gave this function for such a call.
                call_program(FUNCTION, || unsafe {
                    function(event_registration, SAFETY[needed], state(address))
                });
            })
        });
        EVENTS.free(event_registration, freed, needed_safety())
    })
}

/// `MPI_T_event_handle_get_info`; no hint has an effect.
pub fn event_handle_get_info(event_registration: usize, info_used: Out<MPI_Info>) -> CallResult {
    call(|| {
        EVENTS.check(event_registration)?;
        put_no_hints(info_used)
    })
}

/// `MPI_T_event_handle_set_info`.
pub fn event_handle_set_info(event_registration: usize, _info: MPI_Info) -> CallResult {
    call(|| EVENTS.check(event_registration))
}

/// `MPI_T_event_register_callback`.
pub fn event_register_callback(
    event_registration: usize,
    cb_safety: c_int,
    _info: MPI_Info,
    user_data: Value,
    event_cb_function: Option<EventCallback>,
) -> CallResult {
    call(|| {
        let level = safety(cb_safety)?;
        let address = user_data.expose_provenance();
        let callback = event_cb_function.map(|function| {
            let callback: Callback = Arc::new(move |instance, needed| {
                // SAFETY: the program gave this function for such calls.
                let call =
                    || unsafe { function(instance, event_registration, SAFETY[needed], state(address)) };
                call_program(FUNCTION, call);
            });
            (callback, address)
        });
        EVENTS.set_callback(event_registration, level, callback)?;
        match library::PROCESS.world_at_hand() {
            Some(world) => EVENTS.attach(world.engine()),
            // The engine reports events from its start on.
            None => Ok(()),
        }
    })
}

/// `MPI_T_event_callback_get_info`; no hint has an effect.
pub fn event_callback_get_info(
    event_registration: usize,
    cb_safety: c_int,
    info_used: Out<MPI_Info>,
) -> CallResult {
    call(|| {
        safety(cb_safety)?;
        EVENTS.check(event_registration)?;
        put_no_hints(info_used)
    })
}

/// `MPI_T_event_callback_set_info`.
pub fn event_callback_set_info(event_registration: usize, cb_safety: c_int, _info: MPI_Info) -> CallResult {
    call(|| {
        safety(cb_safety)?;
        EVENTS.check(event_registration)
    })
}

/// `MPI_T_event_set_dropped_handler`.
pub fn event_set_dropped_handler(
    event_registration: usize,
    dropped_cb_function: Option<EventsDropped>,
) -> CallResult {
    call(|| {
        let handler = dropped_cb_function.map(|function| -> Dropped {
            Arc::new(move |count, needed, address| {
                // SAFETY: the program gave this function for such calls.
                call_program(FUNCTION, || unsafe {
                    function(count as i64, event_registration, 0, SAFETY[needed], state(address));
                });
            })
        });
        EVENTS.set_dropped_handler(event_registration, handler)
    })
}

/// `MPI_T_event_read`.
pub fn event_read(event_instance: usize, element_index: c_int, buffer: RecvBuffer) -> CallResult {
    call(|| {
        let elements: Vec<_> = EVENTS.told(event_instance)?.event.elements().collect();
        let (kind, value) = *at(&elements, element_index, "element_index")?;
        check_buffer(buffer.is_null())?;
        store(buffer, 0, kind, value);
        Ok(())
    })
}

/// `MPI_T_event_copy`.
pub fn event_copy(event_instance: usize, buffer: RecvBuffer) -> CallResult {
    call(|| {
        let event = EVENTS.told(event_instance)?.event;
        check_buffer(buffer.is_null())?;
        for ((kind, value), at) in event.elements().zip(TABLE[event.kind].displacements()) {
            store(buffer, at, kind, value);
        }
        Ok(())
    })
}

/// Stores an element at its offset in a buffer.
fn store(buffer: RecvBuffer, at: usize, kind: ElementKind, value: u64) {
    // SAFETY: the standard asks for room for the element, or for all at their places.
    unsafe {
        let place = buffer.cast::<u8>().add(at);
        match kind {
            ElementKind::Int => place.cast::<i32>().write_unaligned(value as i32),
            ElementKind::Unsigned => place.cast::<u32>().write_unaligned(value as u32),
            ElementKind::UnsignedLong => place.cast::<u64>().write_unaligned(value),
        }
    }
}

/// `MPI_T_event_get_timestamp`.
pub fn event_get_timestamp(event_instance: usize, event_timestamp: Out<i64>) -> CallResult {
    call(|| {
        let event = EVENTS.told(event_instance)?.event;
        Ok(event_timestamp.set(event.at_ns as i64, "event_timestamp")?)
    })
}

/// `MPI_T_event_get_source`; all events have one source.
pub fn event_get_source(event_instance: usize, source_index: Out<c_int>) -> CallResult {
    call(|| {
        EVENTS.told(event_instance)?;
        Ok(source_index.set(0, "source_index")?)
    })
}
