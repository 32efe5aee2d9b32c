//! One buffer of a collective: the program's memory where it lies, or packed.

use std::ops::Range;
use std::sync::Arc;

use canele_engine::collective::{Block, Place};
use canele_sys::buffer::{Divided, Raw};

use crate::datatype::Datatype;
use crate::{Result, fail};

/// Elements of one datatype, one behind the other.
pub use crate::point::Kept as Elements;

/// Elements for or from each of many ranks.
#[derive(Clone)]
pub struct Scattered {
    /// The memory, counted from the address the program gave; it spans all elements.
    pub raw: Raw,
    /// For each rank: how many, where in bytes, and of which type.
    pub parts: Vec<(usize, isize, Arc<Datatype>)>,
}

impl Scattered {
    /// The bytes that such parts touch, relative to the buffer's address.
    pub fn span(parts: &[(usize, isize, Arc<Datatype>)]) -> Range<isize> {
        let spans = parts.iter().filter(|(count, _, _)| *count > 0).map(|(count, at, of)| {
            let span = of.span(*count);
            span.start.saturating_add(*at)..span.end.saturating_add(*at)
        });
        spans.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or(0..0)
    }

    /// Bytes of data of each part.
    pub(super) fn bytes(&self) -> Result<Vec<usize>> {
        self.parts.iter().map(|(count, _, of)| of.total_bytes(*count)).collect()
    }
}

/// One buffer of a collective.
#[derive(Clone, Default)]
pub(super) enum Side {
    /// There is none.
    #[default]
    Nothing,
    /// The elements lie without gaps: the program's memory is used.
    Here(Raw),
    /// They are packed one behind the other.
    Packed { pieces: Vec<Piece>, len: usize },
}

/// Some elements, and where their packed bytes are.
#[derive(Clone)]
pub(super) struct Piece {
    elements: Elements,
    at: usize,
    len: usize,
}

impl Side {
    /// Of elements one behind the other, and the bytes of data.
    pub fn of(elements: Elements) -> Result<(Self, usize)> {
        let len = elements.of.total_bytes(elements.count)?;
        if elements.of.is_contiguous() {
            return Ok((Self::Here(elements.raw), len));
        }
        Ok((Self::Packed { pieces: vec![Piece { elements, at: 0, len }], len }, len))
    }

    /// Of parts anywhere, and where the bytes of each are.
    pub fn of_parts(scattered: &Scattered) -> Result<(Self, Vec<Block>)> {
        let lens = scattered.bytes()?;
        let direct =
            |(count, at, of): &(usize, isize, Arc<Datatype>)| *count == 0 || *at >= 0 && of.is_contiguous();
        if scattered.parts.iter().all(direct) {
            let block = |((count, at, _), len): (&(usize, isize, Arc<Datatype>), &usize)| Block {
                at: if *count == 0 { 0 } else { at.cast_unsigned() },
                len: *len,
            };
            let blocks = scattered.parts.iter().zip(&lens).map(block).collect();
            return Ok((Self::Here(scattered.raw), blocks));
        }
        let (mut pieces, mut blocks, mut next) = (Vec::new(), Vec::new(), 0);
        for ((count, at, of), len) in scattered.parts.iter().zip(&lens) {
            let elements = Elements { raw: scattered.raw.moved(*at), count: *count, of: of.clone() };
            pieces.push(Piece { elements, at: next, len: *len });
            blocks.push(Block { at: next, len: *len });
            next += len;
        }
        Ok((Self::Packed { pieces, len: next }, blocks))
    }

    /// What the engine gets, with the elements packed if they are to be read.
    #[inline(always)]
    pub fn place(&self, load: bool) -> Place {
        match self {
            Self::Nothing => Place::Nowhere,
            Self::Here(raw) => Place::At(*raw),
            Self::Packed { pieces, len } => packed(pieces, *len, load),
        }
    }

    /// Puts packed bytes where the elements lie.
    pub fn store(&self, bytes: &[u8]) {
        if let Self::Packed { pieces, .. } = self {
            for Piece { elements, at, len } in pieces {
                elements.of.unpack(elements.raw, elements.count, 0, &bytes[*at..*at + *len]);
            }
        }
    }

    /// Whether it is packed.
    pub fn is_packed(&self) -> bool {
        matches!(self, Self::Packed { .. })
    }
}

/// Memory for packed elements, with their bytes if they are to be read.
#[inline(never)]
fn packed(pieces: &[Piece], len: usize, load: bool) -> Place {
    let mut own = Divided::new(len);
    for Piece { elements, at, len } in pieces.iter().filter(|_| load) {
        let bytes = &mut own.bytes_mut()[*at..*at + *len];
        elements.of.pack(elements.raw, elements.count, 0, bytes);
    }
    Place::Own(Box::new(own))
}

/// Fails unless what this rank gives itself is as long as what it takes.
pub(super) fn check_own(given: usize, taken: usize) -> Result<()> {
    if given == taken {
        return Ok(());
    }
    fail!(
        Truncate,
        "this rank sends itself {given} bytes and receives {taken}: counts and types of both buffers must agree"
    )
}
