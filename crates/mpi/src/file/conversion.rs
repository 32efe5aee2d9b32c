//! Data whose representation in the file differs from memory; it is converted piece by piece during an
//! access.
//!
//! An access visits its bytes in order. One step converts all elements that overlap a piece.

use std::ops::Range;

use super::datarep::Datarep;
use crate::Result;
use crate::data::{Elements, ElementsMut};

/// Data that is converted to the bytes of a file.
pub struct EncodedData {
    elements: Elements,
    datarep: Datarep,
    /// Size of an element in the file, in bytes.
    element: usize,
    /// The range of elements converted last, followed by their bytes.
    converted: Range<usize>,
    bytes: Vec<u8>,
}

impl EncodedData {
    pub(super) fn new(elements: Elements, datarep: Datarep, element: usize) -> Self {
        Self { elements, datarep, element: element.max(1), converted: 0..0, bytes: Vec::new() }
    }

    /// Returns the length in the file, in bytes.
    pub(super) fn len(&self) -> usize {
        self.element * self.elements.count
    }

    /// Returns bytes of the file; the range lies within the data.
    pub(super) fn bytes_at(&mut self, at: usize, len: usize) -> Result<&[u8]> {
        let wanted = at / self.element..(at + len).div_ceil(self.element);
        if wanted.start < self.converted.start || wanted.end > self.converted.end {
            self.converted = 0..0;
            self.bytes.resize(wanted.len() * self.element, 0);
            let Elements { raw, of, .. } = &self.elements;
            let raw = raw.moved(wanted.start as isize * of.extent());
            let part = Elements { raw, count: wanted.len(), of: of.clone() };
            self.datarep.encode(&part, &mut self.bytes)?;
            self.converted = wanted;
        }
        let from = at - self.converted.start * self.element;
        Ok(&self.bytes[from..from + len])
    }
}

/// Room for data that is converted from the bytes of a file.
pub struct DecodedData {
    elements: ElementsMut,
    datarep: Datarep,
    /// Size of an element in the file, in bytes.
    element: usize,
    /// Number of complete elements.
    done: usize,
    /// Bytes of the next, incomplete element.
    begun: Vec<u8>,
}

impl DecodedData {
    pub(super) fn new(elements: ElementsMut, datarep: Datarep, element: usize) -> Self {
        Self { elements, datarep, element: element.max(1), done: 0, begun: Vec::new() }
    }

    /// Returns the length in the file, in bytes.
    pub(super) fn len(&self) -> usize {
        self.element * self.elements.count
    }

    /// Stores the next bytes of the file and converts each complete element.
    pub(super) fn store(&mut self, from: &[u8]) -> Result<()> {
        self.begun.extend_from_slice(from);
        let count = (self.begun.len() / self.element).min(self.elements.count - self.done);
        if count > 0 {
            let ElementsMut { raw, of, .. } = &mut self.elements;
            let (datarep, bytes) = (&self.datarep, &self.begun[..count * self.element]);
            raw.moved(self.done as isize * of.extent(), |raw| datarep.decode(bytes, raw, of, count))?;
            self.begun.drain(..count * self.element);
            self.done += count;
        }
        Ok(())
    }

    /// Returns the number of bytes in memory of the complete elements.
    pub(super) fn memory_bytes(&self) -> Result<usize> {
        self.elements.of.total_bytes(self.done)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use canele_mem::buffer::{Raw, RawMut};
    use proptest::prelude::*;

    use super::*;
    use crate::datatype::{Basic, Datatype};

    const COUNT: usize = 40;

    fn leaked(bytes: Vec<u8>) -> &'static mut [u8] {
        Box::leak(bytes.into_boxed_slice())
    }

    proptest! {
        #[test]
        fn pieces_are_converted_as_the_whole_is(pieces in prop::collection::vec(1usize..60, 1..20)) {
            let long: Arc<Datatype> = Datatype::basic(Basic::Long).clone();
            let numbers: Vec<u8> = (0..COUNT as i64).flat_map(|n| (n * 1_000_003).to_ne_bytes()).collect();
            let raw: Raw = RawMut::of(leaked(numbers.clone()), 0).into_raw();
            let size = Basic::Long.external_size();
            let from = Elements { raw, count: COUNT, of: long.clone() };
            let mut whole = vec![0; size * COUNT];
            Datarep::External32.encode(&from, &mut whole).unwrap();
            let mut encoded = EncodedData::new(from, Datarep::External32, size);
            let into = ElementsMut { raw: RawMut::of(leaked(vec![0; 8 * COUNT]), 0), count: COUNT, of: long };
            let mut decoded = DecodedData::new(into, Datarep::External32, size);
            let mut at = 0;
            for piece in pieces {
                let len = piece.min(whole.len() - at);
                let bytes = encoded.bytes_at(at, len).unwrap().to_vec();
                prop_assert_eq!(&bytes[..], &whole[at..at + len]);
                decoded.store(&bytes).unwrap();
                at += len;
            }
            let there = at / size * 8;
            prop_assert_eq!(decoded.memory_bytes().unwrap(), there);
            let mut elements = decoded.elements;
            prop_assert_eq!(&elements.raw.bytes_mut(0, 8 * COUNT)[..there], &numbers[..there]);
        }
    }
}
