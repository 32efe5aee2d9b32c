//! The counters of a rank: one table gives each its name, unit and meaning.
//!
//! The counters lie in shared memory, so that the launcher can read those of a rank that no longer answers.
//! Each counter has one writer at a time (a rank's threads take turns at its lock), so counting is a plain
//! load, addition and store (invariant I1).
//!
//! This module never counts anything by itself, and never reads a clock.

use crate::atomic::{AtomicU64, Ordering};
use std::ops::Index;

/// Turns the table below into the enumeration and its rows.
macro_rules! counters {
    ($($variant:ident, $name:literal, $unit:literal, $doc:literal $(, $class:ident)?;)*) => {
        /// A counter of a rank. Its number is its slot.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Counter {
            $(#[doc = concat!($unit, " ", $doc, ".")] $variant,)*
        }

        impl Counter {
            /// The table, in the order of the slots.
            pub const TABLE: &'static [CounterRow] = &[
                $(CounterRow {
                    counter: Counter::$variant,
                    name: $name,
                    unit: $unit,
                    doc: $doc,
                    class: class!($unit $($class)?),
                },)*
            ];

            /// The number of slots that the counters of a rank take.
            pub const COUNT: usize = Counter::TABLE.len();
        }
    };
}

/// Expands to the class of a row: the one that the row names, or else the one that its unit suggests.
macro_rules! class {
    ($unit:literal) => {
        CounterClass::of_unit($unit)
    };
    ($unit:literal $class:ident) => {
        CounterClass::$class
    };
}

counters! {
    // variant, name, unit, meaning, class if it is neither a count nor, in bytes, a sum
    ShortSent, "short_sent", "messages", "sent in one cell";
    ShortSentBytes, "short_sent_bytes", "bytes", "payload sent in single cells";
    ShortReceived, "short_received", "messages", "received in one cell";
    ShortReceivedBytes, "short_received_bytes", "bytes", "payload received in single cells";
    EagerSent, "eager_sent", "messages", "sent without asking, through a payload ring";
    EagerSentBytes, "eager_sent_bytes", "bytes", "payload sent without asking";
    EagerReceived, "eager_received", "messages", "received unasked, through a payload ring";
    EagerReceivedBytes, "eager_received_bytes", "bytes", "payload received unasked";
    StreamedSent, "streamed_sent", "messages", "sent after a handshake, in pieces";
    StreamedSentBytes, "streamed_sent_bytes", "bytes", "payload sent in pieces";
    StreamedReceived, "streamed_received", "messages", "received after a handshake, in pieces";
    StreamedReceivedBytes, "streamed_received_bytes", "bytes", "payload received in pieces";
    DirectSent, "direct_sent", "messages", "sent by one copy between regions and buffers";
    DirectSentBytes, "direct_sent_bytes", "bytes", "payload sent by one copy";
    DirectReceived, "direct_received", "messages", "received by one copy between regions and buffers";
    DirectReceivedBytes, "direct_received_bytes", "bytes", "payload received by one copy";
    PutSent, "put_sent", "messages", "written in place at the receiver's";
    PutSentBytes, "put_sent_bytes", "bytes", "payload written in place at the receiver's";
    LocalSent, "local_sent", "messages", "sent to the rank itself";
    LocalSentBytes, "local_sent_bytes", "bytes", "payload sent to the rank itself";
    Unexpected, "unexpected", "messages", "arrived before a receive asked for them";
    Copies, "copies", "times", "payload was copied by this rank";
    ControlSent, "control_sent", "cells", "sent that carry no message";
    SystemCalls, "system_calls", "calls", "made by the library after its start";
    Yields, "yields", "times", "a wait gave its processor away";
    Sleeps, "sleeps", "times", "a wait slept";
    Wakeups, "wakeups", "times", "this rank woke a sleeping peer";
    Connections, "connections", "peers", "connected on first use";
    Packets, "packets", "packets", "put together from what waited";
    Parts, "parts", "parts", "of those packets: messages, answers and pieces";
    Aggregated, "aggregated", "bytes", "copied to put several parts into one packet";
    Waited, "waited", "messages", "had to wait before they could leave";
    Deepest, "deepest", "messages", "waited at once for one peer, at most", HighWatermark;
    Reordered, "reordered", "messages", "came before one that stands before them";
    LostLinks, "lost_links", "links", "were lost, and made again where possible";
    SentAgain, "sent_again", "packets", "that were on a lost link and went another way";
    Rail1Links, "rail1_links", "links", "over TCP rail 1 now", Level;
    Rail1Sent, "rail1_sent", "bytes", "sent over TCP rail 1";
    Rail1Speed, "rail1_speed", "bytes/us", "measured on the fastest link over rail 1", Level;
    Rail1RoundTrip, "rail1_round_trip", "ns", "shortest time to an acknowledgement over rail 1", Level;
    Rail1UnderWay, "rail1_under_way", "bytes", "sent over rail 1 and not acknowledged", Level;
    Rail2Links, "rail2_links", "links", "over TCP rail 2 now", Level;
    Rail2Sent, "rail2_sent", "bytes", "sent over TCP rail 2";
    Rail2Speed, "rail2_speed", "bytes/us", "measured on the fastest link over rail 2", Level;
    Rail2RoundTrip, "rail2_round_trip", "ns", "shortest time to an acknowledgement over rail 2", Level;
    Rail2UnderWay, "rail2_under_way", "bytes", "sent over rail 2 and not acknowledged", Level;
    Rail3Links, "rail3_links", "links", "over TCP rail 3 now", Level;
    Rail3Sent, "rail3_sent", "bytes", "sent over TCP rail 3";
    Rail3Speed, "rail3_speed", "bytes/us", "measured on the fastest link over rail 3", Level;
    Rail3RoundTrip, "rail3_round_trip", "ns", "shortest time to an acknowledgement over rail 3", Level;
    Rail3UnderWay, "rail3_under_way", "bytes", "sent over rail 3 and not acknowledged", Level;
    Rail4Links, "rail4_links", "links", "over TCP rail 4 now", Level;
    Rail4Sent, "rail4_sent", "bytes", "sent over TCP rail 4";
    Rail4Speed, "rail4_speed", "bytes/us", "measured on the fastest link over rail 4", Level;
    Rail4RoundTrip, "rail4_round_trip", "ns", "shortest time to an acknowledgement over rail 4", Level;
    Rail4UnderWay, "rail4_under_way", "bytes", "sent over rail 4 and not acknowledged", Level;
    UnexpectedHeld, "unexpected_held", "messages", "held now that no receive has asked for yet", Level;
    UnexpectedMost, "unexpected_most", "messages", "held at once that no receive had asked for, at most", HighWatermark;
    CreditHeld, "credit_held", "bytes", "of credit that messages held here take now", Level;
    CreditMost, "credit_most", "bytes", "of credit that messages held here took at once, at most", HighWatermark;
    CreditTotal, "credit_total", "bytes", "of credit that this rank gives all peers together", Size;
    TimeWaited, "time_waited", "ns", "in which waits looked again and again, had given the processor away, or slept", Timer;
}

