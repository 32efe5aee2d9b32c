//! The unexpected queue: messages that came before their receive, payload copied out at once, or the
//! announcement of a large one.

use canele_mem::buffer::{self, InBuffer};
use canele_mem::window::Window;
use canele_rail::{Corrupt, MAX_INLINE};
use canele_sys::ids::{FlowId, Rank, RequestId, Tag};

use crate::choice::Protocol;
use crate::matching::{FoundMessage, Want};
use crate::observed::MessageEvent;
use crate::request::{Buffer, Failure, Outcome, Receive, State, Status, received};
use crate::rma::REQUESTS;
use crate::slab::Key;
use crate::submit::why_not_received;
use crate::wire::Rts;
use crate::{Proto, ProtoEvent};

/// The most unexpected messages of a flow that are checked to find the oldest.
const MOST_LOOKED_AT: usize = 4096;

/// One waiting message.
pub(crate) struct Unexpected {
    pub from: Rank,
    pub tag: Tag,
    pub body: Body,
}

/// A copy of the payload of a message.
pub(crate) enum KeptPayload {
    Short(u8, [u8; MAX_INLINE]),
    Long(Vec<u8>),
}

impl KeptPayload {
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Short(len, bytes) => &bytes[..*len as usize],
            Self::Long(bytes) => bytes,
        }
    }

    pub fn len(&self) -> usize {
        self.bytes().len()
    }

    /// Returns the protocol by which the message came.
    pub fn protocol(&self) -> Protocol {
        if let Self::Short(..) = self { Protocol::Short } else { Protocol::Eager }
    }
}

/// The part of a message that is held.
pub(crate) enum Body {
    Here(KeptPayload),
    Announced(Rts),
    /// An announced message that this rank has asked for.
    Pulled(Rts),
    /// A message that is asked for and has met its receive; `None` if that had no room, or if the message was
    /// withdrawn.
    Claimed(Rts, Option<RequestId>),
    /// The first part of a message whose rest is still to come, in memory for the whole message; and the
    /// sender's request.
    Coming {
        data: Vec<u8>,
        got: usize,
        request: RequestId,
    },
    /// A message of this rank to itself whose send waits.
    Own(RequestId, usize),
}

impl Body {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Here(payload) => payload.len(),
            Self::Coming { data, .. } => data.len(),
            Self::Announced(rts) | Self::Pulled(rts) | Self::Claimed(rts, _) => rts.len as usize,
            Self::Own(_, len) => *len,
        }
    }

    /// Returns the announcement of a message that this rank has not asked for yet.
    fn announced(&self) -> Option<Rts> {
        if let Self::Announced(rts) = self { Some(*rts) } else { None }
    }
}

/// A message that a matched probe took out of matching. Only a receive of this value gets it.
#[derive(PartialEq, Eq, Debug)]
pub struct Matched {
    key: RequestId,
    /// The status that its receive gets.
    pub status: Status,
}

impl Proto {
    /// Keeps a message for which no receive is posted.
    pub(crate) fn store(&mut self, flow: FlowId, from: Rank, tag: Tag, body: Body) -> Result<Key, Corrupt> {
        if self.flow(flow).is_none() {
            return Err(Corrupt(format!("{from} sent to flow {}, which cannot exist", flow.0)));
        }
        let bytes = body.len() as u64;
        let key = self.incoming.hold(Unexpected { from, tag, body }, &mut self.traffic);
        self.tell(|| ProtoEvent::UnexpectedArrived { from, flow, tag, bytes });
        if let Some(flow) = self.flows.known_mut(flow) {
            flow.matcher.store(from, tag, key.index);
        }
        self.traffic.unexpected += 1;
        self.rma_requested |= flow == REQUESTS;
        self.requests.count_completion(); // A probe may wait for it.
        Ok(key)
    }

    /// Returns the number of held messages that no receive has asked for.
    pub fn unexpected_held(&self) -> u64 {
        self.incoming.len() as u64
    }

    /// Returns the oldest unexpected messages of the flows that `is_meant` accepts, at most `most`, and the
    /// number of further ones. Reports to users name them. Of very many messages only some are checked.
    pub fn unexpected_messages(
        &self,
        most: usize,
        is_meant: impl Fn(FlowId) -> bool,
    ) -> (Vec<(FlowId, Status)>, u64) {
        let (mut told, mut all) = (Vec::new(), 0);
        for (number, flow) in self.flows.iter() {
            if number == REQUESTS || !is_meant(number) {
                continue;
            }
            all += flow.matcher.unexpected_count();
            let mut oldest: Vec<_> = flow.matcher.unexpected().take(MOST_LOOKED_AT).collect();
            oldest.sort_unstable_by_key(|(stamp, _)| *stamp);
            let left = most - told.len();
            told.extend(oldest.into_iter().take(left).map(|(_, found)| {
                let bytes = self.incoming.at(found.message).body.len();
                (number, Status { source: found.source, tag: found.tag, bytes })
            }));
        }
        let left_out = (all - told.len()) as u64;
        (told, left_out)
    }

