//! Tag matching: assigns messages to receives, within one flow.
//!
//! Owns the receives that wait for a message, the messages that wait for a receive, and the rule between them
//! (that of MPI-4.1, §3.5). A message goes to the receive posted first among those that want it. A receive
//! gets the message that arrived first among those it wants. Never holds the bytes of a message nor the
//! buffer of a receive, only the numbers that their owners gave. Never completes anything; knows no rail and
//! no clock.
//!
//! ```text
//!  receive: take(want) ──▶ found        message: arrive(source, tag) ──▶ request
//!              └─ none ──▶ post(want)               └─ none ──▶ store(source, tag, message)
//! ```
//!
//! A want may leave source, tag or both open, which makes four kinds. Each side keeps one index per kind. A
//! receive is in the index of its kind, and an arrival compares the heads of the (at most four) chains it
//! could go to. A message is in all indexes that receives have used so far, and a receive looks in that of
//! its kind. An entry that began to wait when nothing else waited is in no index and is checked first, for it
//! is the oldest. Every operation takes constant time, amortised and on average over keys. Exceptions are the
//! first look in a rarer index of unexpected messages, which sorts those present, and
//! [`Matcher::posted_from`]. Nothing allocates unless more receives, messages or chains wait than ever
//! before.
//!
//! Cost of a receive and its message together, in x86-64 instructions (release build, by callgrind;
//! `examples/matching_cost.rs` describes each row):
//!
//! | workload | instructions |
//! |---|---|
//! | `exact`: posted first, alone | 55 |
//! | `any-source`: the same, from any source | 56 |
//! | `neighbours`: four posted, of different sources | 176 each |
//! | `unexpected`, `unexpected-anything`: the message first, alone | 116 |

mod index;
mod posted;
#[cfg(test)]
mod tests;
mod unexpected;

use canele_sys::ids::{Rank, RequestId, Tag};

use posted::{Posted, PostedPlace};
use unexpected::Unexpected;

/// The messages a receive accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Want {
    /// Only from this rank; `None`: from any.
    pub source: Option<Rank>,
    /// Only with this tag; `None`: with any.
    pub tag: Option<Tag>,
}

/// The id of a posted receive, to cancel it. Stale, and harmless, once the receive has its message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PostedId(PostedPlace);

/// An unexpected message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FoundMessage {
    /// Its sender.
    pub source: Rank,
    /// The tag it was sent with.
    pub tag: Tag,
    /// The number given to [`Matcher::store`].
    pub message: u32,
}

/// The matching of one flow; see the module's text.
#[derive(Debug, Default)]
pub struct Matcher {
    posted: Posted,
    unexpected: Unexpected,
}

impl Matcher {
    /// Returns a matcher in which nothing waits; allocates nothing yet.
    pub fn new() -> Matcher {
        Matcher::default()
    }