impl Counter {
    /// Returns the value for two lanes of a rank together; a lane that has no value passes 0.
    pub fn of_both(self, one: u64, other: u64) -> u64 {
        use Counter::*;
        match self {
            Deepest | Rail1Speed | Rail2Speed | Rail3Speed | Rail4Speed => one.max(other),
            Rail1RoundTrip | Rail2RoundTrip | Rail3RoundTrip | Rail4RoundTrip => match (one, other) {
                (0, known) | (known, 0) => known,
                (one, other) => one.min(other),
            },
            _ => one.wrapping_add(other),
        }
    }
}

/// The kind of number that a counter is, which says how it moves (MPI 5.0, §15.3.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterClass {
    /// A number of events: it only grows.
    Count,
    /// A sum over events: it only grows.
    Sum,
    /// Elapsed time: it only grows.
    Timer,
    /// An amount that exists now.
    Level,
    /// A size, which hardly ever changes.
    Size,
    /// The highest level so far.
    HighWatermark,
}

impl CounterClass {
    /// Returns the class of counters with this unit.
    const fn of_unit(unit: &str) -> Self {
        match unit.as_bytes() {
            b"bytes" => Self::Sum,
            _ => Self::Count,
        }
    }
}

/// The table's row for one counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterRow {
    /// The counter.
    pub counter: Counter,
    /// Its name in listings.
    pub name: &'static str,
    /// The unit of the counted things.
    pub unit: &'static str,
    /// The things that it counts: read unit and meaning as one phrase.
    pub doc: &'static str,
    /// The kind of number that it is.
    pub class: CounterClass,
}

/// The counters of one rank, in any memory.
#[derive(Clone, Copy, Debug)]
pub struct Counters<'a> {
    slots: &'a [AtomicU64],
}

impl<'a> Counters<'a> {
    /// Returns the counters that lie in the first [`Counter::COUNT`] of `slots`.
    ///
    /// # Panics
    /// Panics if there are fewer slots: the layout of a segment was checked before.
    pub fn new(slots: &'a [AtomicU64]) -> Counters<'a> {
        let have = slots.len();
        assert!(have >= Counter::COUNT, "{} counters do not fit in {have} slots", Counter::COUNT);
        Counters { slots: &slots[..Counter::COUNT] }
    }

    /// Adds `n`. Only one thread at a time may call it: two at once may lose counts, but do no other harm.
    #[inline(always)]
    pub fn add(&self, counter: Counter, n: u64) {
        let slot = &self.slots[counter as usize];
        // Relaxed: a counter publishes nothing, and readers only need a recent value.
        slot.store(slot.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }

    /// Returns the present values; each is right, but they may belong to slightly different moments.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { values: std::array::from_fn(|i| self.slots[i].load(Ordering::Relaxed)) }
    }
}

/// The values of all counters at about one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    values: [u64; Counter::COUNT],
}

