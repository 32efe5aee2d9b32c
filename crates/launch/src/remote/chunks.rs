//! Chunks: what messages are cut into on their way through a stream.
//!
//! ```text
//!   length u16 │ last u8 │ check u8 │ up to 4092 bytes of a message          the last of it has `last` = 1
//!   0          │ 1       │ check    │                                        a beat: the sender lives
//! ```
//! A chunk is written at once and fits in what a pipe takes whole (PIPE_BUF), so that a second process can put its beats between
//! those of a process that is stopped. A header of which one byte is changed is known as such.

/// The longest chunk in bytes, its header included.
pub const MAX_CHUNK: usize = 4096;
/// Bytes of a header.
pub const HEADER: usize = 4;

/// What says that the sender, or one in its place, lives.
pub const BEAT: [u8; HEADER] = header(0, true);

/// The header of a chunk of `length` bytes.
pub const fn header(length: u16, last: bool) -> [u8; HEADER] {
    let [low, high] = length.to_le_bytes();
    [low, high, last as u8, check(low, high, last as u8)]
}

const fn check(low: u8, high: u8, last: u8) -> u8 {
    !(low ^ high ^ last)
}

/// How many bytes follow a header, and whether they are the last of their message.
///
/// # Errors
/// It is no header.
pub fn parse([low, high, last, sum]: [u8; HEADER]) -> Result<(usize, bool), String> {
    let length = usize::from(u16::from_le_bytes([low, high]));
    if sum != check(low, high, last) || last > 1 || length > MAX_CHUNK - HEADER || length == 0 && last == 0 {
        return Err(format!("what is no part of a message ({low:#x}, {high:#x}, {last:#x}, {sum:#x})"));
    }
    Ok((length, last == 1))
}

/// Appends a message, cut into chunks.
pub fn push(message: &[u8], to: &mut Vec<u8>) {
    let mut parts = message.chunks(MAX_CHUNK - HEADER).peekable();
    while let Some(part) = parts.next() {
        to.extend_from_slice(&header(part.len() as u16, parts.peek().is_none()));
        to.extend_from_slice(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_survives_and_none_is_another_with_one_byte_changed() {
        for (length, last) in [(0, true), (1, false), (300, true), (4092, false), (4092, true)] {
            let right = header(length, last);
            assert_eq!(parse(right), Ok((length.into(), last)));
            for (at, flip) in (0..HEADER).flat_map(|at| (1..=255).map(move |flip| (at, flip))) {
                let mut wrong = right;
                wrong[at] ^= flip;
                assert!(parse(wrong).is_err(), "{wrong:?}");
            }
        }
        assert!(parse(header(0, false)).is_err() && parse(header(4093, true)).is_err());
    }
}
