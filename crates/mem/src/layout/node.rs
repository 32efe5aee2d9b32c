//! The tree that a layout is: blocks, blocks at equal distances, one part after the other.
//!
//! Owns the rules that keep it small (what lies side by side is one block, equal parts at equal distances are a repetition)
//! and the walk over a range of the packed bytes. It computes places, with wrapping arithmetic, and never touches memory:
//! that the places of a layout lie in its bounds is [`super::Layout`]'s to keep.

use std::sync::Arc;

/// Parts that are worth a loop over elements for each.
const FEW: usize = 64;

/// Bytes in memory, in the order in which they are packed; places count from where the node stands.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// So many bytes from place 0 on.
    Block(usize),
    Repeat(Arc<Repeat>),
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

/// Nodes one after the other, each at a place of its own.
#[derive(Debug)]
pub(super) struct Sequence {
    parts: Box<[Part]>,
    size: usize,
    blocks: usize,
    /// Whether its parts are blocks, and few.
    flat: bool,
}

#[derive(Debug)]
struct Part {
    at: isize,
    /// Packed bytes before it.
    before: usize,
    node: Node,
}

/// What is done with the stretches of memory, in packed order.
pub(super) trait Visit {
    /// One stretch.
    fn one(&mut self, at: isize, len: usize);
    /// Stretches of one length at equal distances.
    fn many(&mut self, at: isize, len: usize, count: usize, stride: isize);
    /// Elements of several stretches each, at equal distances.
    fn elements(&mut self, at: isize, blocks: Blocks<'_>, count: usize, stride: isize);
}

/// The stretches of an element that has nothing else.
#[derive(Clone, Copy)]
pub(super) struct Blocks<'a>(&'a Sequence);

impl Blocks<'_> {
    /// Packed bytes of an element.
    pub fn size(self) -> usize {
        self.0.size
    }

    /// Where each lies, the packed bytes before it, and its length.
    pub fn iter(&self) -> impl Iterator<Item = (isize, usize, usize)> {
        self.0.parts.iter().map(|part| (part.at, part.before, part.node.size()))
    }
}

impl Node {
    /// Packed bytes.
    #[inline]
    pub fn size(&self) -> usize {
        match self {
            Node::Block(len) => *len,
            Node::Repeat(repeat) => repeat.size,
            Node::Sequence(sequence) => sequence.size,
        }
    }

    /// How many stretches it consists of, at most.
    pub fn blocks(&self) -> usize {
        match self {
            Node::Block(_) => 1,
            Node::Repeat(repeat) => repeat.count.saturating_mul(repeat.inner.blocks()),
            Node::Sequence(sequence) => sequence.blocks,
        }
    }

    /// Copies of it; nothing where their size is no number.
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

    /// Nodes one after the other, and where they begin; nothing where their size or a distance is no number.
    pub fn sequence(nodes: impl IntoIterator<Item = (isize, Node)>) -> Option<(isize, Node)> {
        let mut parts: Vec<Part> = Vec::new();
        let mut size = 0usize;
        for (at, node) in nodes.into_iter().filter(|(_, node)| node.size() > 0) {
            let before = size;
            size = size.checked_add(node.size())?;
            if let (Some(Part { at: start, node: Node::Block(len), .. }), Node::Block(more)) =
                (parts.last_mut(), &node)
                && start.checked_add_unsigned(*len) == Some(at)
            {
                *len += more;
                continue;
            }
            parts.push(Part { at, before, node });
        }
        Some(match &parts[..] {
            [] => (0, Node::Block(0)),
            [one] => (one.at, one.node.clone()),
            [first, second, ..] => {
                let stride = second.at.checked_sub(first.at)?;
                let regular = parts.windows(2).all(|two| {
                    two[1].at.checked_sub(two[0].at) == Some(stride) && two[0].node.is_same(&two[1].node)
                });
                if regular {
                    return Some((first.at, first.node.repeated(parts.len(), stride)?));
                }
                let blocks = parts.iter().fold(0usize, |n, part| n.saturating_add(part.node.blocks()));
                let flat = parts.len() <= FEW && parts.iter().all(|part| matches!(part.node, Node::Block(_)));
                (0, Node::Sequence(Arc::new(Sequence { parts: parts.into(), size, blocks, flat })))
            }
        })
    }

    /// Whether they are known to be alike, without looking into long lists.
    fn is_same(&self, other: &Node) -> bool {
        match (self, other) {
            (Node::Block(a), Node::Block(b)) => a == b,
            (Node::Sequence(a), Node::Sequence(b)) => Arc::ptr_eq(a, b),
            (Node::Repeat(a), Node::Repeat(b)) => {
                Arc::ptr_eq(a, b)
                    || (a.count, a.stride, a.size) == (b.count, b.stride, b.size) && a.inner.is_same(&b.inner)
            }
            _ => false,
        }
    }

    /// Visits its packed bytes from `skip` on, `len` of them, which it has.
    fn visit(&self, at: isize, skip: usize, len: usize, visit: &mut impl Visit) {
        match self {
            Node::Block(_) => visit.one(at.wrapping_add_unsigned(skip), len),
            Node::Repeat(repeat) => visit_copies(&repeat.inner, repeat.stride, at, skip, len, visit),
            Node::Sequence(sequence) => sequence.visit(at, skip, len, visit),
        }
    }

    /// Visits whole copies of it.
    fn visit_whole(&self, at: isize, count: usize, stride: isize, visit: &mut impl Visit) {
        let places = (0..count as isize).map(|i| at.wrapping_add(stride.wrapping_mul(i)));
        match self {
            Node::Block(len) => match count {
                0 => {}
                1 => visit.one(at, *len),
                _ => visit.many(at, *len, count, stride),
            },
            Node::Repeat(r) => places.for_each(|at| r.inner.visit_whole(at, r.count, r.stride, visit)),
            Node::Sequence(s) if s.flat && count > 1 => visit.elements(at, Blocks(s), count, stride),
            Node::Sequence(s) => places.for_each(|at| {
                for part in &s.parts {
                    part.node.visit_whole(at.wrapping_add(part.at), 1, 0, visit);
                }
            }),
        }
    }
}

impl Repeat {
    /// Whether a copy of it, `stride` further, continues it at its own distances.
    pub fn goes_on_after(&self, stride: isize) -> bool {
        isize::try_from(self.count).ok().and_then(|count| count.checked_mul(self.stride)) == Some(stride)
    }
}

impl Sequence {
    /// Its nodes, and where each stands.
    pub fn parts(&self) -> impl ExactSizeIterator<Item = (isize, &Node)> {
        self.parts.iter().map(|part| (part.at, &part.node))
    }

    fn visit(&self, at: isize, skip: usize, len: usize, visit: &mut impl Visit) {
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
}

/// Visits the packed bytes of copies of a node from `skip` on, `len` of them, which the copies have.
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
