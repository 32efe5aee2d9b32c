//! The memory that the program attaches for buffered sends (MPI 5.0, §3.6).
//!
//! A pool owns that memory and the record of its allocated parts. It never copies or sends: the send that
//! reserved a piece packs its message into it. The piece returns to the pool when the send has completed.

mod ring;

use std::collections::BTreeMap;
use std::ops::Range;

use canele_mem::buffer::{OutBuffer, Owned, RawMut, Readable, ReusableMemory};

use ring::Ring;

/// The overhead in bytes that the standard allows for each message (MPI_BSEND_OVERHEAD).
pub const OVERHEAD: usize = 512;

/// Memory for buffered sends.
#[derive(Debug)]
pub struct Pool {
    room: Room,
    /// Number of pieces in use.
    used: usize,
}

#[derive(Debug)]
enum Room {
    Attached(Free, Ring),
    /// The library allocates memory for each message.
    Automatic,
}

/// The free parts of the attached memory.
#[derive(Debug)]
struct Free {
    /// An empty part at its beginning.
    start: RawMut,
    /// The parts by offset.
    parts: BTreeMap<isize, RawMut>,
}

impl Free {
    fn new(mut memory: RawMut) -> Self {
        let all = memory.split_off(0);
        Self { start: memory, parts: BTreeMap::from([(0, all)]) }
    }

    /// Takes a range, which must be free.
    fn take(&mut self, range: Range<isize>) -> RawMut {
        let before = self.parts.range(..=range.start).next_back().map(|(start, _)| *start);
        let mut part =
            before.and_then(|start| self.parts.remove(&start)).expect("the ring gives what is free");
        let mut taken = part.split_off(range.start);
        let rest = taken.split_off(range.end);
        for part in [part, rest].into_iter().filter(|part| !part.range().is_empty()) {
            self.parts.insert(part.range().start, part);
        }
        taken
    }

    /// Returns a part, which is merged with its neighbours.
    fn put(&mut self, mut part: RawMut) {
        if part.range().is_empty() {
            return;
        }
        if let Some(next) = self.parts.remove(&part.range().end) {
            part.join(next).expect("parts of one memory that touch");
        }
        match self.parts.range_mut(..part.range().start).next_back() {
            Some((_, before)) if before.range().end == part.range().start => {
                before.join(part).expect("parts of one memory that touch");
            }
            _ => drop(self.parts.insert(part.range().start, part)),
        }
    }
}

/// Memory for one message.
pub struct Piece(PieceMemory);

enum PieceMemory {
    /// An entry of the attached memory, and the part of it that holds the data.
    Within {
        entry: usize,
        data: ReusableMemory,
        range: Range<isize>,
    },
    Found(Owned<u8>),
}

impl Pool {
    /// Makes a pool of the first `bytes` bytes of memory that the program attached.
    pub fn attached(memory: RawMut, bytes: usize) -> Self {
        let ring = Ring::new(memory.address().addr(), bytes);
        Self { room: Room::Attached(Free::new(memory), ring), used: 0 }
    }

    /// Makes a pool whose memory the library allocates on demand (MPI_BUFFER_AUTOMATIC).
    pub fn automatic() -> Self {
        Self { room: Room::Automatic, used: 0 }
    }

    /// Returns address and size of the attached memory.
    pub fn memory(&self) -> Option<(*mut u8, usize)> {
        match &self.room {
            Room::Attached(free, ring) => Some((free.start.address(), ring.bytes())),
            Room::Automatic => None,
        }
    }

