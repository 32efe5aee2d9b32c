//! What happens to resources when their requests start, complete and are freed.

use core::ffi::c_int;

use super::{RequestResources, is_complete, table};
use crate::copy::Copied;
use crate::later;
use crate::mpi::*;

/// The resources of requests that a call may complete, each with the index of its request.
type TakenResources = Vec<(usize, Handle, RequestResources)>;

/// The requests of a call.
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

/// Takes the resources of requests that a call may complete; returns null if they have none.
///
/// # Safety
/// `requests` has `count` handles.
#[unsafe(no_mangle)] // SAFETY: the prefix is Canelé's, and this crate alone defines the name.
pub unsafe extern "C" fn canele_fort_take(requests: *const Handle, count: c_int) -> *mut TakenResources {
    // SAFETY: the modules pass an array of their own.
    let requests = unsafe { handles(requests, count) };
    let mut table = table();
    let take = |(index, request): (usize, &Handle)| {
        table.of_requests.remove(request).map(|resources| (index, *request, resources))
    };
    let taken: TakenResources = requests.iter().enumerate().filter_map(take).collect();
    if taken.is_empty() { core::ptr::null_mut() } else { Box::into_raw(Box::new(taken)) }
}

/// Ends what [`canele_fort_take`] has begun, when C's function has returned: copies of complete requests are written back, and requests that go on
/// keep their resources.
///
/// # Safety
/// `taken` comes from there, and `requests` are those of that call, as C has left them.
#[unsafe(no_mangle)] // SAFETY: as above.
pub unsafe extern "C" fn canele_fort_complete(taken: *mut TakenResources, requests: *const Handle) {
    if !taken.is_null() {
        // SAFETY: the list was made above and is taken once.
        for (index, request, mut resources) in *unsafe { Box::from_raw(taken) } {
            // SAFETY: the array has the request with this index.
            let goes_on = unsafe { *requests.add(index) } == request;
            if !goes_on || is_complete(request) {
                resources.write_back();
            }
            if goes_on {
                table().of_requests.insert(request, resources);
            }
        }
    }
    end_freed(|request| is_complete(*request));
    later::settle();
    table().clear_words();
}

/// Frees requests that the program has freed before, as far as they have ended.
fn end_freed(has_ended: impl Fn(&mut Handle) -> bool) {
    let freed: Vec<_> = table().freed.drain(..).collect();
    for (mut request, mut resources) in freed {
        if !has_ended(&mut request) {
            table().freed.push((request, resources));
            continue;
        }
        resources.write_back();
        if request != REQUEST_NULL {
            // SAFETY: the handle is that of a request that is not active, and its place is valid.
            unsafe { PMPI_Request_free(&mut request) };
        }
    }
}

/// Copies what persistent requests send: they start.
///
/// # Safety
/// As [`canele_fort_take`].
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

/// Gives the program a partition that has arrived.
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

/// Frees a request: one that is active with a copy stays until it is complete.
///
/// # Safety
/// `request` is the place of a handle.
#[unsafe(no_mangle)] // SAFETY: as above.
pub unsafe extern "C" fn canele_fort_request_free(request: *mut Handle) -> c_int {
    // SAFETY: the modules pass a variable of their own.
    let request = unsafe { &mut *request };
    let resources = table().of_requests.remove(request);
    let code = match resources {
        Some(resources) if !is_complete(*request) => {
            table().freed.push((*request, resources));
            *request = REQUEST_NULL;
            SUCCESS
        }
        resources => {
            if let Some(mut resources) = resources {
                resources.write_back();
            }
            // SAFETY: MPI checks the handle, and its place is valid.
            unsafe { MPI_Request_free(request) }
        }
    };
    table().clear_words();
    code
}

/// Waits for the requests that the program has freed: MPI ends.
#[unsafe(no_mangle)] // SAFETY: as above.
pub extern "C" fn canele_fort_finish() {
    end_freed(|request| {
        // SAFETY: the place has the handle of a request, and the status is ignored.
        unsafe { PMPI_Wait(request, core::ptr::null_mut()) };
        true
    });
}
