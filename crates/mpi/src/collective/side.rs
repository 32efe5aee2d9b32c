//! One buffer of a collective: the program's memory itself, or a packed copy.

use std::ops::Range;
use std::sync::Arc;

use canele_engine::collective::{Block, CollectiveBuffer};
use canele_mem::buffer::{Divided, MemoryPart, PartedMemory, Raw, RawMut, Readable};

use crate::data::{Elements, ElementsMut};
use crate::datatype::Datatype;
use crate::{Class, Error, Result, fail};

/// The elements for or from each of many ranks.
pub struct Scattered<M = Raw> {
    /// The memory, counted from the program's address; it spans all elements.
    pub raw: M,
    /// Count, byte offset and datatype for each rank.
    pub parts: Vec<TypedPart>,
}

/// Scattered elements to be written.
pub type ScatteredMut = Scattered<RawMut>;

/// A rank's elements of at least this many bytes are sent and received in place. A packed copy would touch
/// new pages in each call.
const LONG_PART: usize = 64 << 10;

#[cold]
fn too_much(parts: usize) -> Box<Error> {
    Error::new(Class::Count, format!("the elements of {parts} ranks exceed the address space"))
}

/// A count of elements, their byte offset, and their datatype.
pub type TypedPart = (usize, isize, Arc<Datatype>);

/// Returns the range of bytes that the parts span, relative to the buffer's address.
pub fn span(parts: &[TypedPart]) -> Range<isize> {
    let spans = parts.iter().filter(|(count, _, _)| *count > 0).map(|(count, at, of)| {
        let span = of.span(*count);
        span.start.saturating_add(*at)..span.end.saturating_add(*at)
    });
    spans.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or(0..0)
}

/// One buffer of a collective: `raw` itself, or packed memory.
pub(super) struct Side<M> {
    /// The buffer for the engine.
    pub buffer: CollectiveBuffer,
    packed: Option<Packed<M>>,
}

/// Elements that are packed contiguously.
struct Packed<M> {
    raw: M,
    pieces: Vec<PackedPiece>,
    len: usize,
}

/// Some elements, their place, and the place of their packed bytes.
struct PackedPiece {
    count: usize,
    of: Arc<Datatype>,
    place: isize,
    at: usize,
    len: usize,
}

/// Memory that a collective reads or writes in place.
pub(super) trait InPlaceMemory: Readable {
    /// Returns the buffer for the engine.
    fn place(self) -> CollectiveBuffer;

    /// Fails if the parts cannot be moved together: written parts must not overlap.
    fn check_parts(parts: &[Block]) -> Result<()>;

    /// Returns the memory of elements that the engine moves in place, block by block.
    fn parted(self, parts: Vec<MemoryPart>) -> PartedMemory;
}

impl InPlaceMemory for Raw {
    fn place(self) -> CollectiveBuffer {
        CollectiveBuffer::At(self)
    }

    fn check_parts(_: &[Block]) -> Result<()> {
        Ok(())
    }

    fn parted(self, parts: Vec<MemoryPart>) -> PartedMemory {
        PartedMemory::of(self, parts)
    }
}

impl InPlaceMemory for RawMut {
    fn place(self) -> CollectiveBuffer {
        CollectiveBuffer::Own(Box::new(Divided::of(self)))
    }

    fn check_parts(parts: &[Block]) -> Result<()> {
        let Some((one, other)) = overlapping(parts) else { return Ok(()) };
        let [here, there] = [one, other].map(|n| parts[n].at..parts[n].at.saturating_add(parts[n].len));
        fail!(
            Buffer,
            "parts {one} and {other} of recvbuf overlap, bytes {here:?} and {there:?}: no byte may be received twice"
        )
    }

    fn parted(self, parts: Vec<MemoryPart>) -> PartedMemory {
        PartedMemory::of_mut(self, parts)
    }
}

impl<M> Side<M> {
    /// A side without a buffer.
    pub const NOTHING: Self = Self { buffer: CollectiveBuffer::Nowhere, packed: None };
}

impl<M: InPlaceMemory> Side<M> {
    fn here(raw: M) -> Self {
        Self { buffer: raw.place(), packed: None }
    }

    /// Makes a side of elements that are read or written in place, range by range; returns it with the block
    /// of each part.
    fn parted(raw: M, parts: impl IntoIterator<Item = TypedPart>) -> (Self, Vec<Block>) {
        let part = |(count, place, of): TypedPart| MemoryPart { layout: of.layout().clone(), count, place };
        let parted = raw.parted(parts.into_iter().map(part).collect());
        let blocks = parted.places().map(|place| Block { at: place.start, len: place.len() }).collect();
        (Self { buffer: CollectiveBuffer::Parts(Arc::new(parted)), packed: None }, blocks)
    }

    fn packed(raw: M, pieces: Vec<PackedPiece>, len: usize) -> Self {
        Self { buffer: CollectiveBuffer::Nowhere, packed: Some(Packed { raw, pieces, len }) }
    }

