//! The contents of one packet of the socket: a head of 28 bytes, the bytes beside it, and the bulk.
//!
//! ```text
//!   sort │ kind │ inline length │ 0 │ bulk u32 │ flow │ tag │ sequence │ number │ released │ inline … │ bulk …
//! ```
//! `number` counts the packets of a link. `released` counts the released packets of the other direction. A
//! frame of another sort than [`Sort::Packet`] is a head alone.

use canele_rail::{Corrupt, Header, MAX_INLINE, MAX_INLINE_WITH_BULK};

/// Bytes of a head.
pub const HEAD: usize = 28;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    Packet,
    /// Reports only released packets.
    Credit,
    /// The rank has finished.
    End,
}

const SORTS: [Sort; 3] = [Sort::Packet, Sort::Credit, Sort::End];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    pub sort: Sort,
    pub header: Header,
    pub bulk: usize,
    pub number: u32,
    pub released: u32,
}

impl Frame {
    pub fn encode(&self) -> [u8; HEAD] {
        let mut head = [0; HEAD];
        head[..3].copy_from_slice(&[self.sort as u8, self.header.kind, self.header.inline_len]);
        let Header { flow, tag, sequence, .. } = self.header;
        let words = [self.bulk as u32, flow, tag, sequence, self.number, self.released];
        for (place, word) in head[4..].chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        head
    }

    /// Reads a frame that fills `bytes`.
    pub fn decode(bytes: &[u8]) -> Result<Self, Corrupt> {
        let Some(head) = bytes.first_chunk::<HEAD>() else {
            return Err(Corrupt(format!("a frame of {} bytes, less than a head", bytes.len())));
        };
        let word = |n: usize| u32::from_le_bytes(head[4 * n..][..4].try_into().expect("4 bytes"));
        let sort = SORTS.get(head[0] as usize).filter(|_| head[3] == 0);
        let sort = *sort.ok_or_else(|| Corrupt(format!("a frame of the unknown sort {}", head[0])))?;
        let (inline_len, bulk) = (head[2] as usize, word(1) as usize);
        let most = match (sort, bulk) {
            (Sort::Packet, 0) => MAX_INLINE,
            (Sort::Packet, _) => MAX_INLINE_WITH_BULK,
            _ => 0,
        };
        if inline_len > most || HEAD + inline_len + bulk != bytes.len() || (bulk > 0 && sort != Sort::Packet)
        {
            let len = bytes.len();
            return Err(Corrupt(format!("a frame of {len} bytes that claims {inline_len} and {bulk}")));
        }
        let header =
            Header { kind: head[1], inline_len: head[2], flow: word(2), tag: word(3), sequence: word(4) };
        Ok(Self { sort, header, bulk, number: word(5), released: word(6) })
    }
}
