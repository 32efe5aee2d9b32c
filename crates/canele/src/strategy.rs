//! Strategies that combine the messages that wait for a peer into packets: the built-in ones, and those of
//! programs. The program `examples/own_strategy.rs`, for two ranks, has a strategy of its own.
//!
//! ```
//! use canele::strategy::{Backlog, By, PacketDraft, RailView, Strategy, tactics};
//!
//! /// The most urgent messages, as many to a packet as fit; large data only when no message waits.
//! struct SmallFirst;
//!
//! impl Strategy for SmallFirst {
//!     fn name(&self) -> &'static str {
//!         "small-first"
//!     }
//!     fn next_packet(&mut self, backlog: &mut Backlog, rail: &RailView<'_>, packet: &mut PacketDraft) {
//!         tactics::control_first(rail, packet);
//!         tactics::aggregate(backlog, rail, packet, By::Priority);
//!         if packet.is_empty() {
//!             tactics::piece(backlog, packet, usize::MAX);
//!         }
//!     }
//! }
//!
//! # fn main() -> Result<(), canele::Error> {
//! let job = canele::Job::start()?;
//! job.use_strategy(|| Box::new(SmallFirst))?;
//! let urgent = job.world().duplicate()?;
//! urgent.set_priority(7)?; // its messages pass those of other flows that wait
//! job.set_strategy("priority")?; // a built-in one again
//! assert!(job.set_strategy("lifo").is_err());
//! # job.finish()
//! # }
//! ```

pub use canele_engine::backlog::{Backlog, By, LEVELS, ORDINARY};
pub use canele_engine::strategy::{PacketDraft, Pick, RailView, Strategy, named, tactics};
