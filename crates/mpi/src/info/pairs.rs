//! The pairs of an info, in the order in which keys were set. A look-up by key takes constant time.

use std::collections::{HashMap, VecDeque};

/// Pairs of a key and a value.
#[derive(Clone, Default, Debug)]
pub(super) struct InfoPairs {
    /// The pairs in order. A removed pair leaves a hole, except at either end.
    places: VecDeque<Option<Pair>>,
    /// The number of the first place; numbers stay valid when earlier pairs are removed.
    first: usize,
    /// The number of each key's place.
    numbers: HashMap<Box<[u8]>, usize>,
}

#[derive(Clone, Debug)]
struct Pair {
    key: Box<[u8]>,
    value: Box<[u8]>,
}

impl InfoPairs {
    pub(super) fn set(&mut self, key: &[u8], value: &[u8]) {
        if let Some(number) = self.numbers.get(key) {
            if let Some(pair) = &mut self.places[number - self.first] {
                pair.value = value.into();
            }
            return;
        }
        self.numbers.insert(key.into(), self.first + self.places.len());
        self.places.push_back(Some(Pair { key: key.into(), value: value.into() }));
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<&[u8]> {
        let pair = self.places[self.numbers.get(key)? - self.first].as_ref()?;
        Some(&pair.value)
    }

    /// Removes a key; returns true if it was set.
    pub(super) fn remove(&mut self, key: &[u8]) -> bool {
        let Some(number) = self.numbers.remove(key) else { return false };
        self.places[number - self.first] = None;
        while self.places.pop_front_if(|place| place.is_none()).is_some() {
            self.first += 1;
        }
        while self.places.pop_back_if(|place| place.is_none()).is_some() {}
        // Holes are closed after as many removals as there are places, so each hole is closed once.
        if self.places.len() > 2 * self.numbers.len() {
            self.close_holes();
        }
        true
    }

    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Returns the key at a position.
    pub(super) fn nth_key(&mut self, n: usize) -> Option<&[u8]> {
        if self.places.len() > self.numbers.len() {
            self.close_holes();
        }
        Some(&self.places.get(n)?.as_ref()?.key)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.places.iter().flatten().map(|pair| (&*pair.key, &*pair.value))
    }

    fn close_holes(&mut self) {
        self.places.retain(Option::is_some);
        for (number, pair) in (self.first..).zip(self.places.iter().flatten()) {
            if let Some(old) = self.numbers.get_mut(&pair.key) {
                *old = number;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(pairs: &InfoPairs) -> Vec<Vec<u8>> {
        pairs.iter().map(|(key, _)| key.to_vec()).collect()
    }

    #[test]
    fn pairs_are_as_in_a_list_whatever_is_set_and_removed() {
        let (mut pairs, mut list) = (InfoPairs::default(), Vec::<(Vec<u8>, Vec<u8>)>::new());
        let mut number = 1_u32;
        for turn in 0..3000_u32 {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let key = (number >> 16 & 63).to_le_bytes().to_vec();
            let at = list.iter().position(|(other, _)| *other == key);
            assert_eq!(pairs.get(&key), at.map(|at| list[at].1.as_slice()));
            if number >> 30 & 1 == 0 {
                pairs.set(&key, &turn.to_le_bytes());
                match at {
                    Some(at) => list[at].1 = turn.to_le_bytes().into(),
                    None => list.push((key, turn.to_le_bytes().into())),
                }
            } else {
                assert_eq!(pairs.remove(&key), at.is_some());
                at.map(|at| list.remove(at));
            }
            assert_eq!(pairs.len(), list.len());
            assert!(keys(&pairs).iter().eq(list.iter().map(|(key, _)| key)));
            let n = number as usize % 70;
            assert_eq!(pairs.clone().nth_key(n), list.get(n).map(|(key, _)| key.as_slice()));
        }
    }

    #[test]
    fn keys_that_are_removed_in_any_order_leave_few_places() {
        const ALL: u32 = 1000;
        for backwards in [false, true] {
            let mut pairs = InfoPairs::default();
            (0..ALL).for_each(|n| pairs.set(&n.to_le_bytes(), b"value"));
            for n in 0..ALL {
                let n = if backwards { ALL - 1 - n } else { n };
                assert!(pairs.remove(&n.to_le_bytes()));
                // No hole is left, so nothing has to be moved for the next key.
                assert_eq!(pairs.places.len(), pairs.len());
            }
        }
        let mut pairs = InfoPairs::default();
        (0..ALL).for_each(|n| pairs.set(&n.to_le_bytes(), b"value"));
        for n in (0..ALL).step_by(2).chain((1..ALL).step_by(2)) {
            assert!(pairs.remove(&n.to_le_bytes()));
            assert!(pairs.places.len() <= 2 * pairs.len() + 1);
        }
    }
}
