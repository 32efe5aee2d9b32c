//! Messages of the library that have not left yet, with their memory.

use std::collections::{BTreeMap, VecDeque};

use canele_mem::buffer::{OutBuffer, Owned};
use canele_mem::window::Window;
use canele_rail::FullRail;
use canele_sys::ids::{FlowId, Rank, RequestId, Tag};

use crate::request::Buffer;
use crate::{Envelope, Filled, Proto, Sent};

/// From this number of messages to a rank on, those behind the oldest are checked too.
const SEARCHED_FROM: usize = 64;

/// Messages that have not left yet, to each rank in the order in which they were sent.
#[derive(Default)]
pub struct PendingSends(BTreeMap<Rank, PeerSends>);

#[derive(Default)]
struct PeerSends {
    messages: VecDeque<Message>,
    /// Bytes of the library's memory that they take.
    bytes: usize,
    /// The number of messages at which all of them are checked.
    search_at: usize,
}

struct Message {
    request: RequestId,
    /// Its memory, unless a region holds it, and the length of this memory.
    bytes: Option<Owned<u8>>,
    len: usize,
}

impl PendingSends {
    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of messages.
    pub fn len(&self) -> usize {
        self.0.values().map(|queue| queue.messages.len()).sum()
    }

    /// Returns the number of messages to one rank.
    pub fn len_to(&self, to: Rank) -> usize {
        self.0.get(&to).map_or(0, |queue| queue.messages.len())
    }

    /// Returns the bytes of messages to one rank.
    pub fn bytes_to(&self, to: Rank) -> usize {
        self.0.get(&to).map_or(0, |queue| queue.bytes)
    }

    fn push(&mut self, to: Rank, request: RequestId, bytes: Option<Owned<u8>>, len: usize) {
        let queue = self.0.entry(to).or_default();
        queue.bytes += len;
        queue.messages.push_back(Message { request, bytes, len });
    }

    /// Sends a message that is kept here until it has left. A message to a peer that is gone is dropped.
    pub fn send<R: FullRail>(
        &mut self,
        proto: &mut Proto,
        rail: &mut R,
        (to, flow, tag): (Rank, FlowId, Tag),
        bytes: &[u8],
    ) {
        if proto.post(rail, Envelope::new(to, flow, tag), bytes) == Sent::Done {
            return;
        }
        self.submit(proto, rail, (to, flow, tag), bytes.to_vec());
    }

    /// Sends a message of `len` bytes that `fill` writes, as [`PendingSends::send`], perhaps with a later
    /// packet. It also sends the coalesced messages for that rank.
    pub fn send_filled<R: FullRail>(
        &mut self,
        proto: &mut Proto,
        rail: &mut R,
        (to, flow, tag): (Rank, FlowId, Tag),
        len: usize,
        fill: impl Fn(Window<'_>),
    ) {
        let envelope = Envelope { coalesce: true, ..Envelope::new(to, flow, tag) };
        if proto.post(rail, envelope, Filled { len, fill: &fill }) == Sent::Busy {
            let mut bytes = vec![0; len];
            canele_rail::on_slice(&mut bytes, &fill);
            self.submit(proto, rail, (to, flow, tag), bytes);
        }
        proto.send_if_coalesced(rail, to);
    }

    /// Sends a message, as [`PendingSends::send_filled`], that no call waits for: it leaves with the next one
    /// to its receiver, or in the next pass.
    pub fn send_later<R: FullRail>(
        &mut self,
        proto: &mut Proto,
        rail: &mut R,
        (to, flow, tag): (Rank, FlowId, Tag),
        len: usize,
        fill: impl Fn(Window<'_>),
    ) {
        let envelope = Envelope { coalesce: true, ..Envelope::new(to, flow, tag) };
        loop {
            if proto.coalesce(envelope, Filled { len, fill: &fill }) != Sent::Busy {
                return;
            }
            // The packet of coalesced messages may be full; then it leaves first.
            if !proto.send_if_coalesced(rail, to) {
                return self.send_filled(proto, rail, (to, flow, tag), len, fill);
            }
        }
    }

    fn submit<R: FullRail>(
        &mut self,
        proto: &mut Proto,
        rail: &mut R,
        (to, flow, tag): (Rank, FlowId, Tag),
        bytes: Vec<u8>,
    ) {
        let len = bytes.len();
        let mut owned = Owned::new(bytes);
        let request = proto.submit_send(rail, Envelope::new(to, flow, tag), owned.lend_out());
        self.push(to, request, Some(owned), len);
    }

    /// Sends part of a region, which holds its own memory.
    pub fn send_region<R: FullRail>(
        &mut self,
        proto: &mut Proto,
        rail: &mut R,
        (to, flow, tag): (Rank, FlowId, Tag),
        part: OutBuffer,
    ) {
        let request = proto.submit_send(rail, Envelope::new(to, flow, tag), part);
        self.push(to, request, None, 0);
    }

    /// Forgets the messages that have left: the oldest to each rank, and once their number has doubled, all
    /// of them. A long message does not keep the short ones behind it.
    pub fn clear(&mut self, proto: &mut Proto) {
        self.0.retain(|_, queue| {
            while let Some(message) = queue.messages.pop_front_if(|message| proto.is_done(message.request)) {
                queue.bytes -= message.len;
                message.end(proto);
            }
            if queue.messages.len() >= queue.search_at.max(SEARCHED_FROM) {
                let (done, rest) = std::mem::take(&mut queue.messages)
                    .into_iter()
                    .partition::<VecDeque<_>, _>(|message| proto.is_done(message.request));
                queue.bytes -= done.iter().map(|message| message.len).sum::<usize>();
                done.into_iter().for_each(|message| message.end(proto));
                queue.search_at = 2 * rest.len();
                queue.messages = rest;
            }
            !queue.messages.is_empty()
        });
    }
}

impl Message {
    /// Takes the outcome of a message that is done.
    fn end(self, proto: &mut Proto) {
        let outcome = proto.take(self.request).expect("it is done");
        if let (Buffer::Out(buffer), Some(mut bytes)) = (outcome.buffer, self.bytes) {
            bytes.take_back_out(buffer);
        }
    }
}
