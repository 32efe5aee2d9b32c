//! A table whose entries keep their place until removed, and whose keys outlive them harmlessly.
//!
//! Owns the entries and the reuse of their places: the place freed last is taken first, without allocating,
//! while it is still in the cache. A key carries the generation of its place, so a key kept after its entry
//! was removed finds nothing, never the next entry there. Never shrinks: it holds as many places as were once
//! in use at the same time.
//!
//! ```
//! # use canele_proto::slab::Slab;
//! let mut slab = Slab::new();
//! let first = slab.insert('a');
//! assert_eq!(slab.remove(first), Some('a'));
//! let second = slab.insert('b');
//! assert_eq!((second.index, slab.get(first)), (first.index, None));
//! ```

use canele_sys::ids::RequestId;

/// No place: the end of a chain of places. Never the index of an entry.
pub const NIL: u32 = u32::MAX;

/// The place of an entry, with the number that tells it from earlier and later entries there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Key {
    /// The place in the slab.
    pub index: u32,
    /// Counts the entries that the place has had.
    pub generation: u32,
}

impl From<Key> for RequestId {
    fn from(key: Key) -> RequestId {
        RequestId { index: key.index, generation: key.generation }
    }
}

impl From<RequestId> for Key {
    fn from(id: RequestId) -> Key {
        Key { index: id.index, generation: id.generation }
    }
}

/// A table of `T` with generational keys; see the module's text.
#[derive(Debug)]
pub struct Slab<T> {
    slots: Vec<Slot<T>>,
    /// The place freed last, or `NIL`.
    free: u32,
    /// Entries present, not places.
    len: u32,
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    content: Content<T>,
}

#[derive(Debug)]
enum Content<T> {
    Occupied(T),
    /// `next` is the place freed before this one, or `NIL`.
    Vacant {
        next: u32,
    },
}

impl<T> Slot<T> {
    /// Advances the generation of a place whose entry has left; returns the new head of the free list. A
    /// place whose generations are used up never joins the list: otherwise an old key would find another
    /// entry 2^32 entries later.
    #[inline(always)]
    fn retire(&mut self, index: u32, free: u32) -> u32 {
        if self.generation == u32::MAX {
            return free;
        }
        self.generation += 1;
        index
    }
}

impl<T> Slab<T> {
    /// Makes an empty slab; allocates nothing yet.
    pub const fn new() -> Slab<T> {
        Slab { slots: Vec::new(), free: NIL, len: 0 }
    }

    /// Returns the number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns true if there is no entry.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of places, taken or free: the memory held.
    pub fn places(&self) -> usize {
        self.slots.len()
    }

    /// Adds an entry. Allocates only when more entries are present than ever before.
    #[inline]
    pub fn insert(&mut self, value: T) -> Key {
        if self.free == NIL {
            self.add_place();
        }
        let index = self.free;
        let slot = &mut self.slots[index as usize];
        let Content::Vacant { next } = slot.content else {
            unreachable!("a place on the free list is vacant")
        };
        slot.content = Content::Occupied(value);
        self.free = next;
        self.len += 1;
        Key { index, generation: slot.generation }
    }

    /// Adds a free place if there is none.
    #[cold]
    #[inline(never)]
    fn add_place(&mut self) {
        assert!(self.slots.len() < NIL as usize, "a slab holds fewer than 2^32 - 1 entries");
        self.free = self.slots.len() as u32;
        self.slots.push(Slot { generation: 0, content: Content::Vacant { next: NIL } });
    }

    /// Returns the entry, unless it was removed.
    #[inline]
    pub fn get(&self, key: Key) -> Option<&T> {
        match self.slots.get(key.index as usize) {
            Some(Slot { generation, content: Content::Occupied(value) }) if *generation == key.generation => {
                Some(value)
            }
            _ => None,
        }
    }

