//! Conversion between Fortran strings, which are padded with blanks, and C strings. The Fortran library frees
//! the memory allocated here.

use core::ffi::{c_char, c_int};

/// The results of these functions: success, and no memory.
const SUCCESS: c_int = 0;
const NO_MEMORY: c_int = -2;

/// Returns the text of a Fortran string, without surrounding blanks.
///
/// # Safety
/// The string has `len` characters.
unsafe fn text<'a>(string: *const c_char, len: c_int) -> &'a [u8] {
    // SAFETY: as the caller says.
    unsafe { core::slice::from_raw_parts(string.cast::<u8>(), len.max(0) as usize) }.trim_ascii()
}

/// Returns a copy of a text as a C string, allocated by `malloc`; null without memory.
fn copied(text: &[u8]) -> *mut c_char {
    // SAFETY: always permitted.
    let copy = unsafe { libc::malloc(text.len() + 1) }.cast::<u8>();
    if !copy.is_null() {
        // SAFETY: there is room for the text and for its end.
        unsafe {
            core::ptr::copy_nonoverlapping(text.as_ptr(), copy, text.len());
            copy.add(text.len()).write(0);
        }
    }
    copy.cast()
}

/// Returns a list of C strings that ends with a null pointer, allocated by `malloc`; null without memory.
fn list<'a>(texts: impl Iterator<Item = &'a [u8]> + Clone) -> *mut *mut c_char {
    let n = texts.clone().count();
    // SAFETY: always permitted.
    let list = unsafe { libc::calloc(n + 1, size_of::<*mut c_char>()) }.cast::<*mut c_char>();
    if !list.is_null() {
        for (at, text) in texts.enumerate() {
            // SAFETY: there is room for so many.
            unsafe { list.add(at).write(copied(text)) };
        }
    }
    list
}

/// Stores a result; fails if it is null, without memory.
///
/// # Safety
/// The place is valid.
unsafe fn store<T>(made: *mut T, place: *mut *mut T) -> c_int {
    // SAFETY: as the caller says.
    unsafe { place.write(made) };
    if made.is_null() { NO_MEMORY } else { SUCCESS }
}

/// `ompi_fortran_string_f2c`: makes a C string with the text of a Fortran string.
///
/// # Safety
/// The characters and the place are valid.
// SAFETY: the name is Open MPI's, and this crate alone defines it; so for all names below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompi_fortran_string_f2c(
    string: *const c_char,
    len: c_int,
    into: *mut *mut c_char,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe { store(copied(text(string, len)), into) }
}

/// `ompi_fortran_string_c2f`: fills a string of Fortran with a text and blanks.
///
/// # Safety
/// The text ends with a zero, and there is room for `len` characters.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompi_fortran_string_c2f(
    from: *const c_char,
    string: *mut c_char,
    len: c_int,
) -> c_int {
    // SAFETY: as the caller says.
    let (from, into) = unsafe {
        let into = core::slice::from_raw_parts_mut(string.cast::<u8>(), len.max(0) as usize);
        (core::ffi::CStr::from_ptr(from).to_bytes(), into)
    };
    let n = from.len().min(into.len());
    into[..n].copy_from_slice(&from[..n]);
    into[n..].fill(b' ');
    SUCCESS
}

/// Returns the strings of a Fortran array, which are `advance` characters apart.
///
/// # Safety
/// The characters of all strings that are taken are valid.
unsafe fn strings<'a>(
    array: *const c_char,
    len: c_int,
    advance: c_int,
) -> impl Iterator<Item = &'a [u8]> + Clone {
    // SAFETY: as the caller says.
    (0..).map(move |at: isize| unsafe { text(array.offset(at * advance as isize), len) })
}

/// `ompi_fortran_argv_blank_f2c`: makes a list of an array's strings up to a blank one.
///
/// # Safety
/// The array has a blank string; the place is valid.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompi_fortran_argv_blank_f2c(
    array: *const c_char,
    len: c_int,
    advance: c_int,
    into: *mut *mut *mut c_char,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe { store(list(strings(array, len, advance).take_while(|text| !text.is_empty())), into) }
}

/// `ompi_fortran_argv_count_f2c`: makes a list of `count` strings of an array.
///
/// # Safety
/// The array has `count` strings; the place is valid.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompi_fortran_argv_count_f2c(
    array: *const c_char,
    count: c_int,
    len: c_int,
    advance: c_int,
    into: *mut *mut *mut c_char,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe { store(list(strings(array, len, advance).take(count.max(0) as usize)), into) }
}

/// `ompi_fortran_multiple_argvs_f2c`: makes a list of lists from the rows of a string matrix, each up to a
/// blank string. Consecutive elements of a row are as many strings apart as there are rows.
///
/// # Safety
/// Each row has a blank string; the place is valid.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompi_fortran_multiple_argvs_f2c(
    rows: c_int,
    array: *const c_char,
    len: c_int,
    into: *mut *mut *mut *mut c_char,
) -> c_int {
    let n = rows.max(0) as usize;
    // SAFETY: always permitted.
    let all = unsafe { libc::calloc(n + 1, size_of::<*mut *mut c_char>()) }.cast::<*mut *mut c_char>();
    for row in 0..if all.is_null() { 0 } else { n } {
        // SAFETY: as the caller says, and there is room for so many lists.
        let made = unsafe {
            let first = array.add(row * len.max(0) as usize);
            ompi_fortran_argv_blank_f2c(first, len, len.wrapping_mul(rows), all.add(row))
        };
        if made != SUCCESS {
            return made;
        }
    }
    // SAFETY: as the caller says.
    unsafe { store(all, into) }
}
