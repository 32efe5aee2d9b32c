//! The memory in which a rank stores its events, and the reader of that memory in another process.
//!
//! ```text
//!   page 0   magic │ claimed records │ records that found no room
//!   page 1…  records of 32 bytes, whose memory is reserved step by step
//! ```
//! One atomic addition claims the place of a record, so threads need no lock. The first word of a record is
//! stored last. The reader trusts nothing: it reads only within the segment, and accepts any bytes as a
//! record.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use canele_sys::atomic::{AtomicU64, AtomicUsize, Ordering};
use canele_sys::segment::{Mapping, Segment, SegmentError};

use crate::event::{RECORD_BYTES, Record};

const MAGIC: u64 = u64::from_le_bytes(*b"canTRC02");
const HEAD_BYTES: usize = 4096;
const WORDS: usize = RECORD_BYTES / 8;
/// The number of records for which memory is reserved at a time.
const STEP: usize = 1 << 15;

const AT_MAGIC: usize = 0;
const AT_CLAIMED: usize = 64;
const AT_MISSING: usize = 128;

/// The events of a rank.
pub struct Log {
    segment: Segment,
    /// The greatest number of records.
    capacity: usize,
    /// The number of records whose memory is reserved.
    usable: AtomicUsize,
    /// Held by the thread that reserves more memory. False once a reservation has failed.
    grows: Mutex<bool>,
}

impl Log {
    /// Creates a log of at most `bytes` bytes.
    ///
    /// # Errors
    /// Fails if there is no memory.
    pub fn create(bytes: usize) -> Result<Self, SegmentError> {
        let capacity = (bytes.saturating_sub(HEAD_BYTES) / RECORD_BYTES).max(1);
        let segment = Segment::create("canele-trace", HEAD_BYTES + capacity * RECORD_BYTES)?;
        segment.reserve(0, HEAD_BYTES)?;
        let log = Self { segment, capacity, usable: AtomicUsize::new(0), grows: Mutex::new(true) };
        log.grow(0);
        // Relaxed: the descriptor is handed over afterwards.
        log.segment.atomic_u64(AT_MAGIC).store(MAGIC, Ordering::Relaxed);
        Ok(log)
    }

    /// Returns the descriptor by which another process reads the log.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.segment.fd()
    }

    /// Adds consecutive records; returns false if they found no room. The first word of the first record must
    /// not be 0.
    #[inline]
    pub fn append(&self, records: &[Record]) -> bool {
        let count = records.len();
        // Relaxed: the place is this thread's alone from here on.
        let at = self.segment.atomic_u64(AT_CLAIMED).fetch_add(count as u64, Ordering::Relaxed) as usize;
        if at.saturating_add(count) > self.usable.load(Ordering::Relaxed) && !self.grow(at + count) {
            self.segment.atomic_u64(AT_MISSING).fetch_add(count as u64, Ordering::Relaxed);
            return false;
        }
        let words = self.segment.atomic_u64s(HEAD_BYTES + at * RECORD_BYTES, count * WORDS);
        for (place, record) in words.chunks_exact(WORDS).zip(records).rev() {
            for (word, value) in place.iter().zip(record).skip(1) {
                word.store(*value, Ordering::Relaxed);
            }
            // Release: pairs with the acquire in `LogReader::read`.
            place[0].store(record[0], Ordering::Release);
        }
        true
    }

    /// Reserves memory for records up to `end`; returns true if it is reserved.
    #[cold]
    fn grow(&self, end: usize) -> bool {
        let mut grows = self.grows.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let usable = self.usable.load(Ordering::Relaxed);
            if end <= usable && usable > 0 {
                return true;
            }
            let step = STEP.min(self.capacity - usable);
            if !*grows || step == 0 {
                return false;
            }
            let (start, bytes) = (HEAD_BYTES + usable * RECORD_BYTES, step * RECORD_BYTES);
            *grows = self.segment.reserve(start, bytes).is_ok();
            if *grows {
                self.usable.store(usable + step, Ordering::Relaxed);
            }
        }
    }
}

/// The log of a rank, as another process reads it.
#[derive(Debug)]
pub struct LogReader {
    mapping: Mapping,
}

impl LogReader {
    /// Maps the log of a rank and closes the descriptor. The contents of the log are not trusted.
    ///
    /// # Errors
    /// Fails if the descriptor is not that of a log.
    pub fn map(descriptor: OwnedFd) -> Result<Self, String> {
        let segment = Segment::map(descriptor).map_err(|error| error.to_string())?;
        let (mapping, _) = segment.into_parts();
        if mapping.len() < HEAD_BYTES + RECORD_BYTES
            || mapping.atomic_u64(AT_MAGIC).load(Ordering::Relaxed) != MAGIC
        {
            return Err("it is no log of events of this release".into());
        }
        Ok(Self { mapping })
    }

