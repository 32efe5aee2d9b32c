//! Builds the smallest list that holds a sequence of nodes.
//!
//! Owns the rules that keep a layout small. Adjacent blocks become one block. Equal parts at equal distances
//! become a repetition. Equal parts at other distances become a list of places. Adding a part takes constant
//! time and only the memory of the list.

use std::sync::Arc;

use super::lists::{BlockList, Indexed, LayoutPart, PlacedBlock, Sequence};
use super::node::Node;

/// The parts added so far.
pub(super) struct NodeBuilder {
    parts: Parts,
    /// Packed bytes of all parts.
    size: usize,
}

enum Parts {
    /// Blocks; the last one ends at `end`.
    Blocks {
        blocks: Vec<PlacedBlock>,
        end: isize,
    },
    /// Copies of a node that is not a block.
    Indexed {
        inner: Node,
        places: Vec<isize>,
    },
    Different(Vec<LayoutPart>),
}

impl NodeBuilder {
    /// Makes a builder with room for `parts` parts.
    pub fn new(parts: usize) -> Self {
        Self { parts: Parts::Blocks { blocks: Vec::with_capacity(parts), end: 0 }, size: 0 }
    }

    /// Adds a node; none if the size overflows.
    #[inline]
    pub fn push(&mut self, at: isize, node: &Node) -> Option<()> {
        let before = self.size;
        match (&mut self.parts, node) {
            (_, Node::Block(0)) => return Some(()),
            (Parts::Blocks { .. }, Node::Block(len)) => return self.push_blocks([Some((at, *len))]),
            (Parts::Indexed { inner, places }, _) if inner.is_same(node) => places.push(at),
            (Parts::Blocks { blocks, .. }, _) if blocks.is_empty() => {
                let mut places = Vec::with_capacity(blocks.capacity());
                places.push(at);
                self.parts = Parts::Indexed { inner: node.clone(), places };
            }
            _ => self.push_different(at, node)?,
        }
        self.size = before.checked_add(node.size())?;
        Some(())
    }

    /// Adds blocks, which are not empty; none if one of them is `None` or the size overflows.
    #[inline]
    pub fn push_blocks(&mut self, all: impl IntoIterator<Item = Option<(isize, usize)>>) -> Option<()> {
        let Parts::Blocks { blocks, end } = &mut self.parts else {
            return all
                .into_iter()
                .try_for_each(|block| block.and_then(|(at, len)| self.push(at, &Node::Block(len))));
        };
        // Local copies, which the compiler keeps in registers.
        let (mut size, mut last_end) = (self.size, *end);
        for block in all {
            let (at, len) = block?;
            if at != last_end || blocks.is_empty() {
                blocks.push(PlacedBlock { at, before: size });
            }
            size = size.checked_add(len)?;
            last_end = at.wrapping_add_unsigned(len);
        }
        (self.size, *end) = (size, last_end);
        Some(())
    }

    #[cold]
    fn push_different(&mut self, at: isize, node: &Node) -> Option<()> {
        let before = self.size;
        let parts = self.different();
        if let (Some(LayoutPart { at: start, node: Node::Block(len), .. }), Node::Block(more)) =
            (parts.last_mut(), node)
            && start.checked_add_unsigned(*len) == Some(at)
        {
            *len = len.checked_add(*more)?;
        } else {
            parts.push(LayoutPart { at, before, node: node.clone() });
        }
        Some(())
    }

    /// Converts the parts into a list of different nodes.
    fn different(&mut self) -> &mut Vec<LayoutPart> {
        let size = self.size;
        let parts = match std::mem::replace(&mut self.parts, Parts::Different(Vec::new())) {
            Parts::Different(parts) => parts,
            Parts::Indexed { inner, places } => {
                let each = inner.size();
                let part = |(i, at)| LayoutPart { at, before: i * each, node: inner.clone() };
                places.into_iter().enumerate().map(part).collect()
            }
            Parts::Blocks { blocks, .. } => {
                let list = BlockList { blocks: blocks.into(), size, len: None };
                list.iter()
                    .map(|(at, before, len)| LayoutPart { at, before, node: Node::Block(len) })
                    .collect()
            }
        };
        self.parts = Parts::Different(parts);
        match &mut self.parts {
            Parts::Different(parts) => parts,
            _ => unreachable!("it was set just now"),
        }
    }

    /// Returns all parts as one node, and its place; none if a distance overflows.
    pub fn build(self) -> Option<(isize, Node)> {
        let size = self.size;
        match self.parts {
            Parts::Blocks { blocks, .. } => build_blocks(blocks, size),
            Parts::Indexed { inner, places } => match distance(&places, |place| *place) {
                Some(stride) => Some((places[0], inner.repeated(places.len(), stride)?)),
                None => Some((0, Node::Indexed(Arc::new(Indexed { inner, places: places.into(), size })))),
            },
            Parts::Different(parts) => {
                let alike = parts.windows(2).all(|two| two[0].node.is_same(&two[1].node));
                if let Some(stride) = distance(&parts, |part| part.at).filter(|_| alike) {
                    return Some((parts[0].at, parts[0].node.repeated(parts.len(), stride)?));
                }
                let blocks = parts.iter().fold(0usize, |n, part| n.saturating_add(part.node.blocks()));
                Some((0, Node::Sequence(Arc::new(Sequence { parts: parts.into(), size, blocks }))))
            }
        }
    }
}

fn build_blocks(blocks: Vec<PlacedBlock>, size: usize) -> Option<(isize, Node)> {
    match blocks[..] {
        [] => return Some((0, Node::Block(0))),
        [one] => return Some((one.at, Node::Block(size))),
        _ => {}
    }
    let each = size / blocks.len();
    // If the first block is at 0 and each has the offset of equal blocks, the last one has the same length,
    // too.
    let equal =
        each * blocks.len() == size && blocks.iter().enumerate().all(|(i, block)| block.before == i * each);
    if let Some(stride) = distance(&blocks, |block| block.at).filter(|_| equal) {
        return Some((blocks[0].at, Node::Block(each).repeated(blocks.len(), stride)?));
    }
    let len = equal.then_some(each);
    Some((0, Node::Blocks(Arc::new(BlockList { blocks: blocks.into(), size, len }))))
}

/// Returns the distance between neighbours, if it is the same everywhere; 0 for a single part.
fn distance<T>(all: &[T], at: impl Fn(&T) -> isize) -> Option<isize> {
    let [first, second, ..] = all else { return Some(0) };
    let stride = at(second).checked_sub(at(first))?;
    all.windows(2).all(|two| at(&two[1]).checked_sub(at(&two[0])) == Some(stride)).then_some(stride)
}
