//! The recorder of a rank: stamps events with clock, thread and lane, and gives names numbers.

use std::cell::Cell;
use std::collections::HashMap;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, PoisonError};

use canele_sys::atomic::{AtomicU32, Ordering};
use canele_sys::clock;
use canele_sys::segment::SegmentError;

use crate::event::{Event, EventKind, RECORD_BYTES, Record};
use crate::log::Log;

/// Bytes of a name that are kept.
const MOST_NAME: usize = 128;

/// The recorder of a lane of a rank, shared by its threads. All lanes of a rank record in one log.
pub struct Tracer {
    shared: Arc<Shared>,
    lane: u8,
}

struct Shared {
    log: Log,
    names: Mutex<HashMap<String, u16>>,
}

impl Tracer {
    /// A recorder of at most so many bytes, for the first lane.
    ///
    /// # Errors
    /// There is no memory.
    pub fn create(bytes: usize) -> Result<Self, SegmentError> {
        let shared = Shared { log: Log::create(bytes)?, names: Mutex::default() };
        Ok(Self { shared: Arc::new(shared), lane: 0 })
    }

    /// The recorder of another lane of the same rank.
    pub fn of_lane(&self, lane: u8) -> Self {
        Self { shared: self.shared.clone(), lane }
    }

    /// What another process needs to read it.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.shared.log.fd()
    }

    /// Records an event of now and of this thread.
    #[inline]
    pub fn record(&self, event: Event) {
        self.record_at(clock::monotonic_ns(), event);
    }

    /// Records an event of this thread that was at `at_ns`.
    #[inline]
    pub fn record_at(&self, at_ns: u64, event: Event) {
        let event = Event { at_ns, lane: self.lane, thread: thread_number(), ..event };
        self.shared.log.append(&[event.encode()]);
    }

    /// The number of a name; 0 if there are too many.
    pub fn name(&self, text: &str) -> u16 {
        let mut names = self.shared.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = names.get(text) {
            return *number;
        }
        let Ok(number) = u16::try_from(names.len() + 1) else { return 0 };
        names.insert(text.to_owned(), number);
        let bytes = &text.as_bytes()[..text.floor_char_boundary(MOST_NAME)];
        let head = Event {
            at_ns: clock::monotonic_ns(),
            thread: thread_number(),
            name: number,
            bytes: bytes.len() as u64,
            ..Event::new(EventKind::Name)
        };
        let part = |part: &[u8]| {
            let mut padded = [0; RECORD_BYTES];
            padded[..part.len()].copy_from_slice(part);
            let words = padded.as_chunks::<8>().0;
            std::array::from_fn(|n| u64::from_le_bytes(words[n]))
        };
        let records: Vec<Record> =
            std::iter::once(head.encode()).chain(bytes.chunks(RECORD_BYTES).map(part)).collect();
        self.shared.log.append(&records);
        number
    }

    /// Records that a span begins, which ends when the value is dropped: two events of these kinds.
    pub fn span(self: &Arc<Self>, begin: Event, end: EventKind) -> Span {
        self.record(begin);
        Span { tracer: self.clone(), end: Event { name: begin.name, ..Event::new(end) } }
    }
}

/// A span of time of this thread.
pub struct Span {
    tracer: Arc<Tracer>,
    end: Event,
}

impl Drop for Span {
    fn drop(&mut self) {
        self.tracer.record(self.end);
    }
}

/// The number of this thread: in the order in which threads record their first event.
fn thread_number() -> u16 {
    static COUNT: AtomicU32 = AtomicU32::new(1);
    thread_local! {
        static NUMBER: Cell<u16> = const { Cell::new(0) };
    }
    // A thread that is ending has no number any more.
    NUMBER
        .try_with(|number| {
            if number.get() == 0 {
                // Relaxed: a number on its own.
                number.set(COUNT.fetch_add(1, Ordering::Relaxed).min(u16::MAX.into()) as u16);
            }
            number.get()
        })
        .unwrap_or(0)
}

/// The events of bytes that [`LogReader::read`](crate::LogReader::read) gave, and the names that they define, by their numbers.
pub(crate) fn decode(bytes: &[u8]) -> (Vec<Event>, HashMap<u16, String>) {
    let (mut events, mut names) = (Vec::new(), HashMap::new());
    let mut records = crate::log::records(bytes);
    while let Some(record) = records.next() {
        let Some(event) = Event::decode(record) else { continue };
        if event.kind != EventKind::Name {
            events.push(event);
            continue;
        }
        let len = (event.bytes as usize).min(MOST_NAME);
        let text: Vec<u8> = (0..Event::records_of_text(len))
            .filter_map(|_| records.next())
            .flat_map(|record| record.map(u64::to_le_bytes).concat())
            .take(len)
            .collect();
        names.insert(event.name, String::from_utf8_lossy(&text).into_owned());
    }
    (events, names)
}

impl Event {
    /// The events of bytes that [`LogReader::read`](crate::LogReader::read) gave, and the names that they define, by their numbers. Records
    /// that were not written to their end are left out.
    pub fn decode_all(bytes: &[u8]) -> (Vec<Event>, HashMap<u16, String>) {
        decode(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LogReader;

    #[test]
    fn names_and_spans_are_read_as_they_were_recorded() {
        let tracer = Arc::new(Tracer::create(1 << 20).unwrap());
        let long = format!("MPI_{}é", "x".repeat(MOST_NAME - 5));
        let (short, longer) = (tracer.name("MPI_Send"), tracer.name(&long));
        assert_eq!((tracer.name("MPI_Send"), short, longer), (1, 1, 2));
        drop(tracer.span(Event { name: short, ..Event::new(EventKind::CallBegin) }, EventKind::CallEnd));
        std::thread::scope(|scope| {
            scope.spawn(|| tracer.record(Event::new(EventKind::Sent)));
        });
        let reader = LogReader::map(tracer.fd().try_clone_to_owned().unwrap()).unwrap();
        let (events, names) = Event::decode_all(&reader.read(0, usize::MAX));
        let kinds: Vec<_> = events.iter().map(|event| event.kind).collect();
        assert_eq!(kinds, [EventKind::CallBegin, EventKind::CallEnd, EventKind::Sent]);
        assert!(events[0].at_ns <= events[1].at_ns && events[0].thread != events[2].thread);
        assert_eq!(names[&1], "MPI_Send");
        assert_eq!(names[&2], long[..MOST_NAME - 1], "shortened between characters");
    }

    #[test]
    fn bytes_that_are_no_log_give_no_panic() {
        for length in [0, 1, 31, 32, 33, 4096] {
            Event::decode_all(&vec![1; length]);
        }
        let head = Event { at_ns: 1, bytes: 1 << 40, ..Event::new(EventKind::Name) };
        let bytes: Vec<u8> = head.encode().into_iter().flat_map(u64::to_le_bytes).collect();
        assert_eq!(Event::decode_all(&bytes).1[&0], "");
    }
}
