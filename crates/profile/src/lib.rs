//! The machine's profile: what lines, copies, system calls and packets cost here.
//!
//! Protocols and collectives estimate their times from it and take the smallest. All ranks of a job have the same profile, so all
//! choose alike. It is plain data: `canele tune` measures it, the launcher reads it, and this crate keeps it.
//!
//! Units: times in nanoseconds, rates in bytes per microsecond (1000 are 1 GB/s), lengths in bytes.
#![forbid(unsafe_code)]

mod builtin;
mod host;
mod network;
mod pair;

pub use host::{CopyRates, Distance, HostProfile, LineTimes, PAIRS, RingRates, SingleCopy};
pub use network::NetworkProfile;
pub use pair::PairCosts;

use serde::{Deserialize, Serialize};

/// What a machine and its networks cost.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Profile {
    /// What the processors and the memory of one host cost.
    pub host: HostProfile,
    /// What each network between hosts costs.
    #[serde(default)]
    pub networks: Vec<NetworkProfile>,
}
