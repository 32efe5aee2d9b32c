//! Values and keys of info objects for the Fortran library of Open MPI 5: counted strings of Open MPI.

use core::ffi::{CStr, c_char, c_int, c_void};

use canele_openmpi_c::constants::MPI_SUCCESS;
use canele_openmpi_c::error::{self, Failed, On};
use canele_openmpi_c::handle::{MPI_Info, ObjectHandle};

/// The class of Open MPI's objects. The Fortran library runs the functions of the second list, up to a null
/// pointer, before it frees an object.
#[repr(C)]
struct Class {
    name: *const c_char,
    parent: *const c_void,
    construct: *const c_void,
    destruct: *const c_void,
    initialized: c_int,
    depth: c_int,
    constructors: *const *const c_void,
    destructors: *const *const c_void,
    bytes: usize,
}

// SAFETY: nothing is ever changed.
unsafe impl Sync for Class {}

/// An empty list of functions.
struct NoFunctions([*const c_void; 1]);

// SAFETY: as above.
unsafe impl Sync for NoFunctions {}

static NO_FUNCTIONS: NoFunctions = NoFunctions([core::ptr::null()]);
static STRING: Class = Class {
    name: c"opal_cstring_t".as_ptr(),
    parent: core::ptr::null(),
    construct: core::ptr::null(),
    destruct: core::ptr::null(),
    initialized: 1,
    depth: 1,
    constructors: NO_FUNCTIONS.0.as_ptr(),
    destructors: NO_FUNCTIONS.0.as_ptr(),
    bytes: size_of::<CountedString>(),
};

/// The head of a string; its characters follow the last field and end with a zero.
#[repr(C)]
pub struct CountedString {
    class: *const c_void,
    references: c_int,
    length: usize,
    before_first: u8,
}

/// Offset of the characters.
const CHARACTERS: usize = core::mem::offset_of!(CountedString, before_first) + 1;
const _: () = assert!(CHARACTERS == 25);

/// Returns a string with one reference, whose holder frees it; null without memory.
fn counted(text: &[u8]) -> *mut CountedString {
    let bytes = (CHARACTERS + text.len() + 1).max(size_of::<CountedString>());
    // SAFETY: always permitted.
    let made = unsafe { libc::calloc(1, bytes) }.cast::<CountedString>();
    if !made.is_null() {
        let class = (&raw const STRING).cast();
        let head = CountedString { class, references: 1, length: text.len(), before_first: 0 };
        // SAFETY: there is room for the head, the characters and a zero, which is there.
        unsafe {
            made.write(head);
            made.cast::<u8>().add(CHARACTERS).copy_from_nonoverlapping(text.as_ptr(), text.len());
        }
    }
    made
}

/// Returns the value of a key.
///
/// # Safety
/// The key ends with a zero.
unsafe fn value(info: MPI_Info, key: *const c_char) -> Result<Option<Box<[u8]>>, Failed> {
    // SAFETY: as the caller says.
    let key = unsafe { CStr::from_ptr(key) };
    Ok(info.get()?.get(key.to_bytes())?)
}

/// `ompi_info_get`: stores the value of a key.
///
/// # Safety
/// The key ends with a zero; both places are there.
// SAFETY: the name is Open MPI's, and this crate alone defines it; so for all names below.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompi_info_get(
    info: MPI_Info,
    key: *const c_char,
    into: *mut *mut CountedString,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: as the caller says.
    match unsafe { value(info, key) } {
        Ok(found) => {
            let made = found.map(|text| counted(&text)).filter(|made| !made.is_null());
            // SAFETY: as the caller says.
            unsafe {
                flag.write(c_int::from(made.is_some()));
                into.write(made.unwrap_or(core::ptr::null_mut()));
            }
            MPI_SUCCESS
        }
        Err(failed) => error::raise("MPI_Info_get", On::Nothing, failed),
    }
}

/// `ompi_info_get_valuelen`: stores the length of a key's value.
///
/// # Safety
/// The key ends with a zero; both places are there.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompi_info_get_valuelen(
    info: MPI_Info,
    key: *const c_char,
    length: *mut c_int,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: as the caller says.
    match unsafe { value(info, key) } {
        Ok(found) => {
            // SAFETY: as the caller says.
            unsafe {
                flag.write(c_int::from(found.is_some()));
                if let Some(text) = found {
                    length.write(text.len() as c_int);
                }
            }
            MPI_SUCCESS
        }
        Err(failed) => error::raise("MPI_Info_get_valuelen", On::Nothing, failed),
    }
}

/// `ompi_info_get_nthkey`: stores the key at a position, or null after an error.
///
/// # Safety
/// The place is there.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompi_info_get_nthkey(
    info: MPI_Info,
    n: c_int,
    into: *mut *mut CountedString,
) -> c_int {
    let found = info.get().and_then(|info| info.nth_key(n));
    // SAFETY: as the caller says.
    unsafe { into.write(found.as_ref().map_or(core::ptr::null_mut(), |key| counted(key))) };
    match found {
        Ok(_) => MPI_SUCCESS,
        Err(failed) => error::raise("MPI_Info_get_nthkey", On::Nothing, failed.into()),
    }
}
