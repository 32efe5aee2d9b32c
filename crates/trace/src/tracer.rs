//! The recorder of a rank: it adds time, thread and lane to events, and numbers names and call sites.

use std::cell::Cell;
use std::collections::HashMap;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, PoisonError};

use canele_sys::atomic::{AtomicU32, Ordering};
use canele_sys::segment::SegmentError;
use canele_sys::{clock, code_map};

use crate::event::{AccessRoute, Event, EventKind, RECORD_BYTES, Record};
use crate::log::Log;
use crate::site::{self, SiteFrame, SiteOrder, ThreadState};

/// The greatest number of bytes of a name that are kept. The paths of files of code are names, too.
pub(crate) const MOST_NAME: usize = 512;

/// The recorder of a lane of a rank, shared by its threads. All lanes of a rank record in one log.
pub struct Tracer {
    shared: Arc<Shared>,
    lane: u8,
}

struct Shared {
    log: Log,
    names: Mutex<HashMap<String, u16>>,
    /// The numbers of call sites, by return addresses.
    sites: Mutex<HashMap<Vec<u64>, u16>>,
}

impl Tracer {
    /// Makes a recorder of at most `bytes` bytes, for the first lane.
    ///
    /// # Errors
    /// Fails if there is no memory.
    pub fn create(bytes: usize) -> Result<Self, SegmentError> {
        let shared = Shared { log: Log::create(bytes)?, names: Mutex::default(), sites: Mutex::default() };
        Ok(Self { shared: Arc::new(shared), lane: 0 })
    }

    /// Returns the recorder of another lane of this rank.
    pub fn of_lane(&self, lane: u8) -> Self {
        Self { shared: self.shared.clone(), lane }
    }

    /// Returns the descriptor by which another process reads the log.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.shared.log.fd()
    }

    /// Records an event of this thread at the present moment.
    #[inline]
    pub fn record(&self, event: Event) {
        self.record_at(clock::monotonic_ns(), event);
    }

    /// Records an event of this thread that happened at `at_ns`.
    #[inline]
    pub fn record_at(&self, at_ns: u64, event: Event) {
        let (thread, order) = note_event(at_ns, event.kind);
        let event = Event { at_ns, lane: self.lane, thread, ..event };
        if order == SiteOrder::Before {
            self.record_site(event);
        }
        self.shared.log.append(&[event.encode()]);
        if order == SiteOrder::After {
            self.record_site(event);
        }
    }

    /// Records the site of the call in which this event happened.
    #[cold]
    fn record_site(&self, Event { at_ns, lane, thread, .. }: Event) {
        let name = self.site(site::addresses());
        self.shared
            .log
            .append(&[Event { at_ns, lane, thread, name, ..Event::new(EventKind::CallSite) }.encode()]);
    }

    /// Returns the number of a call site; 0 if there are too many.
    fn site(&self, addresses: Vec<u64>) -> u16 {
        let mut sites = self.shared.sites.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = sites.get(&addresses) {
            return *number;
        }
        let Ok(number) = u16::try_from(sites.len() + 1) else { return 0 };
        let places = code_map::places_of(std::process::id(), &addresses);
        let frame = |place: &code_map::MappedCode| {
            SiteFrame::encode(self.name(&site::module_name(place)), place.address).to_le_bytes()
        };
        let bytes: Vec<u8> = places.iter().flat_map(frame).collect();
        sites.insert(addresses, number);
        self.append_text(EventKind::SiteFrames, number, &bytes);
        number
    }

    /// Records an access to memory of the rank `peer`. If the access has a notice, it records the number of
    /// the notice.
    pub fn record_access(
        &self,
        name: &str,
        peer: u32,
        bytes: usize,
        (route, notice): (AccessRoute, Option<u64>),
    ) {
        let name = self.name(name);
        let tag = notice.map_or(crate::NO_TAG, |notice| notice as u32);
        let (variant, bytes) = (route as u8, bytes as u64);
        self.record(Event { name, peer, bytes, variant, tag, ..Event::new(EventKind::Accessed) });
    }

    /// Returns the number of a name; 0 if there are too many.
    pub fn name(&self, text: &str) -> u16 {
        let mut names = self.shared.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = names.get(text) {
            return *number;
        }
        let Ok(number) = u16::try_from(names.len() + 1) else { return 0 };
        names.insert(text.to_owned(), number);
        let bytes = &text.as_bytes()[..text.floor_char_boundary(MOST_NAME)];
        self.append_text(EventKind::Name, number, bytes);
        number
    }

    /// Records an event of this kind and the bytes that belong to it.
    fn append_text(&self, kind: EventKind, number: u16, bytes: &[u8]) {
        let head = Event {
            at_ns: clock::monotonic_ns(),
            thread: thread_number(),
            name: number,
            bytes: bytes.len() as u64,
            ..Event::new(kind)
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
    }

    /// Records the event `begin`; when the returned value is dropped, it records an event of kind `end` with
    /// the same name, flow and tag.
    pub fn span(self: &Arc<Self>, begin: Event, end: EventKind) -> Span {
        self.record(begin);
        let Event { name, flow, tag, .. } = begin;
        Span { tracer: self.clone(), end: Event { name, flow, tag, ..Event::new(end) } }
    }
}

