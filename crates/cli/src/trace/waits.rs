//! Wait intervals: the parts of each thread's waits between messages, each with the event at another rank
//! that ended it.
//!
//! ```text
//!   receiver   ├──────────── wait ────────────┤          two intervals: one ends with each message
//!                     ▲ first        ▲ second
//!   sender     ───────┘   ───────────┘                   late until it has sent; then the message is on its way
//! ```
//! For a long message that waits for its receiver the roles are exchanged: the receiver is late until it has
//! matched the message.

use std::collections::HashMap;

use super::recorded::{SliceKind, Trace, TracedMessage};
use super::timeline::{Activity, Piece, Timeline};

/// The time after the end of a wait, in µs, within which a message is assumed to have ended the wait.
const FOUND_SOON: f64 = 5.0;
/// The longest rest of a wait behind its last message that is still attributed to that message, in µs.
const SHORT_REST: f64 = 1.0;
/// The most messages after a wait that are examined.
const MOST_LATER: usize = 64;

/// A part of a wait. Times are in µs.
#[derive(Clone, Debug)]
pub struct WaitInterval {
    /// The waiting thread, by its number in the timeline.
    pub thread: usize,
    pub start: f64,
    pub end: f64,
    pub reason: WaitReason,
}

/// The reason why a thread waits.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum WaitReason {
    /// The other thread was late until this moment. After it a message of the rank `sender` was on its way.
    LateUntil { thread: usize, at: f64, sender: u32 },
    /// The wait depends on the other thread, but no event says when that thread did its part.
    DependsOn { thread: usize },
    /// The trace does not contain the reason.
    Unknown,
}

/// A message that may end a wait at one of its ends.
#[derive(Clone, Copy)]
struct WaitEnding {
    /// The moment at which it ends the wait.
    at: f64,
    /// The thread at the other end.
    thread: usize,
    /// The moment at which that thread has done its part.
    done: f64,
    /// The rank that sends the message.
    sender: u32,
}

impl WaitEnding {
    fn reason(self) -> WaitReason {
        WaitReason::LateUntil { thread: self.thread, at: self.done, sender: self.sender }
    }
}

/// Cuts all waits into intervals, and cuts the pieces of the timeline in the same way.
pub fn cut(trace: &Trace, timeline: &mut Timeline) -> Vec<WaitInterval> {
    let mut endings = endings(trace, timeline);
    let collectives = EnteredCollectives::of(timeline);
    let mut waits = Vec::new();
    for thread in 0..timeline.threads.len() {
        let own = endings.remove(&thread).unwrap_or_default();
        let pieces = std::mem::take(&mut timeline.threads[thread].pieces);
        let mut cut = Vec::with_capacity(pieces.len());
        for piece in pieces {
            if piece.activity != Activity::Waits {
                cut.push(piece);
                continue;
            }
            let context = WaitContext { trace, timeline, collectives: &collectives };
            for (end, reason) in parts(&piece, (thread, &own), context) {
                let start = cut.last().map_or(piece.start, |before: &Piece| before.end.max(piece.start));
                cut.push(Piece { start, end, wait: Some(waits.len()), ..piece });
                waits.push(WaitInterval { thread, start, end, reason });
            }
        }
        timeline.threads[thread].pieces = cut;
        timeline.threads[thread].sum();
    }
    waits
}

/// Returns the messages that may end the waits of each thread, in the order of time.
fn endings(trace: &Trace, timeline: &Timeline) -> HashMap<usize, Vec<WaitEnding>> {
    let mut handshake = std::collections::HashSet::new();
    for receive in trace.ranks.values().flat_map(|rank| &rank.receives) {
        if receive.protocol.starts_with("direct") || &*receive.protocol == "streamed" {
            handshake.extend(receive.message);
        }
    }
    let mut endings: HashMap<usize, Vec<WaitEnding>> = HashMap::new();
    for (number, message) in &trace.messages {
        let TracedMessage { from, to, from_thread, to_thread, sent_at, received_at, .. } = *message;
        let ends = timeline.thread(from, from_thread).zip(timeline.thread(to, to_thread));
        let Some((sender, receiver)) = ends.filter(|_| from != to) else { continue };
        let at_receiver = WaitEnding { at: received_at, thread: sender, done: sent_at, sender: from };
        endings.entry(receiver).or_default().push(at_receiver);
        if handshake.contains(number) {
            let at_sender = WaitEnding { thread: receiver, done: received_at, ..at_receiver };
            endings.entry(sender).or_default().push(at_sender);
        }
    }
    endings.values_mut().for_each(|list| list.sort_by(|a, b| a.at.total_cmp(&b.at)));
    endings
}

/// The facts of the job that the cutting of waits needs.
#[derive(Clone, Copy)]
struct WaitContext<'a> {
    trace: &'a Trace,
    timeline: &'a Timeline,
    collectives: &'a EnteredCollectives,
}

impl WaitContext<'_> {
    /// Returns the rank that a piece of a thread waits for, if the trace names it.
    fn peer(&self, thread: usize, piece: &Piece) -> Option<u32> {
        piece.slice.and_then(|slice| self.timeline.threads[thread].slices[slice].peer)
    }

    /// Returns true if a message is from or to the rank that a wait waits for. A wait for no particular rank
    /// may end with any message.
    fn is_of_peer(&self, ending: &WaitEnding, peer: Option<u32>) -> bool {
        peer.is_none_or(|peer| self.timeline.threads[ending.thread].rank == peer)
    }
}

