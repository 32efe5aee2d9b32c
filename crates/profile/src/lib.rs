//! The machine's profile: the costs of lines, copies, system calls and packets.
//!
//! Protocols and collectives estimate their times from it and take the smallest. All ranks of a job have the
//! same profile, so all choose alike. `canele tune` measures it, the launcher reads it, and ranks get it with
//! the description of their job.
//!
//! Owns the data, their file, the paths where a file is looked for, and the built-in profiles. It measures
//! only one time: that of a cache line, if the caches do not show which built-in profile fits. Other
//! launchers of the same boot reuse that time.
//!
//! Units: times in nanoseconds, rates in bytes per microsecond (1000 are 1 GB/s), lengths in bytes.
#![forbid(unsafe_code)]

mod builtin;
mod error;
mod file;
mod fingerprint;
mod host;
mod line_probe;
mod line_record;
mod load;
mod machine;
mod network;
mod pair;
mod ranges;

pub use error::ProfileError;
pub use file::{FILE_VERSION, MeasuredProfile};
pub use host::{CopyRates, HostProfile, LineTimes, PAIRS, ProcessorDistance, RingRates, SingleCopyRates};
pub use line_record::{LineOrigin, LineTime};
pub use load::{BUILT_IN, LoadedProfile, ProfileSource, VARIABLE, load, user_path};
pub use machine::MachineIdentity;
pub use network::NetworkProfile;
pub use pair::PairCosts;

use serde::{Deserialize, Serialize};

/// The costs of a machine and its networks.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Profile {
    /// The costs of the processors and the memory of one host.
    pub host: HostProfile,
    /// The costs of each network between hosts.
    #[serde(default)]
    pub networks: Vec<NetworkProfile>,
}

impl Profile {
    /// Returns the built-in profile of this machine, which its topology selects.
    pub fn built_in() -> Self {
        Self::built_in_for(&MachineIdentity::here())
    }

    /// Returns the built-in profile of a machine.
    pub fn built_in_for(machine: &MachineIdentity) -> Self {
        let host = HostProfile::builtin(machine.processors as usize, machine.sharing() as usize);
        Self { host, networks: Vec::new() }
    }

    /// Returns true if it is one of the built-in profiles: no figure was measured.
    pub fn is_built_in(&self) -> bool {
        self.networks.is_empty() && self.host.is_builtin()
    }

    /// Checks that each figure lies in its range, so that estimates neither divide by zero nor overflow.
    ///
    /// # Errors
    /// Fails with a text that names the first wrong figure and its range.
    pub fn check(&self) -> Result<(), String> {
        ranges::first_wrong(self).map_or(Ok(()), |wrong| Err(format!("{}: {}", wrong.key, wrong.what)))
    }

    /// Returns a number that differs for profiles that differ. Equal profiles have equal numbers on all
    /// machines, so ranks compare it.
    pub fn fingerprint(&self) -> u64 {
        fingerprint::of(self)
    }
}
