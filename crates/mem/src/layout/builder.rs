//! Layouts of blocks at listed places, as `MPI_Type_indexed` and `MPI_Type_create_struct` describe them.
//!
//! Owns the bounds of the added parts. Adding a block takes constant time: a list is built in one pass.

use super::Layout;
use super::node::Node;
use super::node_builder::NodeBuilder;

/// The span of the places of copies of an element, for extents that depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CopySpan {
    /// The lowest place of a copy.
    pub lowest: isize,
    /// The highest place of a copy.
    pub highest: isize,
    /// The number of copies.
    pub copies: usize,
}

impl CopySpan {
    /// The span of no copies: any other span includes it.
    const NONE: Self = Self { lowest: isize::MAX, highest: isize::MIN, copies: 0 };

    /// Includes `count` copies from `place` on, `extent` apart; none if they exceed the address space.
    /// `count` is not 0.
    #[inline(always)]
    fn include(&mut self, place: isize, count: usize, extent: isize) -> Option<()> {
        let last = isize::try_from(count - 1).ok()?.checked_mul(extent)?.checked_add(place)?;
        self.lowest = self.lowest.min(place).min(last);
        self.highest = self.highest.max(place).max(last);
        self.copies = self.copies.checked_add(count)?;
        Some(())
    }

    #[inline(always)]
    fn and(self, other: Self) -> Option<Self> {
        Some(Self {
            lowest: self.lowest.min(other.lowest),
            highest: self.highest.max(other.highest),
            copies: self.copies.checked_add(other.copies)?,
        })
    }
}

/// Builds one element from a sequence of layouts.
pub struct LayoutBuilder {
    nodes: NodeBuilder,
    /// Bounds of all bytes.
    bounds: Option<(isize, isize)>,
    /// The span of all added copies.
    copies: CopySpan,
}

impl LayoutBuilder {
    /// Makes a builder with room for `parts` parts.
    pub fn new(parts: usize) -> Self {
        Self { nodes: NodeBuilder::new(parts), bounds: None, copies: CopySpan::NONE }
    }

    /// Adds `count` elements from `place` on; none if they exceed the address space.
    pub fn push(&mut self, element: &Layout, place: isize, count: usize) -> Option<()> {
        if count == 0 {
            return Some(());
        }
        let mut copies = CopySpan::NONE;
        copies.include(place, count, element.extent)?;
        match count {
            1 => self.nodes.push(element.at.wrapping_add(place), &element.root)?,
            _ => self
                .nodes
                .push(element.at.wrapping_add(place), &element.root.repeated(count, element.extent)?)?,
        }
        self.widen(element, copies)
    }

    /// Adds `len` bytes at `place` as one element; none if they exceed the address space.
    #[inline]
    pub fn push_block(&mut self, place: isize, len: usize) -> Option<()> {
        if len > 0 {
            let high = place.checked_add_unsigned(len)?;
            self.bounds = Some(self.bounds.map_or((place, high), |all| (all.0.min(place), all.1.max(high))));
            self.nodes.push_blocks([Some((place, len))])?;
        }
        self.copies = self.copies.and(CopySpan { lowest: place, highest: place, copies: 1 })?;
        Some(())
    }

    /// Adds blocks of an element, each a place and a number of elements; none if one is `None` or they exceed
    /// the address space.
    pub fn push_blocks(
        &mut self,
        element: &Layout,
        blocks: impl IntoIterator<Item = Option<(isize, usize)>>,
    ) -> Option<()> {
        let (mut copies, extent) = (CopySpan::NONE, element.extent);
        let blocks = blocks.into_iter().filter(|block| block.is_none_or(|(_, count)| count > 0));
        match element.root {
            Node::Block(len) if len > 0 && usize::try_from(extent) == Ok(len) => {
                self.nodes.push_blocks(blocks.map(|block| {
                    let (place, count) = block?;
                    copies.include(place, count, extent)?;
                    Some((element.at.wrapping_add(place), len.checked_mul(count)?))
                }))?;
            }
            _ => {
                let mut same = (1, element.root.clone());
                for block in blocks {
                    let (place, count) = block?;
                    copies.include(place, count, extent)?;
                    if same.0 != count {
                        same = (count, element.root.repeated(count, extent)?);
                    }
                    self.nodes.push(element.at.wrapping_add(place), &same.1)?;
                }
            }
        }
        self.widen(element, copies)
    }

    /// Widens the bounds by elements that were added.
    fn widen(&mut self, element: &Layout, copies: CopySpan) -> Option<()> {
        if element.size() > 0 && copies.copies > 0 {
            let low = element.low.checked_add(copies.lowest)?;
            let high = element.high.checked_add(copies.highest)?;
            self.bounds = Some(self.bounds.map_or((low, high), |all| (all.0.min(low), all.1.max(high))));
        }
        self.copies = self.copies.and(copies)?;
        Some(())
    }

    /// Returns the whole as one element, with an extent from its lowest to its highest byte. Returns also the
    /// span of the added copies, if there are any. Returns none if the element exceeds the address space.
    pub fn build(self) -> Option<(Layout, Option<CopySpan>)> {
        let (low, high) = self.bounds.unwrap_or((0, 0));
        let (at, root) = self.nodes.build()?;
        let layout = Layout { at, root, extent: high.checked_sub(low)?, low, high };
        let copies = (self.copies.copies > 0).then_some(self.copies);
        layout.is_sound().then_some((layout, copies))
    }
}