/// Returns the end of each part of a wait, and its reason.
fn parts(
    piece: &Piece,
    (thread, endings): (usize, &[WaitEnding]),
    context: WaitContext<'_>,
) -> Vec<(f64, WaitReason)> {
    let peer = context.peer(thread, piece);
    let first = endings.partition_point(|ending| ending.at <= piece.start);
    let behind = endings.partition_point(|ending| ending.at <= piece.end);
    let mut parts: Vec<(f64, WaitReason)> = Vec::new();
    for ending in endings[first..behind].iter().filter(|ending| context.is_of_peer(ending, peer)) {
        match parts.last_mut().filter(|last| last.0 >= ending.at) {
            Some(last) => last.1 = ending.reason(),
            None => parts.push((ending.at, ending.reason())),
        }
    }
    let Some(last) = parts.last_mut() else {
        return vec![(piece.end, unmatched(piece, (thread, &endings[behind..]), context))];
    };
    if piece.end - last.0 <= SHORT_REST {
        last.0 = piece.end;
    } else if let WaitReason::LateUntil { thread, sender, .. } = last.1 {
        // A long message is on its way after it has met its receive.
        let at = last.0;
        parts.push((piece.end, WaitReason::LateUntil { thread, at, sender }));
    }
    parts
}

/// Returns the reason of a wait that no message has ended. `later` are the messages after the wait.
fn unmatched(piece: &Piece, (thread, later): (usize, &[WaitEnding]), context: WaitContext<'_>) -> WaitReason {
    let WaitContext { trace, timeline, collectives } = context;
    let (own, peer) = (&timeline.threads[thread], context.peer(thread, piece));
    // The awaited message may be received after the wait but in the same call; it was sent before the wait
    // ended.
    let call_end = piece.call.map_or(piece.end, |call| own.slices[call].end).max(piece.end + FOUND_SOON);
    let may_end = |ending: &&WaitEnding| {
        let latest = piece.end + trace.clock_error(own.rank, timeline.threads[ending.thread].rank);
        ending.done > piece.start && ending.done <= latest && context.is_of_peer(ending, peer)
    };
    let mut soon = later.iter().take_while(|ending| ending.at <= call_end).take(MOST_LATER);
    let message = soon.find(may_end).map(|ending| ending.reason());
    let last = collectives.last_to_enter(thread, piece).map(|(other, entered)| {
        let sender = timeline.threads[other].rank;
        WaitReason::LateUntil { thread: other, at: entered, sender }
    });
    // If the wait names no peer, the last rank to enter the collective is the better evidence.
    let known = if peer.is_some() { message.or(last) } else { last.or(message) };
    let other = peer.filter(|peer| *peer != own.rank).and_then(|peer| timeline.thread(peer, own.thread));
    known.or(other.map(|thread| WaitReason::DependsOn { thread })).unwrap_or(WaitReason::Unknown)
}

/// The name of a collective with its communicator, and the number of calls of this name that the rank made
/// before.
type CollectiveKey = (String, usize);

/// The blocking collectives of all ranks. The n-th of a name on a communicator is the same call on all
/// members.
struct EnteredCollectives {
    /// The entries into each collective: the moment and the thread, in the order of time.
    entered: Vec<Vec<(f64, usize)>>,
    /// The innermost collective around each slice of each thread.
    of_slices: Vec<Vec<Option<usize>>>,
}

impl EnteredCollectives {
    fn of(timeline: &Timeline) -> Self {
        let mut all = Self { entered: Vec::new(), of_slices: Vec::new() };
        let mut numbers: HashMap<CollectiveKey, usize> = HashMap::new();
        let mut calls: HashMap<(u32, String), usize> = HashMap::new();
        for (number, thread) in timeline.threads.iter().enumerate() {
            let mut open: Vec<(f64, usize)> = Vec::new();
            let mut of_slices = Vec::with_capacity(thread.slices.len());
            for slice in &thread.slices {
                while open.pop_if(|(end, _)| *end <= slice.start).is_some() {}
                if slice.kind == SliceKind::Collective {
                    let name = format!("{} {}", slice.name, slice.flow.as_deref().unwrap_or(""));
                    let count = calls.entry((thread.rank, name.clone())).or_default();
                    let next = numbers.len();
                    let collective = *numbers.entry((name, *count)).or_insert(next);
                    *count += 1;
                    all.enter(collective, (slice.start, number));
                    open.push((slice.end, collective));
                }
                of_slices.push(open.last().map(|(_, collective)| *collective));
            }
            all.of_slices.push(of_slices);
        }
        all.entered.iter_mut().for_each(|list| list.sort_by(|a, b| a.0.total_cmp(&b.0)));
        all
    }

    fn enter(&mut self, collective: usize, entry: (f64, usize)) {
        if collective >= self.entered.len() {
            self.entered.resize_with(collective + 1, Vec::new);
        }
        self.entered[collective].push(entry);
    }

    /// Returns the last other thread that entered the collective in which a thread waits, and the moment, if
    /// that is during the wait. On other ranks another communicator may have the same number, so earlier
    /// entries explain nothing.
    fn last_to_enter(&self, thread: usize, piece: &Piece) -> Option<(usize, f64)> {
        let entered = &self.entered[self.of_slices[thread][piece.slice?]?];
        let before = entered.partition_point(|(start, _)| *start < piece.end);
        let (start, other) = entered[..before].iter().rev().find(|(_, other)| *other != thread)?;
        (*start > piece.start).then_some((*other, *start))
    }
}

#[cfg(test)]
#[path = "waits_tests.rs"]
mod tests;
