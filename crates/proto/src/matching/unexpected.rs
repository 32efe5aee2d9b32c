//! The messages that wait for their receive.
//!
//! Owns the order of arrival and the ways to find a message; of the message itself it knows source, tag and the
//! opaque number under which its holder keeps the rest. Each message lies in the index of exact wants, and in
//! each rarer index (tag of any source, any tag of a source, anything) from the first time a receive asked that
//! way. Never looks at posted receives: see `posted`.

use canele_sys::ids::{Rank, Tag};

use super::index::{Index, Linked, Links};
use super::{Found, Kind, Want};
use crate::slab::Slab;

/// All unexpected messages of a flow.
#[derive(Debug)]
pub(super) struct Unexpected {
    entries: Slab<Entry>,
    indexes: [Index; Kind::COUNT],
    /// Which indexes are maintained.
    built: [bool; Kind::COUNT],
    /// Counts the messages ever stored; orders an index built late.
    next_stamp: u64,
}

#[derive(Debug)]
struct Entry {
    found: Found,
    stamp: u64,
    links: [Links; Kind::COUNT],
}

impl Linked for Entry {
    #[inline]
    fn links(&mut self, which: usize) -> &mut Links {
        &mut self.links[which]
    }
}

impl Default for Unexpected {
    fn default() -> Unexpected {
        let built = Kind::ALL.map(|kind| kind == Kind::Exact);
        Unexpected { entries: Slab::new(), indexes: Default::default(), built, next_stamp: 0 }
    }
}

impl Unexpected {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    #[inline]
    pub fn store(&mut self, found: Found) {
        let stamp = self.next_stamp;
        self.next_stamp += 1;
        let entry = Entry { found, stamp, links: [Links::LOOSE; Kind::COUNT] };
        let entry = self.entries.insert(entry).index;
        for kind in Kind::ALL {
            if self.built[kind as usize] {
                let key = kind.key(found.source, found.tag);
                self.indexes[kind as usize].append(&mut self.entries, kind as usize, key, entry);
            }
        }
    }

    #[inline]
    pub fn take(&mut self, want: Want) -> Option<Found> {
        let entry = self.first(want)?;
        let Entry { found, links, .. } = self.entries.remove_at(entry);
        for kind in Kind::ALL {
            if self.built[kind as usize] {
                let (which, key) = (kind as usize, kind.key(found.source, found.tag));
                self.indexes[which].unlink(&mut self.entries, which, key, links[which]);
            }
        }
        Some(found)
    }

    #[inline]
    pub fn peek(&mut self, want: Want) -> Option<Found> {
        let entry = self.first(want)?;
        Some(self.entries.at(entry).found)
    }

    /// The message that arrived first among those wanted.
    #[inline]
    fn first(&mut self, want: Want) -> Option<u32> {
        // The usual receive comes before its message: it leaves here, and builds no index for it.
        if self.entries.is_empty() {
            return None;
        }
        let (kind, key) = want.place();
        if !self.built[kind as usize] {
            self.build(kind);
        }
        self.indexes[kind as usize].head(key)
    }

    /// Enters what is here, in order of arrival, into an index that was not asked for before.
    #[cold]
    #[inline(never)]
    fn build(&mut self, kind: Kind) {
        let mut arrived: Vec<(u64, u32, u64)> = self
            .entries
            .iter()
            .map(|(id, entry)| (entry.stamp, id.index, kind.key(entry.found.source, entry.found.tag)))
            .collect();
        arrived.sort_unstable();
        for (_, entry, key) in arrived {
            self.indexes[kind as usize].append(&mut self.entries, kind as usize, key, entry);
        }
        self.built[kind as usize] = true;
    }

    /// Which indexes are maintained.
    #[cfg(test)]
    pub fn built(&self) -> [bool; Kind::COUNT] {
        self.built
    }

    /// Slots and places held, to see that they do not grow.
    #[cfg(test)]
    pub fn held(&self) -> (usize, usize) {
        (self.indexes.iter().map(Index::slots).sum(), self.entries.places())
    }
}
