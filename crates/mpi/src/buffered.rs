//! The memory that the program attaches for buffered sends (MPI 5.0, §3.6).
//!
//! A pool owns the account of which parts are in use. It never copies or sends: a message is packed into its piece by whoever
//! reserved it, and the piece comes back when the send has ended.

mod ring;

use canele_sys::buffer::{OutBuffer, Owned, Raw};

use ring::Ring;

/// What the standard lets each message take beside its data (MPI_BSEND_OVERHEAD).
pub const OVERHEAD: usize = 512;

/// Memory for buffered sends.
#[derive(Debug)]
pub struct Pool {
    room: Room,
    /// Pieces that are out.
    used: usize,
}

#[derive(Debug)]
enum Room {
    Attached(Raw, Ring),
    /// The library finds the memory for each message.
    Automatic,
}

/// Memory for one message.
pub struct Piece(Memory);

enum Memory {
    /// An entry of the attached memory, and where in it the data is.
    Within {
        entry: usize,
        data: Raw,
        len: usize,
    },
    Found(Owned<u8>),
}

impl Pool {
    /// The first `bytes` bytes of memory that the program attached.
    pub fn attached(memory: Raw, bytes: usize) -> Self {
        Self { room: Room::Attached(memory, Ring::new(memory.address().addr(), bytes)), used: 0 }
    }

    /// As much as is needed, from the library (MPI_BUFFER_AUTOMATIC).
    pub fn automatic() -> Self {
        Self { room: Room::Automatic, used: 0 }
    }

    /// The address and size of what the program attached.
    pub fn memory(&self) -> Option<(*mut u8, usize)> {
        match &self.room {
            Room::Attached(memory, ring) => Some((memory.address(), ring.bytes())),
            Room::Automatic => None,
        }
    }

    /// Room for a message of `len` bytes, if there is any.
    pub fn reserve(&mut self, len: usize) -> Option<Piece> {
        let piece = match &mut self.room {
            Room::Automatic => {
                let mut bytes = Vec::new();
                bytes.try_reserve_exact(len).ok()?;
                bytes.resize(len, 0);
                Memory::Found(Owned::new(bytes))
            }
            Room::Attached(memory, ring) => {
                let (entry, start) = ring.reserve(len)?;
                // An address in the program's memory, so far from the end of what can be addressed.
                Memory::Within { entry, data: memory.moved(start as isize), len }
            }
        };
        self.used += 1;
        Some(Piece(piece))
    }

    /// Takes a piece back, once nobody reads it any more.
    ///
    /// # Panics
    /// It is not of this pool.
    pub fn release(&mut self, piece: Piece) {
        match (&mut self.room, piece.0) {
            (Room::Attached(_, ring), Memory::Within { entry, .. }) => ring.release(entry),
            (Room::Automatic, Memory::Found(_)) => {}
            _ => panic!("a piece comes back to its pool"),
        }
        self.used -= 1;
    }

    /// Whether no piece is out, so that the memory can be given back.
    pub fn is_unused(&self) -> bool {
        self.used == 0
    }
}

impl Piece {
    /// Its bytes, to be filled.
    pub fn bytes(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Memory::Within { data, len, .. } => data.bytes_mut(0, *len),
            Memory::Found(owned) => owned.bytes(),
        }
    }

    /// Lends its bytes to be sent.
    pub fn lend(&mut self) -> OutBuffer {
        match &mut self.0 {
            Memory::Within { data, len, .. } => data.lend(0, *len),
            Memory::Found(owned) => owned.lend_out(),
        }
    }

    /// Takes the token back: the send has ended.
    pub fn take_back(&mut self, buffer: OutBuffer) {
        match &mut self.0 {
            Memory::Within { .. } => drop(buffer),
            Memory::Found(owned) => owned.take_back_out(buffer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
