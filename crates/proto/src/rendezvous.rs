//! The rendezvous protocol: the packets between the two ends of an announced message, from the announcement
//! to the end.
//!
//! ```text
//!   rts ──▶ matched ──▶ cts, pieces   or the receiver copies   or both do; ──▶ fin
//!    └──▶ waits ──(withdraw)──▶ taken out of matching ──▶ fin
//! ```
//! A withdrawal has a number in the sequence of its flow, so it never overtakes its announcement. One that
//! comes too late is dropped: the message has its receive, and ends as if there had been no withdrawal
//! (invariant I10).

use canele_mem::buffer::InBuffer;
use canele_rail::{Corrupt, Packet};
use canele_sys::ids::{FlowId, Rank, RequestId, Tag};

use crate::choice::{self, Ends, Protocol, Rendezvous};
use crate::peer::Reply;
use crate::request::{Failure, Receive, Send, State, received, sent};
use crate::unexpected::Body;
use crate::wire::{BufferPlace, Cts, CtsKind, FinStatus, Rts};
use crate::{MessageEvent, Proto, ProtoEvent};

impl Proto {
    /// Handles the announcement of a message.
    pub(crate) fn on_rts(&mut self, from: Rank, flow: FlowId, tag: Tag, rts: Rts) -> Result<(), Corrupt> {
        self.note_lack(from, &rts);
        match self.flow(flow).and_then(|f| f.matcher.arrive(from, tag)) {
            Some(id) => {
                if let Some(State::ExpectMessage { buffer, .. }) = self.requests.leave(id) {
                    let bytes = usize::try_from(rts.len).unwrap_or(usize::MAX);
                    self.observe(|| MessageEvent::Matched { from, flow, tag, bytes });
                    self.accept(id, from, tag, rts, buffer);
                }
                Ok(())
            }
            None => {
                self.charge_announced(from)?;
                let key = self.store(flow, from, tag, Body::Announced(rts))?;
                self.note_announced(from, key, rts);
                Ok(())
            }
        }
    }

    /// Chooses the way of an announced message that meets its receive.
    pub(crate) fn accept(&mut self, id: RequestId, from: Rank, tag: Tag, rts: Rts, buffer: InBuffer) {
        let len = usize::try_from(rts.len).unwrap_or(usize::MAX);
        let receive = Receive::new(from, tag, buffer, len);
        if let Some(failure) = self.why_gone(from) {
            // The sender announced the message and died.
            return self.requests.end(id, received(receive, Err(failure)));
        }
        if len > receive.buffer.len() {
            self.answer(from, Reply::Fin(rts.request, FinStatus::Done));
            let failure = receive.truncated();
            return self.requests.end(id, received(receive, Err(failure)));
        }
        if len == 0 {
            self.traffic.received(Protocol::Streamed, 0);
            self.answer(from, Reply::Fin(rts.request, FinStatus::Done));
            return self.requests.end(id, received(receive, Ok(())));
        }
        let place = receive.buffer.place();
        if let Some(far @ BufferPlace::Process(_)) = rts.place {
            if receive.buffer.is_fine() {
                self.tell_rendezvous(from, len, Rendezvous::Stream);
                return self.invite(id, from, rts.request, CtsKind::Stream, receive);
            }
            // The rail chooses the end that copies.
            return self.copy_later(id, State::ToShare(receive, far, rts.request));
        }
        let ends = Ends { source: rts.place.is_some(), target: place.is_some() };
        let rendezvous = choice::choose_rendezvous(self.peers[from.0 as usize].regions, ends);
        self.tell_rendezvous(from, len, rendezvous);
        match (rendezvous, rts.place, place) {
            (Rendezvous::Read, Some(far), _) => {
                self.copy_later(id, State::Reading(receive, far, rts.request, 0));
            }
            (Rendezvous::Both, Some(far), _) => {
                self.copy_later(id, State::ToShare(receive, far, rts.request))
            }
            (Rendezvous::Write, _, Some(place)) => {
                self.invite(id, from, rts.request, CtsKind::Write(place), receive);
            }
            _ => self.invite(id, from, rts.request, CtsKind::Stream, receive),
        }
    }

    /// Informs the listener of the way of an announced message.
    pub(crate) fn tell_rendezvous(&mut self, peer: Rank, len: usize, rendezvous: Rendezvous) {
        let (bytes, variant) = (len as u64, rendezvous.variant());
        self.tell(|| ProtoEvent::ProtocolChosen { peer, bytes, variant, is_sender: false });
        self.observe(|| MessageEvent::Chosen { peer, bytes: len, variant });
    }

    /// Answers an announcement and expects the data.
    pub(crate) fn invite(
        &mut self,
        id: RequestId,
        from: Rank,
        request: RequestId,
        how: CtsKind,
        receive: Receive,
    ) {
        self.answer(from, Reply::Cts(Cts { request, receiver: id, how }));
        self.requests.enter(id, State::ExpectPieces(receive, 0));
    }

