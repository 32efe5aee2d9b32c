//! The state of requests for callers: their ends, their outcomes, and the reasons for which they wait.

use canele_sys::ids::{Rank, RequestId};

use crate::Proto;
use crate::request::{Buffer, Outcome, PendingOperation, PointToPoint, Receive, Send, State, Status};

impl Proto {
    /// Returns true if a request has ended and its outcome was not taken.
    pub fn is_done(&self, id: RequestId) -> bool {
        matches!(self.requests.get(id), Some(State::Done(_)))
    }

    /// Returns true if a request has ended, its outcome taken or not.
    pub fn is_over(&self, id: RequestId) -> bool {
        matches!(self.requests.get(id), Some(State::Done(_)) | None)
    }

    /// Takes the outcome of a request that has ended; the id is stale afterwards.
    pub fn take(&mut self, id: RequestId) -> Option<Outcome> {
        self.requests.take(id)
    }

    /// Takes the status of a request that has ended well, whose buffer no caller wants back; the id is stale
    /// afterwards. A request that has failed stays.
    #[inline]
    pub fn take_status(&mut self, id: RequestId) -> Option<Status> {
        self.requests.take_status(id)
    }

    /// Describes in words the event that a request waits for, and the peer it names, for messages to users.
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

    /// Describes a request that has not ended.
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

    /// Describes a request that is under way or has ended well; returns `None` for one that failed.
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
