//! Access to the machine. This is one of the few crates in which `unsafe` may appear.
//!
//! Nothing here knows of messages. Each module owns one resource of the machine and says at its top what it
//! never does. Under `--cfg loom` only the modules whose memory ordering is modelled are compiled against the
//! model checker; modules that call the kernel are left out.

#[cfg(not(loom))]
pub mod affinity;
pub mod atomic;
pub mod biased_lock;
pub mod boot;
pub mod bounded_read;
#[cfg(not(loom))]
pub mod call_stack;
#[cfg(not(loom))]
pub mod clock;
#[cfg(not(loom))]
pub mod code_map;
pub mod command_output;
#[cfg(not(loom))]
pub mod copies;
pub mod counters;
#[cfg(not(loom))]
pub mod debugger;
pub mod device;
pub mod exhausted;
#[cfg(target_arch = "x86_64")]
pub mod extended;
#[cfg(not(loom))]
pub mod file_io;
#[cfg(not(loom))]
pub mod file_lock;
pub mod fork;
pub mod futex;
pub mod ids;
pub mod membarrier;
pub mod memory;
pub mod namespace;
#[cfg(not(loom))]
pub mod peer_credentials;
#[cfg(not(loom))]
pub mod pidfd;
#[cfg(not(loom))]
pub mod pmix;
pub mod poller;
pub mod port_range;
pub mod printable;
pub mod process_memory;
#[cfg(not(loom))]
pub mod processor;
pub mod published;
#[cfg(any(test, not(target_arch = "x86_64")))]
pub mod quad;
pub mod relax;
#[cfg(not(loom))]
pub mod sealed;
#[cfg(not(loom))]
pub mod segment;
#[cfg(not(loom))]
pub mod signals;
pub mod sleep;
#[cfg(not(loom))]
pub mod spawn;
#[cfg(not(loom))]
pub mod thread_block;
mod thread_word;
#[cfg(not(loom))]
pub mod topology;
#[cfg(not(loom))]
pub mod traced_thread;
pub mod tunables;
pub mod work_list;
