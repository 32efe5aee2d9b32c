//! The tree of a layout: blocks, nodes at equal distances, and sequences of parts.
//!
//! Owns the walk over a range of the packed bytes, and the rules that keep the tree small: adjacent bytes are
//! one block, equal parts at equal distances are a repetition. It computes places with wrapping arithmetic
//! and never touches memory. [`super::Layout`] ensures that the places lie in its bounds.

use std::sync::Arc;

use super::lists::{BlockList, Indexed, PlacedBlock, Sequence};

/// Bytes in memory, in packing order; places are relative to the place of the node.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// A block of this length at place 0.
    Block(usize),
    Repeat(Arc<Repeat>),
    Blocks(Arc<BlockList>),
    Indexed(Arc<Indexed>),
    Sequence(Arc<Sequence>),
}

/// Copies of a node at equal distances.
#[derive(Debug)]
pub(super) struct Repeat {
    pub count: usize,
    pub stride: isize,
    pub inner: Node,
    size: usize,
}

/// Receives the stretches of memory in packing order.
pub(super) trait Visit {
    /// Takes one stretch.
    fn one(&mut self, at: isize, len: usize);
    /// Takes stretches of one length at equal distances.
    fn many(&mut self, at: isize, len: usize, count: usize, stride: isize);
    /// Takes stretches of one length at listed places.
    fn listed(&mut self, at: isize, len: usize, blocks: &[PlacedBlock]);
    /// Takes elements of several stretches each, at equal distances.
    fn elements(&mut self, at: isize, blocks: &BlockList, count: usize, stride: isize);
}

impl Node {
    /// Returns the number of packed bytes.
    #[inline]
    pub fn size(&self) -> usize {
        match self {
            Node::Block(len) => *len,
            Node::Repeat(repeat) => repeat.size,
            Node::Blocks(list) => list.size,
            Node::Indexed(indexed) => indexed.size,
            Node::Sequence(sequence) => sequence.size,
        }
    }

    /// Returns the largest possible number of its stretches.
    pub fn blocks(&self) -> usize {
        match self {
            Node::Block(_) => 1,
            Node::Repeat(repeat) => repeat.count.saturating_mul(repeat.inner.blocks()),
            Node::Blocks(list) => list.blocks.len(),
            Node::Indexed(indexed) => indexed.places.len().saturating_mul(indexed.inner.blocks()),
            Node::Sequence(sequence) => sequence.blocks,
        }
    }

    /// Returns `count` copies of it; none if their size overflows.
    pub fn repeated(&self, count: usize, stride: isize) -> Option<Node> {
        let size = self.size().checked_mul(count)?;
        Some(match self {
            _ if size == 0 => Node::Block(0),
            _ if count == 1 => self.clone(),
            Node::Block(len) if usize::try_from(stride) == Ok(*len) => Node::Block(size),
            Node::Repeat(r) if r.goes_on_after(stride) => {
                Node::repeat(r.inner.clone(), r.count * count, r.stride, size)
            }
            _ => Node::repeat(self.clone(), count, stride, size),
        })
    }

    fn repeat(inner: Node, count: usize, stride: isize, size: usize) -> Node {
        Node::Repeat(Arc::new(Repeat { count, stride, inner, size }))
    }

    /// Returns true if two nodes are known to be equal, without a walk over long lists.
    pub fn is_same(&self, other: &Node) -> bool {
        match (self, other) {
            (Node::Block(a), Node::Block(b)) => a == b,
            (Node::Blocks(a), Node::Blocks(b)) => Arc::ptr_eq(a, b),
            (Node::Indexed(a), Node::Indexed(b)) => Arc::ptr_eq(a, b),
            (Node::Sequence(a), Node::Sequence(b)) => Arc::ptr_eq(a, b),
            (Node::Repeat(a), Node::Repeat(b)) => {
                Arc::ptr_eq(a, b)
                    || (a.count, a.stride, a.size) == (b.count, b.stride, b.size) && a.inner.is_same(&b.inner)
            }
            _ => false,
        }
    }

    /// Visits `len` of its packed bytes from `skip` on, which must exist.
    pub fn visit(&self, at: isize, skip: usize, len: usize, visit: &mut impl Visit) {
        match self {
            Node::Block(_) => visit.one(at.wrapping_add_unsigned(skip), len),
            Node::Repeat(repeat) => visit_copies(&repeat.inner, repeat.stride, at, skip, len, visit),
            Node::Blocks(list) => list.visit(at, skip, len, visit),
            Node::Indexed(indexed) => indexed.visit(at, skip, len, visit),
            Node::Sequence(sequence) => sequence.visit(at, skip, len, visit),
        }
    }

    /// Visits whole copies of it.
    pub fn visit_whole(&self, at: isize, count: usize, stride: isize, visit: &mut impl Visit) {
        let places = (0..count as isize).map(|i| at.wrapping_add(stride.wrapping_mul(i)));
        match self {
            Node::Block(len) => match count {
                0 => {}
                1 => visit.one(at, *len),
                _ => visit.many(at, *len, count, stride),
            },
            Node::Repeat(r) => places.for_each(|at| r.inner.visit_whole(at, r.count, r.stride, visit)),
            Node::Blocks(list) if list.is_short() && count > 1 => visit.elements(at, list, count, stride),
            Node::Blocks(list) => places.for_each(|at| list.visit_whole(at, visit)),
            Node::Indexed(indexed) => places.for_each(|at| indexed.visit_whole(at, visit)),
            Node::Sequence(sequence) => places.for_each(|at| sequence.visit_whole(at, visit)),
        }
    }
}

impl Repeat {
    /// Returns true if a copy of it, `stride` further, continues it at its own distances.
    pub fn goes_on_after(&self, stride: isize) -> bool {
        isize::try_from(self.count).ok().and_then(|count| count.checked_mul(self.stride)) == Some(stride)
    }
}

/// Visits `len` packed bytes of copies of a node from `skip` on, which must exist.
pub(super) fn visit_copies(
    inner: &Node,
    stride: isize,
    at: isize,
    skip: usize,
    len: usize,
    visit: &mut impl Visit,
) {
    if len == 0 {
        return;
    }
    let size = inner.size();
    let place = |copy: usize| at.wrapping_add(stride.wrapping_mul(copy as isize));
    let (mut copy, within, mut left) = (skip / size, skip % size, len);
    if within > 0 {
        let n = left.min(size - within);
        inner.visit(place(copy), within, n, visit);
        copy += 1;
        left -= n;
    }
    let whole = left / size;
    inner.visit_whole(place(copy), whole, stride, visit);
    left -= whole * size;
    if left > 0 {
        inner.visit(place(copy + whole), 0, left, visit);
    }
}
