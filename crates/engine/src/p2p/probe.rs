//! Probes: the status of the message that a receive would get.

use std::time::Instant;

use canele_proto::Matched;
use canele_proto::matching::Want;
use canele_sys::ids::FlowId;

use crate::core::Core;
use crate::engine::Engine;
use crate::lane::awaited::Awaited;
use crate::{Error, Failure, Status};

impl Engine {
    /// Returns the status that a receive would get now, after one pass.
    ///
    /// # Errors
    /// No such rank, or the job is over.
    pub fn iprobe(&self, flow: FlowId, want: Want) -> Result<Option<Status>, Error> {
        self.check_source(want)?;
        let (mut core, _) = self.poll_once(self.lock_to_submit()?);
        Ok(core.lane.proto.probe(flow, want))
    }

    /// Waits until a receive would get a message; returns its status.
    ///
    /// # Errors
    /// The named rank, or every other one, is gone; a death is not acknowledged; the group was revoked; the
    /// deadline passed.
    pub fn probe(&self, flow: FlowId, want: Want, deadline: Option<Instant>) -> Result<Status, Error> {
        self.probe_with(flow, want, deadline, |core| core.lane.proto.probe(flow, want))
    }

    /// Waits for such a message, and takes it out of matching.
    ///
    /// # Errors
    /// Those of [`Engine::probe`].
    pub fn mprobe(&self, flow: FlowId, want: Want, deadline: Option<Instant>) -> Result<Matched, Error> {
        self.probe_with(flow, want, deadline, |core| core.lane.proto.probe_matched(flow, want))
    }

    /// Takes a message out of matching, if there is one, after one pass.
    ///
    /// # Errors
    /// No such rank, or the job is over.
    pub fn improbe(&self, flow: FlowId, want: Want) -> Result<Option<Matched>, Error> {
        self.check_source(want)?;
        let (mut core, _) = self.poll_once(self.lock_to_submit()?);
        Ok(core.lane.proto.probe_matched(flow, want))
    }

    /// Returns the reason if a receive waits in vain and would get no message now.
    ///
    /// # Errors
    /// In a forked child.
    pub fn why_in_vain(&self, flow: FlowId, want: Want) -> Result<Option<Failure>, Error> {
        let mut core = self.lock()?;
        let has_come = core.lane.proto.probe(flow, want).is_some();
        Ok(if has_come { None } else { core.why_in_vain(flow, want) })
    }

    fn probe_with<T>(
        &self,
        flow: FlowId,
        want: Want,
        deadline: Option<Instant>,
        mut look: impl FnMut(&mut Core) -> Option<T>,
    ) -> Result<T, Error> {
        self.check_source(want)?;
        let core = self.lock_to_submit()?;
        let ready = |core: &mut Core| {
            if let Some(found) = look(core) {
                return Some(Ok(found));
            }
            core.why_in_vain(flow, want).map(|failure| Err(failure.into()))
        };
        if want.source.is_none() && deadline.is_none() {
            let (_core, found) = self.wait_for_any_sender(core, Awaited::Probe(flow, want), ready);
            return found.unwrap_or_else(|| Err(Failure::NoSenderLeft.into()));
        }
        let (_core, found) = self.wait_before(core, deadline, Awaited::Probe(flow, want), ready);
        found.unwrap_or_else(|| Err(Error::Deadline(crate::p2p::tagged::describe(want))))
    }
}

impl Core {
    fn why_in_vain(&mut self, flow: FlowId, want: Want) -> Option<Failure> {
        let proto = &mut self.lane.proto;
        proto.why_revoked(flow).or_else(|| match want.source {
            Some(source) => proto.why_gone(source),
            None => proto.unacknowledged(flow).or_else(|| proto.why_closed()),
        })
    }
}
