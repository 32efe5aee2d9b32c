//! An index of entries: first-in-first-out chains of slab entries, by a 64-bit key.
//!
//! Owns an open-addressed table that maps a key to the first and last entry of its chain. The links between
//! entries lie in the entries themselves, so an entry can be in several indexes at once and leaves each
//! without a search. Never owns or frees the entries.
//!
//! A chain leaves the table with its last entry (the entries behind it in the table move up). So ever-new
//! keys do not make the table grow. It holds at most four slots per chain that was alive at the same time,
//! and nothing has to be swept. It is no `HashMap`: a lookup here is a multiplication and usually one
//! compare. Inserting or removing a chain costs no more.

use crate::slab::{NIL, Slab};

/// The smallest table, in slots of 16 bytes; a power of two, as every size is.
const FIRST_SLOTS: usize = 16;

/// The entries before and after this one in a chain; `NIL` at its ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Links {
    pub prev: u32,
    pub next: u32,
}

impl Links {
    /// The links of an entry in no chain.
    pub const LOOSE: Links = Links { prev: NIL, next: NIL };
}

/// An entry that can be chained by one or several indexes.
pub(super) trait Linked {
    /// The links by which index number `which` chains this entry.
    fn links(&mut self, which: usize) -> &mut Links;
}

/// Chains of entries by key.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Linear probing, at most half full; empty until first used.
    slots: Vec<Chain>,
    /// Chains in the table.
    live: usize,
}

/// A slot of the table; vacant when `head` is `NIL`, for a chain in the table is never empty.
#[derive(Clone, Copy, Debug)]
struct Chain {
    key: u64,
    head: u32,
    tail: u32,
}

const VACANT: Chain = Chain { key: 0, head: NIL, tail: NIL };

impl Index {
    /// Returns the oldest entry under `key`.
    #[inline]
    pub fn head(&self, key: u64) -> Option<u32> {
        if self.live == 0 {
            return None;
        }
        let head = self.slots[self.position(key)].head;
        (head != NIL).then_some(head)
    }

    /// Adds `entry` as the newest under `key`.
    #[inline]
    pub fn append<T: Linked>(&mut self, entries: &mut Slab<T>, which: usize, key: u64, entry: u32) {
        if self.live * 2 >= self.slots.len() {
            self.grow();
        }
        let at = self.position(key);
        let chain = &mut self.slots[at];
        if chain.head == NIL {
            *chain = Chain { key, head: entry, tail: entry };
            self.live += 1;
            return;
        }
        let last = core::mem::replace(&mut chain.tail, entry);
        entries.at_mut(last).links(which).next = entry;
        entries.at_mut(entry).links(which).prev = last;
    }

    /// Takes the oldest entry under `key` out of this index and of `entries`.
    #[inline]
    pub fn pop<T: Linked>(&mut self, entries: &mut Slab<T>, which: usize, key: u64) -> Option<T> {
        if self.live == 0 {
            return None;
        }
        let at = self.position(key);
        let head = self.slots[at].head;
        if head == NIL {
            return None;
        }
        let mut entry = entries.remove_at(head);
        let next = entry.links(which).next;
        if next == NIL {
            self.vacate(at);
        } else {
            entries.at_mut(next).links(which).prev = NIL;
            self.slots[at].head = next;
        }
        Some(entry)
    }

    /// Closes the gap that an entry, already out of `entries`, left under `key`; `links` are those it had
    /// here.
    #[inline]
    pub fn unlink<T: Linked>(&mut self, entries: &mut Slab<T>, which: usize, key: u64, links: Links) {
        let Links { prev, next } = links;
        if prev != NIL {
            entries.at_mut(prev).links(which).next = next;
        }
        if next != NIL {
            entries.at_mut(next).links(which).prev = prev;
        }
        if prev != NIL && next != NIL {
            return;
        }
        let at = self.position(key);
        match (prev, next) {
            (NIL, NIL) => self.vacate(at),
            (NIL, next) => self.slots[at].head = next,
            (prev, _) => self.slots[at].tail = prev,
        }
    }

