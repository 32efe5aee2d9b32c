//! Memory for messages: windows on shared memory, rings in it, buffers that users lend, and layouts of
//! datatypes.
//!
//! No module here knows messages or asks the kernel for memory: segments come from `canele_sys`. This is one
//! of the few crates in which `unsafe` may appear. Under `--cfg loom` the modules whose memory ordering is
//! modelled are compiled against the model checker.

pub mod atomic_element;
mod backwards;
pub mod buffer;
pub mod chunk_counter;
pub mod copy;
pub mod displaced;
pub mod element_lock;
pub mod exposed;
pub mod lane_type;
pub mod layout;
#[cfg(not(loom))]
pub mod limits;
mod past_cache;
mod racing;
pub mod ring;
pub mod window;
