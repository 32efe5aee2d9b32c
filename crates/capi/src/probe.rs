//! Probes, which find messages, or take them to be received later.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use canele::Matched;

use crate::error::{ReportedError, call, canele_error};
use crate::flow::{canele_flow, flow, source, tag_match};
use crate::handle::{Head, close, kind, no_place, open, put};
use crate::memory::{bytes_mut, set, set_if_wanted};
use crate::tagged::canele_status;

/// A message that a probe has taken, so that no other receiver can get it. It must be received by
/// canele_matched_recv.
pub struct canele_matched(Head);
kind!(canele_matched, Matched, b"matc", "matched message");

/// Waits for a matching message, and stores its sender, tag and length in `status`, unless NULL. The message
/// stays.
///
/// Errors: as canele_flow_recv, except CANELE_ERROR_TRUNCATED.
#[unsafe(no_mangle)]
pub extern "C" fn canele_flow_probe(
    flow: Option<&canele_flow>,
    from: u32,
    tag: u64,
    status: Option<&mut MaybeUninit<canele_status>>,
) -> canele_error {
    call(|| {
        let got = self::flow(flow)?.probe(source(from), tag_match(tag)?)?;
        set_if_wanted(status, got.into());
        Ok(())
    })
}

/// Stores true in `found` if a matching message has arrived, and then its sender, tag and length in `status`,
/// unless NULL. The message stays.
///
/// Errors: CANELE_ERROR_FINISHED.
#[unsafe(no_mangle)]
pub extern "C" fn canele_flow_iprobe(
    flow: Option<&canele_flow>,
    from: u32,
    tag: u64,
    found: Option<&mut MaybeUninit<bool>>,
    status: Option<&mut MaybeUninit<canele_status>>,
) -> canele_error {
    call(|| {
        let got = self::flow(flow)?.iprobe(source(from), tag_match(tag)?)?;
        set(found, got.is_some(), "answer whether a message was found")?;
        if let Some(got) = got {
            set_if_wanted(status, got.into());
        }
        Ok(())
    })
}

/// Waits for a matching message and takes it, so that no receive of another thread can get it. Stores a
/// handle of it in `matched`, and its sender, tag and length in `status`, unless NULL.
///
/// Errors: as canele_flow_probe.
#[unsafe(no_mangle)]
pub extern "C" fn canele_flow_mprobe(
    flow: Option<&canele_flow>,
    from: u32,
    tag: u64,
    matched: Option<&mut MaybeUninit<*mut canele_matched>>,
    status: Option<&mut MaybeUninit<canele_status>>,
) -> canele_error {
    call(|| {
        put(matched, || {
            let taken = self::flow(flow)?.mprobe(source(from), tag_match(tag)?)?;
            set_if_wanted(status, taken.status().into());
            Ok(taken)
        })
    })
}

/// Takes a matching message, as canele_flow_mprobe does, if one has arrived; otherwise `matched` becomes
/// NULL.
///
/// Errors: CANELE_ERROR_FINISHED.
#[unsafe(no_mangle)]
pub extern "C" fn canele_flow_improbe(
    flow: Option<&canele_flow>,
    from: u32,
    tag: u64,
    matched: Option<&mut MaybeUninit<*mut canele_matched>>,
    status: Option<&mut MaybeUninit<canele_status>>,
) -> canele_error {
    call(|| {
        let matched = matched.ok_or_else(|| no_place("matched message"))?;
        matched.write(std::ptr::null_mut());
        if let Some(taken) = self::flow(flow)?.improbe(source(from), tag_match(tag)?)? {
            set_if_wanted(status, taken.status().into());
            matched.write(open::<canele_matched>(taken).as_ptr());
        }
        Ok(())
    })
}

/// Receives a message that a probe has taken into `bytes` bytes at `data`. The handle is closed and becomes
/// NULL, even if the call fails.
///
/// Errors: CANELE_ERROR_TRUNCATED: the message is longer; its sender died.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_matched_recv(
    matched: Option<&mut *mut canele_matched>,
    data: *mut c_void,
    bytes: usize,
    status: Option<&mut MaybeUninit<canele_status>>,
) -> canele_error {
    call(|| {
        // SAFETY: the program gives memory that can be written, and does not touch it during the call.
        let bytes = unsafe { bytes_mut(data, bytes) }?;
        let got = close(matched)?.recv(bytes).map_err(ReportedError::from)?;
        set_if_wanted(status, got.into());
        Ok(())
    })
}
