//! The submission of requests, for each owner in the order of the calls.

use canele_mem::window::Window;
use canele_rail::{FullRail, Rma};
use canele_sys::ids::{Rank, Tag};

use super::awaited::{Awaited, answer_to};
use super::call::{Call, RmaFailure};
use super::cutting::Piece;
use super::origin::RmaOrigin;
use super::pending::PendingSends;
use super::verbs::Post;
use super::windows::WindowUse;
use super::{ANSWERS, DATA, Form, REQUESTS, Refusal, RmaRequest};
use crate::slab::Key;
use crate::{Envelope, Proto};

/// The most messages to one owner that may wait to leave; beyond it no further ones are made.
const MOST_SENDS: usize = 64;
/// The most answers of one owner that may be to come, and their bytes.
const MOST_ANSWERS: usize = 1024;
const MOST_ANSWER_BYTES: usize = 1 << 20;

impl RmaOrigin {
    /// Submits all requests to an owner that can leave; returns true if there was one.
    pub(super) fn advance_owner<R: FullRail>(
        &mut self,
        proto: &mut Proto,
        rail: &mut R,
        owner: Rank,
    ) -> bool {
        let mut any = false;
        while let Some(state) = self.owners.get(&owner)
            && let Some(key) = state.queue.front().copied()
        {
            let unsuited = || self.calls.get(key).and_then(Call::why_not_carried_out);
            if let Some(failure) = proto.why_gone(owner).or_else(unsuited) {
                if let Some(call) = self.calls.get_mut(key) {
                    call.fail(RmaFailure::Failed(failure));
                    call.is_submitted = true;
                }
            } else if self.is_needless_flush(key) {
                self.calls.get_mut(key).into_iter().for_each(|call| call.is_submitted = true);
            } else if state.awaited.len() >= MOST_ANSWERS
                || state.awaited_bytes >= MOST_ANSWER_BYTES
                || self.pending.len_to(owner) >= MOST_SENDS
            {
                return any;
            } else {
                match self.post_verb(proto, rail, owner, key) {
                    Post::Done => {}
                    Post::Waits => return any,
                    Post::Request => {
                        self.note_silent(rail, owner, key);
                        self.submit_next(proto, rail, key);
                    }
                }
            }
            any = true;
            if self.calls.get(key).is_none_or(|call| call.is_submitted) {
                self.owners.entry(owner).or_default().queue.pop_front();
                self.settle(proto, rail, key);
            }
        }
        any
    }

    /// Returns true for a flush that no unanswered request precedes.
    fn is_needless_flush(&self, key: Key) -> bool {
        self.calls.get(key).is_some_and(|call| {
            let needs = || self.windows.known(call.window()).is_some_and(WindowUse::needs_flush);
            matches!(call.rma_request, RmaRequest::Flush { .. }) && !needs()
        })
    }

    /// Notes a call whose request gets no answer: a flush confirms it, and until then no verb passes it.
    fn note_silent<R: Rma>(&mut self, rail: &R, owner: Rank, key: Key) {
        let Some(call) = self.calls.get(key).filter(|call| !call.rma_request.is_answered()) else { return };
        self.windows.at(call.window()).note_silent(call.serial);
        if rail.has_verbs() {
            self.unconfirmed.insert(owner, call.serial);
        }
    }

