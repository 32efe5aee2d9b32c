//! Nodes that list the places of their parts: blocks, copies of one node, or different nodes.
//!
//! Owns the lists and the search for the first part of a range of packed bytes. Each block of a list takes 16
//! bytes, so a datatype of a million blocks is made as fast as its arguments are read.

use super::node::{Node, Visit};

/// Most blocks of a list that is walked once for many elements instead of once for each.
const FEW: usize = 64;

/// Blocks in packing order, each at its own place.
#[derive(Debug)]
pub(super) struct BlockList {
    pub blocks: Box<[PlacedBlock]>,
    pub size: usize,
    /// The length of each block, if all are equal.
    pub len: Option<usize>,
}

/// A block of a list. It ends where the next one begins in the packed bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlacedBlock {
    pub at: isize,
    /// Packed bytes before it.
    pub before: usize,
}

/// Copies of one node, each at its own place.
#[derive(Debug)]
pub(super) struct Indexed {
    pub inner: Node,
    pub places: Box<[isize]>,
    pub size: usize,
}

/// Nodes in packing order, each at its own place.
#[derive(Debug)]
pub(super) struct Sequence {
    pub parts: Box<[LayoutPart]>,
    pub size: usize,
    pub blocks: usize,
}

#[derive(Debug)]
pub(super) struct LayoutPart {
    pub at: isize,
    /// Packed bytes before it.
    pub before: usize,
    pub node: Node,
}

impl BlockList {
    /// Returns true if a loop over elements for each block is worthwhile.
    pub fn is_short(&self) -> bool {
        self.blocks.len() <= FEW
    }

    /// Returns for each block its place, the packed bytes before it, and its length.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (isize, usize, usize)> {
        self.from(0)
    }

    fn from(&self, first: usize) -> impl ExactSizeIterator<Item = (isize, usize, usize)> {
        (first..self.blocks.len()).map(move |i| {
            let PlacedBlock { at, before } = self.blocks[i];
            (at, before, self.end(i) - before)
        })
    }

    /// Returns the packed bytes before the block after this one.
    #[inline]
    fn end(&self, block: usize) -> usize {
        self.blocks.get(block + 1).map_or(self.size, |next| next.before)
    }

    /// Visits `len` of its packed bytes from `skip` on, which must exist.
    pub fn visit(&self, at: isize, skip: usize, len: usize, visit: &mut impl Visit) {
        let (mut skip, mut len) = (skip, len);
        let mut first = self.blocks.partition_point(|block| block.before <= skip).saturating_sub(1);
        if let Some(each) = self.len {
            let within = skip - self.blocks[first].before;
            if within > 0 {
                let n = len.min(each - within);
                visit.one(at.wrapping_add(self.blocks[first].at).wrapping_add_unsigned(within), n);
                (first, skip, len) = (first + 1, skip + n, len - n);
            }
            let whole = len / each;
            visit.listed(at, each, &self.blocks[first..first + whole]);
            (first, skip, len) = (first + whole, skip + whole * each, len - whole * each);
        }
        for (place, before, size) in self.from(first) {
            if len == 0 {
                break;
            }
            let within = skip - before;
            let n = len.min(size - within);
            visit.one(at.wrapping_add(place).wrapping_add_unsigned(within), n);
            (skip, len) = (skip + n, len - n);
        }
    }

    pub fn visit_whole(&self, at: isize, visit: &mut impl Visit) {
        match self.len {
            Some(len) => visit.listed(at, len, &self.blocks),
            None => self.iter().for_each(|(place, _, len)| visit.one(at.wrapping_add(place), len)),
        }
    }
}

impl Indexed {
    /// Visits packed bytes like [`BlockList::visit`].
    pub fn visit(&self, at: isize, skip: usize, len: usize, visit: &mut impl Visit) {
        let size = self.inner.size();
        let (mut within, mut len) = (skip % size, len);
        for place in &self.places[skip / size..] {
            if len == 0 {
                break;
            }
            let (at, n) = (at.wrapping_add(*place), len.min(size - within));
            match n == size {
                true => self.inner.visit_whole(at, 1, 0, visit),
                false => self.inner.visit(at, within, n, visit),
            }
            (within, len) = (0, len - n);
        }
    }

    pub fn visit_whole(&self, at: isize, visit: &mut impl Visit) {
        for place in &self.places {
            self.inner.visit_whole(at.wrapping_add(*place), 1, 0, visit);
        }
    }
}

impl Sequence {
    /// Visits packed bytes like [`BlockList::visit`].
    pub fn visit(&self, at: isize, skip: usize, len: usize, visit: &mut impl Visit) {
        let first = self.parts.partition_point(|part| part.before + part.node.size() <= skip);
        let mut done = 0;
        for part in &self.parts[first..] {
            if done == len {
                break;
            }
            let (size, within) = (part.node.size(), skip + done - part.before);
            let n = (size - within).min(len - done);
            let at = at.wrapping_add(part.at);
            match n == size {
                true => part.node.visit_whole(at, 1, 0, visit),
                false => part.node.visit(at, within, n, visit),
            }
            done += n;
        }
    }

    pub fn visit_whole(&self, at: isize, visit: &mut impl Visit) {
        for part in &self.parts {
            part.node.visit_whole(at.wrapping_add(part.at), 1, 0, visit);
        }
    }
}
