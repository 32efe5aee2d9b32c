//! The receives that wait for their message.
//!
//! Owns each posted receive until a message takes it or it is cancelled. Each lies in exactly one of four
//! indexes, that of its kind of want. Stamps tell which of the four chains that accept a message has the
//! oldest receive. Only a receive posted while no other waited is in no index. It is older than all the
//! others, so it is checked first, and a single receive at a time needs no index. Never looks at messages
//! that wait: see `unexpected`.

use canele_sys::ids::{Rank, RequestId};

use super::index::{Index, Linked, Links};
use super::{Pattern, PatternKind, PostedId};
use crate::slab::{Key, Slab};

/// All posted receives of a flow.
#[derive(Debug, Default)]
pub(super) struct Posted {
    /// Receives waiting, the oldest included.
    waiting: u32,
    /// Entries in the three rarer indexes. While there are none, an arrival looks in one index only.
    wildcards: u32,
    /// The receive posted while no other waited, as long as it waits.
    oldest: Option<Oldest>,
    /// Counts the receives ever posted; never wraps (centuries, at one per nanosecond).
    next_stamp: u64,
    /// All receives but the oldest.
    entries: Slab<PostedEntry>,
    indexes: [Index; PatternKind::COUNT],
}

/// The place of a posted receive, with a number that tells it from earlier and later ones there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum PostedPlace {
    /// The receive with this stamp, in `oldest`.
    Oldest(u64),
    Entry(Key),
}

#[derive(Debug)]
struct Oldest {
    pattern: Pattern,
    request: RequestId,
    stamp: u64,
}

#[derive(Debug)]
struct PostedEntry {
    pattern: Pattern,
    request: RequestId,
    stamp: u64,
    links: Links,
}

impl Linked for PostedEntry {
    #[inline]
    fn links(&mut self, _which: usize) -> &mut Links {
        &mut self.links
    }
}

impl Posted {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    #[inline]
    pub fn post(&mut self, pattern: Pattern, request: RequestId) -> PostedId {
        let stamp = self.next_stamp;
        self.next_stamp += 1;
        self.waiting += 1;
        if self.waiting == 1 {
            self.oldest = Some(Oldest { pattern, request, stamp });
            return PostedId(PostedPlace::Oldest(stamp));
        }
        self.post_by_index(pattern, request, stamp)
    }

    #[inline]
    pub fn arrive(&mut self, envelope: u64) -> Option<RequestId> {
        match &self.oldest {
            Some(oldest) if oldest.pattern.accepts(envelope) => {
                let request = oldest.request;
                self.oldest = None;
                self.waiting -= 1;
                Some(request)
            }
            _ => self.arrive_by_index(envelope),
        }
    }

    /// Returns the receive that would get the message if it arrived now; it stays.
    pub fn wanting(&self, envelope: u64) -> Option<RequestId> {
        if let Some(oldest) = self.oldest.as_ref().filter(|oldest| oldest.pattern.accepts(envelope)) {
            return Some(oldest.request);
        }
        let heads =
            PatternKind::ALL.iter().filter_map(|&kind| self.indexes[kind as usize].head(kind.key(envelope)));
        let first = heads.min_by_key(|&entry| self.entries.at(entry).stamp)?;
        Some(self.entries.at(first).request)
    }

    pub fn cancel(&mut self, id: PostedId) -> Option<RequestId> {
        match id.0 {
            PostedPlace::Oldest(stamp) => {
                let oldest = self.oldest.take_if(|oldest| oldest.stamp == stamp)?;
                self.waiting -= 1;
                Some(oldest.request)
            }
            PostedPlace::Entry(key) => {
                self.entries.get(key)?;
                Some(self.leave(key.index))
            }
        }
    }

    /// Returns the receives that want a message of `source` and of no other.
    pub fn naming(&self, source: Rank) -> impl Iterator<Item = (PostedId, RequestId)> {
        let oldest = self.oldest.iter().map(|it| (PostedPlace::Oldest(it.stamp), it.pattern, it.request));
        let others = self.entries.iter().map(|(key, it)| (PostedPlace::Entry(key), it.pattern, it.request));
        oldest
            .chain(others)
            .filter(move |(_, pattern, _)| pattern.names(source))
            .map(|(place, _, request)| (PostedId(place), request))
    }

    #[inline(never)]
    fn post_by_index(&mut self, pattern: Pattern, request: RequestId, stamp: u64) -> PostedId {
        let Pattern { kind, key } = pattern;
        let id = self.entries.insert(PostedEntry { pattern, request, stamp, links: Links::LOOSE });
        self.wildcards += u32::from(kind != PatternKind::Exact);
        self.indexes[kind as usize].append(&mut self.entries, kind as usize, key, id.index);
        PostedId(PostedPlace::Entry(id))
    }

    #[inline(never)]
    fn arrive_by_index(&mut self, envelope: u64) -> Option<RequestId> {
        if self.wildcards != 0 {
            return self.arrive_by_four(envelope);
        }
        let exact = &mut self.indexes[PatternKind::Exact as usize];
        let entry = exact.pop(&mut self.entries, PatternKind::Exact as usize, envelope)?;
        self.waiting -= 1;
        Some(entry.request)
    }

    /// Finds the receive of a message as `arrive_by_index` does, if receives of several kinds may want it.
    #[inline(never)]
    fn arrive_by_four(&mut self, envelope: u64) -> Option<RequestId> {
        let heads =
            PatternKind::ALL.iter().filter_map(|&kind| self.indexes[kind as usize].head(kind.key(envelope)));
        let first = heads.min_by_key(|&entry| self.entries.at(entry).stamp)?;
        Some(self.leave(first))
    }

    /// Removes an entry, from its index too.
    fn leave(&mut self, index: u32) -> RequestId {
        let PostedEntry { pattern: Pattern { kind, key }, request, links, .. } =
            self.entries.remove_at(index);
        self.waiting -= 1;
        self.wildcards -= u32::from(kind != PatternKind::Exact);
        self.indexes[kind as usize].unlink(&mut self.entries, kind as usize, key, links);
        request
    }

    /// Returns the number of receives for which an arrival looks in more than one index.
    #[cfg(test)]
    pub fn wildcards(&self) -> u32 {
        self.wildcards
    }

    /// Returns the slots and places held, to see that they do not grow.
    #[cfg(test)]
    pub fn held(&self) -> (usize, usize) {
        (self.indexes.iter().map(Index::slots).sum(), self.entries.places())
    }
}
