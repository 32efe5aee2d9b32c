//! A batch: packets that a strategy puts together travel as the bulk of a single packet.
//!
//! ```text
//!   bulk   ┌ kind │ inline_len │ bulk_len u16 │ flow │ tag │ sequence ┬ inline … ┬ bulk … ┐ next …
//!          └ 16 bytes ────────────────────────────────────────────────┴──────────┴────────┘
//! ```
//! Each part is handled as a packet of its own. A batch in a batch is refused, and so is a part that ends
//! beyond the bulk.

use canele_mem::window::Window;
use canele_rail::{Header, MAX_INLINE, Packet};

use crate::wire::Kind;

/// Bytes before each part.
pub const HEAD: usize = 16;
/// Room that suffices for any answer or announcement.
pub const CONTROL_ROOM: usize = HEAD + MAX_INLINE;
/// The length of the longest batch, in bytes.
pub const MOST: usize = 65_536;

/// Returns the room that a message of `len` bytes takes.
pub fn room(len: usize) -> usize {
    HEAD + len
}

/// Writes parts one after another.
pub struct Writer<'a> {
    bulk: Window<'a>,
    at: usize,
}

impl<'a> Writer<'a> {
    /// Makes a writer into this bulk.
    pub fn new(bulk: Window<'a>) -> Self {
        Self { bulk, at: 0 }
    }

    /// Returns the memory for the inline bytes and for the bulk of the next part.
    ///
    /// # Panics
    /// The batch is full.
    pub fn add(&mut self, header: Header, bulk: usize) -> (Window<'a>, Window<'a>) {
        let inline = header.inline_len as usize;
        self.bulk.write(self.at, &head(header, bulk));
        let part = |at, len| self.bulk.part(at, len).expect("the batch was claimed for its parts");
        let at = self.at + HEAD;
        self.at = at + inline + bulk;
        (part(at, inline), part(at + inline, bulk))
    }

    /// Adds parts that already have their heads.
    pub fn add_parts(&mut self, parts: &[u8]) {
        self.bulk.write(self.at, parts);
        self.at += parts.len();
    }
}

/// Returns the head of a part with `bulk` bytes of bulk.
///
/// # Panics
/// The bulk has 64 KiB or more.
#[inline]
pub fn head(header: Header, bulk: usize) -> [u8; HEAD] {
    let length = u16::try_from(bulk).expect("a part has less than 64 KiB");
    let mut head = [0; HEAD];
    (head[0], head[1]) = (header.kind, header.inline_len);
    head[2..4].copy_from_slice(&length.to_le_bytes());
    head[4..8].copy_from_slice(&header.flow.to_le_bytes());
    head[8..12].copy_from_slice(&header.tag.to_le_bytes());
    head[12..].copy_from_slice(&header.sequence.to_le_bytes());
    head
}

/// Reads parts one after another.
pub struct Reader<'a> {
    bulk: Window<'a>,
    at: usize,
}

impl<'a> Reader<'a> {
    /// Makes a reader of this bulk.
    pub fn new(bulk: Window<'a>) -> Self {
        Self { bulk, at: 0 }
    }

    fn part(&mut self) -> Option<Packet<'a>> {
        let mut head = [0; HEAD];
        self.bulk.part(self.at, HEAD)?.read(0, &mut head);
        let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("4 bytes"));
        let header =
            Header { kind: head[0], inline_len: head[1], flow: word(4), tag: word(8), sequence: word(12) };
        let (inline, bulk) = (head[1] as usize, usize::from(u16::from_le_bytes([head[2], head[3]])));
        if inline > MAX_INLINE || header.kind == Kind::Batch as u8 {
            return None;
        }
        let at = self.at + HEAD;
        let packet = Packet {
            header,
            inline: self.bulk.part(at, inline)?,
            bulk: self.bulk.part(at + inline, bulk)?,
            direct_bytes: 0,
        };
        self.at = at + inline + bulk;
        Some(packet)
    }
}

impl<'a> Iterator for Reader<'a> {
    /// A part, or `None` if the bytes are no part.
    type Item = Option<Packet<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        (self.at < self.bulk.len()).then(|| {
            let part = self.part();
            if part.is_none() {
                self.at = self.bulk.len();
            }
            part
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(kind: Kind, inline_len: u8, tag: u32) -> Header {
        Header { kind: kind as u8, inline_len, flow: 3, tag, sequence: 9 }
    }

    #[test]
    fn parts_come_out_as_they_went_in() {
        let mut memory = vec![0; 2 * HEAD + 5 + 300];
        let mut writer = Writer::new(Window::on(&mut memory));
        writer.add(header(Kind::Short, 5, 1), 0).0.write(0, b"hello");
        writer.add(header(Kind::Eager, 0, 2), 300).1.write(0, &[7; 300]);
        let parts: Vec<_> = Reader::new(Window::on(&mut memory)).map(Option::unwrap).collect();
        let mut bytes = [0; 300];
        assert_eq!(parts[0].header, header(Kind::Short, 5, 1));
        parts[0].inline.read(0, &mut bytes[..5]);
        assert_eq!(&bytes[..5], b"hello");
        parts[1].bulk.read(0, &mut bytes);
        assert_eq!((parts[1].header.tag, bytes), (2, [7; 300]));
        assert_eq!(parts.len(), 2);
    }

    #[test]
    fn what_is_cut_anywhere_or_nested_gives_nothing() {
        let mut memory = vec![0; HEAD + 20];
        Writer::new(Window::on(&mut memory)).add(header(Kind::Short, 20, 1), 0);
        for cut in 1..memory.len() {
            let parts: Vec<_> = Reader::new(Window::on(&mut memory[..cut])).collect();
            assert!(matches!(parts[..], [None]), "{cut} bytes");
        }
        Writer::new(Window::on(&mut memory)).add(header(Kind::Batch, 20, 1), 0);
        assert!(matches!(Reader::new(Window::on(&mut memory)).next(), Some(None)));
    }
}
