//! A record in shared memory that one process writes and others read whole or not at all (a sequence lock
//! like Linux's `seqlock_t`).
//!
//! Owns the words of the record. The writer never waits for a reader. A reader never trusts that the bytes
//! are a record: their decoder checks them.
//!
//! ```text
//!   sequence (odd: being written) │ length in bytes │ bytes …
//! ```

use crate::atomic::{AtomicU64, Ordering, fence};

/// The number of attempts of a reader before it gives up: the writer may have been stopped while it wrote.
const TRIES: u32 = 64;

/// The number of words before the bytes.
const HEADER: usize = 2;

/// The record in a range of words of shared memory.
#[derive(Clone, Copy, Debug)]
pub struct PublishedBytes<'a> {
    words: &'a [AtomicU64],
}

impl<'a> PublishedBytes<'a> {
    /// Returns the record that lies in `words`, which begin as zeros: an empty record.
    ///
    /// # Panics
    /// Panics with fewer words than the header needs.
    pub fn new(words: &'a [AtomicU64]) -> Self {
        assert!(words.len() >= HEADER, "{} words have no room for a record", words.len());
        Self { words }
    }

    /// Returns the length of the longest record in bytes.
    pub fn room(&self) -> usize {
        8 * (self.words.len() - HEADER)
    }

    /// Writes a record over the previous one. Only one thread at a time may call it.
    ///
    /// # Panics
    /// Panics if the record is longer than [`PublishedBytes::room`].
    pub fn write(&self, bytes: &[u8]) {
        assert!(bytes.len() <= self.room(), "a record of {} bytes in room for {}", bytes.len(), self.room());
        let [sequence, length, room @ ..] = self.words else { return };
        // Odd, even if an earlier writer ended in the middle.
        let writing = sequence.load(Ordering::Relaxed) | 1;
        sequence.store(writing, Ordering::Relaxed);
        // Pairs with the fence in `read`: a reader that sees a byte of this record sees that it is being
        // written.
        fence(Ordering::Release);
        length.store(bytes.len() as u64, Ordering::Relaxed);
        for (word, bytes) in room.iter().zip(bytes.chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_le_bytes(whole), Ordering::Relaxed);
        }
        // Release pairs with the acquire in `read`: a reader that sees this number sees the record.
        sequence.store(writing.wrapping_add(1), Ordering::Release);
    }

    /// Reads the record; none if it is empty, or if no attempt read it whole.
    pub fn read(&self) -> Option<Vec<u8>> {
        (0..TRIES).find_map(|_| self.try_read()).filter(|bytes| !bytes.is_empty())
    }

    /// Returns the record if it was not written meanwhile.
    fn try_read(&self) -> Option<Vec<u8>> {
        let [sequence, length, room @ ..] = self.words else { return None };
        // Acquire pairs with the release at the end of `write`.
        let before = sequence.load(Ordering::Acquire);
        if !before.is_multiple_of(2) {
            return None;
        }
        let len = usize::try_from(length.load(Ordering::Relaxed)).ok().filter(|len| *len <= self.room())?;
        let words = room.iter().take(len.div_ceil(8));
        let mut bytes: Vec<u8> = words.flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect();
        // Pairs with the fence in `write`.
        fence(Ordering::Acquire);
        bytes.truncate(len);
        (sequence.load(Ordering::Relaxed) == before).then_some(bytes)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn words(count: usize) -> Vec<AtomicU64> {
        (0..count).map(|_| AtomicU64::new(0)).collect()
    }

    #[test]
    fn the_last_record_is_read_whatever_its_length() {
        let words = words(6);
        let published = PublishedBytes::new(&words);
        assert_eq!((published.room(), published.read()), (32, None));
        for len in [32, 1, 8, 9, 31] {
            let record: Vec<u8> = (0..len).map(|n| 100 + n).collect();
            published.write(&record);
            assert_eq!(published.read(), Some(record));
        }
        published.write(&[]);
        assert_eq!(published.read(), None);
    }

    #[test]
    fn what_was_not_written_to_its_end_or_is_too_long_is_no_record() {
        let words = words(4);
        let published = PublishedBytes::new(&words);
        published.write(&[1, 2, 3]);
        words[0].store(7, Ordering::Relaxed);
        assert_eq!(published.read(), None, "it is being written");
        published.write(&[4]);
        assert_eq!(published.read(), Some(vec![4]), "the next writer ends it");
        for wild in [17, u64::MAX] {
            words[1].store(wild, Ordering::Relaxed);
            assert_eq!(published.read(), None, "{wild} bytes");
        }
    }

    #[test]
    #[should_panic(expected = "a record of 9 bytes in room for 8")]
    fn a_record_beyond_its_room_is_a_mistake() {
        PublishedBytes::new(&words(3)).write(&[0; 9]);
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// A reader gets one of two records, never a part of each.
    #[test]
    fn loom_a_published_record_is_read_whole() {
        loom::model(|| {
            let words: Arc<Vec<AtomicU64>> = Arc::new((0..4).map(|_| AtomicU64::new(0)).collect());
            PublishedBytes::new(&words).write(&[1; 16]);
            let writer = thread::spawn({
                let words = words.clone();
                move || PublishedBytes::new(&words).write(&[2; 16])
            });
            if let Some(record) = PublishedBytes::new(&words).try_read() {
                assert!(record == [1; 16] || record == [2; 16], "torn: {record:?}");
            }
            writer.join().unwrap();
            assert_eq!(PublishedBytes::new(&words).try_read(), Some(vec![2; 16]));
        });
    }
}
