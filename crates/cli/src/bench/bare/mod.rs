//! The machine's limits, measured between the rounds of a workload by the same ranks.
//!
//! Owns the two ways of measuring: through shared memory ([`memory`]), and over plain sockets between hosts
//! ([`sockets`]). No protocol of Canelé is involved.

mod memory;
mod sockets;
mod wires;

use super::Failure;
use super::case::{Case, Limit, Task};
pub use memory::BareMemory;
pub use sockets::Sockets;

/// The bare loops of one rank. All ranks call the same methods with the same arguments in the same order.
pub trait Bare {
    /// Returns the value of rank 0 on all ranks, after all have called this.
    ///
    /// # Errors
    /// Fails if a rank is gone.
    fn agree(&mut self, mine: u64) -> Result<u64, Failure>;

    /// Measures a limit once, in nanoseconds per operation. Only the result of rank 0 is valid.
    ///
    /// # Errors
    /// Fails if a rank is gone.
    fn measure(&mut self, limit: Limit) -> Result<f64, Failure>;

    /// Keeps the processors at their speed for some milliseconds.
    ///
    /// # Errors
    /// Fails if a rank is gone.
    fn stir(&mut self) -> Result<(), Failure>;

    /// Returns true if a limit can be measured here.
    fn has(&self, limit: Limit) -> bool;

    /// Returns the limits that are measured once per round for any rows.
    fn usual(&self, task: &Task, cases: &[&Case]) -> Vec<Limit>;

    /// Returns the networks of the sockets; none in shared memory.
    fn rails(&self) -> Vec<String> {
        Vec::new()
    }
}
