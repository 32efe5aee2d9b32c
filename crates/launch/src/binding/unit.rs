//! Units that ranks are bound to and spread over: processors, cores, caches, memory nodes, packages, hosts.
//!
//! Owns their names, which are those of Open MPI and MPICH, and the grouping of a machine's processors by
//! them.

use std::fmt;
use std::str::FromStr;

use canele_sys::topology::{Processor, Topology};
use serde::{Deserialize, Serialize};

/// A kind of unit that processors form, from the smallest to the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Unit {
    /// A processor as the kernel numbers it: a hardware thread of a core.
    Hwthread,
    /// A core.
    Core,
    /// The cores that share a third cache.
    L3Cache,
    /// A memory node.
    Numa,
    /// A package (socket).
    Package,
    /// The whole host.
    Host,
}

/// The names of units; the first of each is the one that is printed.
const NAMES: [(&str, Unit); 13] = [
    ("hwthread", Unit::Hwthread),
    ("rr", Unit::Hwthread),
    ("core", Unit::Core),
    ("l1cache", Unit::Core),
    ("l2cache", Unit::Core),
    ("l3cache", Unit::L3Cache),
    ("numa", Unit::Numa),
    ("package", Unit::Package),
    ("socket", Unit::Package),
    ("host", Unit::Host),
    ("node", Unit::Host),
    ("machine", Unit::Host),
    ("board", Unit::Host),
];

impl FromStr for Unit {
    type Err = String;

    fn from_str(text: &str) -> Result<Unit, String> {
        let lower = text.to_ascii_lowercase();
        let known = NAMES.iter().find(|(name, _)| *name == lower);
        known.map(|(_, unit)| *unit).ok_or_else(|| {
            format!("`{text}` is none of hwthread, core, l3cache, numa, package (or socket), host (or node)")
        })
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAMES.iter().find(|(_, unit)| unit == self).map_or("", |(name, _)| name))
    }
}

impl Unit {
    /// Returns a number that all processors of the same unit have, and no others.
    fn number_of(self, processor: &Processor) -> u32 {
        match self {
            Unit::Hwthread => processor.id,
            Unit::Core => processor.core,
            Unit::L3Cache => processor.third_cache,
            Unit::Numa => processor.node,
            Unit::Package => processor.package,
            Unit::Host => 0,
        }
    }

    /// Returns the units of this kind in the machine, near ones next to each other; for processors, one of
    /// each core first.
    pub fn all(self, topology: &Topology) -> Vec<Vec<u32>> {
        self.among(topology.processors().iter())
    }

    /// Returns the units of this kind among some processors.
    pub fn among<'a>(self, processors: impl Iterator<Item = &'a Processor>) -> Vec<Vec<u32>> {
        let mut units: Vec<(u32, Vec<u32>)> = Vec::new();
        for processor in processors {
            let number = self.number_of(processor);
            match units.iter_mut().find(|(known, _)| *known == number) {
                Some((_, processors)) => processors.push(processor.id),
                None => units.push((number, vec![processor.id])),
            }
        }
        units
            .into_iter()
            .map(|(_, mut processors)| {
                processors.sort_unstable();
                processors
            })
            .collect()
    }
}
