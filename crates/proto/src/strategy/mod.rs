//! Policies that turn a backlog into the next packet for a rail (NewMadeleine's strategies).
//!
//! A strategy is asked only when messages wait and the rail has room; a message that finds none waiting goes
//! straight to the rail. It composes *tactics* ([`tactics`]): reusable steps such as aggregating or
//! splitting. Users register their own with [`crate::Proto::set_strategy`].
//!
//! ```
//! use canele_proto::backlog::{Backlog, By};
//! use canele_proto::strategy::{PacketDraft, RailView, Strategy, tactics};
//!
//! /// Messages by priority, as many to a packet as fit; large data only when no message waits.
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
//! ```

mod built_in;
mod draft;
pub mod tactics;

use canele_rail::{Caps, Speed};

use crate::backlog::{Backlog, Takes};
pub use draft::{PacketDraft, Pick};

/// A policy. It sees one backlog and one rail at a time, and is shared by all peers of a rank.
pub trait Strategy: Send {
    /// Its name in settings, counters and benchmarks.
    fn name(&self) -> &'static str;

    /// Returns true if messages leave by priority. Otherwise all join the backlog at one level.
    fn by_priority(&self) -> bool {
        true
    }

    /// Returns true if messages without room may join the next packet at once, in the order of submission,
    /// while no others wait. The strategy then plans only the rest.
    fn coalesces(&self) -> bool {
        false
    }

    /// Chooses the contents of the next packet for `rail`. Messages that are not chosen stay; a packet left
    /// empty means that the rail is to carry nothing now.
    fn next_packet(&mut self, backlog: &mut Backlog, rail: &RailView<'_>, packet: &mut PacketDraft);
}

/// The rail of a packet.
pub struct RailView<'a> {
    /// Its number.
    pub number: u8,
    /// Its capabilities.
    pub caps: &'a Caps,
    /// Its speed to this peer, and the bytes under way.
    pub speed: Speed,
    /// The speeds of all links to the peer, this one among them.
    pub links: &'a [Speed],
    /// The longest piece of a large message that it takes now, in bytes.
    pub piece: usize,
    /// The messages that it takes now.
    pub takes: Takes,
}

/// Returns the built-in strategy of this name, one of [`canele_sys::tunables::STRATEGIES`].
pub fn named(name: &str) -> Option<Box<dyn Strategy>> {
    Some(match name {
        "aggregate" => Box::new(built_in::Aggregate),
        "fifo" => Box::new(built_in::Fifo),
        "priority" => Box::new(built_in::Priority),
        "split" => Box::new(built_in::Split),
        _ => return None,
    })
}

/// Returns the strategy of a job that chooses none.
pub(crate) fn default() -> Box<dyn Strategy> {
    Box::new(built_in::Aggregate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_strategy_of_that_name_and_the_first_the_default() {
        let names = canele_sys::tunables::STRATEGIES;
        for name in names {
            assert_eq!(named(name).map(|strategy| strategy.name()), Some(*name));
        }
        assert_eq!(default().name(), names[0]);
        assert!(named("").is_none());
    }
}
