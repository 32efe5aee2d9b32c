//! The transfers that are left of a round when it takes requests. Data may be long, a peer not yet connected,
//! a message here already, or a wait long enough for sleep.
//!
//! Owns the requests of one round; the caller that submits them waits, and takes the buffers back. Each ends
//! before the memory is used again, also if the collective has failed.
//!
//! A send without bytes confirms something, and the schedule goes on without it. Its receiver may ask for it
//! rounds later, after messages that this rank sends only then. Such sends end before the collective does.

use canele_mem::buffer::{Divided, InBuffer, OutBuffer};
use canele_proto::matching::Want;
use canele_proto::request::{Buffer, Outcome};
use canele_proto::{Envelope, Proto};
use canele_rail::FullRail;
use canele_sys::ids::RequestId;

use crate::Error;
use crate::memory::Back;
use crate::schedule::{Area, Transfer};
use crate::schedule_run::{ScheduleRun, check_length};

/// Requests under way.
#[derive(Default)]
pub struct Transfers {
    requests: Vec<Request>,
    /// The first failure.
    failed: Option<Error>,
}

struct Request {
    id: RequestId,
    /// The area of its buffer; none if it has no bytes.
    area: Option<Area>,
    /// The length of a message to be received.
    needed: Option<usize>,
}

impl Transfers {
    /// Submits the transfers that are left of the round, in lent memory. Sends without bytes are added to
    /// `behind`; their buffers are returned at once.
    pub fn submit<R: FullRail>(
        &mut self,
        run: &ScheduleRun<'_>,
        (proto, rail): (&mut Proto, &mut R),
        (sends, receives): (&[Transfer], &[Transfer]),
        (out, into): (Vec<OutBuffer>, Vec<InBuffer>),
        (behind, back): (&mut Transfers, Back<'_>),
    ) {
        // Receives first: messages that are here already are taken before others are requested.
        for (receive, buffer) in receives.iter().zip(into) {
            let want = Want { source: Some(receive.peer), tag: Some(run.tag) };
            let id = proto.submit_recv(run.flow, want, buffer);
            self.requests.push(Request { id, area: Some(receive.span.area), needed: Some(receive.span.len) });
        }
        for (send, buffer) in sends.iter().zip(out) {
            let envelope = Envelope::expected(send.peer, run.flow, run.tag);
            let area = send.span.area;
            if send.span.len > 0 {
                let id = proto.submit_send(rail, envelope, buffer);
                self.requests.push(Request { id, area: Some(area), needed: None });
            } else {
                back(area, Buffer::Out(buffer));
                let id = proto.submit_send(rail, envelope, Divided::default().lend(0..0));
                behind.requests.push(Request { id, area: None, needed: None });
            }
        }
    }

    /// Returns true if any is under way.
    #[inline]
    pub fn are_under_way(&self) -> bool {
        !self.requests.is_empty()
    }

    /// Takes those that have ended; returns true if all have.
    pub fn take(&mut self, proto: &mut Proto, back: Back<'_>) -> bool {
        let failed = &mut self.failed;
        self.requests.retain(|request| {
            let Some(Outcome { result, buffer }) = proto.take(request.id) else { return true };
            if let Some(area) = request.area {
                back(area, buffer);
            }
            let result = match (result, request.needed) {
                (Err(failure), _) => Err(Error::from(failure)),
                (Ok(status), Some(needed)) => check_length(status.bytes, needed),
                (Ok(_), None) => Ok(()),
            };
            if let Err(error) = result {
                failed.get_or_insert(error);
            }
            false
        });
        self.requests.is_empty()
    }

    /// Gives up with `error`: all end as soon as no rail holds a part of them.
    pub fn abandon(&mut self, proto: &mut Proto, error: Error) {
        self.failed.get_or_insert(error);
        for request in self.requests.iter().filter(|request| !proto.is_done(request.id)).collect::<Vec<_>>() {
            proto.abandon(request.id);
        }
    }

    /// Returns the result, once all have ended.
    ///
    /// # Errors
    /// The first failure.
    pub fn result(&mut self) -> Result<(), Error> {
        self.failed.take().map_or(Ok(()), Err)
    }
}