    /// Handles the answer to an announcement: the data may go, in the way it names.
    pub(crate) fn on_cts(&mut self, from: Rank, cts: Cts) {
        // A stale or foreign request means that the peer is behind: one of the two gave up (invariant I11).
        // A receiver that cannot reach memory that both were to copy asks for the message a second time.
        let ours = match self.requests.get(cts.request) {
            Some(State::ExpectCts(send)) => send.to == from,
            Some(State::SharingOut(send, ..) | State::ExpectFin(send)) => {
                send.to == from && cts.how == CtsKind::Stream
            }
            _ => false,
        };
        if !ours {
            return;
        }
        let send = match self.requests.leave(cts.request) {
            Some(State::ExpectCts(send) | State::SharingOut(send, ..) | State::ExpectFin(send)) => send,
            _ => return,
        };
        if send.buffer.is_empty() {
            return self.requests.end(cts.request, sent(send, Ok(()))); // There is no data to invite.
        }
        match cts.how {
            CtsKind::Stream => self.stream(cts.request, send, cts.receiver),
            CtsKind::Write(place) => {
                self.copy_later(cts.request, State::Writing(send, place, cts.receiver, 0))
            }
            CtsKind::Share(place, chunk_counter, generation) => {
                self.share_as_sender(cts.request, send, cts.receiver, (place, chunk_counter, generation));
            }
        }
    }

    /// Sends an announced message in pieces.
    pub(crate) fn stream(&mut self, id: RequestId, send: Send, receiver: RequestId) {
        let to = send.to;
        let peer = &mut self.peers[to.0 as usize];
        peer.backlog().stream(id, send.level, send.buffer.len());
        peer.backlog_began();
        self.requests.enter(id, State::Streaming(send, Some(receiver), 0));
        self.list(to);
    }

    /// Handles a piece of an announced message.
    pub(crate) fn on_piece(
        &mut self,
        from: Rank,
        id: RequestId,
        offset: u64,
        packet: &Packet<'_>,
    ) -> Result<(), Corrupt> {
        let n = packet.bulk.len() + packet.direct_bytes;
        let Some(State::ExpectPieces(receive, got)) = self.requests.get_mut(id) else {
            return Ok(()); // The receive failed meanwhile.
        };
        let end =
            offset.checked_add(n as u64).filter(|end| *end <= receive.len as u64 && *got + n <= receive.len);
        if receive.from != from || end.is_none() {
            return Err(Corrupt(format!(
                "{from} sent a piece of {n} bytes at {offset} of a message of {} bytes from {}, {got} of which have come",
                receive.len, receive.from
            )));
        }
        receive.buffer.copy_from(offset as usize, packet.bulk);
        self.traffic.copies += u64::from(packet.direct_bytes == 0);
        *got += n;
        if *got == receive.len {
            self.finish_receive(id, Protocol::Streamed);
        }
        Ok(())
    }

    /// Ends a receive that has all its bytes.
    pub(crate) fn finish_receive(&mut self, id: RequestId, protocol: Protocol) {
        let receive = match self.requests.leave(id) {
            Some(State::ExpectPieces(r, _) | State::Reading(r, ..) | State::SharingIn(r, ..)) => r,
            Some(other) => return self.requests.enter(id, other),
            None => return,
        };
        self.traffic.received(protocol, receive.len);
        let Receive { from, tag, len: bytes, .. } = receive;
        self.observe(|| MessageEvent::Completed { from, tag, bytes, protocol });
        self.requests.end(id, received(receive, Ok(())));
    }

    /// Handles the end of an announced message at the other side.
    pub(crate) fn on_fin(&mut self, from: Rank, id: RequestId, ending: FinStatus) {
        if self.requests.get(id).and_then(State::peer) != Some(from) {
            return;
        }
        let Some(state) = self.requests.leave(id) else { return };
        let result = match ending {
            FinStatus::Done => Ok(()),
            FinStatus::Withdrawn => Err(Failure::Cancelled),
        };
        match state {
            State::ExpectCts(send) | State::ExpectFin(send) | State::SharingOut(send, ..) => {
                if ending == FinStatus::Withdrawn {
                    self.observe_withdrawal(&send);
                }
                let result = match (ending, self.why_revoked(send.flow)) {
                    (FinStatus::Withdrawn, Some(failure)) => Err(failure),
                    _ => result,
                };
                if result.is_ok() {
                    self.traffic.sent(Protocol::Direct, send.buffer.len());
                }
                self.requests.end(id, sent(send, result));
            }
            State::ExpectPieces(receive, _) if !receive.was_shared => {
                self.traffic.received(Protocol::Direct, receive.len);
                self.requests.end(id, received(receive, result));
            }
            // To a receive copied by both ends it means that the sender has copied its part: see `copied`. It
            // may come late.
            other => self.requests.enter(id, other),
        }
    }

    /// Handles a withdrawal by the sender of an announced message: it succeeds, unless a receive was faster.
    pub(crate) fn on_withdraw(&mut self, from: Rank, flow: FlowId, tag: Tag, request: RequestId) {
        let incoming = &self.incoming;
        let is_it = |message: u32| matches!(incoming.at(message).body, Body::Announced(rts) | Body::Pulled(rts) if rts.request == request);
        let flow = self.flows.known_mut(flow);
        if let Some(message) = flow.and_then(|flow| flow.matcher.withdraw(from, tag, is_it)) {
            if !self.withdraw_pulled(message) {
                self.incoming.drop_at(message);
                self.discharge_announced(from);
            }
            self.answer(from, Reply::Fin(request, FinStatus::Withdrawn));
        }
    }
}