    /// Returns the number of slots of the table: the memory held.
    #[cfg(test)]
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Returns the slot that holds `key`, or the vacant one for it. The table must have been used.
    #[inline]
    fn position(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = home(key) & mask;
        // Ends: at least half of the slots are vacant.
        loop {
            let chain = &self.slots[at];
            if chain.head == NIL || chain.key == key {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// Empties a slot and moves up displaced chains behind it, so that no search ends too early.
    #[inline]
    fn vacate(&mut self, mut hole: usize) {
        let mask = self.slots.len() - 1;
        let mut at = hole;
        self.live -= 1;
        loop {
            at = (at + 1) & mask;
            let chain = self.slots[at];
            if chain.head == NIL {
                self.slots[hole].head = NIL;
                return;
            }
            // It may move up unless its home lies behind the hole.
            let displaced = at.wrapping_sub(home(chain.key)) & mask;
            if displaced >= at.wrapping_sub(hole) & mask {
                self.slots[hole] = chain;
                hole = at;
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let slots = (self.slots.len() * 2).max(FIRST_SLOTS);
        let old = core::mem::replace(&mut self.slots, vec![VACANT; slots]);
        for chain in old {
            if chain.head != NIL {
                let at = self.position(chain.key);
                self.slots[at] = chain;
            }
        }
    }
}

/// Returns the start of the search for `key`, to be masked. It joins both halves of the product with 2^64
/// divided by the golden ratio, so that neighbouring ranks and neighbouring tags both scatter.
#[inline]
fn home(key: u64) -> usize {
    let product = u128::from(key) * 0x9e37_79b9_7f4a_7c15;
    ((product >> 64) as u64 ^ product as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, VecDeque};

    struct Entry {
        key: u64,
        links: Links,
    }

    impl Linked for Entry {
        fn links(&mut self, _which: usize) -> &mut Links {
            &mut self.links
        }
    }

    fn check(index: &Index, model: &BTreeMap<u64, VecDeque<u32>>) -> Result<(), TestCaseError> {
        for (&key, chain) in model {
            prop_assert_eq!(index.head(key), chain.front().copied());
        }
        prop_assert_eq!(index.live, model.values().filter(|chain| !chain.is_empty()).count());
        Ok(())
    }

    /// Keys with few homes in the smallest table, around its end: probing and moving up cross it. No more
    /// than fit without growing.
    fn crowded_keys() -> [u64; 7] {
        let mut next = 0;
        [15, 15, 14, 0, 1, 15, 0].map(|wanted| {
            next += 1;
            while home(next) & (FIRST_SLOTS - 1) != wanted {
                next += 1;
            }
            next
        })
    }

    proptest! {
        #[test]
        fn chains_are_first_in_first_out_under_crowded_keys(
            program in prop::collection::vec((0..4u8, any::<prop::sample::Index>()), 0..300),
        ) {
            let keys = crowded_keys();
            let (mut index, mut entries) = (Index::default(), Slab::new());
            let mut model: BTreeMap<u64, VecDeque<u32>> = BTreeMap::new();
            for (step, pick) in program {
                let present: Vec<u32> = model.values().flatten().copied().collect();
                if step == 0 {
                    let key = *pick.get(&keys);
                    let entry = entries.insert(Entry { key, links: Links::LOOSE }).index;
                    index.append(&mut entries, 0, key, entry);
                    model.entry(key).or_default().push_back(entry);
                } else if step == 1 {
                    let key = *pick.get(&keys);
                    let popped = index.pop(&mut entries, 0, key);
                    prop_assert_eq!(popped.is_some(), model.entry(key).or_default().pop_front().is_some());
                    prop_assert!(popped.is_none_or(|entry| entry.key == key));
                } else if !present.is_empty() {
                    let out = *pick.get(&present);
                    let Entry { key, links } = entries.remove_at(out);
                    index.unlink(&mut entries, 0, key, links);
                    model.get_mut(&key).unwrap().retain(|&entry| entry != out);
                }
                check(&index, &model)?;
                prop_assert!(index.slots() <= FIRST_SLOTS);
            }
        }
    }

    #[test]
    fn keys_survive_growth() {
        let (mut index, mut entries) = (Index::default(), Slab::new());
        for key in 0..1000 {
            let entry = entries.insert(Entry { key, links: Links::LOOSE }).index;
            index.append(&mut entries, 0, key, entry);
        }
        assert!((0..1000).all(|key| index.head(key).is_some_and(|entry| entries.at(entry).key == key)));
        assert_eq!(index.head(1000), None);
        assert_eq!(index.slots(), 2048);
    }

    #[test]
    fn ranks_by_tags_scatter() {
        // 64 ranks by 64 tags in a table of 8192: no search may be much longer than chance makes it.
        let mut load = vec![0; 8192];
        for key in (0..64u64).flat_map(|rank| (0..64u64).map(move |tag| rank << 32 | tag)) {
            load[home(key) & 8191] += 1;
        }
        assert!(load.iter().max() <= Some(&8), "{:?} keys share a home", load.iter().max());
    }
}
