//! The messages of survivors: those that have not left yet, and those that come, in order for each sender.

use std::collections::{BTreeMap, VecDeque};

use canele_mem::buffer::Owned;
use canele_proto::matching::Want;
use canele_proto::request::Buffer;
use canele_proto::rma::PendingSends;
use canele_proto::{Matched, Proto};
use canele_rail::FullRail;
use canele_sys::ids::{Rank, RequestId, Tag};

use super::MESSAGES;

/// The most messages of one sender that are received at the same time; further ones wait against its credit.
const MOST_COMING: usize = 16;
/// Returns the length of the longest valid message: words, two lists of all ranks, and their names.
fn longest(ranks: usize) -> usize {
    1024 + 20 * ranks
}

/// The messages of one rank.
#[derive(Default)]
pub struct Mail {
    pending: PendingSends,
    coming: BTreeMap<Rank, Incoming>,
}

#[derive(Default)]
struct Incoming {
    waiting: VecDeque<Matched>,
    receives: VecDeque<(RequestId, Owned<u8>)>,
}

impl Mail {
    /// Returns true if messages are coming or leaving.
    pub fn is_busy(&self) -> bool {
        !self.coming.is_empty() || !self.pending.is_empty()
    }

    /// Sends a message.
    pub fn send<R: FullRail>(&mut self, proto: &mut Proto, rail: &mut R, to: Rank, bytes: &[u8]) {
        self.pending.send(proto, rail, (to, MESSAGES, Tag(0)), bytes);
    }

    /// Forgets the messages that have left.
    pub fn clear(&mut self, proto: &mut Proto) {
        self.pending.clear(proto);
    }

    /// Begins to receive the messages that have come.
    pub fn take_new(&mut self, proto: &mut Proto) {
        while let Some(matched) = proto.probe_matched(MESSAGES, Want { source: None, tag: None }) {
            self.coming.entry(matched.status.source).or_default().waiting.push_back(matched);
        }
        let longest = longest(proto.ranks());
        for incoming in self.coming.values_mut() {
            while incoming.receives.len() < MOST_COMING
                && let Some(matched) = incoming.waiting.pop_front()
            {
                let mut bytes = Owned::new(vec![0; matched.status.bytes.min(longest)]);
                let request = proto.submit_recv_matched(matched, bytes.lend_in());
                incoming.receives.push_back((request, bytes));
            }
        }
    }

    /// Returns the next message that is here. A message that was too long is empty; those of a sender that
    /// died amid one end there.
    pub fn poll(&mut self, proto: &mut Proto) -> Option<(Rank, Vec<u8>)> {
        let mut found = None;
        for (from, incoming) in &mut self.coming {
            if let Some(message) = incoming.poll(proto, *from) {
                found = Some((*from, message));
                break;
            }
        }
        self.coming.retain(|_, incoming| !(incoming.waiting.is_empty() && incoming.receives.is_empty()));
        found
    }
}

impl Incoming {
    fn poll(&mut self, proto: &mut Proto, from: Rank) -> Option<Vec<u8>> {
        while let Some((request, mut bytes)) =
            self.receives.pop_front_if(|(request, _)| proto.is_done(*request))
        {
            let outcome = proto.take(request)?;
            if let Buffer::In(buffer) = outcome.buffer {
                bytes.take_back_in(buffer);
            }
            let mut bytes = bytes.into_items();
            match outcome.result {
                Ok(status) => bytes.truncate(status.bytes),
                Err(_) if proto.gone(from).is_some() => continue,
                Err(_) => bytes.clear(),
            }
            return Some(bytes);
        }
        None
    }
}