    /// Returns the most messages held at once since the last call, and the most bytes of credit that they
    /// took.
    pub fn take_peaks(&mut self) -> [u64; 2] {
        let (held, traffic) = (self.unexpected_held(), &mut self.traffic);
        [traffic.unexpected_most.take(held), traffic.credit_most.take(traffic.credit_held)]
    }

    /// Delivers a message that came before its predecessors, now that its turn has come.
    pub(crate) fn deliver_out_of_order(&mut self, flow: FlowId, from: Rank, tag: Tag, key: Key) {
        let Some(matcher) = self.flow(flow).map(|flow| &mut flow.matcher) else { return };
        match matcher.arrive(from, tag) {
            Some(id) => {
                if let Some(State::ExpectMessage { buffer, .. }) = self.requests.leave(id) {
                    self.observe_found(flow, FoundMessage { source: from, tag, message: key.index });
                    self.deliver_unexpected(id, key.into(), buffer);
                }
            }
            None => {
                matcher.store(from, tag, key.index);
                self.traffic.unexpected += 1;
                self.requests.count_completion(); // A probe may wait for it.
                let Some(message) = self.incoming.get(key) else { return };
                let (bytes, announced) = (message.body.len() as u64, message.body.announced());
                self.tell(|| ProtoEvent::UnexpectedArrived { from, flow, tag, bytes });
                if let Some(rts) = announced {
                    self.note_announced(from, key, rts);
                }
            }
        }
    }

    /// Keeps a copy of payload, in memory used before where possible (invariant I5). The credit of a peer
    /// bounds the payload that is kept for it (invariant I9).
    pub(crate) fn keep(&mut self, from: Rank, payload: Window<'_>) -> Result<Body, Corrupt> {
        self.charge(from, payload.len())?;
        Ok(Body::Here(self.incoming.copy_payload(payload, &mut self.traffic)))
    }

    /// Drops announcements of cancelled sends to this rank itself, as long as a receive of `want` would find
    /// one next.
    pub(crate) fn discard_stale(&mut self, flow: FlowId, want: Want) {
        while let Some(found) = self.flow(flow).and_then(|f| f.matcher.peek(want)) {
            match self.incoming.at(found.message).body {
                Body::Own(send, _) if !matches!(self.requests.get(send), Some(State::ExpectSelf(_))) => {}
                _ => return,
            }
            if let Some(flow) = self.flow(flow) {
                flow.matcher.take(want);
            }
            self.incoming.drop_at(found.message);
        }
    }

    /// Returns the status of the message that a receive would get now. The message stays.
    pub fn probe(&mut self, flow: FlowId, want: Want) -> Option<Status> {
        self.discard_stale(flow, want);
        let found = self.flow(flow)?.matcher.peek(want)?;
        let bytes = self.incoming.at(found.message).body.len();
        Some(Status { source: found.source, tag: found.tag, bytes })
    }

    /// Takes a message out of matching; only [`Proto::submit_recv_matched`] receives it.
    pub fn probe_matched(&mut self, flow: FlowId, want: Want) -> Option<Matched> {
        let status = self.probe(flow, want)?;
        let found = self.flow(flow)?.matcher.take(want)?;
        self.observe_found(flow, found);
        if let Body::Own(send, _) = self.incoming.at(found.message).body
            && let Some(State::ExpectSelf(state)) = self.requests.leave(send)
        {
            // The message has met its receive: it is too late to cancel it.
            self.requests.enter(send, State::ExpectFin(state));
        }
        let key = self.incoming.key_at(found.message).into();
        Some(Matched { key, status })
    }

    /// Informs the observer that a message that was kept has met its receive.
    #[inline]
    pub(crate) fn observe_found(&mut self, flow: FlowId, found: FoundMessage) {
        let FoundMessage { source: from, tag, message } = found;
        let incoming = &self.incoming;
        self.observer.observe(|| MessageEvent::Matched {
            from,
            flow,
            tag,
            bytes: incoming.at(message).body.len(),
        });
    }

