//! Chunks: the pieces of messages on a stream, each sealed for itself.
//!
//! ```text
//!   length u16 │ kind u8 │ check u8 │ sealed: role u8, up to 4075 bytes of a message
//!                                   │ count u64, 16 bytes that prove it
//!
//!   kind 0: a sealed part, last part, or beat      kind 1: a beat of the process that replaces the sender
//! ```
//! A chunk is written at once and fits in the size that a pipe takes whole (PIPE_BUF). So a second process
//! can put its beats between the chunks of a stopped process. A header with one changed byte is detected, so
//! no reader waits for a forged length.

use canele_secure::{BEAT, Sealer, TAG};

/// The longest chunk in bytes, its header included.
pub const MAX_CHUNK: usize = 4096;
/// The length of a header in bytes.
pub const HEADER: usize = 4;
/// The longest part of a message in a chunk.
pub const MAX_PART: usize = MAX_CHUNK - HEADER - TAG - 1;

/// The content of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkKind {
    /// A part of a message, sealed by the channel.
    Sealed = 0,
    /// A beat of the process that replaces the sender.
    StandInBeat = 1,
}

/// The role of a sealed chunk, in its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkRole {
    /// More of the message follows.
    Part = 0,
    /// The message is whole.
    Last = 1,
    /// The sender lives.
    Beat = 2,
}

impl ChunkRole {
    /// Returns the role with this number.
    pub fn from_byte(byte: u8) -> Option<ChunkRole> {
        [ChunkRole::Part, ChunkRole::Last, ChunkRole::Beat].into_iter().find(|role| *role as u8 == byte)
    }
}

/// Returns the header of a chunk of `length` bytes.
pub const fn header(length: u16, kind: ChunkKind) -> [u8; HEADER] {
    let [low, high] = length.to_le_bytes();
    [low, high, kind as u8, check(low, high, kind as u8)]
}

const fn check(low: u8, high: u8, kind: u8) -> u8 {
    !(low ^ high ^ kind)
}

/// Returns the number of bytes that follow a header, and their kind.
///
/// # Errors
/// Fails if it is no header.
pub fn parse([low, high, kind, sum]: [u8; HEADER]) -> Result<(usize, ChunkKind), String> {
    let length = usize::from(u16::from_le_bytes([low, high]));
    let is_right = match kind {
        0 => (TAG + 1..=MAX_CHUNK - HEADER).contains(&length),
        1 => length == BEAT,
        _ => false,
    };
    if sum != check(low, high, kind) || !is_right {
        return Err(format!("what is no part of a message ({low:#x}, {high:#x}, {kind:#x}, {sum:#x})"));
    }
    Ok((length, if kind == 0 { ChunkKind::Sealed } else { ChunkKind::StandInBeat }))
}

/// Appends a message, cut into sealed chunks.
pub fn push(message: &[u8], sealer: &mut Sealer, to: &mut Vec<u8>) {
    let mut parts = message.chunks(MAX_PART).peekable();
    while let Some(part) = parts.next() {
        let role = if parts.peek().is_some() { ChunkRole::Part } else { ChunkRole::Last };
        push_chunk(role, part, sealer, to);
    }
}

/// Appends a beat of the sender.
pub fn push_beat(sealer: &mut Sealer, to: &mut Vec<u8>) {
    push_chunk(ChunkRole::Beat, &[], sealer, to);
}

fn push_chunk(role: ChunkRole, part: &[u8], sealer: &mut Sealer, to: &mut Vec<u8>) {
    let plain = [&[role as u8], part].concat();
    to.extend_from_slice(&header((plain.len() + TAG) as u16, ChunkKind::Sealed));
    sealer.seal(&plain, to).expect("a chunk is short, and there are fewer than its counter counts");
}

/// Returns a beat of the process that replaces the sender, as a chunk.
pub fn stand_in_beat(beat: &[u8; BEAT]) -> [u8; HEADER + BEAT] {
    let mut chunk = [0; HEADER + BEAT];
    chunk[..HEADER].copy_from_slice(&header(BEAT as u16, ChunkKind::StandInBeat));
    chunk[HEADER..].copy_from_slice(beat);
    chunk
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_survives_and_none_is_another_with_one_byte_changed() {
        let sealed = [TAG + 1, 300, 4092].map(|length| (length as u16, ChunkKind::Sealed));
        for (length, kind) in sealed.into_iter().chain([(BEAT as u16, ChunkKind::StandInBeat)]) {
            let right = header(length, kind);
            assert_eq!(parse(right), Ok((length.into(), kind)));
            for (at, flip) in (0..HEADER).flat_map(|at| (1..=255).map(move |flip| (at, flip))) {
                let mut wrong = right;
                wrong[at] ^= flip;
                assert!(parse(wrong).is_err(), "{wrong:?}");
            }
        }
        for (length, kind) in
            [(TAG, ChunkKind::Sealed), (4093, ChunkKind::Sealed), (BEAT + 1, ChunkKind::StandInBeat)]
        {
            assert!(parse(header(length as u16, kind)).is_err());
        }
    }
}
