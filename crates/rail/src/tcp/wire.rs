//! The frames on a connection after its handshake: little-endian, one after another.
//!
//! Owns the layout of a frame and its checks. Never reads a socket, and checks every length before use.
//!
//! ```text
//!   0     4      5            6          7         8      12    16         20       24    28
//!   │ bulk │ kind │ inline_len │ sort     │ version │ flow │ tag │ sequence │ number │ ack │ inline … │ bulk … │
//!   │ u32  │ u8   │ u8         │ 1 to 4   │ 3       │ u32  │ u32 │ u32      │ u32    │ u32 │
//! ```
//! The bulk comes last, so that its receiver can choose its place before it arrives. The number of bytes
//! beside the header is known only at the commit, but the bulk is placed at the claim. So there are always
//! [`MAX_INLINE_WITH_BULK`] bytes before a bulk, used or not.
//!
//! *Numbers.* A link numbers its packets from [`FIRST`]; numbers wrap. `ack` is the number that the sender of
//! the frame expects next: it has released all packets before. A frame of sort [`SORT_ACK`] has no other
//! content, takes no number and is not acknowledged. A packet of sort [`SORT_PROMPT`] is acknowledged soon,
//! because its sender waits for that. A frame of sort [`SORT_LAST`] acknowledges and is the last one. Its
//! sender has finished, and all its packets were acknowledged.

use std::ops::Range;

use crate::{Corrupt, Header, MAX_INLINE, MAX_INLINE_WITH_BULK};

/// The layout's version, in each frame. The handshake compares it too.
pub const VERSION: u8 = 3;
/// Bytes before the inline ones.
pub const HEAD: usize = 28;
/// The number of a link's first packet. It is close to the wrap, so that numbers wrap early on every link.
pub const FIRST: u32 = 0xffff_ff00;

const SORT_PACKET: u8 = 1;
const SORT_ACK: u8 = 2;
const SORT_PROMPT: u8 = 3;
const SORT_LAST: u8 = 4;

const BULK: Range<usize> = 0..4;
const KIND: usize = 4;
const INLINE: usize = 5;
const SORT: usize = 6;
const LAYOUT: usize = 7;
const FLOW: Range<usize> = 8..12;
const TAG: Range<usize> = 12..16;
const SEQUENCE: Range<usize> = 16..20;
const NUMBER: Range<usize> = 20..24;
const ACK: Range<usize> = 24..28;

/// A frame at the start of some bytes, with checked lengths. Its head is complete; the rest may be missing.
#[derive(Clone, Copy)]
pub struct View<'a>(&'a [u8; HEAD]);

impl<'a> View<'a> {
    /// Returns the frame at the start of `bytes`; none while its head is incomplete.
    ///
    /// # Errors
    /// The head is invalid.
    #[inline]
    pub fn new(bytes: &'a [u8], max_bulk: usize) -> Result<Option<Self>, Corrupt> {
        let Some(head) = bytes.first_chunk() else { return Ok(None) };
        let view = Self(head);
        view.check(max_bulk)?;
        Ok(Some(view))
    }

    #[inline]
    fn check(&self, max_bulk: usize) -> Result<(), Corrupt> {
        let (bulk, inline) = (self.bulk_len(), self.inline_len());
        let most = match (self.0[SORT], bulk) {
            (SORT_PACKET, 0) => MAX_INLINE,
            (SORT_PACKET | SORT_PROMPT, _) => MAX_INLINE_WITH_BULK,
            _ => 0,
        };
        let known = self.0[LAYOUT] == VERSION && matches!(self.0[SORT], SORT_PACKET..=SORT_LAST);
        let fits = inline <= most && bulk <= if self.is_ack() { 0 } else { max_bulk };
        if known && fits { Ok(()) } else { Err(self.impossible(max_bulk)) }
    }

