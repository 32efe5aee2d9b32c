//! What went wrong with requests that nothing answers, until a flush or a fence asks.

use std::collections::BTreeMap;

use canele_sys::ids::{Rank, RegionId};

use super::Refusal;
use super::exposures::Exposures;

/// So many exposures of one origin are told apart; of further ones nothing is kept.
const MOST: usize = 64;

/// The first refusal of each origin, in its puts into regions and in each exposure.
#[derive(Default)]
pub(super) struct Refusals(BTreeMap<Rank, Vec<(RegionId, Refusal)>>);

impl Refusals {
    pub fn add(&mut self, from: Rank, region: RegionId, refusal: Refusal) {
        let list = self.0.entry(from).or_default();
        let is_of_regions = !Exposures::is_key(region);
        let known = |other: &RegionId| *other == region || is_of_regions && !Exposures::is_key(*other);
        if list.len() < MOST && !list.iter().any(|(other, _)| known(other)) {
            list.push((region, refusal));
        }
    }

    /// Takes that of an exposure, or that of the regions.
    pub fn take(&mut self, from: Rank, window: Option<RegionId>) -> Option<(RegionId, Refusal)> {
        let list = self.0.get_mut(&from)?;
        let asked = |region: RegionId| match window {
            Some(window) => region == window,
            None => !Exposures::is_key(region),
        };
        let at = list.iter().position(|(region, _)| asked(*region))?;
        Some(list.swap_remove(at))
    }

    pub fn forget(&mut self, from: Rank) {
        self.0.remove(&from);
    }
}
