//! A small put: data and notice in one cell.

use canele_mem::buffer::RegionAddress;
use canele_mem::window::Window;
use canele_rail::{Header, MAX_INLINE};

use super::{Kind, place, place_words};

/// The most bytes of data beside a put's header.
pub const MAX_PUT: usize = 24;

/// Data put into a region, with a notice: the put of [`RmaRequest::Put`](crate::rma::RmaRequest::Put) into
/// mapped memory, if its data fits into a cell.
///
/// It is no encoding of that request, because it needs no matching, sequence number, credit or answer, and
/// may overtake messages. Its length stands in the place of kind and number of a request. Its words stay in
/// registers from the cell to the region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Put {
    /// Its place in the receiver's region.
    pub place: RegionAddress,
    /// The identifier the receiver sees.
    pub notice: u64,
    /// The data, as words: they stay in registers from the cell to the region.
    data: [u64; MAX_PUT / 8],
    /// Bytes of it in use.
    pub len: usize,
}

impl Put {
    /// Fills a slot with a put of `data`, at most [`MAX_PUT`] bytes; returns the header to commit it with.
    #[inline]
    pub fn fill(inline: Window<'_>, place: RegionAddress, notice: u64, data: &[u8]) -> Header {
        let [region, offset] = place_words(Some(place));
        inline.write_words(0, &[region, offset, notice]);
        inline.write(24, data);
        Header { tag: data.len() as u32, ..Kind::Put.header(6) }
    }

    /// Decodes a header and the bytes beside it, if they are a put's.
    #[inline(always)]
    pub fn decode(header: Header, inline: Window<'_>) -> Option<Self> {
        let len = header.tag as usize;
        if header.kind != Kind::Put as u8 || header.inline_len as usize != MAX_INLINE || len > MAX_PUT {
            return None;
        }
        let [region, offset, notice, data @ ..] = inline.read_words::<{ MAX_INLINE / 8 }>(0);
        Some(Self { place: place([region, offset])?, notice, data, len })
    }

    /// Makes a put of `data`, at most [`MAX_PUT`] bytes.
    pub fn new(place: RegionAddress, notice: u64, data: &[u8]) -> Self {
        let mut words = [[0; 8]; MAX_PUT / 8];
        words.as_flattened_mut()[..data.len()].copy_from_slice(data);
        Self { place, notice, data: words.map(u64::from_le_bytes), len: data.len() }
    }

    /// Returns the data, of which the first `len` bytes are in use.
    #[inline]
    pub fn data(&self) -> [[u8; 8]; MAX_PUT / 8] {
        self.data.map(u64::to_le_bytes)
    }
}
