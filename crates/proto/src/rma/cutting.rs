//! An access to elements, cut into requests that each go without a handshake.
//!
//! A short layout of all elements is sent with each request; otherwise each request lists the stretches that
//! it touches.

use std::sync::Arc;

use canele_mem::layout::Layout;

use super::{ANSWER, ElementAccess, ElementAction, EncodedElements, LEAST_PIECE, MOST_HEAD, MOST_LAYOUT};

/// The length of the longest layout that is sent with each request.
const SHORT_LAYOUT: usize = 256;

/// The rest of an access that is still to be submitted.
pub(super) struct Cutting {
    elements: Option<(Arc<Layout>, usize)>,
    /// The layout of all elements, if it is short.
    encoded: Option<Vec<u8>>,
    /// Packed bytes between which it may be cut.
    unit: usize,
    /// Packed bytes that were submitted, and all of them.
    done: usize,
    total: usize,
    /// The number of bytes whose stretches are encoded at once: twice as many as could be listed before.
    listed_len: usize,
}

/// One request of an access.
pub(super) struct Piece {
    pub access: ElementAccess,
    /// The encoded layout.
    pub layout: Vec<u8>,
    /// The offset of its packed bytes.
    pub at: usize,
    pub len: usize,
}

impl Cutting {
    pub fn new(total: usize, unit: usize, elements: Option<(Arc<Layout>, usize)>) -> Self {
        let encoded = elements.as_ref().and_then(|(layout, _)| {
            let mut bytes = Vec::new();
            layout.encode(SHORT_LAYOUT, &mut bytes).then_some(bytes)
        });
        Self { elements, encoded, unit: unit.max(1), done: 0, total, listed_len: usize::MAX }
    }

    pub fn is_done(&self) -> bool {
        self.done >= self.total
    }

    /// Returns the next request of `access`, if messages up to `eager_bytes` go without a handshake. Returns
    /// `None` if one element has more stretches than can be listed.
    pub fn next(&mut self, access: &ElementAccess, eager_bytes: usize) -> Option<Piece> {
        let listed = if self.elements.is_some() { MOST_LAYOUT } else { 0 };
        let beside = MOST_HEAD.max(ANSWER) + self.encoded.as_ref().map_or(listed, Vec::len);
        let most = eager_bytes.saturating_sub(beside).max(LEAST_PIECE);
        let left = self.total - self.done;
        let room = match access.action {
            ElementAction::CompareAndSwap => left,
            _ => self.whole(most).min(left),
        };
        let piece = self.described(access, room)?;
        self.done += piece.len;
        Some(piece)
    }

    /// Returns the number of bytes of whole elements that fit, at least of one.
    fn whole(&self, len: usize) -> usize {
        (len - len % self.unit).max(self.unit)
    }

    fn described(&mut self, access: &ElementAccess, len: usize) -> Option<Piece> {
        let at = self.done;
        let piece = |place, layout: Vec<u8>, elements, len| Piece {
            access: ElementAccess { place, len: len as u64, elements, ..*access },
            layout,
            at,
            len,
        };
        let mut place = access.place;
        let Some((layout, count)) = &self.elements else {
            place.offset = place.offset.wrapping_add(at as u64);
            return Some(piece(place, Vec::new(), None, len));
        };
        if let Some(encoded) = &self.encoded {
            let layout_len = encoded.len() as u16;
            let elements = EncodedElements { layout_len, count: *count as u64, skip: at as u64 };
            return Some(piece(place, encoded.clone(), Some(elements), len));
        }
        let mut bytes = Vec::new();
        // One element at least, also if blocks end within elements.
        for looked_at in [self.whole(self.listed_len).min(len), self.unit.min(len)] {
            bytes.clear();
            let range = at..at + looked_at;
            let unit = self.unit.min(looked_at);
            let len = layout.encode_part(*count, range, unit, MOST_LAYOUT, &mut bytes);
            if len > 0 {
                self.listed_len = len.saturating_mul(2);
                let elements = EncodedElements { layout_len: bytes.len() as u16, count: 1, skip: 0 };
                return Some(piece(place, bytes, Some(elements), len));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rma::{MemoryAddress, MemoryKey};

    fn access(action: ElementAction) -> ElementAccess {
        let place = MemoryAddress { key: MemoryKey::from_word(1 << 32 | 1 << 31), offset: 100 };
        ElementAccess { action, place, operation: (0, 0), len: 0, elements: None }
    }

    /// Returns the places of the packed bytes of all pieces, in order.
    fn places(mut cutting: Cutting, eager: usize) -> Vec<isize> {
        let mut all = Vec::new();
        while !cutting.is_done() {
            let Piece { access, layout, at, len } =
                cutting.next(&access(ElementAction::Put), eager).expect("a piece");
            assert_eq!(at, all.len());
            let (layout, count, skip) = match access.elements {
                Some(e) => (Layout::decode(&layout).expect("a layout"), e.count as usize, e.skip as usize),
                None => (Layout::block(len), 1, 0),
            };
            assert!(len <= eager.max(LEAST_PIECE));
            layout.each_stretch(count, skip, len, |place, _, n| {
                all.extend((0..n as isize).map(|k| access.place.offset as isize + place + k));
            });
        }
        all
    }

    #[test]
    fn the_pieces_are_the_elements_in_their_order() {
        assert_eq!(places(Cutting::new(5000, 8, None), 1000), (100..5100).collect::<Vec<_>>());
        let vector = Arc::new(Layout::block(8).repeated(300, 24).unwrap());
        let expected: Vec<isize> = (0..300).flat_map(|n| 100 + 24 * n..108 + 24 * n).collect();
        assert_eq!(places(Cutting::new(2400, 8, Some((vector, 1))), 1000), expected);
        // A layout too irregular to be sent with each piece.
        let at = |n: isize| n * 37 + n * n % 11;
        let list = Layout::sequence((0..2000).map(|n| Layout::block(12).shifted(at(n)).unwrap())).unwrap();
        let expected: Vec<isize> = (0..2000).flat_map(|n| 100 + at(n)..112 + at(n)).collect();
        assert_eq!(places(Cutting::new(24_000, 12, Some((Arc::new(list), 1))), 16_384), expected);
    }

    #[test]
    fn cuts_lie_between_elements() {
        let mut cutting = Cutting::new(1600, 16, None);
        let first = cutting.next(&access(ElementAction::Accumulate), 700).expect("a piece");
        assert!(first.len.is_multiple_of(16) && first.len > 500);
    }
}
