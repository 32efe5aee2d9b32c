//! Addresses and links of lanes beyond the first: each lane of a rank listens for itself, and links are made
//! between lanes of one number.

use std::collections::{HashMap, HashSet};
use std::mem;

use canele_control::{FromLauncher, MOST_LANES, RailAddress, ToLauncher, check_addresses};

use super::Job;

/// A further lane of a rank: the rank, and the number.
pub type LaneOf = (u32, u8);

/// The links between the lanes of one number.
#[derive(Debug, Default)]
pub(super) struct LaneLinks {
    /// Pairs of ranks of different hosts (smaller rank first) of which one has asked for a link.
    links: HashSet<(u32, u32)>,
    addresses: HashMap<u32, Vec<RailAddress>>,
}

impl LaneLinks {
    /// Returns the addresses of two ranks, the smaller rank first. Returns none until one rank has asked for
    /// a link and both have sent their addresses.
    fn known(&self, pair: (u32, u32)) -> Option<[&Vec<RailAddress>; 2]> {
        self.links.get(&pair)?;
        Some([self.addresses.get(&pair.0)?, self.addresses.get(&pair.1)?])
    }
}

impl Job {
    /// Handles a message of a further lane that concerns ranks of other hosts.
    ///
    /// # Errors
    /// Fails as [`Job::handle`] does.
    pub fn handle_of_lane(&mut self, (from, number): LaneOf, message: ToLauncher) -> Result<(), String> {
        let place = usize::from(number).checked_sub(1).filter(|_| number < MOST_LANES);
        let Some(place) = place else {
            return Err(format!("spoke over lane {number}, which it cannot have"));
        };
        if self.lanes.len() <= place {
            self.lanes.resize_with(place + 1, LaneLinks::default);
        }
        match message {
            ToLauncher::Addresses { rails } => {
                check_addresses(&rails)?;
                self.lanes[place].addresses.insert(from, rails);
                for peer in 0..self.info.size {
                    self.introduce_lanes(number, from, peer);
                }
                Ok(())
            }
            ToLauncher::Connect { peers } => {
                peers.into_iter().try_for_each(|peer| self.connect_lanes(number, from, peer))
            }
            other => Err(format!("sent {other:?} over its lane {number}, where it has no meaning")),
        }
    }

    /// Takes the queued messages to further lanes, in order.
    pub fn take_messages_to_lanes(&mut self) -> Vec<(LaneOf, FromLauncher)> {
        mem::take(&mut self.out_to_lanes)
    }

    fn connect_lanes(&mut self, number: u8, from: u32, peer: u32) -> Result<(), String> {
        if peer >= self.info.size || peer == from {
            return Err(format!(
                "asked for a link with rank {peer} of {} over lane {number}",
                self.info.size
            ));
        }
        // If both ask at once, the first request informs both.
        if self.lanes[usize::from(number) - 1].links.insert((from.min(peer), from.max(peer))) {
            self.introduce_lanes(number, from, peer);
        }
        Ok(())
    }

    /// Tells the lanes of this number of two ranks the addresses of each other, if one asks for a link and
    /// both have sent them.
    fn introduce_lanes(&mut self, number: u8, one: u32, other: u32) {
        let pair = (one.min(other), one.max(other));
        let Some([firsts, seconds]) = self.lanes[usize::from(number) - 1].known(pair) else { return };
        let reach = |rank, rails: &Vec<RailAddress>| FromLauncher::Reach { rank, rails: rails.clone() };
        let told = [((pair.0, number), reach(pair.1, seconds)), ((pair.1, number), reach(pair.0, firsts))];
        self.out_to_lanes.extend(told);
    }
}
