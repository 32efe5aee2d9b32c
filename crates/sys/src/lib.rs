//! What Canelé needs of the machine: the one crate (with the rail drivers) in which `unsafe` may appear.
//!
//! Nothing here knows what a message is. Each module owns one resource of the machine and says at its top
//! what it never does. Under `--cfg loom` only the modules whose memory ordering is modelled are compiled
//! against the model checker; those that talk to the kernel are left out.

pub mod atomic;
mod backwards;
pub mod buffer;
pub mod counters;
#[cfg(target_arch = "x86_64")]
pub mod extended;
pub mod fork;
pub mod futex;
pub mod gate;
pub mod ids;
pub mod layout;
#[cfg(not(loom))]
pub mod limits;
pub mod membarrier;
pub mod memory;
mod past_cache;
pub mod relax;
pub mod ring;
#[cfg(not(loom))]
pub mod segment;
pub mod sleep;
#[cfg(not(loom))]
pub mod spawn;
pub mod tally;
#[cfg(not(loom))]
pub mod topology;
pub mod tunables;
pub mod window;
