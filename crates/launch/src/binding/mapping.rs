//! The distribution of a host's ranks over its units, and the units to which each is bound.
//!
//! ```text
//!   by package, to core      2 packages of 4 cores, 4 ranks:     0 2 . . │ 1 3 . .
//!   by package:fill                                              0 1 . . │ 2 3 . .
//!   by ppr:3:package                                             0 1 2 . │ 3 . . .
//!   by package:pe=2                                              0 0 2 2 │ 1 1 3 3
//! ```
//! Owns the words of the options and the choice. Reads no topology itself.

use std::str::FromStr;

use canele_sys::topology::Topology;
use serde::{Deserialize, Serialize};

use super::unit::Unit;

/// The units that each rank is bound to, as `--bind` says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BindTo {
    /// Shares of the cores that no other job has, if there are enough; otherwise nothing.
    #[default]
    Auto,
    /// Nothing.
    None,
    /// A number of neighbouring units.
    Units(Unit, u32),
}

impl FromStr for BindTo {
    type Err = String;

    fn from_str(text: &str) -> Result<BindTo, String> {
        match text {
            "auto" => return Ok(BindTo::Auto),
            "none" => return Ok(BindTo::None),
            _ => {}
        }
        let (unit, count) = text.split_once(':').unwrap_or((text, "1"));
        let unit = unit.parse().map_err(|error| format!("{error}, nor auto, none"))?;
        Ok(BindTo::Units(unit, positive(count)?))
    }
}

/// The units over which ranks are spread, as `--map-by` says: `package`, `numa:pe=2`, `ppr:2:l3cache`,
/// `package:fill`, `node`, `slot`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapBy {
    /// The units.
    pub unit: Unit,
    /// The number of ranks on each unit, which are filled one after the other; none: one rank on each unit in
    /// turn.
    pub per_unit: Option<u32>,
    /// True if ranks on a unit have consecutive numbers.
    pub fill: bool,
    /// The number of cores of each rank, or of hardware threads if ranks are bound to those.
    pub elements: Option<u32>,
    /// True if hosts get their ranks in turn; otherwise one host is filled after the other.
    pub hosts_in_turn: bool,
}

/// The word for ranks that fill one host after the other and run anywhere there.
const SLOT: &str = "slot";

impl FromStr for MapBy {
    type Err = String;

    fn from_str(text: &str) -> Result<MapBy, String> {
        let mut words = text.split(':');
        let first = words.next().unwrap_or_default();
        let mut word =
            |what: &str| words.next().ok_or_else(|| format!("{what} is missing, as in ppr:2:package"));
        let (per_unit, unit) = match first.eq_ignore_ascii_case("ppr") {
            true => (Some(positive(word("a number of ranks")?)?), word("what the ranks are on")?.parse()?),
            false if first.eq_ignore_ascii_case(SLOT) => (None, Unit::Host),
            false => (None, first.parse().map_err(|error| format!("{error}, nor {SLOT}"))?),
        };
        let hosts_in_turn = unit == Unit::Host && per_unit.is_none() && !first.eq_ignore_ascii_case(SLOT);
        let mut map = MapBy { unit, per_unit, fill: false, elements: None, hosts_in_turn };
        for modifier in words {
            match modifier.to_ascii_lowercase().split_once('=') {
                Some(("pe", count)) => map.elements = Some(positive(count)?),
                None if modifier.eq_ignore_ascii_case("fill") => map.fill = true,
                _ => return Err(format!("`{modifier}` is neither pe=N nor fill")),
            }
        }
        Ok(map)
    }
}

fn positive(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or_else(|| format!("`{text}` is no number from 1"))
}

/// The distribution and binding of ranks over units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    by: Unit,
    per_unit: Option<u32>,
    fill: bool,
    to: Unit,
    count: u32,
}

