//! Arrays of strings: Fortran pads each with blanks, and a blank string ends the array.

use core::ffi::{c_char, c_int};
use std::ffi::CString;

/// Largest number of strings in a list, which bounds the search for a blank one.
const MOST: usize = 1 << 16;

/// Returns an element of an array of texts, without surrounding blanks (MPI 5.0, section 11.8.2).
///
/// # Safety
/// The array has an element there, of `length` characters.
unsafe fn element(texts: *const c_char, length: usize, index: usize) -> CString {
    // SAFETY: the caller says so.
    let text = unsafe { core::slice::from_raw_parts(texts.cast::<u8>().add(index * length), length) };
    let text = text.trim_ascii();
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    CString::new(text).unwrap_or_default()
}

/// Returns the strings, followed by a null pointer.
fn strings(all: Vec<CString>) -> *mut *mut c_char {
    let mut strings: Vec<*mut c_char> = all.into_iter().map(CString::into_raw).collect();
    strings.push(core::ptr::null_mut());
    Box::into_raw(strings.into_boxed_slice()).cast()
}

/// Returns the strings of an array of texts: the first `how_many`, or those before a blank one if `how_many`
/// is negative. Returns null for `MPI_ARGV_NULL`.
///
/// # Safety
/// `texts` is an array of texts of `length` characters, with as many elements or a blank one.
#[unsafe(no_mangle)] // SAFETY: the prefix is Canelé's, and this crate alone defines the name.
pub unsafe extern "C" fn canele_fort_texts(
    texts: *const c_char,
    nothing: *const c_char,
    length: c_int,
    how_many: c_int,
) -> *mut *mut c_char {
    if is_nothing(texts, nothing) {
        return core::ptr::null_mut();
    }
    let length = usize::try_from(length).unwrap_or(0);
    // SAFETY: the caller says so.
    let each = (0..MOST).map(|index| unsafe { element(texts, length, index) });
    strings(match usize::try_from(how_many) {
        Ok(how_many) => each.take(how_many).collect(),
        Err(_) => each.take_while(|text| !text.is_empty()).collect(),
    })
}

/// Returns true for `MPI_ARGV_NULL` and for `MPI_ARGVS_NULL`, which follows it in memory.
fn is_nothing(texts: *const c_char, nothing: *const c_char) -> bool {
    texts.addr().wrapping_sub(nothing.addr()) < 2
}

/// Frees the strings.
///
/// # Safety
/// They come from [`canele_fort_texts`], or are null.
#[unsafe(no_mangle)] // SAFETY: as above.
pub unsafe extern "C" fn canele_fort_free_texts(strings: *mut *mut c_char) {
    if strings.is_null() {
        return;
    }
    let mut length = 0;
    // SAFETY: each string was made by `CString::into_raw`, and a null pointer ends the array, which was a
    // boxed slice.
    unsafe {
        while !(*strings.add(length)).is_null() {
            drop(CString::from_raw(*strings.add(length)));
            length += 1;
        }
        drop(Box::from_raw(core::ptr::slice_from_raw_parts_mut(strings, length + 1)));
    }
}

/// Returns lists of strings; null for `MPI_ARGVS_NULL`. The texts of a list are `how_many` elements apart in
/// the array.
///
/// # Safety
/// `texts` is an array of `how_many` rows of texts of `length` characters, and a blank one ends each.
#[unsafe(no_mangle)] // SAFETY: as above.
pub unsafe extern "C" fn canele_fort_text_lists(
    texts: *const c_char,
    nothing: *const c_char,
    length: c_int,
    how_many: c_int,
) -> *mut *mut *mut c_char {
    if is_nothing(texts, nothing) {
        return core::ptr::null_mut();
    }
    let [length, lists] = [length, how_many].map(|number| usize::try_from(number).unwrap_or(0));
    let list = |row: usize| {
        // SAFETY: the caller says so.
        let each = (0..MOST).map(|column| unsafe { element(texts, length, row + column * lists) });
        strings(each.take_while(|text| !text.is_empty()).collect())
    };
    Box::into_raw((0..lists).map(list).collect::<Vec<_>>().into_boxed_slice()).cast()
}

/// Frees lists of strings.
///
/// # Safety
/// They come from [`canele_fort_text_lists`] with this number, or are null.
#[unsafe(no_mangle)] // SAFETY: as above.
pub unsafe extern "C" fn canele_fort_free_text_lists(lists: *mut *mut *mut c_char, how_many: c_int) {
    if lists.is_null() {
        return;
    }
    let how_many = usize::try_from(how_many).unwrap_or(0);
    // SAFETY: the lists were a boxed slice of this length.
    let lists = unsafe { Box::from_raw(core::ptr::slice_from_raw_parts_mut(lists, how_many)) };
    // SAFETY: each list was made by `strings`.
    lists.iter().for_each(|list| unsafe { canele_fort_free_texts(*list) });
}

#[cfg(test)]
mod tests {
    use core::ffi::CStr;

    use super::*;

    /// Returns the strings that C reads from an array of strings.
    fn seen(strings: *mut *mut c_char) -> Vec<String> {
        let at = |n| {
            // SAFETY: a null pointer ends the array.
            let text = unsafe { *strings.add(n) };
            // SAFETY: the others are strings.
            (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
        };
        (0..).map_while(at).collect()
    }

    #[test]
    fn a_blank_text_ends_an_array() {
        let texts = b"-n    two a b       lost ";
        let nothing: c_char = 0;
        // SAFETY: the texts have five characters each, and the fourth is blank.
        let strings = unsafe { canele_fort_texts(texts.as_ptr().cast(), &nothing, 5, -1) };
        assert_eq!(seen(strings), ["-n", "two", "a b"]);
        // SAFETY: the strings were made above.
        unsafe { canele_fort_free_texts(strings) };
        // SAFETY: two texts are there.
        let strings = unsafe { canele_fort_texts(texts.as_ptr().cast(), &nothing, 5, 2) };
        assert_eq!(seen(strings), ["-n", "two"]);
        // SAFETY: as above.
        unsafe { canele_fort_free_texts(strings) };
    }

    #[test]
    fn rows_of_texts_become_lists() {
        // Two rows: "a", "b" and "c".
        let texts = b"acb   ";
        let nothing: c_char = 0;
        // SAFETY: both rows of three texts end with a blank one.
        let lists = unsafe { canele_fort_text_lists(texts.as_ptr().cast(), &nothing, 1, 2) };
        // SAFETY: there are two lists.
        let all = unsafe { [seen(*lists), seen(*lists.add(1))] };
        assert_eq!(all, [vec!["a", "b"], vec!["c"]]);
        // SAFETY: the lists were made above.
        unsafe { canele_fort_free_text_lists(lists, 2) };
    }

    #[test]
    fn the_constants_are_no_arrays() {
        let block: [c_char; 2] = [32; 2];
        for place in &block {
            // SAFETY: the constants are not read.
            assert!(unsafe { canele_fort_texts(place, block.as_ptr(), 1, -1) }.is_null());
        }
    }
}
