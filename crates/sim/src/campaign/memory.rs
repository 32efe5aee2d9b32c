//! The memory of a program's messages and its lending: vectors, lists borrowed in a scope, stretches of a
//! region.

use std::sync::Arc;

use canele_mem::buffer::{InBuffer, OutBuffer, Owned, Scope};
use canele_rail::Region;

/// The byte in receive memory before anything is received.
pub const UNTOUCHED: u8 = 0xee;
/// The byte that overwrites a region's send memory as soon as the send is done.
const SCRIBBLE: u8 = 0xdd;
/// The number of bytes after each stretch of a region that no rank may write.
pub const FENCE: usize = 64;

/// The place of one buffer.
pub enum Home {
    Owned(Owned<u8>),
    List,
    Region(Arc<Region>, usize, usize),
}

/// Returns the bytes that a stretch takes in a region, with the fence behind it.
pub fn stretch(len: usize) -> usize {
    len.next_multiple_of(8) + FENCE
}

fn read(region: &Region, at: usize, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    region.window(at, len).expect("a stretch of the region").read(0, &mut bytes);
    bytes
}

fn fill(region: &Region, at: usize, bytes: &[u8]) {
    region.window(at, bytes.len()).expect("a stretch of the region").write(0, bytes);
}

impl Home {
    pub fn owned_out(bytes: Vec<u8>) -> (Self, OutBuffer) {
        let mut owned = Owned::new(bytes);
        let token = owned.lend_out();
        (Self::Owned(owned), token)
    }

    pub fn owned_in(room: usize) -> (Self, InBuffer) {
        let mut owned = Owned::new(vec![UNTOUCHED; room]);
        let token = owned.lend_in();
        (Self::Owned(owned), token)
    }

    pub fn region_out(region: &Arc<Region>, at: usize, bytes: &[u8]) -> (Self, OutBuffer) {
        fill(region, at, bytes);
        let token = region.out_buffer(at, bytes.len()).expect("a stretch of the region");
        (Self::Region(region.clone(), at, bytes.len()), token)
    }

    pub fn region_in(region: &Arc<Region>, at: usize, room: usize) -> (Self, InBuffer) {
        fill(region, at, &vec![UNTOUCHED; stretch(room)]);
        let token = region.in_buffer(at, room).expect("a stretch of the region");
        (Self::Region(region.clone(), at, room), token)
    }

    /// Takes back the memory of a send that has ended, and overwrites it: the program may use it for
    /// anything.
    pub fn back_out(self, scope: &Scope<'_, '_>, token: OutBuffer) {
        match self {
            Self::Owned(mut owned) => {
                owned.take_back_out(token);
                owned.bytes().fill(SCRIBBLE);
            }
            Self::List => scope.take_back(token),
            Self::Region(region, at, len) => fill(&region, at, &vec![SCRIBBLE; len]),
        }
    }

    /// Takes back the memory of a receive that has ended; returns its bytes, unless it is borrowed.
    pub fn back_in(self, scope: &Scope<'_, '_>, token: InBuffer) -> Option<Vec<u8>> {
        match self {
            Self::Owned(mut owned) => {
                owned.take_back_in(token);
                Some(owned.into_items())
            }
            Self::List => {
                scope.take_back_mut(token);
                None
            }
            Self::Region(region, at, room) => Some(read(&region, at, stretch(room))),
        }
    }
}

/// Returns memory in about `n` pieces, one of them empty.
pub fn pieces(bytes: &[u8], n: usize) -> Vec<&[u8]> {
    let size = bytes.len().div_ceil(n).max(1);
    std::iter::once(&bytes[..0]).chain(bytes.chunks(size)).collect()
}

/// Returns writable memory in pieces as [`pieces`] does.
pub fn pieces_mut(bytes: &mut [u8], n: usize) -> Vec<&mut [u8]> {
    let size = bytes.len().div_ceil(n).max(1);
    let (empty, bytes) = bytes.split_at_mut(0);
    std::iter::once(empty).chain(bytes.chunks_mut(size)).collect()
}