    /// Submits the next request of a call.
    pub(super) fn submit_next<R: FullRail>(&mut self, proto: &mut Proto, rail: &mut R, key: Key) {
        let sequence = self.take_sequence();
        let Some(call) = self.calls.get_mut(key) else { return };
        if let Some(cutting) = &mut call.cutting {
            let RmaRequest::Access(access) = call.rma_request else { return };
            let piece = cutting.next(&access, proto.eager_bytes());
            call.is_submitted = cutting.is_done();
            match piece {
                Some(piece) => self.submit_piece(proto, rail, key, sequence, piece),
                None => {
                    call.is_submitted = true;
                    call.fail(RmaFailure::Refused(Some(access.place.key), Refusal::Broken));
                }
            }
            return;
        }
        call.is_submitted = true;
        let (owner, rma_request) = (call.owner, call.rma_request);
        let form = proto.form(&rma_request);
        if rma_request.is_answered() {
            let beside = match rma_request {
                RmaRequest::Get { len, .. } if form == Form::Whole => len as usize,
                _ => 0,
            };
            self.expect_answer(proto, owner, sequence, key, (0, beside));
        }
        let Some(call) = self.calls.get_mut(key) else { return };
        if form == Form::Apart
            && matches!(rma_request, RmaRequest::Get { .. })
            && let Some(into) = call.into.take()
        {
            // This receive is posted after that of the answer, because the answer comes first.
            call.receiving = Some(proto.submit_recv(ANSWERS, answer_to(owner, sequence), into));
            self.moving.push(key);
        }
        let (head, head_len) = rma_request.head(form);
        let way = (owner, REQUESTS, rma_request.tag(form, sequence));
        let data = call.data.as_ref().filter(|_| form == Form::Whole && rma_request.carries_data());
        let len = head_len + data.map_or(0, |data| data.len());
        let send = if form == Form::Apart || rma_request.is_answered() {
            PendingSends::send_filled
        } else {
            PendingSends::send_later
        };
        let fill = |slot: Window<'_>| {
            slot.write(0, &head[..head_len]);
            if let Some((data, rest)) = data.zip(slot.part(head_len, len - head_len)) {
                data.copy_to(0, rest);
            }
        };
        send(&mut self.pending, proto, rail, way, len, fill);
        let Some(call) = self.calls.get_mut(key) else { return };
        if form == Form::Apart
            && rma_request.carries_data()
            && let Some(data) = call.data.take()
        {
            let envelope = Envelope::new(owner, DATA, Tag(sequence));
            call.sending = Some(proto.submit_send(rail, envelope, data));
            self.moving.push(key);
        }
    }

    /// Submits one request of an access to elements.
    pub(super) fn submit_piece<R: FullRail>(
        &mut self,
        proto: &mut Proto,
        rail: &mut R,
        key: Key,
        sequence: u32,
        piece: Piece,
    ) {
        let Piece { access, layout, at, len } = piece;
        let Some(owner) = self.calls.get(key).map(|call| call.owner) else { return };
        if access.action.reads() {
            self.expect_answer(proto, owner, sequence, key, (at, len));
        }
        let Some(call) = self.calls.get(key) else { return };
        let rma_request = RmaRequest::Access(access);
        let (head, head_len) = rma_request.head(Form::Whole);
        let way = (owner, REQUESTS, rma_request.tag(Form::Whole, sequence));
        // The operands of a comparison are contiguous; an operation may need none.
        let data = call.data.as_ref().map(|data| (data, data.len().saturating_sub(at)));
        let data = data.map(|(data, left)| match access.action {
            super::ElementAction::CompareAndSwap => (data, left),
            _ => (data, left.min(len)),
        });
        let data_at = head_len + layout.len();
        let total = data_at + data.map_or(0, |(_, len)| len);
        let send = if access.action.reads() { PendingSends::send_filled } else { PendingSends::send_later };
        let fill = |slot: Window<'_>| {
            slot.write(0, &head[..head_len]);
            slot.write(head_len, &layout);
            if let Some(((data, len), true)) = data.map(|data| (data, data.1 > 0))
                && let Some(rest) = slot.part(data_at, len)
            {
                data.copy_to(at, rest);
            }
        };
        send(&mut self.pending, proto, rail, way, total, fill);
    }

    pub(super) fn expect_answer(
        &mut self,
        proto: &mut Proto,
        owner: Rank,
        sequence: u32,
        key: Key,
        (at, len): (usize, usize),
    ) {
        let awaited = Awaited::post(proto, owner, sequence, key, (at, len));
        let state = self.owners.entry(owner).or_default();
        state.awaited_bytes += len;
        state.awaited.push(awaited);
        if let Some(call) = self.calls.get_mut(key) {
            call.awaited += 1;
        }
    }
}