    /// Returns true if neither a receive nor a message waits.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.posted.is_empty() && self.unexpected.is_empty()
    }

    /// Returns true if a message waits.
    #[inline]
    pub fn has_unexpected(&self) -> bool {
        !self.unexpected.is_empty()
    }

    /// Lets a receive wait. The caller has seen [`Matcher::take`] find nothing, or the receive would
    /// overtake.
    #[inline]
    pub fn post(&mut self, want: Want, request: RequestId) -> PostedId {
        self.posted.post(want.into(), request)
    }

    /// Gives an arriving message its receive, which waits no longer; `None` if no receive wants it.
    #[inline]
    pub fn arrive(&mut self, source: Rank, tag: Tag) -> Option<RequestId> {
        self.posted.arrive(envelope(source, tag))
    }

    /// Returns the receive that [`Matcher::arrive`] would give; it stays.
    pub fn wanting(&self, source: Rank, tag: Tag) -> Option<RequestId> {
        self.posted.wanting(envelope(source, tag))
    }

    /// Withdraws a receive; `None` if it has its message already or was withdrawn before.
    #[inline]
    pub fn cancel(&mut self, id: PostedId) -> Option<RequestId> {
        self.posted.cancel(id)
    }

    /// Lets a message wait, under a number that identifies it to the caller. The caller has seen
    /// [`Matcher::arrive`] find nothing.
    #[inline]
    pub fn store(&mut self, source: Rank, tag: Tag, message: u32) {
        self.unexpected.store(envelope(source, tag), message);
    }

    /// Gives a receive its message, which waits no longer; `None` if no waiting message is wanted.
    #[inline]
    pub fn take(&mut self, want: Want) -> Option<FoundMessage> {
        self.unexpected.take(want.into())
    }

    /// Returns the message that [`Matcher::take`] would give; it stays. (Mutable because it may build an
    /// index.)
    #[inline]
    pub fn peek(&mut self, want: Want) -> Option<FoundMessage> {
        self.unexpected.peek(want.into())
    }

    /// Removes the message from `source` with `tag` whose number `is_it` accepts. It looks at all messages
    /// with that source and tag, so it is not for the short path.
    pub fn withdraw(&mut self, source: Rank, tag: Tag, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        self.unexpected.withdraw(envelope(source, tag), is_it)
    }

    /// Returns the messages that wait, in no particular order, with numbers that grow in the order of
    /// arrival. Visits places that messages had before, so not for the short path.
    pub fn unexpected(&self) -> impl Iterator<Item = (u64, FoundMessage)> {
        self.unexpected.iter()
    }

    /// Returns the number of waiting messages.
    pub fn unexpected_count(&self) -> usize {
        self.unexpected.len()
    }

    /// Returns the waiting receives that name `source`, in no particular order: they wait in vain once it is
    /// gone. Visits every place ever used, so not for the short path.
    pub fn posted_from(&self, source: Rank) -> impl Iterator<Item = (PostedId, RequestId)> {
        self.posted.naming(source)
    }
}

/// Joins source and tag of a message into one number, the form in which both are compared and hashed.
#[inline]
fn envelope(source: Rank, tag: Tag) -> u64 {
    u64::from(source.0) << 32 | u64::from(tag.0)
}

/// The parts that a want leaves open; also the number of the index for such wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PatternKind {
    Exact,
    AnySource,
    AnyTag,
    Anything,
}

impl PatternKind {
    const ALL: [PatternKind; 4] =
        [PatternKind::Exact, PatternKind::AnySource, PatternKind::AnyTag, PatternKind::Anything];
    const COUNT: usize = PatternKind::ALL.len();

    /// Returns the key of a message in the index of this kind: the part of its envelope that such wants fix.
    #[inline]
    fn key(self, envelope: u64) -> u64 {
        const FIXED: [u64; PatternKind::COUNT] = [!0, 0x0000_0000_ffff_ffff, 0xffff_ffff_0000_0000, 0];
        envelope & FIXED[self as usize]
    }
}

/// A want as the indexes use it: it accepts the messages whose key in the index of its kind is its key.
#[derive(Clone, Copy, Debug)]
struct Pattern {
    kind: PatternKind,
    key: u64,
}

impl Pattern {
    #[inline]
    fn accepts(self, envelope: u64) -> bool {
        self.kind.key(envelope) == self.key
    }

    /// Returns true if it accepts messages of `source` and of no other.
    fn names(self, source: Rank) -> bool {
        matches!(self.kind, PatternKind::Exact | PatternKind::AnyTag) && self.key >> 32 == u64::from(source.0)
    }
}

impl From<Want> for Pattern {
    #[inline]
    fn from(want: Want) -> Pattern {
        let (kind, source, tag) = match (want.source, want.tag) {
            (Some(source), Some(tag)) => (PatternKind::Exact, source, tag),
            (None, Some(tag)) => (PatternKind::AnySource, Rank(0), tag),
            (Some(source), None) => (PatternKind::AnyTag, source, Tag(0)),
            (None, None) => (PatternKind::Anything, Rank(0), Tag(0)),
        };
        Pattern { kind, key: envelope(source, tag) }
    }
}