impl Snapshot {
    /// Iterates over each counter's row with its value, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = (&'static CounterRow, u64)> {
        Counter::TABLE.iter().zip(self.values)
    }

    /// Returns the values of two lanes of a rank together.
    pub fn with(&self, other: &Snapshot) -> Snapshot {
        let together = |row: &CounterRow| {
            let at = row.counter as usize;
            row.counter.of_both(self.values[at], other.values[at])
        };
        Snapshot { values: std::array::from_fn(|i| together(&Counter::TABLE[i])) }
    }

    /// Returns the counts since `earlier` was taken.
    pub fn since(&self, earlier: &Snapshot) -> Snapshot {
        Snapshot { values: std::array::from_fn(|i| self.values[i].wrapping_sub(earlier.values[i])) }
    }
}

impl Index<Counter> for Snapshot {
    type Output = u64;

    fn index(&self, counter: Counter) -> &u64 {
        &self.values[counter as usize]
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn slots(count: usize) -> Vec<AtomicU64> {
        (0..count).map(|_| AtomicU64::new(0)).collect()
    }

    #[test]
    fn of_two_lanes_levels_are_joined_as_what_they_are() {
        let of_both = |counter: Counter, one, other| counter.of_both(one, other);
        assert_eq!(of_both(Counter::LocalSent, 3, 4), 7);
        assert_eq!(of_both(Counter::Deepest, 3, 4), 4);
        assert_eq!(of_both(Counter::Rail2Speed, 900, 800), 900);
        assert_eq!(of_both(Counter::Rail1RoundTrip, 30, 20), 20);
        assert_eq!(of_both(Counter::Rail1RoundTrip, 0, 20), 20, "no link of that lane is over the rail");
        let speeds = Counter::TABLE.iter().filter(|row| row.name.ends_with("_speed"));
        assert!(speeds.clone().count() > 0);
        assert!(speeds.into_iter().all(|row| row.counter.of_both(1, 2) == 2));
        let mut times = Counter::TABLE.iter().filter(|row| row.name.ends_with("_round_trip"));
        assert!(times.all(|row| row.counter.of_both(1, 2) == 1));
    }

    #[test]
    fn the_table_is_in_the_order_of_the_slots() {
        for (slot, row) in Counter::TABLE.iter().enumerate() {
            assert_eq!(row.counter as usize, slot);
            assert!(Counter::TABLE[..slot].iter().all(|other| other.name != row.name), "{}", row.name);
        }
    }

    #[test]
    fn a_row_has_the_class_that_it_names_or_that_of_its_unit() {
        let class = |counter: Counter| Counter::TABLE[counter as usize].class;
        assert_eq!(class(Counter::ShortSent), CounterClass::Count);
        assert_eq!(class(Counter::ShortSentBytes), CounterClass::Sum);
        assert_eq!(class(Counter::CreditHeld), CounterClass::Level);
        assert_eq!(class(Counter::Deepest), CounterClass::HighWatermark);
    }

    #[test]
    fn counts_go_to_their_slot_alone() {
        let slots = slots(Counter::COUNT + 3);
        let counters = Counters::new(&slots);
        counters.add(Counter::Sleeps, 2);
        let before = counters.snapshot();
        counters.add(Counter::Sleeps, 40);
        counters.add(Counter::Yields, 1);
        let now = counters.snapshot();
        assert_eq!((now[Counter::Sleeps], now[Counter::Yields], now[Counter::ShortSent]), (42, 1, 0));
        let changed: Vec<_> = now.since(&before).iter().filter(|&(_, value)| value != 0).collect();
        let changed: Vec<_> = changed.iter().map(|(row, value)| (row.name, *value)).collect();
        assert_eq!(changed, [("yields", 1), ("sleeps", 40)]);
    }

    #[test]
    fn counting_beyond_the_last_number_starts_again() {
        let slots = slots(Counter::COUNT);
        let counters = Counters::new(&slots);
        counters.add(Counter::Copies, u64::MAX);
        let before = counters.snapshot();
        counters.add(Counter::Copies, 5);
        assert_eq!(counters.snapshot().since(&before)[Counter::Copies], 5);
    }

    #[test]
    #[should_panic(expected = "counters do not fit in 3 slots")]
    fn too_few_slots_are_a_mistake() {
        Counters::new(&slots(3));
    }
}
