//! The machine that a profile describes. Owns the comparison of two machines.

use std::fmt;

use canele_sys::processor;
use canele_sys::topology::{self, Cache};
use serde::{Deserialize, Serialize};

/// The properties that distinguish machines whose profiles differ.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineIdentity {
    /// The model, as the processor names it.
    pub model: String,
    /// The number of processors of the machine.
    pub processors: u32,
    /// The release of the kernel.
    pub kernel: String,
    /// The caches for data of the first processor, from the first level on.
    #[serde(default)]
    pub caches: Vec<CacheIdentity>,
}

/// A cache for data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheIdentity {
    /// The level of the cache; 1 is next to the processor.
    pub level: u32,
    /// The size of the cache in bytes; 0 if the kernel does not tell.
    pub bytes: u64,
    /// The number of processors that share it.
    pub processors: u32,
}

impl From<Cache> for CacheIdentity {
    fn from(Cache { level, bytes, processors }: Cache) -> Self {
        Self { level, bytes, processors }
    }
}

impl fmt::Display for CacheIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { level, bytes, processors } = self;
        write!(f, "L{level} of {} KiB for {processors}", bytes >> 10)
    }
}

impl MachineIdentity {
    /// Returns the identity of this machine. Properties that the kernel does not tell are empty or 1.
    pub fn here() -> Self {
        let processors = topology::online().unwrap_or_else(topology::usable);
        Self {
            model: processor::model().unwrap_or_default(),
            processors,
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            caches: topology::caches().into_iter().map(CacheIdentity::from).collect(),
        }
    }

    /// Returns true if the caches that the kernel reports may be wrong. A guest with two processors often
    /// runs on the threads of one core, and its hypervisor does not report this.
    pub(crate) fn hides_its_caches(&self) -> bool {
        self.processors == 2
    }

    /// Returns the number of processors that share the last cache but one. If there are only two processors,
    /// they count as threads of one core.
    pub fn sharing(&self) -> u32 {
        if self.processors <= 2 {
            return self.processors;
        }
        match self.caches[..] {
            [.., shared, _] => shared.processors,
            _ => 1,
        }
    }

    /// Describes in words the differences between this machine, which was measured, and another one.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let mut found = Vec::new();
        let mut compare = |what: &str, measured: String, other: String| {
            if measured != other {
                found.push(format!("{what}: measured on {measured}, this machine has {other}"));
            }
        };
        compare("processor", self.model.clone(), other.model.clone());
        compare("processors", self.processors.to_string(), other.processors.to_string());
        compare("caches", self.cache_words(), other.cache_words());
        compare("kernel", self.kernel.clone(), other.kernel.clone());
        found
    }

    /// Returns the caches in words.
    pub fn cache_words(&self) -> String {
        match self.caches[..] {
            [] => "unknown".into(),
            _ => self.caches.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub fn server() -> MachineIdentity {
        let cache = |level, bytes, processors| CacheIdentity { level, bytes, processors };
        MachineIdentity {
            model: "Processor \"X\"".into(),
            processors: 16,
            kernel: "6.18.5".into(),
            caches: vec![cache(1, 48 << 10, 1), cache(2, 2 << 20, 1), cache(3, 300 << 20, 16)],
        }
    }

    #[test]
    fn the_last_but_one_cache_tells_how_many_processors_are_near() {
        let mut machine = server();
        assert_eq!(machine.sharing(), 1);
        machine.caches[1].processors = 16;
        assert_eq!(machine.sharing(), 16);
        machine.caches.clear();
        assert_eq!(machine.sharing(), 1, "nothing is known");
        machine.processors = 2;
        assert_eq!(machine.sharing(), 2, "two threads of one core, whatever a hypervisor says");
    }

    #[test]
    fn differences_name_both_machines() {
        let (measured, mut here) = (server(), server());
        assert!(measured.differences(&here).is_empty());
        here.processors = 8;
        here.caches[2].processors = 8;
        let found = measured.differences(&here);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0], "processors: measured on 16, this machine has 8");
        assert!(
            found[1].contains("L3 of 307200 KiB for 16") && found[1].ends_with("L3 of 307200 KiB for 8"),
            "{found:?}"
        );
    }

    #[test]
    fn this_machine_is_known() {
        let here = MachineIdentity::here();
        assert!(here.processors >= 1 && !here.kernel.is_empty());
        assert!(here.sharing() >= 1 && here.sharing() <= here.processors.max(1), "{here:?}");
        assert_eq!(here, MachineIdentity::here());
    }
}
