//! Runs of bytes of a window's part, as encoded in messages between hosts.
//!
//! Each run is two numbers: its distance from the end of the previous run, and its length. A number has seven
//! bits in each byte, the lowest first. The highest bit of a byte is set if another byte follows. The number
//! of runs comes first.

/// Runs in increasing order that do not touch.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Runs {
    /// Offset and length of each run.
    list: Vec<(usize, usize)>,
}

impl Runs {
    /// Adds a run behind all others.
    pub fn push(&mut self, at: usize, len: usize) {
        self.list.push((at, len));
    }

    /// Returns the offset and length of each run.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.list.iter().copied()
    }

    /// Returns the total length in bytes.
    pub fn total(&self) -> usize {
        self.list.iter().map(|(_, len)| len).sum()
    }

    /// Appends the encoded runs to a message.
    pub fn encode(&self, to: &mut Vec<u8>) {
        put(self.list.len(), to);
        let mut end = 0;
        for (at, len) in self.iter() {
            put(at - end, to);
            put(len, to);
            end = at + len;
        }
    }

    /// Decodes runs from a message about a part of `part` bytes; returns them and the rest of the message.
    /// Returns none if the encoding is invalid.
    pub fn decode(mut bytes: &[u8], part: usize) -> Option<(Self, &[u8])> {
        let count = take(&mut bytes)?;
        let mut list = Vec::with_capacity(count.min(bytes.len()));
        let mut end = 0usize;
        for _ in 0..count {
            let at = end.checked_add(take(&mut bytes)?)?;
            let len = take(&mut bytes)?;
            end = at.checked_add(len).filter(|end| *end <= part)?;
            list.push((at, len));
        }
        Some((Self { list }, bytes))
    }
}

fn put(mut number: usize, to: &mut Vec<u8>) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn take(from: &mut &[u8]) -> Option<usize> {
    let mut number = 0;
    for shift in (0..usize::BITS).step_by(7) {
        let (byte, rest) = from.split_first()?;
        *from = rest;
        number |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_are_read_as_they_were_written(gaps in prop::collection::vec((1usize..5000, 1usize..1 << 20), 0..50)) {
            let (mut runs, mut end, mut message) = (Runs::default(), 0, Vec::new());
            for (gap, len) in gaps {
                runs.push(end + gap, len);
                end += gap + len;
            }
            runs.encode(&mut message);
            message.extend([1, 2, 3]);
            let read = Runs::decode(&message, end);
            prop_assert_eq!(read, Some((runs.clone(), &[1, 2, 3][..])));
            // A part that is shorter does not have them all.
            prop_assert!(runs.total() == 0 || Runs::decode(&message, end - 1).is_none());
        }

        #[test]
        fn any_bytes_are_runs_of_the_part_or_nothing(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Some((runs, _)) = Runs::decode(&bytes, 1000) {
                prop_assert!(runs.iter().all(|(at, len)| at + len <= 1000));
            }
        }
    }
}
