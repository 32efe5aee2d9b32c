//! What callers see of requests: whether they have ended, their outcomes, and what they wait for.

use canele_sys::ids::{Rank, RequestId};

use crate::Proto;
use crate::request::{Buffer, Outcome, PendingOperation, PointToPoint, Receive, Send, State, Status};

impl Proto {
    /// Whether a request has ended.
    pub fn is_done(&self, id: RequestId) -> bool {
        matches!(self.requests.get(id), Some(State::Done(_)))
    }

    /// Whether a request has ended, its outcome taken or not.
    pub fn is_over(&self, id: RequestId) -> bool {
        matches!(self.requests.get(id), Some(State::Done(_)) | None)
    }

    /// The outcome of a request that has ended; the id is stale afterwards.
    pub fn take(&mut self, id: RequestId) -> Option<Outcome> {
        self.requests.take(id)
    }

    /// The status of a request that has ended well, whose buffer no caller wants back; the id is stale afterwards. A request that
    /// has failed stays.
    #[inline]
    pub fn take_status(&mut self, id: RequestId) -> Option<Status> {
        self.requests.take_status(id)
    }

    /// What a request waits for, in words, and the peer it names; for people who wonder why nothing moves.
    pub fn explain(&self, id: RequestId) -> Option<(&'static str, Option<Rank>)> {
        let state = self.requests.get(id)?;
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
        Some(match self.requests.get(id)? {
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
        Some(match self.requests.get(id)? {
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
}
