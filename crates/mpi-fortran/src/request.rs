//! Resources of requests: copies of array parts, arrays that C reads, and handles that C writes.
//!
//! ```text
//!   canele_fort_end_later, canele_fort_array     a procedure that makes a request collects its resources
//!   canele_fort_attach                           the request gets them; the modules' word is set
//!   canele_fort_take, canele_fort_complete       around each call that may complete requests
//!   canele_fort_start, _ready, _arrived, _free   the life of persistent and partitioned requests
//! ```
//! C's handle identifies a request. If a request ends at its completion, a call that may complete it first
//! removes its resources from the table. Otherwise another thread could get the same handle for a new request
//! before the call returns. A persistent request keeps its handle, so its resources stay in the table. The
//! resources of a request that the program completes in C stay there, too.

mod life;

use core::ffi::{c_int, c_void};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::buffer::Buffer;
use crate::copy::Copied;
use crate::later::Later;
use crate::mpi::*;

/// The resources of a request.
#[derive(Default)]
pub struct RequestResources {
    copies: Vec<Copied>,
    /// Arrays that C reads while the request is active.
    arrays: Vec<Box<[i64]>>,
    /// True if the request keeps its handle until the program frees it.
    is_persistent: bool,
}

/// All requests with resources.
struct Table {
    of_requests: BTreeMap<Handle, RequestResources>,
    /// Requests that the program freed before their completion.
    freed: Vec<(Handle, RequestResources)>,
    /// The number of requests whose resources calls have removed, some of which may come back.
    out: usize,
    /// Handles that C writes when a request completes.
    later: Vec<Later>,
    /// The places of the modules' word, which is 0 while the table is empty. Each library that was linked
    /// separately may have a word of its own.
    words: Vec<Word>,
}

/// A place of the modules' word.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Word(*mut c_int);

// SAFETY: a word is written under the lock of the table alone. Programs read it: the thread that makes a
// request writes it before it passes the request on.
unsafe impl Send for Word {}

// SAFETY: the addresses in a copy are used under the lock of the table, or by the one thread that has taken
// the copy out.
unsafe impl Send for RequestResources {}

static TABLE: Mutex<Table> = Mutex::new(Table {
    of_requests: BTreeMap::new(),
    freed: Vec::new(),
    out: 0,
    later: Vec::new(),
    words: Vec::new(),
});

fn table() -> MutexGuard<'static, Table> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Table {
    /// Sets the word of the modules that added resources.
    fn announce(&mut self, word: Word) {
        if !self.words.contains(&word) {
            self.words.push(word);
        }
        // SAFETY: the modules pass the place of a common block.
        unsafe { word.0.write_volatile(1) };
    }

    /// Clears the words if the table is empty.
    fn clear_words(&mut self) {
        if self.of_requests.is_empty() && self.freed.is_empty() && self.later.is_empty() && self.out == 0 {
            // SAFETY: as above.
            self.words.drain(..).for_each(|word| unsafe { word.0.write_volatile(0) });
        }
    }
}

/// Stores a handle that C writes when a request completes.
pub fn keep_later(later: Later, word: *mut c_int) {
    let mut table = table();
    table.later.push(later);
    table.announce(Word(word));
}

/// Removes the handles that satisfy a condition from the table.
pub fn take_later(which: impl FnMut(&mut Later) -> bool) -> Vec<Later> {
    let mut table = table();
    let taken = table.later.extract_if(.., which).collect();
    table.clear_words();
    taken
}

impl RequestResources {
    fn write_back(&mut self) {
        self.copies.iter_mut().for_each(Copied::write_back);
    }

    fn is_empty(&self) -> bool {
        self.copies.is_empty() && self.arrays.is_empty()
    }
}

/// Returns the resources that a procedure collects.
///
/// # Safety
/// The place is null or has resources of this procedure.
unsafe fn collected<'a>(place: *mut *mut RequestResources) -> &'a mut RequestResources {
    // SAFETY: the caller says so.
    unsafe {
        if (*place).is_null() {
            *place = Box::into_raw(Box::default());
        }
        &mut **place
    }
}

/// Ends the use of a buffer by a call that returns a request. A copy stays until the request ends.
///
/// # Safety
/// `made` comes from `canele_fort_begin`, `resources` is null or comes from here.
#[unsafe(no_mangle)] // SAFETY: the prefix is Canelé's, and this crate alone defines the name.
pub unsafe extern "C" fn canele_fort_end_later(made: *mut Buffer, resources: *mut *mut RequestResources) {
    // SAFETY: the modules pass places of their own.
    let (made, resources) = unsafe { (&mut *made, collected(resources)) };
    resources.copies.extend(made.end());
}

/// Returns an array of numbers or handles that lives until the request ends.
///
/// # Safety
/// `resources` is null or comes from here.
#[unsafe(no_mangle)] // SAFETY: as above.
pub unsafe extern "C" fn canele_fort_array(resources: *mut *mut RequestResources, length: c_int) -> *mut i64 {
    // SAFETY: as above.
    let resources = unsafe { collected(resources) };
    // An array without elements needs an address, too.
    let length = usize::try_from(length).unwrap_or(0).max(1);
    let mut array = vec![0; length].into_boxed_slice();
    let address = array.as_mut_ptr();
    resources.arrays.push(array);
    address
}

/// Attaches collected resources to a request, or frees them if there is none.
///
/// # Safety
/// `resources` is null or comes from above, `word` is that of the modules.
#[unsafe(no_mangle)] // SAFETY: as above.
pub unsafe extern "C" fn canele_fort_attach(
    resources: *mut RequestResources,
    code: c_int,
    request: Handle,
    is_persistent: c_int,
    word: *mut c_int,
) {
    if resources.is_null() {
        return;
    }
    // SAFETY: the resources were collected by the procedure, which gives them away here.
    let mut resources = *unsafe { Box::from_raw(resources) };
    resources.is_persistent = is_persistent != 0;
    if resources.is_empty() || code != SUCCESS {
        return;
    }
    if request == REQUEST_NULL {
        return resources.write_back();
    }
    let mut table = table();
    if let Some(mut other) = table.of_requests.insert(request, resources) {
        // A library may use one handle for all requests that completed at once. The last one's resources stay
        // until one of them is waited for.
        other.write_back();
        table.of_requests.get_mut(&request).into_iter().for_each(RequestResources::write_back);
    }
    table.announce(Word(word));
}

/// Returns true if a request is complete, inactive or failed.
fn is_complete(request: Handle) -> bool {
    let mut flag = 0;
    // SAFETY: the handle is that of a request, the place is valid, and the status is ignored.
    let code = unsafe { PMPI_Request_get_status(request, &mut flag, core::ptr::null_mut::<c_void>()) };
    code != SUCCESS || flag != 0
}
