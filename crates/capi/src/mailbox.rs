//! Mailboxes.
#![allow(clippy::result_large_err)] // A message that was not posted comes back with the error.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use canele::{Mailbox, MailboxSender, Message, PostError};

use crate::error::{ReportedError, call, canele_error, value};
use crate::handle::{Head, at, close, get, kind, no_place, open, put};
use crate::job::{canele_job, endpoint};
use crate::memory::text;
use crate::message::{OpenMessage, canele_message};
use crate::tagged::duration;

/// A mailbox of this rank, shared by its threads. Made by canele_job_create_mailbox.
pub struct canele_mailbox(Head);
kind!(canele_mailbox, Mailbox, b"mail", "mailbox");

/// The posting end of a mailbox of any rank, shared by threads. Made by canele_job_find_mailbox.
pub struct canele_mailbox_sender(Head);
kind!(canele_mailbox_sender, MailboxSender, b"post", "mailbox sender");

/// Creates a mailbox with room for `depth` messages and stores a handle of it in `mailbox`. Ranks of all
/// hosts find it by its name.
///
/// Errors: CANELE_ERROR_NAME_TAKEN; CANELE_ERROR_LENGTHS: a depth of 0; CANELE_ERROR_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_job_create_mailbox(
    job: Option<&canele_job>,
    name: *const c_char,
    depth: usize,
    mailbox: Option<&mut MaybeUninit<*mut canele_mailbox>>,
) -> canele_error {
    call(|| {
        // SAFETY: the program gives a text that ends with a zero byte.
        let name = unsafe { text(name, "name of the mailbox") }?;
        put(mailbox, || Ok(endpoint(job)?.create_mailbox(name, depth)?))
    })
}

/// Finds a mailbox by its name; waits for it at most `wait_ns` nanoseconds. Stores a handle for posting to it
/// in `sender`.
///
/// Errors: CANELE_ERROR_DEADLINE; CANELE_ERROR_MAILBOX_CLOSED; the owner is gone, as for canele_flow_send.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_job_find_mailbox(
    job: Option<&canele_job>,
    name: *const c_char,
    wait_ns: u64,
    sender: Option<&mut MaybeUninit<*mut canele_mailbox_sender>>,
) -> canele_error {
    call(|| {
        // SAFETY: the program gives a text that ends with a zero byte.
        let name = unsafe { text(name, "name of the mailbox") }?;
        put(sender, || Ok(endpoint(job)?.find_mailbox(name, duration(wait_ns))?))
    })
}

/// Waits for a message, takes it out of the mailbox, and stores a handle of it in `message`.
///
/// Errors: a rank died: each waiting call reports this once, and the next call works as before; the message's
/// sender died before its data arrived; CANELE_ERROR_NO_SENDER_LEFT, as for canele_flow_recv.
#[unsafe(no_mangle)]
pub extern "C" fn canele_mailbox_retrieve(
    mailbox: Option<&canele_mailbox>,
    message: Option<&mut MaybeUninit<*mut canele_message>>,
) -> canele_error {
    call(|| put(message, || Ok(get(mailbox)?.retrieve()?.into())))
}

/// Takes the next message out of the mailbox if there is one now; otherwise `message` becomes NULL.
///
/// Errors: as canele_mailbox_retrieve.
#[unsafe(no_mangle)]
pub extern "C" fn canele_mailbox_try_retrieve(
    mailbox: Option<&canele_mailbox>,
    message: Option<&mut MaybeUninit<*mut canele_message>>,
) -> canele_error {
    call(|| {
        let message = message.ok_or_else(|| no_place("message"))?;
        message.write(std::ptr::null_mut());
        if let Some(came) = get(mailbox)?.try_retrieve()? {
            message.write(open::<canele_message>(came.into()).as_ptr());
        }
        Ok(())
    })
}

/// Retrieves as canele_mailbox_retrieve does, but waits at most `wait_ns` nanoseconds.
///
/// Errors: CANELE_ERROR_DEADLINE; otherwise as canele_mailbox_retrieve.
#[unsafe(no_mangle)]
pub extern "C" fn canele_mailbox_retrieve_deadline(
    mailbox: Option<&canele_mailbox>,
    message: Option<&mut MaybeUninit<*mut canele_message>>,
    wait_ns: u64,
) -> canele_error {
    call(|| put(message, || Ok(get(mailbox)?.retrieve_deadline(duration(wait_ns))?.into())))
}

