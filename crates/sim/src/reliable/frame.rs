//! The frames on the rail below: a packet with its number, an answer and a seal, or an answer alone.
//!
//! ```text
//!   header   kind: packet or answer │ flow: seal │ tag: number │ sequence: released
//!   beside, or in the bulk if longer:  ┌ come u32 ┬ body: kind, length, flow, tag, sequence, inline, bulk ┐
//! ```
//! Owns this layout. An answer is cumulative, so a lost older one does no harm.

use canele_rail::{Class, Header, MAX_INLINE, Packet, Rail};
use canele_sys::ids::LinkId;

/// The most bytes that a frame adds to the bulk of its packet.
pub const ROOM: usize = 4 + BODY_HEAD + MAX_INLINE;
/// The number of bytes of a body before the inline bytes.
const BODY_HEAD: usize = 14;

const PACKET: u8 = 1;
const ANSWER: u8 = 2;

/// The progress of a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Acknowledgement {
    /// The number of the first packet that has not come.
    pub come: u32,
    /// The number of the first packet that was not released.
    pub released: u32,
}

/// The content of one frame.
pub struct Frame<'a> {
    pub number: Option<u32>,
    pub answer: Acknowledgement,
    pub body: &'a [u8],
}

/// Returns a packet as a body.
pub fn body(header: Header, inline: &[u8], bulk: &[u8]) -> Box<[u8]> {
    let mut body = Vec::with_capacity(BODY_HEAD + inline.len() + bulk.len());
    body.extend_from_slice(&[header.kind, header.inline_len]);
    for word in [header.flow, header.tag, header.sequence] {
        body.extend_from_slice(&word.to_le_bytes());
    }
    body.extend_from_slice(inline);
    body.extend_from_slice(bulk);
    body.into()
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

/// Returns the header in a body, and the place where its bulk begins.
pub fn head(body: &[u8]) -> Option<(Header, usize)> {
    let header = Header {
        kind: *body.first()?,
        inline_len: *body.get(1)?,
        flow: word(body, 2)?,
        tag: word(body, 6)?,
        sequence: word(body, 10)?,
    };
    let bulk = BODY_HEAD + header.inline_len as usize;
    (header.inline_len as usize <= MAX_INLINE && bulk <= body.len()).then_some((header, bulk))
}

/// The place where the inline bytes of a body begin.
pub const INLINE_AT: usize = BODY_HEAD;

fn seal(header: &Header, text: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&[header.kind, header.inline_len]);
    crc.update(&header.tag.to_le_bytes());
    crc.update(&header.sequence.to_le_bytes());
    crc.update(text);
    crc.finalize()
}

impl Frame<'_> {
    /// Sends the frame; returns false if there is no room.
    pub fn send<R: Rail>(&self, rail: &mut R, link: LinkId, class: Class) -> bool {
        let mut text = Vec::with_capacity(4 + self.body.len());
        text.extend_from_slice(&self.answer.come.to_le_bytes());
        text.extend_from_slice(self.body);
        let beside = text.len() <= MAX_INLINE;
        let bulk = if beside { 0 } else { text.len() };
        let Ok(slot) = rail.claim(link, bulk, class) else { return false };
        let header = Header {
            kind: if self.number.is_some() { PACKET } else { ANSWER },
            inline_len: if beside { text.len() as u8 } else { 0 },
            flow: 0,
            tag: self.number.unwrap_or_default(),
            sequence: self.answer.released,
        };
        if beside {
            slot.inline.write(0, &text)
        } else {
            slot.bulk.write(0, &text)
        }
        let flow = seal(&header, &text);
        rail.commit(link, Header { flow, ..header });
        true
    }
}

/// Returns the number, answer and body of a frame whose seal is whole.
pub fn open(packet: &Packet<'_>, body: &mut Vec<u8>) -> Option<(Option<u32>, Acknowledgement)> {
    let header = packet.header;
    let beside = packet.inline.part(0, header.inline_len as usize)?;
    let text = if packet.bulk.is_empty() { beside } else { packet.bulk };
    body.resize(text.len(), 0);
    text.read(0, body);
    let number = match header.kind {
        PACKET => Some(header.tag),
        ANSWER => None,
        _ => return None,
    };
    if seal(&header, body) != header.flow {
        return None;
    }
    let come = word(body, 0)?;
    body.drain(..4);
    if number.is_some() {
        head(body)?;
    }
    Some((number, Acknowledgement { come, released: header.sequence }))
}
