//! Messages in one packet that meet their receive when only their head has come: the rail receives their bulk
//! into its buffer.
//!
//! ```text
//!   head here ─▶ matched ─▶ the rail fills the buffer ─▶ whole                           ─▶ the receive ends
//!                    └────▶ link lost ─▶ the message comes again over another, is copied ──┘
//! ```
//! Owns, at the receiver, the receives that wait for the rest of such a message. If messages carry numbers,
//! the message stays the next one of its flow until all of it is here. So there is one for each flow and
//! sender.

use canele_rail::{Corrupt, Header, Packet};
use canele_sys::ids::{FlowId, Rank, RequestId, Tag};

use crate::Proto;
use crate::choice::Protocol;
use crate::observed::MessageEvent;
use crate::request::{Receive, State};
use crate::rma::REQUESTS;
use crate::sequencer::SequenceCheck;

/// The receives that wait for the rest of a message in one packet, with its sender and its flow. There are
/// few at a time.
#[derive(Default)]
pub(crate) struct EarlyMatches(Vec<(Rank, FlowId, RequestId)>);

impl EarlyMatches {
    fn position(&self, from: Rank, flow: FlowId) -> Option<usize> {
        self.0.iter().position(|(rank, of, _)| (*rank, *of) == (from, flow))
    }

    /// Returns true if a message of this sender and flow has its receive already.
    #[inline]
    pub fn contains(&self, from: Rank, flow: FlowId) -> bool {
        !self.0.is_empty() && self.position(from, flow).is_some()
    }

    /// Takes the receive of the message that has now come whole.
    #[inline]
    pub fn take(&mut self, from: Rank, flow: FlowId) -> Option<RequestId> {
        if self.0.is_empty() {
            return None;
        }
        self.position(from, flow).map(|at| self.0.swap_remove(at).2)
    }

    /// Forgets the receives from a peer.
    pub fn remove_of(&mut self, peer: Rank) {
        self.0.retain(|(from, ..)| *from != peer);
    }
}

impl Proto {
    /// Returns the receive for a message whose head has come, if one is posted whose buffer can take its
    /// `len` bytes at once.
    pub(crate) fn match_early(&mut self, from: Rank, header: Header, len: usize) -> Option<RequestId> {
        let (flow, tag) = (FlowId(header.flow), Tag(header.tag));
        // This check comes first: the flow may not exist.
        if flow == REQUESTS || self.flow(flow).is_none() || self.gone(from).is_some() {
            return None;
        }
        let numbers = self.sequencer(from);
        if numbers.is_some_and(|numbers| numbers.check(flow, header.sequence) != SequenceCheck::Next) {
            return None;
        }
        if let Some(at) = self.early_matches.position(from, flow) {
            return Some(self.early_matches.0[at].2);
        }
        let id = self.flow(flow)?.matcher.wanting(from, tag)?;
        match self.requests.get(id)? {
            State::ExpectMessage { buffer, .. } if len <= buffer.len() && !buffer.is_fine() => {}
            _ => return None,
        }
        self.flow(flow)?.matcher.arrive(from, tag);
        let Some(State::ExpectMessage { buffer, .. }) = self.requests.leave(id) else { return None };
        self.observe(|| MessageEvent::Matched { from, flow, tag, bytes: len });
        self.requests.enter(id, State::ExpectPieces(Receive::new(from, tag, buffer, len), 0));
        self.early_matches.0.push((from, flow, id));
        Some(id)
    }

    /// Ends a receive whose message is all here.
    pub(crate) fn finish_early(
        &mut self,
        from: Rank,
        id: RequestId,
        packet: &Packet<'_>,
    ) -> Result<(), Corrupt> {
        let len = packet.bulk.len() + packet.direct_bytes;
        // A receive that no longer waits has failed meanwhile.
        if let Some(State::ExpectPieces(receive, _)) = self.requests.get_mut(id) {
            if receive.len != len {
                return Err(Corrupt(format!(
                    "{from} sent {len} bytes where it began to send {}",
                    receive.len
                )));
            }
            if packet.direct_bytes == 0 {
                receive.buffer.copy_from(0, packet.bulk);
                self.traffic.copies += 1;
            }
            self.finish_receive(id, Protocol::Eager);
        }
        self.return_credit(from, len);
        Ok(())
    }
}
