//! The resources of requests when these start, complete or are freed.

use core::ffi::c_int;

use super::{RequestResources, is_complete, table};
use crate::copy::Copied;
use crate::later;
use crate::mpi::*;

/// The requests with resources that a call may complete, each with its index in the call. A request that ends
/// at its completion comes with its resources.
type TakenResources = Vec<(usize, Handle, Option<RequestResources>)>;

/// Returns the requests of a call.
///
/// # Safety
/// `requests` has `count` handles, which stay while the slice is used.
unsafe fn handles<'a>(requests: *const Handle, count: c_int) -> &'a [Handle] {
    match usize::try_from(count) {
        // SAFETY: the caller says so.
        Ok(count) if count > 0 && !requests.is_null() => unsafe {
            core::slice::from_raw_parts(requests, count)
        },
        _ => &[],
    }
}

/// Removes the resources of requests that a call may complete; returns null if they have none.
///
/// # Safety
/// `requests` has `count` handles.
#[unsafe(no_mangle)] // SAFETY: the prefix is Canelé's, and this crate alone defines the name.
pub unsafe extern "C" fn canele_fort_take(requests: *const Handle, count: c_int) -> *mut TakenResources {
    // SAFETY: the modules pass an array of their own.
    let requests = unsafe { handles(requests, count) };
    let mut table = table();
    let take = |(index, request): (usize, &Handle)| {
        if table.of_requests.get(request)?.is_persistent {
            return Some((index, *request, None));
        }
        table.out += 1;
        Some((index, *request, table.of_requests.remove(request)))
    };
    let taken: TakenResources = requests.iter().enumerate().filter_map(take).collect();
    if taken.is_empty() { core::ptr::null_mut() } else { Box::into_raw(Box::new(taken)) }
}

/// Finishes [`canele_fort_take`] after C's function has returned. It writes the copies of complete requests
/// back, and returns the resources of the others to the table. If `asks` is not 0, the function only queries
/// requests and keeps their handles.
///
/// # Safety
/// `taken` comes from there, and `requests` are those of that call, as C has left them.
#[unsafe(no_mangle)] // SAFETY: as above.
pub unsafe extern "C" fn canele_fort_complete(
    taken: *mut TakenResources,
    requests: *const Handle,
    asks: c_int,
) {
    if !taken.is_null() {
        // SAFETY: the list was made above and is taken once.
        for (index, request, resources) in *unsafe { Box::from_raw(taken) } {
            // SAFETY: the array has the request with this index.
            let keeps_its_handle = unsafe { *requests.add(index) } == request;
            match resources {
                Some(resources) => put_back(request, resources, keeps_its_handle, asks != 0),
                None if is_complete(request) => on_copies(request, Copied::write_back),
                None => {}
            }
        }
    }
    end_freed(|request| is_complete(*request));
    later::settle();
    table().clear_words();
}

/// Writes the copies back if the request is complete, and returns the resources to the table if it keeps its
/// handle. A request that keeps its handle is queried only if the call was a query. Otherwise the query would
/// raise the error of a failed request.
fn put_back(request: Handle, mut resources: RequestResources, keeps_its_handle: bool, asks: bool) {
    if !keeps_its_handle || (asks && is_complete(request)) {
        resources.write_back();
    }
    let mut table = table();
    table.out -= 1;
    if keeps_its_handle {
        table.of_requests.insert(request, resources);
    }
}

/// Frees those requests freed by the program that have ended.
fn end_freed(has_ended: impl Fn(&mut Handle) -> bool) {
    let freed = {
        let mut table = table();
        table.out += table.freed.len();
        core::mem::take(&mut table.freed)
    };
    for (mut request, mut resources) in freed {
        let has_ended = has_ended(&mut request);
        if has_ended {
            resources.write_back();
        }
        let mut table = table();
        table.out -= 1;
        if !has_ended {
            table.freed.push((request, resources));
            continue;
        }
        drop(table);
        if request != REQUEST_NULL {
            // SAFETY: the handle is that of a request that is not active, and its place is valid.
            unsafe { PMPI_Request_free(&mut request) };
        }
    }
}

/// Copies the data of persistent requests when they start.
///
/// # Safety
/// The conditions of [`canele_fort_take`].
#[unsafe(no_mangle)] // SAFETY: as above.
pub unsafe extern "C" fn canele_fort_start(requests: *const Handle, count: c_int) {
    // SAFETY: as above.
    for request in unsafe { handles(requests, count) } {
        on_copies(*request, Copied::refresh);
    }
}

/// Copies the partitions from `low` to `high`, which the program has filled.
#[unsafe(no_mangle)] // SAFETY: as above.
pub extern "C" fn canele_fort_ready(request: Handle, low: c_int, high: c_int) {
    if let (Ok(low), Ok(high)) = (usize::try_from(low), usize::try_from(high)) {
        on_copies(request, |copied| copied.refresh_partitions(low..high + 1));
    }
}

/// Writes an arrived partition back to the program.
#[unsafe(no_mangle)] // SAFETY: as above.
pub extern "C" fn canele_fort_arrived(request: Handle, partition: c_int) {
    if let Ok(partition) = usize::try_from(partition) {
        on_copies(request, |copied| copied.write_back_partition(partition));
    }
}

fn on_copies(request: Handle, act: impl FnMut(&mut Copied)) {
    if let Some(resources) = table().of_requests.get_mut(&request) {
        resources.copies.iter_mut().for_each(act);
    }
}

/// Frees a request; an active one with a copy stays until it is complete.
///
/// # Safety
/// `request` is the place of a handle.
#[unsafe(no_mangle)] // SAFETY: as above.
pub unsafe extern "C" fn canele_fort_request_free(request: *mut Handle) -> c_int {
    // SAFETY: the modules pass a variable of their own.
    let request = unsafe { &mut *request };
    let is_active = table().of_requests.contains_key(request) && !is_complete(*request);
    let mut table = table();
    match table.of_requests.remove(request) {
        Some(resources) if is_active => {
            table.freed.push((*request, resources));
            *request = REQUEST_NULL;
            return SUCCESS;
        }
        Some(mut resources) => resources.write_back(),
        None => {}
    }
    table.clear_words();
    drop(table);
    // SAFETY: MPI checks the handle, and its place is valid.
    unsafe { MPI_Request_free(request) }
}

/// Waits for the requests that the program has freed, when MPI ends.
#[unsafe(no_mangle)] // SAFETY: as above.
pub extern "C" fn canele_fort_finish() {
    end_freed(|request| {
        // SAFETY: the place has the handle of a request, and the status is ignored.
        unsafe { PMPI_Wait(request, core::ptr::null_mut()) };
        true
    });
}