    /// Returns the number of records that were claimed, whether they are complete or not.
    pub fn len(&self) -> usize {
        let capacity = (self.mapping.len() - HEAD_BYTES) / RECORD_BYTES;
        let claimed = self.word(AT_CLAIMED).saturating_sub(self.missing());
        usize::try_from(claimed).unwrap_or(usize::MAX).min(capacity)
    }

    /// Returns true if no record was claimed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of records that found no room.
    pub fn missing(&self) -> u64 {
        self.word(AT_MISSING)
    }

    fn word(&self, at: usize) -> u64 {
        self.mapping.atomic_u64(at).load(Ordering::Relaxed)
    }

    /// Returns the bytes of at most `most` records, from record `from` on.
    pub fn read(&self, from: usize, most: usize) -> Vec<u8> {
        let count = most.min(self.len().saturating_sub(from));
        let words = match count {
            0 => &[],
            _ => self.mapping.atomic_u64s(HEAD_BYTES + from * RECORD_BYTES, count * WORDS),
        };
        // Acquire: pairs with the release in `Log::append`.
        let load = |word: &AtomicU64| word.load(Ordering::Acquire).to_le_bytes();
        words.iter().flat_map(load).collect()
    }
}

/// Splits bytes returned by [`LogReader::read`] into records.
pub(crate) fn records(bytes: &[u8]) -> impl Iterator<Item = Record> {
    let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    bytes.as_chunks::<8>().0.as_chunks::<WORDS>().0.iter().map(move |record| record.each_ref().map(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(log: &Log) -> LogReader {
        LogReader::map(log.fd().try_clone_to_owned().unwrap()).unwrap()
    }

    #[test]
    fn what_is_appended_is_read_elsewhere() {
        let log = Log::create(1 << 20).unwrap();
        let reader = reader(&log);
        assert!(reader.is_empty() && reader.read(0, 10).is_empty());
        assert!(log.append(&[[1, 2, 3, 4]]) && log.append(&[[5, 6, 7, 8], [0, 1, 0, 1]]));
        let all: Vec<_> = records(&reader.read(0, 10)).collect();
        assert_eq!(all, [[1, 2, 3, 4], [5, 6, 7, 8], [0, 1, 0, 1]]);
        assert_eq!(records(&reader.read(1, 1)).collect::<Vec<_>>(), [[5, 6, 7, 8]]);
        assert!(reader.read(3, 1).is_empty() && reader.read(usize::MAX, 1).is_empty());
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let log = Log::create(HEAD_BYTES + 3 * RECORD_BYTES).unwrap();
        let added: Vec<_> = (1..=5).map(|n| log.append(&[[n, 0, 0, 0]])).collect();
        let reader = reader(&log);
        // The segment has whole pages.
        assert_eq!((reader.len(), reader.missing()), (3, 2));
        assert_eq!(added, [true, true, true, false, false]);
    }

    #[test]
    fn more_than_one_step_of_memory_is_used_as_it_is_needed() {
        let log = Log::create(HEAD_BYTES + 3 * STEP * RECORD_BYTES).unwrap();
        assert_eq!(log.usable.load(Ordering::Relaxed), STEP);
        (1..=2 * STEP as u64).for_each(|n| assert!(log.append(&[[n, 0, 0, 0]])));
        assert_eq!(log.usable.load(Ordering::Relaxed), 2 * STEP);
        assert_eq!(
            records(&reader(&log).read(2 * STEP - 1, 9)).collect::<Vec<_>>(),
            [[2 * STEP as u64, 0, 0, 0]]
        );
    }

    #[test]
    fn another_segment_is_refused() {
        let other = Segment::create("other", 1 << 16).unwrap();
        assert!(LogReader::map(other.fd().try_clone_to_owned().unwrap()).is_err());
        assert!(LogReader::map(std::fs::File::open("/dev/null").unwrap().into()).is_err());
    }

    #[test]
    fn threads_write_beside_each_other() {
        let log = Log::create(1 << 20).unwrap();
        std::thread::scope(|scope| {
            for thread in 1..=4u64 {
                let log = &log;
                scope.spawn(move || (0..1000).for_each(|n| assert!(log.append(&[[thread, n, n, n]; 2]))));
            }
        });
        let all: Vec<_> = records(&reader(&log).read(0, usize::MAX)).collect();
        assert_eq!(all.len(), 8000);
        for pair in all.chunks(2) {
            assert_eq!(pair[0], pair[1], "records that were added together follow each other");
        }
    }
}
