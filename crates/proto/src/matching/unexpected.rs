//! The messages that wait for their receive.
//!
//! Owns the order of arrival and the indexes by which a message is found. Of the message itself it knows
//! source, tag and the opaque number under which its owner keeps the rest. Each message lies in the index of
//! exact wants. It lies in each rarer index (tag of any source, any tag of a source, anything) once a receive
//! has used that index. Only a message stored while no other waited is in no index. It arrived before all the
//! others, so a receive looks at it first. Never looks at posted receives: see `posted`.

use canele_sys::ids::{Rank, Tag};

use super::index::{Index, Linked, Links};
use super::{FoundMessage, Pattern, PatternKind};
use crate::slab::{NIL, Slab};

/// All unexpected messages of a flow.
#[derive(Debug)]
pub(super) struct Unexpected {
    entries: Slab<UnexpectedEntry>,
    /// The message stored while no other waited, as long as it waits; else `NIL`.
    oldest: u32,
    /// True for each index that is maintained.
    built: [bool; PatternKind::COUNT],
    /// Counts the messages ever stored; orders an index built late. Never wraps.
    next_stamp: u64,
    indexes: [Index; PatternKind::COUNT],
}

#[derive(Debug)]
struct UnexpectedEntry {
    envelope: u64,
    message: u32,
    stamp: u64,
    links: [Links; PatternKind::COUNT],
}

impl UnexpectedEntry {
    #[inline]
    fn found(&self) -> FoundMessage {
        let (source, tag) = (Rank((self.envelope >> 32) as u32), Tag(self.envelope as u32));
        FoundMessage { source, tag, message: self.message }
    }
}

impl Linked for UnexpectedEntry {
    #[inline]
    fn links(&mut self, which: usize) -> &mut Links {
        &mut self.links[which]
    }
}

impl Default for Unexpected {
    fn default() -> Unexpected {
        Unexpected {
            entries: Slab::new(),
            oldest: NIL,
            built: PatternKind::ALL.map(|kind| kind == PatternKind::Exact),
            next_stamp: 0,
            indexes: Default::default(),
        }
    }
}

impl Unexpected {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    #[inline]
    pub fn store(&mut self, envelope: u64, message: u32) {
        let stamp = self.next_stamp;
        self.next_stamp += 1;
        let alone = self.entries.is_empty();
        let links = [Links::LOOSE; PatternKind::COUNT];
        let entry = self.entries.insert(UnexpectedEntry { envelope, message, stamp, links }).index;
        if alone {
            self.oldest = entry;
        } else {
            self.enter(envelope, entry);
        }
    }

    #[inline]
    pub fn take(&mut self, pattern: Pattern) -> Option<FoundMessage> {
        // The usual receive comes before its message and ends here.
        if self.entries.is_empty() {
            return None;
        }
        if self.oldest != NIL && pattern.accepts(self.entries.at(self.oldest).envelope) {
            let oldest = core::mem::replace(&mut self.oldest, NIL);
            return Some(self.entries.remove_at(oldest).found());
        }
        let entry = self.first_by_index(pattern)?;
        Some(self.leave(entry))
    }

    #[inline]
    pub fn peek(&mut self, pattern: Pattern) -> Option<FoundMessage> {
        if self.entries.is_empty() {
            return None;
        }
        if self.oldest != NIL && pattern.accepts(self.entries.at(self.oldest).envelope) {
            return Some(self.entries.at(self.oldest).found());
        }
        let entry = self.first_by_index(pattern)?;
        Some(self.entries.at(entry).found())
    }

    /// Removes the message with this envelope whose number `is_it` accepts.
    #[cold]
    pub fn withdraw(&mut self, envelope: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let hit = |entry: &UnexpectedEntry| entry.envelope == envelope && is_it(entry.message);
        if self.oldest != NIL && hit(self.entries.at(self.oldest)) {
            let oldest = core::mem::replace(&mut self.oldest, NIL);
            return Some(self.entries.remove_at(oldest).message);
        }
        let mut next = self.indexes[PatternKind::Exact as usize].head(envelope).unwrap_or(NIL);
        while next != NIL {
            let entry = self.entries.at(next);
            if hit(entry) {
                return Some(self.leave(next).message);
            }
            next = entry.links[PatternKind::Exact as usize].next;
        }
        None
    }

    /// Returns the wanted message that arrived first, among those in the indexes.
    #[inline(never)]
    fn first_by_index(&mut self, Pattern { kind, key }: Pattern) -> Option<u32> {
        if !self.built[kind as usize] {
            self.build(kind);
        }
        self.indexes[kind as usize].head(key)
    }

    /// Puts an entry in the indexes that exist.
    #[inline(never)]
    fn enter(&mut self, envelope: u64, entry: u32) {
        for kind in PatternKind::ALL {
            if self.built[kind as usize] {
                let (which, key) = (kind as usize, kind.key(envelope));
                self.indexes[which].append(&mut self.entries, which, key, entry);
            }
        }
    }

    /// Removes an entry, from the indexes too.
    #[inline(never)]
    fn leave(&mut self, index: u32) -> FoundMessage {
        let entry = self.entries.remove_at(index);
        for kind in PatternKind::ALL {
            if self.built[kind as usize] {
                let (which, key) = (kind as usize, kind.key(entry.envelope));
                self.indexes[which].unlink(&mut self.entries, which, key, entry.links[which]);
            }
        }
        entry.found()
    }

    /// Fills an index that no receive used before with the waiting messages, in order of arrival.
    #[cold]
    #[inline(never)]
    fn build(&mut self, kind: PatternKind) {
        let others = self.entries.iter().filter(|(id, _)| id.index != self.oldest);
        let mut arrived: Vec<(u64, u32, u64)> =
            others.map(|(id, entry)| (entry.stamp, id.index, kind.key(entry.envelope))).collect();
        arrived.sort_unstable();
        for (_, entry, key) in arrived {
            self.indexes[kind as usize].append(&mut self.entries, kind as usize, key, entry);
        }
        self.built[kind as usize] = true;
    }

    /// Returns the messages that wait, in no particular order, with numbers that grow in the order of
    /// arrival.
    pub fn iter(&self) -> impl Iterator<Item = (u64, FoundMessage)> {
        self.entries.iter().map(|(_, entry)| (entry.stamp, entry.found()))
    }

    /// Returns the number of waiting messages.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true for each index that is maintained.
    #[cfg(test)]
    pub fn built(&self) -> [bool; PatternKind::COUNT] {
        self.built
    }

    /// Returns the slots and places held, to see that they do not grow.
    #[cfg(test)]
    pub fn held(&self) -> (usize, usize) {
        (self.indexes.iter().map(Index::slots).sum(), self.entries.places())
    }
}
