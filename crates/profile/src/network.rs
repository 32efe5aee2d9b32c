//! The costs of a network between hosts.

use serde::{Deserialize, Serialize};

/// The costs of a network between hosts.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkProfile {
    /// The rail's name, as `canele info --rails` shows it.
    pub name: String,
    /// The time of a packet of 8 bytes one way.
    pub latency_ns: u32,
    /// The processor's time for a packet at each end.
    pub packet_ns: u32,
    /// The rate of long messages, in bytes per microsecond.
    pub bytes_per_us: u32,
}
