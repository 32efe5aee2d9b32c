//! Work that packets have brought and that waits until they are released, because it needs the rail.
//!
//! Owns small puts whose turn it is, and reports of links that peers closed. Nothing stays here beyond the
//! packet that brought it.

use std::collections::VecDeque;

use canele_rail::FullRail;
use canele_sys::ids::Rank;

use crate::Proto;
use crate::peer::PeerEnd;
use crate::wire::{LinkClosed, Put};

/// Puts and closed links that wait for a packet to be released.
#[derive(Default)]
pub(crate) struct Deferred {
    puts: VecDeque<(Rank, Put)>,
    closed_links: VecDeque<(Rank, LinkClosed)>,
}

impl Deferred {
    /// Adds a put of a peer.
    pub fn add_put(&mut self, from: Rank, put: Put) {
        self.puts.push_back((from, put));
    }

    /// Adds a peer's report of a link that it closed.
    pub fn add_closed_link(&mut self, from: Rank, link_closed: LinkClosed) {
        self.closed_links.push_back((from, link_closed));
    }

    /// Takes the put that came first.
    #[inline(always)]
    fn take_put(&mut self) -> Option<(Rank, Put)> {
        self.puts.pop_front()
    }

    /// Takes the report of a closed link that came first.
    #[inline(always)]
    fn take_closed_link(&mut self) -> Option<(Rank, LinkClosed)> {
        self.closed_links.pop_front()
    }
}

impl Proto {
    /// Applies the deferred puts, then handles the closed links.
    #[inline]
    pub(crate) fn handle_deferred<R: FullRail>(&mut self, rail: &mut R) {
        while let Some((from, put)) = self.deferred.take_put() {
            // A put of a peer that was cut off is dropped.
            if self.peers[from.0 as usize].gone() != Some(PeerEnd::Failed)
                && let Some(notice) = self.apply_put(rail, from, &put)
                && let Err(corrupt) = self.keep_notice(notice)
            {
                self.on_corrupt(rail, from, corrupt);
            }
        }
        while let Some((from, link_closed)) = self.deferred.take_closed_link() {
            if let Err(corrupt) = self.on_link_closed(rail, from, link_closed) {
                self.on_corrupt(rail, from, corrupt);
            }
        }
    }
}