    /// Receives a message that a matched probe took.
    pub fn submit_recv_matched(&mut self, matched: Matched, buffer: InBuffer) -> RequestId {
        let id = self.requests.add(State::Moving);
        if let Some(failure) = why_not_received(&buffer) {
            self.discard(matched);
            let outcome = Outcome { result: Err(failure), buffer: Buffer::In(buffer) };
            self.requests.end(id, State::Done(outcome));
            return id;
        }
        self.deliver_unexpected(id, matched.key, buffer);
        id
    }

    /// Drops a message that a matched probe took.
    pub fn discard(&mut self, matched: Matched) {
        buffer::scope(|scope| {
            // A receive without room ends at once: the message is empty, or it is refused.
            let id = self.submit_recv_matched(matched, scope.lend_mut(&mut []));
            if let Some(Outcome { buffer: Buffer::In(buffer), .. }) = self.take(id) {
                scope.take_back_mut(buffer);
            }
        });
    }

    /// Drops every message of a flow that no receive has taken, and the state of the flow: it may be used
    /// anew.
    pub fn drop_flow(&mut self, flow: FlowId) {
        let any = Want { source: None, tag: None };
        if self.flows.known(flow).is_none() {
            return;
        }
        while let Some(matched) = self.probe_matched(flow, any) {
            self.discard(matched);
        }
        self.flows.reset(flow);
    }

    /// Drops a flow if one of its messages was not received.
    pub fn drop_unexpected(&mut self, flow: FlowId) {
        if self.has_unexpected(flow) {
            self.drop_flow(flow);
        }
    }

    /// Gives a waiting message to the receive `id`.
    pub(crate) fn deliver_unexpected(&mut self, id: RequestId, key: RequestId, mut buffer: InBuffer) {
        if matches!(self.incoming.get(key.into()), Some(Unexpected { body: Body::Pulled(_), .. })) {
            return self.claim_pulled(id, key.into(), buffer);
        }
        let Some(Unexpected { from, tag, body }) = self.incoming.take(key.into()) else {
            return self.requests.end(
                id,
                State::Done(Outcome { result: Err(Failure::Cancelled), buffer: Buffer::In(buffer) }),
            );
        };
        let len = body.len();
        let fits = len <= buffer.len();
        if let Body::Announced(_) = body {
            self.discharge_announced(from);
        }
        match body {
            Body::Announced(_) | Body::Coming { .. } if self.gone(from).is_some() => {
                // Its data will never come.
                if let Body::Coming { .. } = body {
                    self.discharge(from, len);
                }
                let failure = self.why_gone(from).unwrap_or(Failure::PeerFailed(from));
                let receive = Receive::new(from, tag, buffer, len);
                return self.requests.end(id, received(receive, Err(failure)));
            }
            Body::Announced(rts) => return self.accept(id, from, tag, rts, buffer),
            Body::Coming { data, got, request } => {
                return self.take_over(id, (from, tag), (data, got, request), buffer);
            }
            Body::Own(send, _) => return self.deliver_own(id, send, buffer),
            Body::Pulled(_) | Body::Claimed(..) => unreachable!("what is asked for is claimed, once"),
            Body::Here(payload) => {
                if fits {
                    buffer.copy_from_slice(0, payload.bytes());
                    self.traffic.copies += u64::from(payload.protocol() == Protocol::Eager);
                }
                self.consumed(from, payload.protocol(), len);
                self.recycle(payload);
            }
        }
        let receive = Receive::new(from, tag, buffer, len);
        let result = if fits { Ok(()) } else { Err(receive.truncated()) };
        self.requests.end(id, received(receive, result));
    }

    /// Takes the memory of a payload back.
    pub(crate) fn recycle(&mut self, payload: KeptPayload) {
        if let KeptPayload::Long(data) = payload {
            self.incoming.reclaim_memory(data);
        }
    }

    /// Counts a message that was kept and has found its receive.
    pub(crate) fn consumed(&mut self, from: Rank, protocol: Protocol, len: usize) {
        self.discharge(from, len);
        if from == self.me {
            return self.traffic.own(len);
        }
        self.traffic.received(protocol, len);
        self.return_credit(from, len);
    }
}

impl Receive {
    /// Returns the error of a message longer than the buffer.
    pub(crate) fn truncated(&self) -> Failure {
        Failure::Truncated {
            message: self.len,
            buffer: self.buffer.len(),
            source_rank: self.from,
            tag: self.tag,
        }
    }
}
