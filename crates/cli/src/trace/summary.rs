//! The summary of a trace in numbers, as a pure function of the trace.
//!
//! A sender is *late* by the time that its receiver had already waited when the message was sent. That time
//! starts when the receiver began to wait, or when it received the previous message in the same wait or
//! collective.

use std::collections::BTreeMap;

use serde::Serialize;

use super::causes::{self, Cause};
use super::recorded::{RankTrace, Slice, SliceKind, Trace};

/// The summary of a trace. Times are in µs.
#[derive(Debug, Default, Serialize)]
pub struct Summary {
    pub command: String,
    /// The time from the first event to the last.
    pub took: f64,
    pub ranks: Vec<RankSummary>,
    /// The excess of the longest computing time of a rank over the mean, as a share of the mean.
    pub imbalance: f64,
    pub calls: Vec<CallSummary>,
    /// Non-blocking collectives and one-sided accesses.
    pub operations: Vec<OperationSummary>,
    /// The causes of waits, the most expensive first.
    pub causes: Vec<Cause>,
    pub late_senders: Vec<LateSender>,
    pub sizes: Vec<SizeSummary>,
    pub protocols: Vec<ProtocolSummary>,
    pub rails: Vec<RailSummary>,
    pub pairs: Vec<PairSummary>,
    /// The number of events for which there was no room.
    pub missing: u64,
}

#[derive(Debug, Default, Serialize)]
pub struct RankSummary {
    pub rank: u32,
    pub host: String,
    /// The time from the rank's first event to its last.
    pub took: f64,
    /// The time in calls of the library, including waits.
    pub inside: f64,
    pub waits: f64,
    /// The time outside of the library.
    pub computes: f64,
    pub messages_sent: u64,
    pub bytes_sent: u64,
    pub missing: u64,
}

/// A function of MPI or, in a program without MPI, a collective.
#[derive(Debug, Default, Serialize)]
pub struct CallSummary {
    pub name: String,
    pub calls: u64,
    /// The time of all ranks together.
    pub took: f64,
    /// The rank that spent the longest time in it, followed by that time.
    pub longest_on: u32,
    pub longest: f64,
}

/// All non-blocking collectives, or all one-sided accesses, of one name.
#[derive(Debug, Serialize)]
pub struct OperationSummary {
    pub name: String,
    pub kind: &'static str,
    pub count: u64,
    pub bytes: u64,
    /// The time for which those of all ranks were under way, summed up; none for accesses.
    pub took: Option<f64>,
}

#[derive(Debug, Serialize)]
pub struct LateSender {
    pub sender: u32,
    pub receiver: u32,
    pub messages: u64,
    pub waited: f64,
}

/// The messages of one class of sizes: up to `up_to` bytes, and longer than those of the class before.
#[derive(Debug, Serialize)]
pub struct SizeSummary {
    pub up_to: u64,
    pub messages: u64,
    pub bytes: u64,
}

#[derive(Debug, Serialize)]
pub struct ProtocolSummary {
    pub protocol: String,
    pub messages: u64,
    pub bytes: u64,
}

#[derive(Debug, Serialize)]
pub struct RailSummary {
    pub rail: u8,
    pub bytes: u64,
}

/// Messages and one-sided accesses from one rank to another.
#[derive(Debug, Serialize)]
pub struct PairSummary {
    pub from: u32,
    pub to: u32,
    pub messages: u64,
    pub bytes: u64,
}

impl Summary {
    /// Sums up a trace.
    pub fn of(trace: &Trace) -> Summary {
        let ranks: Vec<_> = trace.ranks.iter().map(|(number, rank)| rank_summary(*number, rank)).collect();
        let longest = ranks.iter().map(|rank| rank.computes).fold(0.0, f64::max);
        let mean = ranks.iter().map(|rank| rank.computes).sum::<f64>() / ranks.len().max(1) as f64;
        let (first, last) = trace
            .ranks
            .values()
            .filter_map(span)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(first, last), (start, end)| {
                (first.min(start), last.max(end))
            });
        Summary {
            command: trace.command.clone(),
            took: (last - first).max(0.0),
            imbalance: if mean > 0.0 { longest / mean - 1.0 } else { 0.0 },
            calls: calls(trace),
            operations: operations(trace),
            causes: causes::causes(trace),
            late_senders: late_senders(trace),
            sizes: sizes(trace),
            protocols: protocols(trace),
            rails: rails(trace),
            pairs: pairs(trace),
            missing: sum(ranks.iter().map(|rank| rank.missing)),
            ranks,
        }
    }
}

