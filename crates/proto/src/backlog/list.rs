//! Lists through a slab: each entry knows its neighbours, so any of them leaves in one step.

use crate::slab::{Key, Slab};

/// The neighbours of an entry in one list.
#[derive(Clone, Copy, Default)]
pub struct Links {
    pub before: Option<Key>,
    pub after: Option<Key>,
}

/// Selects one of the lists that an entry is in.
pub trait Chain {
    type Entry;
    fn links(entry: &mut Self::Entry) -> &mut Links;
}

/// The two ends of a list.
#[derive(Clone, Copy, Default)]
pub struct List {
    pub first: Option<Key>,
    pub last: Option<Key>,
}

impl List {
    /// Appends an entry that is not in this list.
    pub fn push_back<C: Chain>(&mut self, entries: &mut Slab<C::Entry>, key: Key) {
        links::<C>(entries, key).before = self.last;
        match self.last.replace(key) {
            Some(last) => links::<C>(entries, last).after = Some(key),
            None => self.first = Some(key),
        }
    }

    /// Puts an entry that is not in this list before all others.
    pub fn push_front<C: Chain>(&mut self, entries: &mut Slab<C::Entry>, key: Key) {
        links::<C>(entries, key).after = self.first;
        match self.first.replace(key) {
            Some(first) => links::<C>(entries, first).before = Some(key),
            None => self.last = Some(key),
        }
    }

    /// Removes an entry.
    pub fn remove<C: Chain>(&mut self, entries: &mut Slab<C::Entry>, key: Key) {
        let Links { before, after } = std::mem::take(links::<C>(entries, key));
        match before {
            Some(before) => links::<C>(entries, before).after = after,
            None => self.first = after,
        }
        match after {
            Some(after) => links::<C>(entries, after).before = before,
            None => self.last = before,
        }
    }
}

fn links<C: Chain>(entries: &mut Slab<C::Entry>, key: Key) -> &mut Links {
    C::links(entries.get_mut(key).expect("a list holds entries of its slab"))
}
