//! One buffer of a collective: the program's memory where it lies, or packed.

use std::ops::Range;
use std::sync::Arc;

use canele_engine::collective::{Block, CollectiveBuffer};
use canele_mem::buffer::{Divided, MemoryPart, PartedMemory, Raw, RawMut, Readable};

use crate::data::{Elements, ElementsMut};
use crate::datatype::Datatype;
use crate::{Class, Error, Result, fail};

/// Elements for or from each of many ranks.
pub struct Scattered<M = Raw> {
    /// The memory, counted from the address the program gave; it spans all elements.
    pub raw: M,
    /// For each rank: how many, where in bytes, and of which type.
    pub parts: Vec<TypedPart>,
}

/// Elements to be written.
pub type ScatteredMut = Scattered<RawMut>;

/// Elements for a rank that have so many bytes are sent and received where they lie rather than packed for the call: what packs them
/// would touch new pages each time.
const LONG_PART: usize = 64 << 10;

#[cold]
fn too_much(parts: usize) -> Box<Error> {
    Error::new(Class::Count, format!("the elements of {parts} ranks exceed the address space"))
}

/// The number of elements, their offset in bytes, and their type.
pub type TypedPart = (usize, isize, Arc<Datatype>);

/// The bytes that such parts touch, relative to the buffer's address.
pub fn span(parts: &[TypedPart]) -> Range<isize> {
    let spans = parts.iter().filter(|(count, _, _)| *count > 0).map(|(count, at, of)| {
        let span = of.span(*count);
        span.start.saturating_add(*at)..span.end.saturating_add(*at)
    });
    spans.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or(0..0)
}

/// One buffer of a collective, which is `raw` itself or packed memory in its stead.
pub(super) struct Side<M> {
    /// What the engine gets.
    pub buffer: CollectiveBuffer,
    packed: Option<Packed<M>>,
}

/// Elements that are packed one behind the other.
struct Packed<M> {
    raw: M,
    pieces: Vec<PackedPiece>,
    len: usize,
}

/// Some elements, where they lie, and where their packed bytes are.
struct PackedPiece {
    count: usize,
    of: Arc<Datatype>,
    place: isize,
    at: usize,
    len: usize,
}

/// Memory that a collective reads or writes where it lies.
pub(super) trait InPlaceMemory: Readable {
    /// What the engine gets.
    fn place(self) -> CollectiveBuffer;

    /// Fails if parts cannot be moved together: those that are written must not overlap.
    fn check_parts(parts: &[Block]) -> Result<()>;

    /// What the engine gets of elements that it moves block by block, where they lie.
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
    /// There is none.
    pub const NOTHING: Self = Self { buffer: CollectiveBuffer::Nowhere, packed: None };
}

impl<M: InPlaceMemory> Side<M> {
    fn here(raw: M) -> Self {
        Self { buffer: raw.place(), packed: None }
    }

    /// Of elements that are read or written where they lie, range by range.
    fn parted(raw: M, parts: impl IntoIterator<Item = TypedPart>) -> Self {
        let part = |(count, place, of): TypedPart| MemoryPart { layout: of.layout().clone(), count, place };
        let parted = raw.parted(parts.into_iter().map(part).collect());
        Self { buffer: CollectiveBuffer::Parts(Arc::new(parted)), packed: None }
    }

    fn packed(raw: M, pieces: Vec<PackedPiece>, len: usize) -> Self {
        Self { buffer: CollectiveBuffer::Nowhere, packed: Some(Packed { raw, pieces, len }) }
    }

    /// Of elements one behind the other, and the bytes of data.
    pub fn of(elements: Elements<M>) -> Result<(Self, usize)> {
        let Elements { raw, count, of } = elements;
        let len = of.total_bytes(count)?;
        if of.is_contiguous() {
            return Ok((Self::here(raw), len));
        }
        Ok((Self::packed(raw, vec![PackedPiece { count, of, place: 0, at: 0, len }], len), len))
    }

    /// Of elements for or from `ranks` ranks, one behind the other, that a schedule only moves, and the bytes of data: where those of a rank
    /// are long they are not packed.
    ///
    /// # Errors
    /// Too many elements.
    pub fn of_moved(elements: Elements<M>, ranks: usize) -> Result<(Self, usize)> {
        let len = elements.of.total_bytes(elements.count)?;
        if elements.of.is_contiguous() || len / ranks.max(1) < LONG_PART {
            return Self::of(elements);
        }
        let Elements { raw, count, of } = elements;
        Ok((Self::parted(raw, [(count, 0, of)]), len))
    }