/// Returns the sum of numbers from a file. It saturates, because the numbers may have any size.
fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

fn add(sum: &mut u64, number: u64) {
    *sum = sum.saturating_add(number);
}

/// Returns the times of the first and the last event of a rank, if it has any.
pub fn span(rank: &RankTrace) -> Option<(f64, f64)> {
    let slices = rank.slices.iter().map(|slice| (slice.start, slice.end));
    let messages = rank.sends.iter().chain(&rank.receives).map(|end| (end.at, end.at));
    slices.chain(messages).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

fn rank_summary(number: u32, rank: &RankTrace) -> RankSummary {
    let took = span(rank).map_or(0.0, |(start, end)| end - start);
    let inside = covered(rank, |_| true);
    RankSummary {
        rank: number,
        host: rank.host.clone(),
        took,
        inside,
        waits: covered(rank, |slice| slice.kind == SliceKind::Wait),
        computes: (took - inside).max(0.0),
        messages_sent: rank.sends.len() as u64,
        bytes_sent: sum(rank.sends.iter().map(|send| send.bytes)),
        missing: rank.missing,
    }
}

/// Returns the time that any thread of a rank is in any of these slices.
fn covered(rank: &RankTrace, is_meant: impl Fn(&Slice) -> bool) -> f64 {
    let mut parts: Vec<(f64, f64)> =
        rank.slices.iter().filter(|slice| is_meant(slice)).map(|slice| (slice.start, slice.end)).collect();
    parts.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut sum, mut until) = (0.0, f64::NEG_INFINITY);
    for (start, end) in parts {
        if end > until {
            sum += end - start.max(until);
            until = end;
        }
    }
    sum
}

/// Sums up calls by name; for a rank without calls, its collectives.
fn calls(trace: &Trace) -> Vec<CallSummary> {
    let mut all: BTreeMap<&str, (CallSummary, BTreeMap<u32, f64>)> = BTreeMap::new();
    for (number, rank) in &trace.ranks {
        let has_calls = rank.slices.iter().any(|slice| slice.kind == SliceKind::Call);
        let meant = if has_calls { SliceKind::Call } else { SliceKind::Collective };
        for slice in rank.slices.iter().filter(|slice| slice.kind == meant) {
            let (summary, by_rank) = all.entry(&slice.name).or_default();
            let took = slice.end - slice.start;
            summary.calls += 1;
            summary.took += took;
            *by_rank.entry(*number).or_default() += took;
        }
    }
    let mut calls: Vec<_> = all
        .into_iter()
        .map(|(name, (summary, by_rank))| {
            let longest = by_rank.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default();
            CallSummary { name: String::from(name), longest_on: longest.0, longest: longest.1, ..summary }
        })
        .collect();
    calls.sort_by(|a, b| b.took.total_cmp(&a.took));
    calls
}

