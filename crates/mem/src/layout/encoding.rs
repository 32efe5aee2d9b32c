//! The encoding of layouts as bytes, for owners of memory in other processes.
//!
//! Owns the encoding and its reader, which trusts no input. Its results are built by the checked
//! constructors, from at most [`MOST_BYTES`] bytes and [`DEPTH`] levels.
//!
//! ```text
//!   layout   place, extent, node                       numbers: 7 bits a byte, the last byte below 128; signed ones zigzag
//!   node     length · 4                                 a block
//!            count · 4 + 1, stride, node                copies of a node
//!            count · 4 + 2, (place after the one before, node) …   one after the other
//! ```

use std::borrow::Borrow;
use std::ops::Range;

use super::Layout;
use super::builder::LayoutBuilder;
use super::node::Node;

/// Largest length of an encoded layout in bytes.
pub const MOST_BYTES: usize = 4096;
/// Bytes before a list of fewer than a million parts: place, extent, number of parts.
const LIST_HEAD: usize = 5;
/// Greatest depth of nested nodes.
const DEPTH: usize = 24;

const BLOCK: u64 = 0;
const REPEAT: u64 = 1;
const SEQUENCE: u64 = 2;

impl Layout {
    /// Appends its bytes. Returns false if they are more than `most`; then the appended bytes are useless.
    pub fn encode(&self, most: usize, to: &mut Vec<u8>) -> bool {
        let end = to.len() + most.min(MOST_BYTES);
        put_signed(to, self.at);
        put_signed(to, self.extent);
        encode_node(&self.root, DEPTH, end, to)
    }

    /// Reads a layout; none if the bytes are not exactly one layout.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        if bytes.len() > MOST_BYTES {
            return None;
        }
        let (at, extent) = (reader.signed()?, reader.signed()?);
        let layout = reader.node(DEPTH)?.shifted(at)?.with_extent(extent);
        reader.0.is_empty().then_some(layout)
    }

    /// Appends the layout of the first part of a range of the packed bytes of `count` elements, as one
    /// element. The part has whole pieces of `unit` bytes, as many as `most` encoded bytes can describe.
    /// Returns the number of packed bytes of the part. If it is 0, not one piece fits, and the appended bytes
    /// are useless.
    ///
    /// # Panics
    /// The elements have fewer bytes.
    pub fn encode_part(
        &self,
        count: usize,
        range: Range<usize>,
        unit: usize,
        most: usize,
        to: &mut Vec<u8>,
    ) -> usize {
        let most = most.min(MOST_BYTES).saturating_sub(LIST_HEAD);
        let (mut list, mut end, mut is_full) = (Vec::with_capacity(most), 0, false);
        // The number of stretches in the list, and its longest prefix that ends between pieces: the
        // stretches, bytes and packed bytes of that.
        let (mut stretches, mut whole) = (0u64, (0u64, 0, 0));
        self.each_stretch(count, range.start, range.len(), |at, done, len| {
            if is_full {
                return;
            }
            put_signed(&mut list, at.wrapping_sub(end));
            put(&mut list, (len as u64) << 2 | BLOCK);
            is_full = list.len() > most;
            if is_full {
                return;
            }
            (end, stretches) = (at, stretches + 1);
            if (done + len).is_multiple_of(unit) {
                whole = (stretches, list.len(), done + len);
            }
        });
        let (stretches, bytes, packed) = whole;
        put_signed(to, 0);
        put_signed(to, 0);
        put(to, stretches << 2 | SEQUENCE);
        to.extend_from_slice(&list[..bytes]);
        packed
    }

    /// Does [`Layout::stretches`] after a check of the range.
    ///
    /// # Panics
    /// The elements have fewer bytes.
    pub fn each_stretch(&self, count: usize, skip: usize, len: usize, each: impl FnMut(isize, usize, usize)) {
        assert!(skip.checked_add(len).is_some_and(|end| self.total(count).is_some_and(|all| end <= all)));
        self.stretches(count, skip, len, each);
    }
}

