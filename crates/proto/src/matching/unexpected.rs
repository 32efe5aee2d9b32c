//! The messages that wait for their receive.
//!
//! Owns the order of arrival and the ways to find a message; of the message itself it knows source, tag and the
//! opaque number under which its holder keeps the rest. Each message lies in the index of exact wants, and in
<<<<<<< HEAD
//! each rarer index (tag of any source, any tag of a source, anything) from the first time a receive asked that
//! way. Never looks at posted receives: see `posted`.
=======
//! each rarer index (tag of any source, any tag of a source, anything) from the first time a receive looked that
//! way. Only a message stored while no other waited is in no index: it arrived before all the others, so a
//! receive looks at it before them. Never looks at posted receives: see `posted`.
>>>>>>> matching

use canele_sys::ids::{Rank, Tag};

use super::index::{Index, Linked, Links};
<<<<<<< HEAD
use super::{Found, Kind, Want};
use crate::slab::Slab;
=======
use super::{Found, Kind, Pattern};
use crate::slab::{NIL, Slab};
>>>>>>> matching

/// All unexpected messages of a flow.
#[derive(Debug)]
pub(super) struct Unexpected {
    entries: Slab<Entry>,
<<<<<<< HEAD
    indexes: [Index; Kind::COUNT],
    /// Which indexes are maintained.
    built: [bool; Kind::COUNT],
    /// Counts the messages ever stored; orders an index built late.
    next_stamp: u64,
=======
    /// The message stored while no other waited, as long as it waits; else `NIL`.
    eldest: u32,
    /// Which indexes are maintained.
    built: [bool; Kind::COUNT],
    /// Counts the messages ever stored; orders an index built late. Never wraps.
    next_stamp: u64,
    indexes: [Index; Kind::COUNT],
>>>>>>> matching
}

#[derive(Debug)]
struct Entry {
<<<<<<< HEAD
    found: Found,
=======
    envelope: u64,
    message: u32,
>>>>>>> matching
    stamp: u64,
    links: [Links; Kind::COUNT],
}

<<<<<<< HEAD
=======
impl Entry {
    #[inline]
    fn found(&self) -> Found {
        let (source, tag) = (Rank((self.envelope >> 32) as u32), Tag(self.envelope as u32));
        Found { source, tag, message: self.message }
    }
}

>>>>>>> matching
impl Linked for Entry {
    #[inline]
    fn links(&mut self, which: usize) -> &mut Links {
        &mut self.links[which]
    }
}

impl Default for Unexpected {
    fn default() -> Unexpected {
<<<<<<< HEAD
        let built = Kind::ALL.map(|kind| kind == Kind::Exact);
        Unexpected { entries: Slab::new(), indexes: Default::default(), built, next_stamp: 0 }
=======
        Unexpected {
            entries: Slab::new(),
            eldest: NIL,
            built: Kind::ALL.map(|kind| kind == Kind::Exact),
            next_stamp: 0,
            indexes: Default::default(),
        }
>>>>>>> matching
    }
}

impl Unexpected {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    #[inline]
<<<<<<< HEAD
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
=======
    pub fn store(&mut self, envelope: u64, message: u32) {
        let stamp = self.next_stamp;
        self.next_stamp += 1;
        let alone = self.entries.is_empty();
        let links = [Links::LOOSE; Kind::COUNT];
        let entry = self.entries.insert(Entry { envelope, message, stamp, links }).index;
        if alone {
            self.eldest = entry;
        } else {
            self.enter(envelope, entry);
>>>>>>> matching
        }
    }

    #[inline]
<<<<<<< HEAD
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
=======
    pub fn take(&mut self, pattern: Pattern) -> Option<Found> {
        // The usual receive comes before its message and leaves here.
        if self.entries.is_empty() {
            return None;
        }
        if self.eldest != NIL && pattern.accepts(self.entries.at(self.eldest).envelope) {
            let eldest = core::mem::replace(&mut self.eldest, NIL);
            return Some(self.entries.remove_at(eldest).found());
        }
        let entry = self.first_by_index(pattern)?;
        Some(self.leave(entry))
    }

    #[inline]
    pub fn peek(&mut self, pattern: Pattern) -> Option<Found> {
        if self.entries.is_empty() {
            return None;
        }
        if self.eldest != NIL && pattern.accepts(self.entries.at(self.eldest).envelope) {
            return Some(self.entries.at(self.eldest).found());
        }
        let entry = self.first_by_index(pattern)?;
        Some(self.entries.at(entry).found())
    }

    /// The message that arrived first among those in the indexes that are wanted.
    #[inline(never)]
    fn first_by_index(&mut self, Pattern { kind, key }: Pattern) -> Option<u32> {
>>>>>>> matching
        if !self.built[kind as usize] {
            self.build(kind);
        }
        self.indexes[kind as usize].head(key)
    }

<<<<<<< HEAD
    /// Enters what is here, in order of arrival, into an index that was not asked for before.
    #[cold]
    #[inline(never)]
    fn build(&mut self, kind: Kind) {
        let mut arrived: Vec<(u64, u32, u64)> = self
            .entries
            .iter()
            .map(|(id, entry)| (entry.stamp, id.index, kind.key(entry.found.source, entry.found.tag)))
            .collect();
=======
    /// Puts an entry in the indexes that exist.
    #[inline(never)]
    fn enter(&mut self, envelope: u64, entry: u32) {
        for kind in Kind::ALL {
            if self.built[kind as usize] {
                let (which, key) = (kind as usize, kind.key(envelope));
                self.indexes[which].append(&mut self.entries, which, key, entry);
            }
        }
    }

    /// Takes an entry out, of the indexes too.
    #[inline(never)]
    fn leave(&mut self, index: u32) -> Found {
        let entry = self.entries.remove_at(index);
        for kind in Kind::ALL {
            if self.built[kind as usize] {
                let (which, key) = (kind as usize, kind.key(entry.envelope));
                self.indexes[which].unlink(&mut self.entries, which, key, entry.links[which]);
            }
        }
        entry.found()
    }

    /// Puts what is here, in order of arrival, into an index that no receive used before.
    #[cold]
    #[inline(never)]
    fn build(&mut self, kind: Kind) {
        let others = self.entries.iter().filter(|(id, _)| id.index != self.eldest);
        let mut arrived: Vec<(u64, u32, u64)> =
            others.map(|(id, entry)| (entry.stamp, id.index, kind.key(entry.envelope))).collect();
>>>>>>> matching
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