/// Closes a mailbox; the handle becomes NULL. Messages that were not retrieved are lost, and later posts fail
/// with CANELE_ERROR_MAILBOX_CLOSED.
#[unsafe(no_mangle)]
pub extern "C" fn canele_mailbox_close(mailbox: Option<&mut *mut canele_mailbox>) -> canele_error {
    call(|| close(mailbox).map(drop))
}

/// Returns the rank that owns the mailbox; UINT32_MAX if `sender` is no mailbox sender.
#[unsafe(no_mangle)]
pub extern "C" fn canele_mailbox_sender_owner(sender: Option<&canele_mailbox_sender>) -> u32 {
    value(u32::MAX, || Ok(get(sender)?.owner().0))
}

/// Posts the message of a handle by `post`. The handle is closed and becomes NULL unless the mailbox is full.
fn post_by(
    message: Option<&mut *mut canele_message>,
    post: impl FnOnce(Message) -> Result<(), PostError>,
) -> Result<(), ReportedError> {
    let (place, OpenMessage { message, .. }) = at(message)?;
    let taken = std::mem::take(message);
    match post(taken) {
        Err(PostError::Full(back)) => {
            *message = back;
            let text = "the mailbox is full: a message must be retrieved first";
            Err(ReportedError::new(canele_error::CANELE_ERROR_MAILBOX_FULL, text))
        }
        posted => {
            close(Some(place))?;
            match posted {
                Err(PostError::Failed(error)) => Err(error.into()),
                _ => Ok(()),
            }
        }
    }
}

/// Posts a message; waits while the mailbox is full. The message is closed, and its handle becomes NULL. A
/// post to a mailbox of another host takes a round trip at least, during which the owner must make progress.
///
/// Errors: CANELE_ERROR_MAILBOX_CLOSED; the owner is gone, as for canele_flow_send; CANELE_ERROR_MEMORY. The
/// message is closed nevertheless.
#[unsafe(no_mangle)]
pub extern "C" fn canele_mailbox_sender_post(
    sender: Option<&canele_mailbox_sender>,
    message: Option<&mut *mut canele_message>,
) -> canele_error {
    call(|| {
        let sender = get(sender)?;
        post_by(message, |message| Ok(sender.post(message)?))
    })
}

/// Posts a message if the mailbox is not full. The message is closed, and its handle becomes NULL, except for
/// CANELE_ERROR_MAILBOX_FULL.
///
/// Errors: CANELE_ERROR_MAILBOX_FULL; otherwise as canele_mailbox_sender_post.
#[unsafe(no_mangle)]
pub extern "C" fn canele_mailbox_sender_try_post(
    sender: Option<&canele_mailbox_sender>,
    message: Option<&mut *mut canele_message>,
) -> canele_error {
    call(|| {
        let sender = get(sender)?;
        post_by(message, |message| sender.try_post(message))
    })
}

/// Posts a message; waits while the mailbox is full, at most `wait_ns` nanoseconds. The message is closed,
/// and its handle becomes NULL, except for CANELE_ERROR_MAILBOX_FULL.
///
/// Errors: as canele_mailbox_sender_try_post.
#[unsafe(no_mangle)]
pub extern "C" fn canele_mailbox_sender_post_deadline(
    sender: Option<&canele_mailbox_sender>,
    message: Option<&mut *mut canele_message>,
    wait_ns: u64,
) -> canele_error {
    call(|| {
        let sender = get(sender)?;
        post_by(message, |message| sender.post_deadline(message, duration(wait_ns)))
    })
}

/// Closes the posting end of a mailbox; the handle becomes NULL. The mailbox stays.
#[unsafe(no_mangle)]
pub extern "C" fn canele_mailbox_sender_close(
    sender: Option<&mut *mut canele_mailbox_sender>,
) -> canele_error {
    call(|| close(sender).map(drop))
}