    /// Allocates a piece for a message of `len` bytes, if there is room.
    pub fn reserve(&mut self, len: usize) -> Option<Piece> {
        let piece = match &mut self.room {
            Room::Automatic => {
                let mut bytes = Vec::new();
                bytes.try_reserve_exact(len).ok()?;
                bytes.resize(len, 0);
                PieceMemory::Found(Owned::new(bytes))
            }
            Room::Attached(free, ring) => {
                let (entry, start) = ring.reserve(len)?;
                // Offsets in the program's memory are far below the limit of addresses.
                let range = start.cast_signed()..(start + len).cast_signed();
                let part = if len == 0 { free.start.split_off(0) } else { free.take(range.clone()) };
                PieceMemory::Within { entry, data: ReusableMemory::new(part), range }
            }
        };
        self.used += 1;
        Some(Piece(piece))
    }

    /// Frees a piece that no send reads any more.
    ///
    /// # Panics
    /// Panics if the piece is not of this pool.
    pub fn release(&mut self, piece: Piece) {
        match (&mut self.room, piece.0) {
            (Room::Attached(free, ring), PieceMemory::Within { entry, data, .. }) => {
                ring.release(entry);
                free.put(data.into_raw());
            }
            (Room::Automatic, PieceMemory::Found(_)) => {}
            _ => panic!("a piece comes back to its pool"),
        }
        self.used -= 1;
    }

    /// Returns true if no piece is in use, so that the memory can be detached.
    pub fn is_unused(&self) -> bool {
        self.used == 0
    }
}

impl Piece {
    /// Returns the piece's bytes, to be filled.
    pub fn bytes(&mut self) -> &mut [u8] {
        match &mut self.0 {
            PieceMemory::Within { data, range, .. } => data.raw().bytes_mut(range.start, range.len()),
            PieceMemory::Found(owned) => owned.bytes(),
        }
    }

    /// Lends its bytes to a send.
    pub fn lend(&mut self) -> OutBuffer {
        match &mut self.0 {
            PieceMemory::Within { data, range, .. } => data.lend(range.start, range.len()),
            PieceMemory::Found(owned) => owned.lend_out(),
        }
    }

    /// Takes the buffer of a completed send back.
    pub fn take_back(&mut self, buffer: OutBuffer) {
        match &mut self.0 {
            PieceMemory::Within { data, .. } => data.take_back(buffer),
            PieceMemory::Found(owned) => owned.take_back_out(buffer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_attached_memory_are_filled_while_others_are_lent() {
        const BYTES: usize = 4 * (OVERHEAD + 100);
        let mut pool = Pool::attached(RawMut::of(vec![0; BYTES].leak(), 0), BYTES);
        let mut lent = Vec::new();
        for turn in 0..20u8 {
            let mut piece =
                pool.reserve(if turn % 5 == 4 { 0 } else { 100 }).expect("room for the standard's four");
            piece.bytes().fill(turn);
            let buffer = piece.lend();
            lent.push((turn, piece, buffer));
            if lent.len() == 4 {
                let (turn, mut piece, buffer) = lent.remove(usize::from(turn % 3));
                let mut sent = vec![0; buffer.len()];
                buffer.copy_to_slice(0, &mut sent);
                assert!(sent.iter().all(|&byte| byte == turn), "the piece of turn {turn} stays as it is");
                piece.take_back(buffer);
                pool.release(piece);
            }
        }
        for (_, mut piece, buffer) in lent {
            piece.take_back(buffer);
            pool.release(piece);
        }
        assert!(pool.is_unused() && pool.reserve(BYTES).is_some(), "all is one part again");
    }

    #[test]
    fn automatic_room_is_for_any_message() {
        let mut pool = Pool::automatic();
        assert_eq!(pool.memory(), None);
        let (mut one, none) = (pool.reserve(3).unwrap(), pool.reserve(0).unwrap());
        one.bytes().copy_from_slice(b"abc");
        let buffer = one.lend();
        let mut sent = [0; 3];
        buffer.copy_to_slice(0, &mut sent);
        assert_eq!(&sent, b"abc");
        one.take_back(buffer);
        pool.release(none);
        assert!(!pool.is_unused());
        pool.release(one);
        assert!(pool.is_unused() && pool.reserve(usize::MAX).is_none());
    }
}