    /// Makes a side of contiguous elements; returns it with the number of data bytes.
    pub fn of(elements: Elements<M>) -> Result<(Self, usize)> {
        let Elements { raw, count, of } = elements;
        let len = of.total_bytes(count)?;
        if of.is_contiguous() {
            return Ok((Self::here(raw), len));
        }
        Ok((Self::packed(raw, vec![PackedPiece { count, of, place: 0, at: 0, len }], len), len))
    }

    /// Makes a side of contiguous elements for or from `ranks` ranks that a schedule only moves. Returns it
    /// with the number of data bytes. Long parts are not packed.
    ///
    /// # Errors
    /// Fails on too many elements.
    pub fn of_moved(elements: Elements<M>, ranks: usize) -> Result<(Self, usize)> {
        let len = elements.of.total_bytes(elements.count)?;
        if elements.of.is_contiguous() || len / ranks.max(1) < LONG_PART {
            return Self::of(elements);
        }
        let Elements { raw, count, of } = elements;
        Ok((Self::parted(raw, [(count, 0, of)]).0, len))
    }

    /// Makes a side of scattered parts that a schedule only moves; returns it with the block of each part.
    /// Long parts are not packed.
    ///
    /// # Errors
    /// Fails like [`Side::of_parts`].
    pub fn of_moved_parts(scattered: Scattered<M>) -> Result<(Self, Vec<Block>)> {
        let is_irregular = scattered.parts.iter().any(|(_, _, of)| !of.is_contiguous());
        let lens = scattered.parts.iter().map(|(count, _, of)| of.total_bytes(*count));
        let lens = lens.collect::<Result<Vec<_>>>()?;
        let longest = lens.iter().copied().max().unwrap_or(0);
        if !is_irregular || longest < LONG_PART {
            return Self::of_parts(scattered);
        }
        // Parted memory has one byte more for each part.
        let all = lens.iter().try_fold(lens.len(), |all, len| all.checked_add(*len));
        all.ok_or_else(|| too_much(lens.len()))?;
        Ok(Self::parted(scattered.raw, scattered.parts))
    }

    /// Makes a side of scattered parts; returns it with the block of each part.
    ///
    /// # Errors
    /// Fails if parts that are written in place overlap, or on too many elements.
    pub fn of_parts(scattered: Scattered<M>) -> Result<(Self, Vec<Block>)> {
        let Scattered { raw, parts } = scattered;
        let lens = parts.iter().map(|(count, _, of)| of.total_bytes(*count)).collect::<Result<Vec<_>>>()?;
        let direct = |(count, at, of): &TypedPart| *count == 0 || *at >= 0 && of.is_contiguous();
        if parts.iter().all(direct) {
            let block = |((count, at, _), len): (&TypedPart, &usize)| Block {
                at: if *count == 0 { 0 } else { at.cast_unsigned() },
                len: *len,
            };
            let blocks: Vec<_> = parts.iter().zip(&lens).map(block).collect();
            M::check_parts(&blocks)?;
            return Ok((Self::here(raw), blocks));
        }
        let (mut pieces, mut blocks, mut next) = (Vec::new(), Vec::new(), 0);
        for ((count, place, of), len) in parts.into_iter().zip(lens) {
            pieces.push(PackedPiece { count, of, place, at: next, len });
            blocks.push(Block { at: next, len });
            next += len;
        }
        Ok((Self::packed(raw, pieces, next), blocks))
    }
}

impl<M> Side<M> {
    /// Returns true if the elements are packed.
    pub fn is_packed(&self) -> bool {
        self.packed.is_some()
    }
}

impl Side<Raw> {
    /// Packs the elements, unless they are read in place.
    #[inline(always)]
    pub fn load(&mut self) {
        if let Some(packed) = &self.packed {
            let pack = |piece: &PackedPiece, into: &mut [u8]| {
                piece.of.pack(&packed.raw.moved(piece.place), piece.count, 0, into);
            };
            self.buffer = fill(&packed.pieces, packed.len, pack);
        }
    }
}

impl Side<RawMut> {
    /// Allocates packed memory, filled with the elements if `load`, unless they are written in place.
    #[inline(always)]
    pub fn prepare(&mut self, load: bool) {
        if let Some(Packed { raw, pieces, len }) = &mut self.packed {
            let mut pack = |piece: &PackedPiece, into: &mut [u8]| {
                if load {
                    raw.moved(piece.place, |raw| piece.of.pack(raw, piece.count, 0, into));
                }
            };
            self.buffer = fill(pieces, *len, &mut pack);
        }
    }

    /// Unpacks the elements, unless they were written in place.
    #[inline(always)]
    pub fn store(&mut self) {
        if let (Some(Packed { raw, pieces, .. }), CollectiveBuffer::Own(own)) =
            (&mut self.packed, &self.buffer)
        {
            for PackedPiece { count, of, place, at, len } in pieces {
                raw.moved(*place, |raw| of.unpack(raw, *count, 0, own.part(*at..*at + *len)));
            }
        }
    }
}