/// A span of time of this thread, which ends when the value is dropped.
pub struct Span {
    tracer: Arc<Tracer>,
    end: Event,
}

impl Drop for Span {
    fn drop(&mut self) {
        self.tracer.record(self.end);
    }
}

thread_local! {
    static NUMBER: Cell<u16> = const { Cell::new(0) };
    static STATE: ThreadState = const { ThreadState::new() };
}

/// Returns the number of this thread. Threads are numbered in the order of their first events.
fn thread_number() -> u16 {
    static COUNT: AtomicU32 = AtomicU32::new(1);
    // The number of a thread that is ending may be gone.
    NUMBER
        .try_with(|number| {
            if number.get() == 0 {
                // Relaxed: no other memory depends on the number.
                number.set(COUNT.fetch_add(1, Ordering::Relaxed).min(u16::MAX.into()) as u16);
            }
            number.get()
        })
        .unwrap_or(0)
}

/// Notes an event of this thread; returns the thread's number and the order of the event and the site of its
/// call.
#[inline]
fn note_event(at_ns: u64, kind: EventKind) -> (u16, SiteOrder) {
    (thread_number(), STATE.try_with(|state| state.note(at_ns, kind)).unwrap_or(SiteOrder::Never))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LogReader, RankEvents};

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
        let RankEvents { events, names, sites } = RankEvents::decode(&reader.read(0, usize::MAX));
        let kinds: Vec<_> = events.iter().map(|event| event.kind).collect();
        use EventKind::{CallBegin, CallEnd, CallSite, Sent};
        assert_eq!(kinds, [CallBegin, CallSite, CallEnd, Sent, CallSite]);
        assert!(events[0].at_ns <= events[2].at_ns && events[0].thread != events[3].thread);
        let own = std::env::current_exe().unwrap();
        let site = &sites[&events[1].name];
        assert!(site.iter().any(|frame| frame.module == own.to_str().unwrap()), "{site:?}");
        assert_ne!(events[1].name, events[4].name, "the threads call from different places");
        assert_eq!(names[&1], "MPI_Send");
        assert_eq!(names[&2], long[..MOST_NAME - 1], "shortened between characters");
    }

    #[test]
    fn bytes_that_are_no_log_give_no_panic() {
        for length in [0, 1, 31, 32, 33, 4096] {
            RankEvents::decode(&vec![1; length]);
        }
        let head = Event { at_ns: 1, bytes: 1 << 40, ..Event::new(EventKind::Name) };
        let bytes: Vec<u8> = head.encode().into_iter().flat_map(u64::to_le_bytes).collect();
        assert_eq!(RankEvents::decode(&bytes).names[&0], "");
        let head = Event { kind: EventKind::SiteFrames, ..head };
        let bytes: Vec<u8> = head.encode().into_iter().flat_map(u64::to_le_bytes).collect();
        assert!(RankEvents::decode(&bytes).sites[&0].is_empty());
    }
}