impl Mapping {
    /// Combines both options; none if they ask for no binding.
    ///
    /// # Errors
    /// Fails with a text if they contradict each other.
    pub fn new(to: BindTo, map: Option<MapBy>) -> Result<Option<Mapping>, String> {
        let Some(map) = map else {
            let BindTo::Units(to, count) = to else { return Ok(None) };
            let by = if count > 1 { Unit::Host } else { to };
            return Ok(Some(Mapping { by, per_unit: None, fill: false, to, count }));
        };
        let MapBy { unit, per_unit, fill, elements, hosts_in_turn: _ } = map;
        let (to, count) = match (to, elements) {
            (BindTo::None, _) => return Ok(None),
            (BindTo::Auto, Some(count)) => (Unit::Core, count),
            // Ranks that may run anywhere on their host are in effect not bound: shares are better.
            (BindTo::Auto, None) if unit == Unit::Host => return Ok(None),
            (BindTo::Auto, None) => (unit, 1),
            (BindTo::Units(to, 1), Some(count)) if to <= Unit::Core => (to, count),
            (BindTo::Units(to, count), None) => (to, count),
            (BindTo::Units(to, _), Some(count)) => {
                return Err(format!("pe={count} is a number of cores or hardware threads, not of {to}"));
            }
        };
        // Each rank gets several cores, one rank after the other.
        let by = if count > 1 && unit <= to && per_unit.is_none() { Unit::Host } else { unit };
        Ok(Some(Mapping { by, per_unit, fill, to, count }))
    }

    /// Returns the processors of each of `ranks` ranks of a host.
    ///
    /// # Errors
    /// Fails with a text if the host has too few.
    pub fn sets(self, topology: &Topology, ranks: u32) -> Result<Vec<Vec<u32>>, String> {
        let units = self.by.all(topology);
        if units.is_empty() {
            return Err("there is no processor to bind to".into());
        }
        let count = units.len() as u32;
        if let Some(each) = self.per_unit.filter(|each| each.saturating_mul(count) < ranks) {
            let by = self.by;
            return Err(format!(
                "ppr:{each}:{by}: {ranks} ranks need {} units of the kind {by}, and this host has {count}: start {} or fewer, or write \
                 ppr:{}:{by}",
                ranks.div_ceil(each.max(1)),
                each * count,
                ranks.div_ceil(count)
            ));
        }
        let choices: Vec<_> =
            units.iter().map(|unit| self.choices(topology, unit)).collect::<Result<_, _>>()?;
        let place = |rank: u32| match self.per_unit {
            Some(each) => (rank / each, rank % each),
            None if self.fill => filled(rank, ranks, count),
            None => (rank % count, rank / count),
        };
        let set = |rank| {
            let (unit, turn) = place(rank);
            let choices = &choices[unit as usize];
            choices[turn as usize % choices.len()].clone()
        };
        Ok((0..ranks).map(set).collect())
    }

    /// Returns the sets to which the ranks on a unit are bound in turn; at least one.
    fn choices(self, topology: &Topology, unit: &[u32]) -> Result<Vec<Vec<u32>>, String> {
        if self.to > self.by {
            // This is the larger unit that contains this one.
            let around = self.to.all(topology).into_iter().find(|larger| larger.contains(&unit[0]));
            return Ok(vec![around.unwrap_or_default()]);
        }
        let inside = || topology.processors().iter().filter(|processor| unit.contains(&processor.id));
        if self.count == 1 {
            return Ok(self.to.among(inside()));
        }
        // The hardware threads of one rank lie in the same cores.
        let smallest: Vec<Vec<u32>> = match self.to {
            Unit::Hwthread => Unit::Core.among(inside()).concat().into_iter().map(|id| vec![id]).collect(),
            to => to.among(inside()),
        };
        let sets: Vec<Vec<u32>> =
            smallest.chunks_exact(self.count as usize).map(|some| sorted(some.concat())).collect();
        match sets.is_empty() {
            true => Err(format!(
                "{} of {} for each rank are more than the {} that a {} has",
                self.count,
                self.to,
                smallest.len(),
                self.by
            )),
            false => Ok(sets),
        }
    }
}

/// Returns the unit of a rank, and its number there, if ranks are shared out evenly and those of a unit are
/// consecutive.
fn filled(rank: u32, ranks: u32, units: u32) -> (u32, u32) {
    let (each, more) = (ranks / units, ranks % units);
    let with_more = more * (each + 1);
    match rank < with_more {
        true => (rank / (each + 1), rank % (each + 1)),
        false => (more + (rank - with_more) / each, (rank - with_more) % each),
    }
}

fn sorted(mut processors: Vec<u32>) -> Vec<u32> {
    processors.sort_unstable();
    processors
}