fn encode_node(node: &Node, depth: usize, end: usize, to: &mut Vec<u8>) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    match node {
        Node::Block(len) => put(to, (*len as u64) << 2 | BLOCK),
        Node::Repeat(repeat) => {
            put(to, (repeat.count as u64) << 2 | REPEAT);
            put_signed(to, repeat.stride);
            if !encode_node(&repeat.inner, depth, end, to) {
                return false;
            }
        }
        Node::Blocks(list) => {
            let blocks = list.iter().map(|(at, _, len)| (at, Node::Block(len)));
            return encode_list(blocks, depth, end, to);
        }
        Node::Indexed(indexed) => {
            let copies = indexed.places.iter().map(|at| (*at, &indexed.inner));
            return encode_list(copies, depth, end, to);
        }
        Node::Sequence(sequence) => {
            let parts = sequence.parts.iter().map(|part| (part.at, &part.node));
            return encode_list(parts, depth, end, to);
        }
    }
    to.len() <= end
}

fn encode_list<N: Borrow<Node>>(
    parts: impl ExactSizeIterator<Item = (isize, N)>,
    depth: usize,
    end: usize,
    to: &mut Vec<u8>,
) -> bool {
    put(to, (parts.len() as u64) << 2 | SEQUENCE);
    let mut before = 0isize;
    for (at, node) in parts {
        put_signed(to, at.wrapping_sub(before));
        before = at;
        if !encode_node(node.borrow(), depth, end, to) {
            return false;
        }
    }
    to.len() <= end
}

fn put(to: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        to.push(n as u8 | 0x80);
        n >>= 7;
    }
    to.push(n as u8);
}

fn put_signed(to: &mut Vec<u8>, n: isize) {
    let n = n as i64;
    put(to, ((n << 1) ^ (n >> 63)) as u64);
}

