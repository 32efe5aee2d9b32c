//! The counters of a rank, and their publication for the launcher.

use std::time::Duration;

use canele_proto::{Moved, Traffic};
use canele_rail::Totals;
use canele_sys::atomic::{AtomicU64, Ordering::Relaxed};
use canele_sys::counters::Counter::{self, *};

use crate::lane::Lane;

/// The counts of the engine itself.
#[derive(Default, Clone, Copy)]
pub(crate) struct Counts {
    pub system_calls: u64,
    pub yields: u64,
    pub sleeps: u64,
    pub connections: u64,
    pub waited_ns: u64,
}

impl Counts {
    /// Adds the duration of a wait.
    pub fn count_waited(&mut self, took: Duration) {
        self.waited_ns += took.as_nanos() as u64;
    }

    /// Counts a yield, which is a system call.
    pub fn count_yield(&mut self) {
        self.yields += 1;
        self.system_calls += 1;
    }
}

/// The counters of each rail to other hosts, in their order: links, bytes sent, speed, round trip, bytes
/// under way.
const RAILS: [[Counter; 5]; 4] = [
    [Rail1Links, Rail1Sent, Rail1Speed, Rail1RoundTrip, Rail1UnderWay],
    [Rail2Links, Rail2Sent, Rail2Speed, Rail2RoundTrip, Rail2UnderWay],
    [Rail3Links, Rail3Sent, Rail3Speed, Rail3RoundTrip, Rail3UnderWay],
    [Rail4Links, Rail4Sent, Rail4Speed, Rail4RoundTrip, Rail4UnderWay],
];

/// Stores all counters in `words`; `launcher_calls` is the number of system calls on the control socket,
/// `puts` counts puts without a notice.
pub(super) fn publish(words: &[AtomicU64], lane: &Lane, launcher_calls: u64, puts: Moved) {
    let set = |counter: Counter, value: u64| words[counter as usize].store(value, Relaxed);
    let traffic = &lane.proto.traffic;
    publish_protocols(traffic, set);
    set(LocalSent, traffic.own.messages);
    set(LocalSentBytes, traffic.own.bytes);
    set(PutSent, traffic.put.messages + puts.messages);
    set(PutSentBytes, traffic.put.bytes + puts.bytes);
    set(Unexpected, traffic.unexpected);
    set(Copies, traffic.copies);
    set(ControlSent, traffic.control);
    set(SystemCalls, lane.counts.system_calls + launcher_calls);
    set(Yields, lane.counts.yields);
    set(Sleeps, lane.counts.sleeps);
    set(Wakeups, lane.rails.wakeups());
    set(Connections, lane.counts.connections);
    set(Packets, traffic.packets);
    set(Parts, traffic.parts);
    set(Aggregated, traffic.aggregated);
    set(Waited, traffic.waited);
    set(Deepest, traffic.deepest);
    set(Reordered, traffic.reordered);
    set(LostLinks, traffic.lost_links);
    set(SentAgain, traffic.sent_again);
    set(UnexpectedHeld, lane.proto.unexpected_held());
    set(UnexpectedMost, traffic.unexpected_most.most());
    set(CreditHeld, traffic.credit_held);
    set(CreditMost, traffic.credit_most.most());
    set(CreditTotal, lane.proto.credit_total());
    set(TimeWaited, lane.counts.waited_ns);
    publish_networks(lane.rails.totals(), set);
}

/// Stores the rows of messages by protocol.
fn publish_protocols(traffic: &Traffic, set: impl Fn(Counter, u64)) {
    let rows = [
        [ShortSent, ShortSentBytes, ShortReceived, ShortReceivedBytes],
        [EagerSent, EagerSentBytes, EagerReceived, EagerReceivedBytes],
        [StreamedSent, StreamedSentBytes, StreamedReceived, StreamedReceivedBytes],
        [DirectSent, DirectSentBytes, DirectReceived, DirectReceivedBytes],
    ];
    let [sent, received] = traffic.by_protocol();
    for (row, (sent, received)) in rows.iter().zip(sent.iter().zip(&received)) {
        for (counter, value) in row.iter().zip([sent.messages, sent.bytes, received.messages, received.bytes])
        {
            set(*counter, value);
        }
    }
}

/// Stores the rows of the rails to other hosts.
fn publish_networks(totals: impl Iterator<Item = Totals>, set: impl Fn(Counter, u64)) {
    for (counters, now) in RAILS.iter().zip(totals) {
        let values = [
            u64::from(now.links),
            now.sent,
            u64::from(now.speed.bytes_per_us),
            u64::from(now.speed.round_trip_ns),
            now.speed.under_way as u64,
        ];
        counters.iter().zip(values).for_each(|(counter, value)| set(*counter, value));
    }
}

#[cfg(test)]
mod tests {
    use canele_proto::Envelope;
    use canele_sys::counters::Counters;
    use canele_sys::ids::{FlowId, Rank, Tag};

    use super::*;
    use crate::fixture::two_on_one_host;

    #[test]
    fn what_the_parts_count_is_published_together() {
        let [mut a, _b] = two_on_one_host();
        a.post(Envelope::new(Rank(1), FlowId(0), Tag(0)), &[1; 8][..]);
        a.counts.system_calls = 2;
        let page = a.rails.stats_page();
        publish(page.counters(), &a, 3, Moved { messages: 4, bytes: 50 });
        let seen = Counters::new(page.counters()).snapshot();
        assert_eq!((seen[ShortSent], seen[ShortSentBytes]), (1, 8));
        assert_eq!((seen[PutSent], seen[PutSentBytes]), (4, 50));
        assert_eq!((seen[SystemCalls], seen[Connections]), (5, 1));
    }
}
