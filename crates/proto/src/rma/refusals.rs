//! Refusals of requests that get no answer, until a flush or a fence asks.

use std::collections::BTreeMap;

use canele_sys::ids::Rank;

use super::{ExposureKey, MemoryKey, Refusal};

/// The most exposures of one origin that have an entry; refusals in further ones are dropped.
const MOST: usize = 64;

/// The first refusal of each origin, in its puts into regions and in each exposure.
#[derive(Default)]
pub(super) struct Refusals(BTreeMap<Rank, Vec<(MemoryKey, Refusal)>>);

/// Returns the exposure of a key; all regions count as one.
fn exposure(key: MemoryKey) -> Option<ExposureKey> {
    match key {
        MemoryKey::Exposure(key) => Some(key),
        MemoryKey::Region(_) => None,
    }
}

impl Refusals {
    pub fn add(&mut self, from: Rank, key: MemoryKey, refusal: Refusal) {
        let list = self.0.entry(from).or_default();
        if list.len() < MOST && !list.iter().any(|(other, _)| exposure(*other) == exposure(key)) {
            list.push((key, refusal));
        }
    }

    /// Takes the refusal in an exposure, or in the regions.
    pub fn take(&mut self, from: Rank, window: Option<ExposureKey>) -> Option<(MemoryKey, Refusal)> {
        let list = self.0.get_mut(&from)?;
        let at = list.iter().position(|(key, _)| exposure(*key) == window)?;
        Some(list.swap_remove(at))
    }

    pub fn forget(&mut self, from: Rank) {
        self.0.remove(&from);
    }
}
