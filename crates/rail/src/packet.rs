//! The packets of a rail: header, slot for sending, received packet.

use canele_mem::window::Window;

/// Bytes that travel beside a header when the packet has no bulk.
pub const MAX_INLINE: usize = 48;
/// Bytes that travel beside a header when the packet has a bulk.
pub const MAX_INLINE_WITH_BULK: usize = 40;

/// The first bytes of every packet. The rail transports them without interpreting them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Header {
    /// The kind of the packet, for the layer above.
    pub kind: u8,
    /// Bytes in use beside the header, at most [`MAX_INLINE`].
    pub inline_len: u8,
    /// The flow, or any 32 bits that the kind defines.
    pub flow: u32,
    /// The tag, or any 32 bits that the kind defines.
    pub tag: u32,
    /// The number of the message within its flow, where a rail is unordered or there are several.
    pub sequence: u32,
}

/// The class of a packet, which limits the room it may use, so that no kind of traffic starves another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Answers and announcements. They may use reserved cells and carry no bulk.
    Control,
    /// Messages.
    Message,
    /// Pieces of large messages. They use at most half of the room for bulk.
    Stream,
}

/// Room claimed for a packet, filled in place.
pub struct Slot<'a> {
    /// [`MAX_INLINE`] bytes, [`MAX_INLINE_WITH_BULK`] when there is a bulk.
    pub inline: Window<'a>,
    /// The bulk, of the claimed length.
    pub bulk: Window<'a>,
}

/// A packet that has arrived and is still in the rail's memory.
pub struct Packet<'a> {
    /// A copy of its header, so that it cannot change after it was checked.
    pub header: Header,
    /// At least the `header.inline_len` bytes beside it.
    pub inline: Window<'a>,
    /// The bulk, empty if there is none.
    pub bulk: Window<'a>,
    /// Bytes of bulk that were received into the memory given to [`crate::FastPath::direct_receive`]; `bulk`
    /// is empty then.
    pub direct_bytes: usize,
}

/// Lets `fill` write into ordinary memory as if it were a slot.
pub fn on_slice(bytes: &mut [u8], fill: impl FnOnce(Window<'_>)) {
    fill(Window::on(bytes));
}
