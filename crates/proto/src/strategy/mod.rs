//! Policies that turn a backlog into the next packet for a rail (NewMadeleine's strategies).
//!
//! A strategy is asked only when something waits and the rail has room; messages that find nothing waiting go straight to
//! the rail. It composes *tactics* ([`tactics`]): reusable steps such as aggregating or splitting. Users register their own with
//! [`crate::Proto::set_strategy`].
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

    /// Whether messages leave by priority. Without, all join the backlog at one level.
    fn by_priority(&self) -> bool {
        true
    }

    /// Whether messages that find the rail without room may be put into its next packet at once, in the order of submission,
    /// as long as nothing else waits. Then it is asked only about the rest.
    fn coalesces(&self) -> bool {
        false
    }

    /// Chooses what goes into the next packet for `rail`. What is not chosen stays; a packet left empty means that the rail
    /// is to carry nothing now.
    fn next_packet(&mut self, backlog: &mut Backlog, rail: &RailView<'_>, packet: &mut PacketDraft);
}

/// The rail a packet is for.
pub struct RailView<'a> {
    /// Its number.
    pub number: u8,
    /// What it can do.
    pub caps: &'a Caps,
    /// How fast it is to this peer, and what is under way.
    pub speed: Speed,
    /// The same of every link to the peer, this one among them.
    pub links: &'a [Speed],
    /// The longest piece of a large message that it takes now, in bytes.
    pub piece: usize,
    /// Which messages it takes now.
    pub takes: Takes,
}

/// The built-in strategy of this name, one of [`canele_sys::tunables::STRATEGIES`].
pub fn named(name: &str) -> Option<Box<dyn Strategy>> {
    Some(match name {
        "aggregate" => Box::new(built_in::Aggregate),
        "fifo" => Box::new(built_in::Fifo),
        "priority" => Box::new(built_in::Priority),
        "split" => Box::new(built_in::Split),
        _ => return None,
    })
}

/// The strategy of a job that chooses none.
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