fn operations(trace: &Trace) -> Vec<OperationSummary> {
    let mut all: BTreeMap<(&'static str, &str), (u64, u64, Option<f64>)> = BTreeMap::new();
    for rank in trace.ranks.values() {
        for operation in &rank.operations {
            let (count, bytes, took) = all.entry(("non-blocking", &operation.name)).or_default();
            *count += 1;
            add(bytes, operation.bytes);
            *took.get_or_insert(0.0) += operation.end - operation.start;
        }
        for access in &rank.accesses {
            let (count, bytes, _) = all.entry(("one-sided", &access.name)).or_default();
            *count += 1;
            add(bytes, access.bytes);
        }
    }
    let of = |((kind, name), (count, bytes, took)): (_, _)| OperationSummary {
        name: String::from(name),
        kind,
        count,
        bytes,
        took,
    };
    all.into_iter().map(of).collect()
}

fn late_senders(trace: &Trace) -> Vec<LateSender> {
    let mut late: BTreeMap<(u32, u32), (u64, f64)> = BTreeMap::new();
    for (receiver, rank) in &trace.ranks {
        let mut waits: Vec<&Slice> =
            rank.slices.iter().filter(|slice| slice.kind != SliceKind::Call).collect();
        // The innermost slice at a moment is the one that began last before it and has not ended.
        waits.sort_by(|a, b| a.start.total_cmp(&b.start));
        let mut receives: Vec<_> = rank.receives.iter().collect();
        receives.sort_by(|a, b| a.at.total_cmp(&b.at));
        let mut begun: BTreeMap<u32, Vec<&Slice>> = BTreeMap::new();
        let mut before: BTreeMap<u32, f64> = BTreeMap::new();
        let mut next = waits.into_iter().peekable();
        for receive in receives {
            while let Some(wait) = next.next_if(|wait| wait.start <= receive.at) {
                begun.entry(wait.thread).or_default().push(wait);
            }
            let stack = begun.entry(receive.thread).or_default();
            while stack.pop_if(|wait| wait.end < receive.at).is_some() {}
            let since = stack.last().map(|wait| wait.start);
            let last = before.insert(receive.thread, receive.at);
            let message = receive.message.and_then(|number| trace.messages.get(&number));
            let (Some(since), Some(message)) = (since, message) else { continue };
            let waited = message.sent_at.min(receive.at) - since.max(last.unwrap_or(since));
            if waited > trace.clock_error(message.from, *receiver) {
                let (messages, sum) = late.entry((message.from, *receiver)).or_default();
                *messages += 1;
                *sum += waited;
            }
        }
    }
    let of = |((sender, receiver), (messages, waited))| LateSender { sender, receiver, messages, waited };
    let mut late: Vec<_> = late.into_iter().map(of).collect();
    late.sort_by(|a, b| b.waited.total_cmp(&a.waited));
    late
}

/// Returns the smallest power of four, from 64 on, that is at least `bytes`; 0 for messages without bytes.
fn size_class(bytes: u64) -> u64 {
    if bytes == 0 {
        0
    } else {
        (3..31).map(|power| 1 << (2 * power)).find(|size| bytes <= *size).unwrap_or(u64::MAX)
    }
}

fn sizes(trace: &Trace) -> Vec<SizeSummary> {
    let mut all: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for send in trace.ranks.values().flat_map(|rank| &rank.sends) {
        let (messages, bytes) = all.entry(size_class(send.bytes)).or_default();
        *messages += 1;
        add(bytes, send.bytes);
    }
    all.into_iter().map(|(up_to, (messages, bytes))| SizeSummary { up_to, messages, bytes }).collect()
}

/// Sums up messages by protocol. For a long message the receiver chooses the protocol. A message whose
/// receive is unknown is counted under the protocol of its send.
fn protocols(trace: &Trace) -> Vec<ProtocolSummary> {
    let mut chosen: BTreeMap<u64, &str> = BTreeMap::new();
    for receive in trace.ranks.values().flat_map(|rank| &rank.receives) {
        if let Some(number) = receive.message.filter(|_| &*receive.protocol != "announced") {
            chosen.insert(number, &receive.protocol);
        }
    }
    let mut all: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for send in trace.ranks.values().flat_map(|rank| &rank.sends) {
        let decided = send.message.and_then(|number| chosen.get(&number).copied());
        let (messages, bytes) = all.entry(decided.unwrap_or(&send.protocol)).or_default();
        *messages += 1;
        add(bytes, send.bytes);
    }
    let of = |(protocol, (messages, bytes)): (&str, _)| ProtocolSummary {
        protocol: protocol.into(),
        messages,
        bytes,
    };
    let mut all: Vec<_> = all.into_iter().map(of).collect();
    all.sort_by_key(|protocol| std::cmp::Reverse(protocol.bytes));
    all
}

fn rails(trace: &Trace) -> Vec<RailSummary> {
    let mut all: BTreeMap<u8, u64> = BTreeMap::new();
    for rank in trace.ranks.values() {
        for send in &rank.sends {
            // Messages of other protocols are counted by their pieces, or are copied without a rail.
            if let Some(rail) = send
                .rail
                .filter(|_| ["short", "eager", "coalesced", "eager-multi"].contains(&&*send.protocol))
            {
                add(all.entry(rail).or_default(), send.bytes);
            }
        }
        rank.pieces.iter().for_each(|(rail, bytes)| add(all.entry(*rail).or_default(), *bytes));
    }
    all.into_iter().map(|(rail, bytes)| RailSummary { rail, bytes }).collect()
}

fn pairs(trace: &Trace) -> Vec<PairSummary> {
    let mut all: BTreeMap<(u32, u32), (u64, u64)> = BTreeMap::new();
    for (from, rank) in &trace.ranks {
        for send in &rank.sends {
            let (messages, bytes) = all.entry((*from, send.peer)).or_default();
            *messages += 1;
            add(bytes, send.bytes);
        }
        for access in &rank.accesses {
            let is_read = access.name.starts_with("get") && &*access.name != "get-accumulate";
            let pair = if is_read { (access.peer, *from) } else { (*from, access.peer) };
            let (messages, bytes) = all.entry(pair).or_default();
            *messages += 1;
            add(bytes, access.bytes);
        }
    }
    all.into_iter().map(|((from, to), (messages, bytes))| PairSummary { from, to, messages, bytes }).collect()
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