/// Returns memory for packed elements, filled piece by piece.
#[inline(never)]
fn fill(
    pieces: &[PackedPiece],
    len: usize,
    mut pack: impl FnMut(&PackedPiece, &mut [u8]),
) -> CollectiveBuffer {
    let mut own = Divided::new(len);
    for piece in pieces {
        pack(piece, own.part_mut(piece.at..piece.at + piece.len));
    }
    CollectiveBuffer::Own(Box::new(own))
}

/// Returns the first two parts, in the order of their offsets, that overlap.
fn overlapping(parts: &[Block]) -> Option<(usize, usize)> {
    let mut order: Vec<usize> = (0..parts.len()).filter(|n| parts[*n].len > 0).collect();
    order.sort_by_key(|n| parts[*n].at);
    let overlap = |pair: &&[usize]| parts[pair[0]].at.saturating_add(parts[pair[0]].len) > parts[pair[1]].at;
    order.windows(2).find(overlap).map(|pair| (pair[0], pair[1]))
}

/// The address of elements, for comparison.
#[derive(Clone, Copy)]
pub(super) struct Location<'a> {
    start: usize,
    count: usize,
    of: &'a Datatype,
}

impl<'a> Location<'a> {
    /// Returns the location of elements.
    pub fn of<M: Readable>(elements: &'a Elements<M>) -> Self {
        Self { start: elements.raw.address().addr(), count: elements.count, of: &elements.of }
    }

    /// Returns the location of one of many parts.
    pub fn of_part<M: Readable>(all: &'a Scattered<M>, n: usize) -> Self {
        let (count, at, of) = &all.parts[n];
        Self { start: all.raw.address().addr().wrapping_add_signed(*at), count: *count, of }
    }

    /// Returns the location of a rank's elements, behind those of the lower ranks.
    pub fn of_rank(self, rank: usize) -> Self {
        let before = self.count.wrapping_mul(rank).cast_signed();
        Self { start: self.start.wrapping_add_signed(self.of.extent().wrapping_mul(before)), ..self }
    }

    fn has_data(self) -> bool {
        self.count > 0 && self.of.size() > 0
    }

    /// Returns the address of the first byte. With absolute addresses (`MPI_BOTTOM`) it is far from the
    /// start.
    fn first_byte(self) -> usize {
        self.start.wrapping_add_signed(self.of.true_lower_bound())
    }
}

/// Fails if both locations have data and begin at the same address.
pub(super) fn check_apart(given: Location<'_>, taken: Location<'_>) -> Result<()> {
    let is_same = given.first_byte() == taken.first_byte() && given.has_data() && taken.has_data();
    if is_same { Err(same_memory()) } else { Ok(()) }
}

/// Fails if the reduced elements begin at the address of the result.
pub(super) fn check_result(given: Option<&Raw>, taken: &ElementsMut) -> Result<()> {
    let taken = Location::of(taken);
    given.map_or(Ok(()), |given| check_apart(Location { start: given.address().addr(), ..taken }, taken))
}

/// Fails if a part that is sent begins where the part of the same number is received.
pub(super) fn check_parts_apart(given: &Scattered<Raw>, taken: &ScatteredMut) -> Result<()> {
    if !std::ptr::addr_eq(given.raw.address(), taken.raw.address()) {
        return Ok(());
    }
    let both = given.parts.len().min(taken.parts.len());
    (0..both).try_for_each(|n| check_apart(Location::of_part(given, n), Location::of_part(taken, n)))
}

#[cold]
fn same_memory() -> Box<Error> {
    let text = "sendbuf and recvbuf are the same memory: give another buffer, or MPI_IN_PLACE where the standard permits it";
    Error::new(Class::Buffer, text)
}

/// Fails unless this rank's own part has the same length on both sides.
pub(super) fn check_own(given: usize, taken: usize) -> Result<()> {
    if given == taken {
        return Ok(());
    }
    fail!(
        Truncate,
        "this rank sends itself {given} bytes and receives {taken}: counts and types of both buffers must agree"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_overlap_if_they_have_a_byte_in_common() {
        let found = |parts: &[(usize, usize)]| {
            let parts: Vec<_> = parts.iter().map(|&(at, len)| Block { at, len }).collect();
            overlapping(&parts)
        };
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[(8, 4), (0, 4), (4, 4), (2, 0), (0, 0)]), None);
        assert_eq!(found(&[(8, 4), (0, 4), (8, 4)]), Some((0, 2)));
        assert_eq!(found(&[(8, 4), (0, 9), (2, 0)]), Some((1, 0)));
        assert_eq!(found(&[(0, 100), (usize::MAX, 1), (50, 1)]), Some((0, 2)));
    }
}
