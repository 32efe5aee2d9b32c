//! Strings of Fortran, which have a length and are filled up with blanks, as strings of C and back. What is allocated here the library for Fortran frees.

use core::ffi::{c_char, c_int};

/// What these functions give: all went well, and that there is no memory.
const SUCCESS: c_int = 0;
const NO_MEMORY: c_int = -2;

/// The text of a string of Fortran, without the blanks around it.
///
/// # Safety
/// So many characters are there.
unsafe fn text<'a>(string: *const c_char, len: c_int) -> &'a [u8] {
    // SAFETY: as the caller says.
    unsafe { core::slice::from_raw_parts(string.cast::<u8>(), len.max(0) as usize) }.trim_ascii()
}

/// A copy of a text as a string of C, in memory that `free` takes; null if there is none.
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

/// A list of strings of C that ends with a null pointer, in memory that `free` takes; null if there is none.
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

/// Stores what was made, unless there was no memory for it.
///
/// # Safety
/// The place is there.
unsafe fn store<T>(made: *mut T, place: *mut *mut T) -> c_int {
    // SAFETY: as the caller says.
    unsafe { place.write(made) };
    if made.is_null() { NO_MEMORY } else { SUCCESS }
}

/// `ompi_fortran_string_f2c`: a string of C with the text of one of Fortran.
///
/// # Safety
/// The characters and the place are there.
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

/// The strings of an array in Fortran, each `advance` characters behind the one before.
///
/// # Safety
/// The characters of as many strings are there as are taken.
unsafe fn strings<'a>(
    array: *const c_char,
    len: c_int,
    advance: c_int,
) -> impl Iterator<Item = &'a [u8]> + Clone {
    // SAFETY: as the caller says.
    (0..).map(move |at: isize| unsafe { text(array.offset(at * advance as isize), len) })
}

/// `ompi_fortran_argv_blank_f2c`: the strings of an array up to a blank one, as a list.
///
/// # Safety
/// The array has a blank string; the place is there.
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

/// `ompi_fortran_argv_count_f2c`: so many strings of an array, as a list.
///
/// # Safety
/// So many strings and the place are there.
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

/// `ompi_fortran_multiple_argvs_f2c`: the rows of a matrix of strings, each up to a blank one, as a list of lists. Elements of a row lie as many strings apart as
/// there are rows.
///
/// # Safety
/// Each row has a blank string; the place is there.
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