/// The unread bytes.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    #[inline]
    fn number(&mut self) -> Option<u64> {
        // Most numbers take one byte.
        if let [byte @ ..0x80, rest @ ..] = self.0 {
            self.0 = rest;
            return Some(u64::from(*byte));
        }
        self.long_number()
    }

    fn long_number(&mut self) -> Option<u64> {
        const LAST: u64 = 0x8080_8080_8080_8080;
        let Some(word) = self.0.first_chunk().map(|bytes| u64::from_le_bytes(*bytes)) else {
            return self.number_by_bytes();
        };
        let ends = !word & LAST;
        if ends == 0 {
            return self.number_by_bytes();
        }
        // All bytes of the number are processed at once: each step joins neighbours and drops their
        // continuation bits.
        let len = ends.trailing_zeros() / 8 + 1;
        let bits = word & !LAST & (u64::MAX >> (64 - 8 * len));
        let bits = bits & 0x007F_007F_007F_007F | (bits & 0x7F00_7F00_7F00_7F00) >> 1;
        let bits = bits & 0x0000_3FFF_0000_3FFF | (bits & 0x3FFF_0000_3FFF_0000) >> 2;
        let bits = bits & 0x0FFF_FFFF | (bits & 0x0FFF_FFFF_0000_0000) >> 4;
        self.0 = &self.0[len as usize..];
        Some(bits)
    }

    fn number_by_bytes(&mut self) -> Option<u64> {
        let mut n = 0u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            let bits = u64::from(byte & 0x7F);
            if shift == 63 && bits > 1 {
                return None;
            }
            n |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(n);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<isize> {
        let n = self.number()?;
        isize::try_from((n >> 1) as i64 ^ -((n & 1) as i64)).ok()
    }

    fn node(&mut self, depth: usize) -> Option<Layout> {
        let head = self.number()?;
        self.node_after(head, depth)
    }

    /// Reads a node whose first number was read.
    fn node_after(&mut self, head: u64, depth: usize) -> Option<Layout> {
        let depth = depth.checked_sub(1)?;
        let count = usize::try_from(head >> 2).ok()?;
        match head & 3 {
            BLOCK => isize::try_from(count).ok().map(|_| Layout::block(count)),
            REPEAT => {
                let stride = self.signed()?;
                self.node(depth)?.repeated(count, stride)
            }
            SEQUENCE => {
                let mut at = 0isize;
                // Each part takes at least two of the unread bytes.
                let mut all = LayoutBuilder::new(count.min(self.0.len() / 2));
                for _ in 0..count {
                    at = at.checked_add(self.signed()?)?;
                    let head = self.number()?;
                    match head & 3 {
                        BLOCK => all.push_block(at, usize::try_from(head >> 2).ok()?)?,
                        _ => all.push(&self.node_after(head, depth)?, at, 1)?,
                    }
                }
                all.build().map(|(layout, _)| layout)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(layout: &Layout) -> Vec<u8> {
        let mut bytes = Vec::new();
        assert!(layout.encode(MOST_BYTES, &mut bytes));
        bytes
    }

    #[test]
    fn regular_layouts_take_a_few_bytes() {
        let vector = Layout::block(8).repeated(1_000_000, 16).unwrap();
        assert_eq!(encoded(&vector).len(), 8, "{:?}", encoded(&vector));
        assert_eq!(encoded(&Layout::block(8)), [0, 16, 32]);
    }

    #[test]
    fn what_is_too_long_or_too_deep_is_not_encoded() {
        let parts = (0..3000).map(|n| Layout::block(1 + n % 7).shifted((20 * n + n % 3) as isize).unwrap());
        let long = Layout::sequence(parts).unwrap();
        assert!(!long.encode(MOST_BYTES, &mut Vec::new()));
        assert!(!long.encode(usize::MAX, &mut Vec::new()));
        let deep = (0..30).fold(Layout::block(1), |layout, n| {
            let far = layout.shifted(3 << n).unwrap();
            Layout::sequence([Layout::block(1), far]).unwrap()
        });
        assert!(!deep.encode(MOST_BYTES, &mut Vec::new()));
    }

    #[test]
    fn what_is_no_layout_is_refused() {
        let bytes =
            encoded(&Layout::sequence([Layout::block(2), Layout::block(3).shifted(9).unwrap()]).unwrap());
        for cut in 0..bytes.len() {
            assert!(Layout::decode(&bytes[..cut]).is_none(), "cut at {cut}");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(Layout::decode(&longer).is_none());
        // The cases are: nodes too deep, an unknown kind, a number of more than 64 bits, copies that exceed
        // the address space.
        let mut deep = vec![0, 0];
        deep.extend([5, 0].repeat(40));
        deep.push(4);
        assert!(Layout::decode(&deep).is_none());
        assert!(Layout::decode(&[0, 0, 3]).is_none());
        assert!(Layout::decode(&[0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2]).is_none());
        let mut huge = vec![0, 0];
        put(&mut huge, u64::MAX << 2 >> 2 | REPEAT);
        huge.extend([2, 4]);
        assert!(Layout::decode(&huge).is_none());
    }

    #[test]
    fn numbers_of_every_length_are_read_wherever_they_end() {
        for bits in 0..64 {
            for n in [1u64 << bits, (1 << bits) - 1, u64::MAX >> bits] {
                for behind in [&[][..], &[0; 3], &[0xFF; 9]] {
                    let mut bytes = Vec::new();
                    put(&mut bytes, n);
                    let len = bytes.len();
                    bytes.extend(behind);
                    let mut reader = Reader(&bytes);
                    assert_eq!((reader.number(), reader.0), (Some(n), behind), "{len} bytes");
                }
            }
        }
    }

    /// Encodes the part of four blocks of 8 bytes, 16 apart, in at most `most` bytes; returns its stretches.
    fn part(range: Range<usize>, unit: usize, most: usize) -> (usize, Vec<(isize, usize)>) {
        let layout = Layout::block(8).repeated(4, 16).unwrap();
        let (mut bytes, mut stretches) = (Vec::new(), Vec::new());
        let packed = layout.encode_part(1, range, unit, most, &mut bytes);
        assert!(bytes.len() <= most || packed == 0);
        let part = Layout::decode(&bytes).unwrap();
        assert_eq!(part.size(), packed);
        part.stretches(1, 0, packed, |at, _, len| stretches.push((at, len)));
        (packed, stretches)
    }

    #[test]
    fn a_part_is_what_a_range_of_the_packed_bytes_is() {
        assert_eq!(part(4..20, 1, MOST_BYTES), (16, vec![(4, 4), (16, 8), (32, 4)]));
        assert_eq!(part(0..32, 8, MOST_BYTES).0, 32);
        // Two stretches have room, and cuts lie between pieces.
        assert_eq!(part(4..20, 1, LIST_HEAD + 4), (12, vec![(4, 4), (16, 8)]));
        assert_eq!(part(0..32, 8, LIST_HEAD + 6), (24, vec![(0, 8), (16, 8), (32, 8)]));
        assert_eq!(part(0..32, 16, LIST_HEAD + 6), (16, vec![(0, 8), (16, 8)]));
        assert_eq!(part(0..32, 16, LIST_HEAD + 2).0, 0);
    }
}
