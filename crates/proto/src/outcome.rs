//! How requests go from state to state, and end.

use canele_sys::ids::{Rank, RequestId};

use crate::Proto;
use crate::request::{Buffer, Outcome, PendingOperation, PointToPoint, Receive, Send, State, Status};

impl Proto {
    /// Whether a request has ended.
    pub fn is_done(&self, id: RequestId) -> bool {
        matches!(self.requests.get(id.into()), Some(State::Done(_)))
    }

    /// Whether a request has ended, its outcome taken or not.
    pub fn is_over(&self, id: RequestId) -> bool {
        matches!(self.requests.get(id.into()), Some(State::Done(_)) | None)
    }

    /// The outcome of a request that has ended; the id is stale afterwards.
    pub fn take(&mut self, id: RequestId) -> Option<Outcome> {
        if !self.is_done(id) {
            return None;
        }
        match self.requests.remove(id.into()) {
            Some(State::Done(outcome)) => Some(outcome),
            _ => None,
        }
    }

    /// The status of a request that has ended well, whose buffer nobody wants back; the id is stale afterwards. A request that
    /// has failed stays.
    #[inline]
    pub fn take_status(&mut self, id: RequestId) -> Option<Status> {
        let Some(State::Done(Outcome { result: Ok(status), .. })) = self.requests.get(id.into()) else {
            return None;
        };
        let status = *status;
        self.requests.discard(id.into());
        Some(status)
    }

    /// What a request waits for, in words, and the peer it names; for people who wonder why nothing moves.
    pub fn explain(&self, id: RequestId) -> Option<(&'static str, Option<Rank>)> {
        let state = self.requests.get(id.into())?;
        let what = match state {
            State::ExpectRoom(..) => "a send waits for room",
            State::ExpectCts(_) | State::ExpectSelf(_) => "a send waits for its receive",
            State::ExpectMessage { .. } => "a receive waits for its message",
            State::Done(_) => "done",
            _ => "data is being moved",
        };
        Some((what, state.peer()))
    }

    /// What a request that has not ended waits for.
    pub fn pending_operation(&self, id: RequestId) -> Option<PendingOperation> {
        let send = |send: &Send, is_moving| PendingOperation {
            is_send: true,
            peer: Some(send.to),
            flow: Some(send.flow),
            tag: Some(send.tag),
            bytes: send.buffer.len(),
            is_moving,
        };
        let receive = |receive: &Receive| PendingOperation {
            is_send: false,
            peer: Some(receive.from),
            flow: None,
            tag: Some(receive.tag),
            bytes: receive.len,
            is_moving: true,
        };
        Some(match self.requests.get(id.into())? {
            State::ExpectRoom(s, _) | State::ExpectCts(s) | State::ExpectFin(s) | State::ExpectSelf(s) => {
                send(s, false)
            }
            State::Streaming(s, ..) | State::Writing(s, ..) | State::SharingOut(s, ..) => send(s, true),
            State::ExpectMessage { want, flow, buffer, .. } => PendingOperation {
                is_send: false,
                peer: want.source,
                flow: Some(*flow),
                tag: want.tag,
                bytes: buffer.len(),
                is_moving: false,
            },
            State::ExpectPieces(r, _)
            | State::Reading(r, ..)
            | State::ToShare(r, ..)
            | State::SharingIn(r, ..) => receive(r),
            State::Closing(_) | State::Done(_) | State::Moving => return None,
        })
    }

    /// What a request does, whether it is under way or has ended well; nothing of one that failed.
    pub fn describe(&self, id: RequestId) -> Option<PointToPoint> {
        Some(match self.requests.get(id.into())? {
            State::ExpectRoom(send, _)
            | State::ExpectCts(send)
            | State::Streaming(send, ..)
            | State::Writing(send, ..)
            | State::SharingOut(send, ..)
            | State::ExpectFin(send)
            | State::ExpectSelf(send) => PointToPoint::Send { to: send.to, tag: send.tag },
            State::ExpectMessage { want, .. } => PointToPoint::Receive(*want),
            State::ExpectPieces(receive, _)
            | State::Reading(receive, ..)
            | State::ToShare(receive, ..)
            | State::SharingIn(receive, ..) => PointToPoint::of_receive(receive.from, receive.tag),
            State::Closing(outcome) | State::Done(outcome) => {
                let Status { source, tag, .. } = *outcome.result.as_ref().ok()?;
                match outcome.buffer {
                    Buffer::In(_) => PointToPoint::of_receive(source, tag),
                    Buffer::Out(_) | Buffer::None => PointToPoint::Send { to: source, tag },
                }
            }
            State::Moving => return None,
        })
    }

    /// A request has come to its end. While a rail holds part of its buffer, nobody else gets it.
    pub(crate) fn end(&mut self, id: RequestId, done: State) {
        let done = match done {
            State::Done(outcome) if outcome.buffer.is_shared() => {
                self.closing.push(id);
                State::Closing(outcome)
            }
            done => done,
        };
        if let Some(state) = self.requests.get_mut(id.into()) {
            *state = done;
        }
        self.ended += 1;
    }

    /// Ends the requests whose buffers no rail holds any more.
    #[inline(always)]
    pub(crate) fn close_buffers(&mut self) -> bool {
        !self.closing.is_empty() && self.close_some_buffers()
    }

    fn close_some_buffers(&mut self) -> bool {
        let before = self.closing.len();
        for id in std::mem::take(&mut self.closing) {
            match self.leave(id) {
                Some(State::Closing(outcome)) => self.end(id, State::Done(outcome)),
                Some(other) => self.enter(id, other),
                None => {}
            }
        }
        self.closing.len() != before
    }

    /// Takes a request's state out for a moment; `end` or `enter` puts the next one in.
    pub(crate) fn leave(&mut self, id: RequestId) -> Option<State> {
        Some(std::mem::replace(self.requests.get_mut(id.into())?, State::Moving))
    }

    /// A request goes on to its next state.
    pub(crate) fn enter(&mut self, id: RequestId, state: State) {
        if let Some(place) = self.requests.get_mut(id.into()) {
            *place = state;
        }
    }
}