    /// Of parts anywhere that a schedule only moves, and where the bytes of each are: where they are long they are not packed.
    ///
    /// # Errors
    /// As of [`Side::of_parts`].
    pub fn of_moved_parts(scattered: Scattered<M>) -> Result<(Self, Vec<Block>)> {
        let is_irregular = scattered.parts.iter().any(|(_, _, of)| !of.is_contiguous());
        let lens = scattered.parts.iter().map(|(count, _, of)| of.total_bytes(*count));
        let longest = lens.collect::<Result<Vec<_>>>()?.into_iter().max().unwrap_or(0);
        if !is_irregular || longest < LONG_PART {
            return Self::of_parts(scattered);
        }
        let Scattered { raw, parts } = scattered;
        let (mut blocks, mut next) = (Vec::with_capacity(parts.len()), 0usize);
        for (count, _, of) in &parts {
            let len = of.total_bytes(*count)?;
            blocks.push(Block { at: next, len });
            next = next.checked_add(len).ok_or_else(|| too_much(parts.len()))?;
        }
        Ok((Self::parted(raw, parts), blocks))
    }

    /// Of parts anywhere, and where the bytes of each are.
    ///
    /// # Errors
    /// Parts that are written where they lie overlap; too many elements.
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
    /// Whether it is packed.
    pub fn is_packed(&self) -> bool {
        self.packed.is_some()
    }
}

impl Side<Raw> {
    /// Packs the elements, unless they are read where they lie.
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
    /// Makes room for packed elements, with their bytes if they are to be read, unless they are written where they lie.
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

    /// Puts packed bytes where the elements lie.
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

/// Memory for packed elements, filled piece by piece.
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

/// The first two parts, in the order of their places, that have a byte in common.
fn overlapping(parts: &[Block]) -> Option<(usize, usize)> {
    let mut order: Vec<usize> = (0..parts.len()).filter(|n| parts[*n].len > 0).collect();
    order.sort_by_key(|n| parts[*n].at);
    let overlap = |pair: &&[usize]| parts[pair[0]].at.saturating_add(parts[pair[0]].len) > parts[pair[1]].at;
    order.windows(2).find(overlap).map(|pair| (pair[0], pair[1]))
}

/// Elements by their address, to be compared with others.
#[derive(Clone, Copy)]
pub(super) struct Location<'a> {
    start: usize,
    count: usize,
    of: &'a Datatype,
}

impl<'a> Location<'a> {
    /// Of elements.
    pub fn of<M: Readable>(elements: &'a Elements<M>) -> Self {
        Self { start: elements.raw.address().addr(), count: elements.count, of: &elements.of }
    }

    /// Of one part of many.
    pub fn of_part<M: Readable>(all: &'a Scattered<M>, n: usize) -> Self {
        let (count, at, of) = &all.parts[n];
        Self { start: all.raw.address().addr().wrapping_add_signed(*at), count: *count, of }
    }

    /// As many elements for a rank, behind those of the ranks before it.
    pub fn of_rank(self, rank: usize) -> Self {
        let before = self.count.wrapping_mul(rank).cast_signed();
        Self { start: self.start.wrapping_add_signed(self.of.extent().wrapping_mul(before)), ..self }
    }

    fn has_data(self) -> bool {
        self.count > 0 && self.of.size() > 0
    }

    /// The address of the first byte: far from the start with absolute addresses, where the start is `MPI_BOTTOM`.
    fn first_byte(self) -> usize {
        self.start.wrapping_add_signed(self.of.true_lower_bound())
    }
}

/// Fails if elements that are given begin where elements are taken, though both have data.
pub(super) fn check_apart(given: Location<'_>, taken: Location<'_>) -> Result<()> {
    let is_same = given.first_byte() == taken.first_byte() && given.has_data() && taken.has_data();
    if is_same { Err(same_memory()) } else { Ok(()) }
}

/// Fails if elements that are reduced begin where the result goes.
pub(super) fn check_result(given: Option<&Raw>, taken: &ElementsMut) -> Result<()> {
    let taken = Location::of(taken);
    given.map_or(Ok(()), |given| check_apart(Location { start: given.address().addr(), ..taken }, taken))
}

/// Fails if a part that is given begins where the part of the same number is taken.
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