    /// Returns the entry to change, unless it was removed.
    #[inline]
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        match self.slots.get_mut(key.index as usize) {
            Some(Slot { generation, content: Content::Occupied(value) }) if *generation == key.generation => {
                Some(value)
            }
            _ => None,
        }
    }

    /// Takes the entry out, unless that was done before.
    #[inline]
    pub fn remove(&mut self, key: Key) -> Option<T> {
        self.get(key)?;
        Some(self.remove_at(key.index))
    }

    /// Drops the entry, unless that was done before.
    #[inline(always)]
    pub fn discard(&mut self, key: Key) {
        let Some(slot) = self.slots.get_mut(key.index as usize) else { return };
        if slot.generation == key.generation && matches!(slot.content, Content::Occupied(_)) {
            slot.content = Content::Vacant { next: self.free };
            self.len -= 1;
            self.free = slot.retire(key.index, self.free);
        }
    }

    /// Returns the key of the entry that is, or was last, at a place.
    pub fn key_at(&self, index: u32) -> Key {
        Key { index, generation: self.slots[index as usize].generation }
    }

    /// Returns the entry at a place, for owners that chain their entries by index.
    ///
    /// # Panics
    /// The place is free.
    #[inline]
    pub fn at(&self, index: u32) -> &T {
        match &self.slots[index as usize].content {
            Content::Occupied(value) => value,
            Content::Vacant { .. } => vacant(index),
        }
    }

    /// Returns the entry at a place, to change.
    ///
    /// # Panics
    /// The place is free.
    #[inline]
    pub fn at_mut(&mut self, index: u32) -> &mut T {
        match &mut self.slots[index as usize].content {
            Content::Occupied(value) => value,
            Content::Vacant { .. } => vacant(index),
        }
    }

    /// Takes out the entry at a place.
    ///
    /// # Panics
    /// The place is free.
    #[inline]
    pub fn remove_at(&mut self, index: u32) -> T {
        let slot = &mut self.slots[index as usize];
        if matches!(slot.content, Content::Vacant { .. }) {
            vacant(index);
        }
        let content = core::mem::replace(&mut slot.content, Content::Vacant { next: self.free });
        self.len -= 1;
        self.free = slot.retire(index, self.free);
        match content {
            Content::Occupied(value) => value,
            Content::Vacant { .. } => vacant(index),
        }
    }

    /// Returns all entries with their keys, by place (which is not the order of insertion).
    pub fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| match &slot.content {
            Content::Occupied(value) => {
                Some((Key { index: index as u32, generation: slot.generation }, value))
            }
            Content::Vacant { .. } => None,
        })
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab::new()
    }
}

#[cold]
#[inline(never)]
fn vacant(index: u32) -> ! {
    panic!("slab place {index} is free: its owner's chain of entries is broken")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_freed_place_is_reused_last_first_and_its_old_key_finds_nothing() {
        let mut slab = Slab::new();
        let keys: Vec<Key> = (0..3).map(|value| slab.insert(value)).collect();
        assert_eq!(slab.remove(keys[0]), Some(0));
        assert_eq!(slab.remove(keys[2]), Some(2));
        let again = [slab.insert(10), slab.insert(11)];
        assert_eq!([again[0].index, again[1].index], [keys[2].index, keys[0].index]);
        assert_eq!((slab.get(keys[0]), slab.get(keys[2])), (None, None));
        assert_eq!(slab.get_mut(keys[2]), None);
        assert_eq!(slab.remove(keys[0]), None);
        assert_eq!((slab.get(again[0]), slab.get(keys[1])), (Some(&10), Some(&1)));
        assert_eq!((slab.len(), slab.places()), (3, 3));
    }

    #[test]
    fn a_place_with_no_generation_left_is_retired() {
        let mut slab = Slab::new();
        let key = slab.insert('a');
        slab.slots[0].generation = u32::MAX;
        let last = Key { generation: u32::MAX, ..key };
        assert_eq!(slab.remove(last), Some('a'));
        assert_eq!(slab.remove(last), None);
        assert_eq!((slab.get(last), slab.len()), (None, 0));
        assert_eq!(slab.insert('b'), Key { index: 1, generation: 0 });
    }

    #[test]
    #[should_panic(expected = "place 0 is free")]
    fn a_free_place_is_not_read_by_index() {
        let mut slab = Slab::new();
        let key = slab.insert(1);
        slab.remove(key);
        slab.at(0);
    }

    /// The most steps of a random test.
    const MOST: usize = if cfg!(miri) { 40 } else { 200 };

    proptest! {
        /// Each step inserts its number, or removes the entry of one of all keys ever given.
        #[test]
        fn behaves_as_a_list_of_keys_and_values(program in prop::collection::vec((any::<bool>(), any::<u8>()), 0..MOST)) {
            let mut slab = Slab::new();
            let mut given: Vec<(Key, Option<u8>)> = Vec::new();
            let mut peak = 0;
            for (insert, number) in program {
                if insert {
                    given.push((slab.insert(number), Some(number)));
                } else if !given.is_empty() {
                    let at = number as usize % given.len();
                    let (key, value) = &mut given[at];
                    prop_assert_eq!(slab.remove(*key), value.take());
                }
                for (key, value) in &given {
                    prop_assert_eq!(slab.get(*key).copied(), *value);
                }
                let present: Vec<_> = given.iter().filter_map(|&(key, value)| Some((key, value?))).collect();
                peak = peak.max(present.len());
                prop_assert_eq!((slab.len(), slab.places()), (present.len(), peak));
                let mut found: Vec<_> = slab.iter().map(|(key, &value)| (key, value)).collect();
                found.sort();
                let mut present = present;
                present.sort();
                prop_assert_eq!(found, present);
            }
        }
    }
}
