//! The receives that wait for their message.
//!
//! Owns each posted receive until a message takes it or it is cancelled. Each lies in exactly one of four
//! indexes, that of its kind of want; stamps tell which of the four chains a message could go to was posted to
//! first. Never looks at messages that wait: see `unexpected`.

use canele_sys::ids::{Rank, RequestId, Tag};

use super::index::{Index, Linked, Links};
use super::{Kind, PostedId, Want};
use crate::slab::Slab;

/// All posted receives of a flow.
#[derive(Debug, Default)]
pub(super) struct Posted {
    entries: Slab<Entry>,
    indexes: [Index; Kind::COUNT],
    /// Entries whose want is not exact. While there are none, an arrival looks in one index only.
    wildcards: u32,
    /// Counts the receives ever posted; never wraps (centuries, at one per nanosecond).
    next_stamp: u64,
}

#[derive(Debug)]
struct Entry {
    want: Want,
    request: RequestId,
    stamp: u64,
    links: Links,
}

impl Linked for Entry {
    #[inline]
    fn links(&mut self, _which: usize) -> &mut Links {
        &mut self.links
    }
}

impl Posted {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    #[inline]
    pub fn post(&mut self, want: Want, request: RequestId) -> PostedId {
        let stamp = self.next_stamp;
        self.next_stamp += 1;
        let id = self.entries.insert(Entry { want, request, stamp, links: Links::LOOSE });
        let (kind, key) = want.place();
        self.wildcards += u32::from(kind != Kind::Exact);
        self.indexes[kind as usize].append(&mut self.entries, kind as usize, key, id.index);
        PostedId(id)
    }

    #[inline]
    pub fn arrive(&mut self, source: Rank, tag: Tag) -> Option<RequestId> {
        let entry = if self.wildcards == 0 {
            self.indexes[Kind::Exact as usize].head(Kind::Exact.key(source, tag))?
        } else {
            self.first_of_four(source, tag)?
        };
        Some(self.remove_at(entry))
    }

    #[inline]
    pub fn cancel(&mut self, id: PostedId) -> Option<RequestId> {
        self.entries.get(id.0)?;
        Some(self.remove_at(id.0.index))
    }

    /// The receives that want a message of `source` and of no other.
    pub fn naming(&self, source: Rank) -> impl Iterator<Item = (PostedId, RequestId)> {
        self.entries
            .iter()
            .filter(move |(_, entry)| entry.want.source == Some(source))
            .map(|(key, entry)| (PostedId(key), entry.request))
    }

    /// The receive posted first among those that want this message.
    fn first_of_four(&self, source: Rank, tag: Tag) -> Option<u32> {
        Kind::ALL
            .iter()
            .filter_map(|&kind| self.indexes[kind as usize].head(kind.key(source, tag)))
            .min_by_key(|&entry| self.entries.at(entry).stamp)
    }

    #[inline]
    fn remove_at(&mut self, index: u32) -> RequestId {
        let entry = self.entries.remove_at(index);
        let (kind, key) = entry.want.place();
        self.wildcards -= u32::from(kind != Kind::Exact);
        self.indexes[kind as usize].unlink(&mut self.entries, kind as usize, key, entry.links);
        entry.request
    }

    /// Slots and places held, to see that they do not grow.
    #[cfg(test)]
    pub fn held(&self) -> (usize, usize) {
        (self.indexes.iter().map(Index::slots).sum(), self.entries.places())
    }
}
