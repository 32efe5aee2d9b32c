//! Call sites: the places in the program at which a thread calls the library.
//!
//! A site is looked up only after a period without events that is much longer than the lookup takes. In that
//! period the thread has computed before the call, or has waited in it. These are the sites of interest, and
//! short calls stay cheap.

use std::cell::Cell;

use canele_sys::{call_stack, code_map};

use crate::event::EventKind;

/// The period without events, in nanoseconds, after which a site is looked up. A lookup takes less than a
/// tenth of it.
pub(crate) const QUIET_NS: u64 = 100_000;
/// The greatest number of frames that are recorded for a site.
pub(crate) const MOST_FRAMES: usize = 24;
const ADDRESS_BITS: u32 = 48;

/// One frame of the call stack: an address in a file of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteFrame {
    /// The path of the file.
    pub module: String,
    /// The length of the file in bytes.
    pub module_bytes: u64,
    /// The address of the code, as the file numbers addresses.
    pub address: u64,
}

/// Returns the name by which a file of code is recorded.
pub(crate) fn module_name(place: &code_map::MappedCode) -> String {
    format!("{} {}", place.module_bytes, place.module)
}

impl SiteFrame {
    /// Encodes a frame: the number of its module's name, and its address.
    pub(crate) fn encode(module: u16, address: u64) -> u64 {
        address & ((1 << ADDRESS_BITS) - 1) | u64::from(module) << ADDRESS_BITS
    }

    /// Decodes a frame; `name` returns the name of a module by its number.
    pub(crate) fn decode<'n>(word: u64, name: impl Fn(u16) -> Option<&'n str>) -> Option<Self> {
        let (bytes, module) = name((word >> ADDRESS_BITS) as u16)?.split_once(' ')?;
        let address = word & ((1 << ADDRESS_BITS) - 1);
        Some(Self { module: module.into(), module_bytes: bytes.parse().ok()?, address })
    }
}

/// Returns the return addresses of this thread's calls.
pub(crate) fn addresses() -> Vec<u64> {
    call_stack::addresses(MOST_FRAMES)
}

/// The state of a thread between two events.
pub(crate) struct ThreadState {
    last_ns: Cell<u64>,
    /// The number of calls of the program that the thread is in.
    calls: Cell<u32>,
    /// True if the site of the current call is recorded.
    has_site: Cell<bool>,
}

/// The order of an event and the call site recorded with it, if one is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SiteOrder {
    Never,
    /// The site is recorded before the event, which ends something.
    Before,
    /// The site is recorded after the event, which begins something.
    After,
}

impl ThreadState {
    pub(crate) const fn new() -> Self {
        Self { last_ns: Cell::new(0), calls: Cell::new(0), has_site: Cell::new(false) }
    }

    /// Notes an event of this thread; returns whether, and in which order, the site of its call is to be
    /// recorded.
    #[inline]
    pub(crate) fn note(&self, at_ns: u64, kind: EventKind) -> SiteOrder {
        let is_quiet = at_ns.saturating_sub(self.last_ns.replace(at_ns)) >= QUIET_NS;
        let calls = self.calls.get();
        match kind {
            EventKind::CallBegin => {
                self.calls.set(calls + 1);
                self.has_site.set(is_quiet);
                if is_quiet { SiteOrder::After } else { SiteOrder::Never }
            }
            EventKind::WaitBegin | EventKind::CollectiveBegin | EventKind::Sent | EventKind::Accessed
                if calls == 0 =>
            {
                self.has_site.set(is_quiet);
                if is_quiet { SiteOrder::After } else { SiteOrder::Never }
            }
            EventKind::CallEnd | EventKind::WaitEnd | EventKind::CollectiveEnd => {
                if kind == EventKind::CallEnd {
                    self.calls.set(calls.saturating_sub(1));
                }
                if is_quiet && !self.has_site.replace(true) { SiteOrder::Before } else { SiteOrder::Never }
            }
            _ => SiteOrder::Never,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_looked_for_behind_a_quiet_stretch_and_once_in_a_call() {
        use EventKind::{CallBegin, CallEnd, WaitBegin, WaitEnd};
        let state = ThreadState::new();
        let orders: Vec<_> = [
            (QUIET_NS, CallBegin),
            (QUIET_NS + 1, WaitBegin),
            (3 * QUIET_NS, WaitEnd),
            (3 * QUIET_NS + 1, CallEnd),
            (3 * QUIET_NS + 2, CallBegin),
            (3 * QUIET_NS + 3, WaitBegin),
            (5 * QUIET_NS, WaitEnd),
            (7 * QUIET_NS, CallEnd),
            (7 * QUIET_NS + 1, WaitBegin),
            (9 * QUIET_NS, EventKind::Sent),
        ]
        .into_iter()
        .map(|(at_ns, kind)| state.note(at_ns, kind))
        .collect();
        use SiteOrder::{After, Before, Never};
        assert_eq!(orders, [After, Never, Never, Never, Never, Never, Before, Never, Never, After]);
    }

    #[test]
    fn a_frame_survives_and_one_without_a_module_is_none() {
        let word = SiteFrame::encode(7, 0x1234_5678_9abc);
        let name = |number: u16| (number == 7).then_some("99 /bin/a b");
        let frame = SiteFrame { module: "/bin/a b".into(), module_bytes: 99, address: 0x1234_5678_9abc };
        assert_eq!(SiteFrame::decode(word, name), Some(frame));
        assert_eq!(SiteFrame::decode(SiteFrame::encode(8, 1), name), None);
        assert_eq!(SiteFrame::decode(word, |_| Some("no number")), None);
    }
}
