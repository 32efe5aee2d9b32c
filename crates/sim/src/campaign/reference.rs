//! The reference: matching as the standard words it (MPI-4.1, §3.5), by lists and searches. The order in
//! which messages reach a rank determines the receive of each message. The model knows nothing but that
//! order.

use std::collections::BTreeMap;

use canele_proto::matching::Want;
use canele_sys::ids::{FlowId, Rank, Tag};

/// The number that the test gives to a message.
pub type Message = usize;
pub type Receive = usize;

#[derive(Clone, Copy, Debug)]
pub struct Envelope {
    pub message: Message,
    pub source: Rank,
    pub tag: Tag,
}

/// One flow at one rank.
#[derive(Default)]
pub struct Matching {
    posted: Vec<(Receive, Want)>,
    waiting: Vec<Envelope>,
}

fn accepts(want: Want, envelope: &Envelope) -> bool {
    want.source.is_none_or(|source| source == envelope.source)
        && want.tag.is_none_or(|tag| tag == envelope.tag)
}

impl Matching {
    /// Handles the arrival of a message; returns its receive, if one is posted.
    pub fn arrive(&mut self, envelope: Envelope) -> Option<Receive> {
        match self.posted.iter().position(|(_, want)| accepts(*want, &envelope)) {
            Some(first) => Some(self.posted.remove(first).0),
            None => {
                self.waiting.push(envelope);
                None
            }
        }
    }

    /// Returns the message that a probe sees.
    pub fn peek(&self, want: Want) -> Option<Envelope> {
        self.waiting.iter().find(|envelope| accepts(want, envelope)).copied()
    }

    /// Returns and removes the message that a receive or a matched probe gets at once.
    pub fn take(&mut self, want: Want) -> Option<Envelope> {
        let first = self.waiting.iter().position(|envelope| accepts(want, envelope))?;
        Some(self.waiting.remove(first))
    }

    pub fn post(&mut self, receive: Receive, want: Want) {
        self.posted.push((receive, want));
    }

    /// Withdraws a receive; returns true if it still waited.
    pub fn cancel(&mut self, receive: Receive) -> bool {
        let before = self.posted.len();
        self.posted.retain(|(posted, _)| *posted != receive);
        self.posted.len() < before
    }

    /// Withdraws a message that no receive has taken; returns true if it still waited.
    pub fn withdraw(&mut self, message: Message) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|envelope| envelope.message != message);
        self.waiting.len() < before
    }

    pub fn waiting(&self) -> impl Iterator<Item = &Envelope> {
        self.waiting.iter()
    }

    pub fn posted(&self) -> impl Iterator<Item = (Receive, Want)> {
        self.posted.iter().copied()
    }
}

/// All flows of a rank.
#[derive(Default)]
pub struct Flows(BTreeMap<FlowId, Matching>);

impl Flows {
    pub fn of(&mut self, flow: FlowId) -> &mut Matching {
        self.0.entry(flow).or_default()
    }

    pub fn all(&mut self) -> impl Iterator<Item = (FlowId, &mut Matching)> {
        self.0.iter_mut().map(|(flow, matching)| (*flow, matching))
    }
}

/// Returns the bytes of a message.
pub fn content(message: Message, len: usize) -> Vec<u8> {
    let mut word = (message as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        bytes.extend_from_slice(&(word ^ word >> 29).to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}