    #[cold]
    fn impossible(&self, max_bulk: usize) -> Corrupt {
        let (version, sort, inline, bulk) =
            (self.0[LAYOUT], self.0[SORT], self.inline_len(), self.bulk_len());
        Corrupt(format!(
            "a frame of version {version}, sort {sort}, with {inline} bytes beside the header and {bulk} of bulk \
             (this is version {VERSION}, sorts are {SORT_PACKET} to {SORT_LAST}, a bulk has at most {max_bulk} bytes)"
        ))
    }

    #[inline]
    fn u32(&self, field: Range<usize>) -> u32 {
        u32::from_le_bytes(self.0[field].try_into().expect("fields of 4 bytes"))
    }

    /// Returns true if it only acknowledges.
    #[inline]
    pub fn is_ack(&self) -> bool {
        matches!(self.0[SORT], SORT_ACK | SORT_LAST)
    }

    /// Returns true if its sender has finished and no frame follows.
    #[inline]
    pub fn is_last(&self) -> bool {
        self.0[SORT] == SORT_LAST
    }

    /// Returns true if its sender waits for the acknowledgement.
    #[inline]
    pub fn is_prompt(&self) -> bool {
        self.0[SORT] == SORT_PROMPT
    }

    /// Returns the packet's header.
    #[inline]
    pub fn header(&self) -> Header {
        Header {
            kind: self.0[KIND],
            inline_len: self.0[INLINE],
            flow: self.u32(FLOW),
            tag: self.u32(TAG),
            sequence: self.u32(SEQUENCE),
        }
    }

    /// Returns the length of the bulk.
    #[inline]
    pub fn bulk_len(&self) -> usize {
        self.u32(BULK) as usize
    }

    #[inline]
    fn inline_len(&self) -> usize {
        self.0[INLINE] as usize
    }

    /// Returns the number of bytes before the bulk.
    #[inline]
    pub fn before_bulk(&self) -> usize {
        HEAD + beside(self.inline_len(), self.bulk_len())
    }

    /// Returns the length of the whole frame.
    #[inline]
    pub fn frame_len(&self) -> usize {
        self.before_bulk() + self.bulk_len()
    }

    /// Returns the packet's number on its link.
    #[inline]
    pub fn number(&self) -> u32 {
        self.u32(NUMBER)
    }

    /// Returns the number that the sender of this frame expects next.
    #[inline]
    pub fn ack(&self) -> u32 {
        self.u32(ACK)
    }
}

/// Returns the number of bytes between the head and the bulk.
#[inline]
pub fn beside(inline_len: usize, bulk: usize) -> usize {
    if bulk == 0 { inline_len } else { MAX_INLINE_WITH_BULK }
}

/// Writes the head of a packet.
#[inline]
pub fn write_packet(head: &mut [u8; HEAD], header: Header, bulk: u32, number: u32, ack: u32) {
    head[BULK].copy_from_slice(&bulk.to_le_bytes());
    head[KIND] = header.kind;
    head[INLINE] = header.inline_len;
    head[SORT] = SORT_PACKET;
    head[LAYOUT] = VERSION;
    head[FLOW].copy_from_slice(&header.flow.to_le_bytes());
    head[TAG].copy_from_slice(&header.tag.to_le_bytes());
    head[SEQUENCE].copy_from_slice(&header.sequence.to_le_bytes());
    head[NUMBER].copy_from_slice(&number.to_le_bytes());
    head[ACK].copy_from_slice(&ack.to_le_bytes());
}

/// Marks in the head of a packet that its sender waits for the acknowledgement.
pub fn mark_prompt(head: &mut [u8; HEAD]) {
    head[SORT] = SORT_PROMPT;
}

/// Returns a frame that only acknowledges.
pub fn ack_frame(ack: u32) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[SORT] = SORT_ACK;
    head[LAYOUT] = VERSION;
    head[ACK].copy_from_slice(&ack.to_le_bytes());
    head
}

/// Returns a frame that acknowledges and reports that its sender has finished.
pub fn last_frame(ack: u32) -> [u8; HEAD] {
    let mut head = ack_frame(ack);
    head[SORT] = SORT_LAST;
    head
}

#[cfg(test)]
mod tests;
