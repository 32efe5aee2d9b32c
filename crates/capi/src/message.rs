//! Messages for mailboxes: packed, posted, retrieved, unpacked.

use std::borrow::Cow;
use std::ffi::c_void;
use std::mem::MaybeUninit;

use canele::Message;

use crate::error::{call, canele_error, value};
use crate::handle::{Head, close, get, get_mut, kind, put};
use crate::memory::{items, items_mut};
use crate::types::{canele_type, with_type};

/// A message for a mailbox: items that are packed one after the other, and unpacked in the same order. Made
/// by canele_message_new or canele_mailbox_retrieve.
pub struct canele_message(Head);
kind!(canele_message, OpenMessage, b"mess", "message");

/// A message. It has a copy of its bytes if the program asked for their address and they lie in shared
/// memory.
pub struct OpenMessage {
    pub message: Message,
    copy: Option<Vec<u8>>,
}

impl From<Message> for OpenMessage {
    fn from(message: Message) -> Self {
        Self { message, copy: None }
    }
}

/// Makes an empty message and stores a handle of it in `message`. Post the message, or close it by
/// canele_message_close.
#[unsafe(no_mangle)]
pub extern "C" fn canele_message_new(message: Option<&mut MaybeUninit<*mut canele_message>>) -> canele_error {
    call(|| put(message, || Ok(Message::new().into())))
}

/// Appends `count` items of a type to the message.
///
/// Errors: CANELE_ERROR_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_message_pack(
    message: Option<&mut canele_message>,
    r#type: canele_type,
    data: *const c_void,
    count: usize,
) -> canele_error {
    call(|| {
        let open = get_mut(message)?;
        open.copy = None;
        with_type!(r#type, T => {
            // SAFETY: the program gives items that can be read, and does not write them during the call.
            open.message.pack::<T>(unsafe { items(data, count) }?);
            Ok(())
        })
    })
}

/// Takes the next `count` items of a type out of the message and copies them to `data`. Bytes (CANELE_UINT8)
/// can be unpacked as any type. So can a posted message of exactly 48 bytes, because it has no room for its
/// types.
///
/// Errors: CANELE_ERROR_UNPACK: the next items have another type or are fewer; nothing is taken.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canele_message_unpack(
    message: Option<&mut canele_message>,
    r#type: canele_type,
    data: *mut c_void,
    count: usize,
) -> canele_error {
    call(|| {
        let open = get_mut(message)?;
        with_type!(r#type, T => {
            // SAFETY: the program gives memory for so many items, and does not touch it during the call.
            Ok(open.message.unpack::<T>(unsafe { items_mut(data, count) }?)?)
        })
    })
}

/// Returns the length of the message in bytes, including unpacked items; 0 if `message` is no message.
#[unsafe(no_mangle)]
pub extern "C" fn canele_message_len(message: Option<&canele_message>) -> usize {
    value(0, || Ok(get(message)?.message.len()))
}

/// Returns the address of the canele_message_len() bytes of the message, including unpacked items; NULL if
/// `message` is no message. The address is valid until the message is packed, posted or closed. The bytes of
/// a long message, which lie in a region, are copied for it.
#[unsafe(no_mangle)]
pub extern "C" fn canele_message_bytes(message: Option<&mut canele_message>) -> *const c_void {
    value(std::ptr::null(), || {
        let open = get_mut(message)?;
        if open.copy.is_none()
            && let Cow::Owned(bytes) = open.message.bytes()
        {
            open.copy = Some(bytes);
        }
        let bytes = match &open.copy {
            Some(copy) => copy.as_ptr(),
            None => open.message.bytes().as_ptr(),
        };
        Ok(bytes.cast())
    })
}

/// Returns the rank that posted the message; UINT32_MAX if it was not retrieved from a mailbox, or `message`
/// is no message.
#[unsafe(no_mangle)]
pub extern "C" fn canele_message_sender(message: Option<&canele_message>) -> u32 {
    value(u32::MAX, || Ok(get(message)?.message.sender().map_or(u32::MAX, |sender| sender.0)))
}

/// Closes a message; the handle becomes NULL.
#[unsafe(no_mangle)]
pub extern "C" fn canele_message_close(message: Option<&mut *mut canele_message>) -> canele_error {
    call(|| close(message).map(drop))
}
