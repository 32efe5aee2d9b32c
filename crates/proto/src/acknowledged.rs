//! Receives from any source on flows whose program acknowledges deaths: they stay posted, and a waiting
//! caller checks here.

use canele_sys::ids::{FlowId, RequestId};

use crate::Proto;
use crate::request::{Failure, State};

impl Proto {
    /// Makes receives from any source on this flow survive deaths. A caller that waits for one gets each
    /// death reported until it is acknowledged.
    pub fn acknowledge_deaths(&mut self, flow: FlowId) {
        if let Some(flow) = self.flow(flow) {
            (flow.acknowledges, flow.deaths_told) = (true, 0);
        }
    }

    /// Acknowledges the first `deaths` of all known deaths.
    pub fn acknowledge(&mut self, flow: FlowId, deaths: usize) {
        let known = self.deaths().len();
        if let Some(flow) = self.flow(flow) {
            flow.deaths_told = flow.deaths_told.max(deaths.min(known));
        }
    }

    pub(crate) fn acknowledges(&self, flow: FlowId) -> bool {
        self.flows.acknowledges(flow)
    }

    /// Returns the failure of a sender on this flow whose death is not acknowledged: a receive from any
    /// source may wait for it in vain.
    pub fn unacknowledged(&mut self, flow: FlowId) -> Option<Failure> {
        let mut told = self.flows.known(flow).filter(|flow| flow.acknowledges)?.deaths_told;
        let dead = loop {
            match self.deaths().get(told) {
                Some(dead) if self.sends_on(flow, *dead) => break Some(*dead),
                Some(_) => told += 1,
                None => break None,
            }
        };
        // Earlier deaths need no second check.
        self.flow(flow)?.deaths_told = told;
        self.why_gone(dead?)
    }

    /// Returns why a receive from any source without a message may wait in vain, as [`Proto::unacknowledged`]
    /// does.
    #[inline]
    pub fn why_pending(&mut self, id: RequestId) -> Option<Failure> {
        if self.deaths().is_empty() {
            return None;
        }
        match self.requests.get(id)? {
            State::ExpectMessage { want, flow, .. } if want.source.is_none() => {
                let flow = *flow;
                self.unacknowledged(flow)
            }
            _ => None,
        }
    }

    /// Ends a request that [`Proto::why_pending`] names a failure for; returns true if there was one.
    #[inline]
    pub fn fail_pending(&mut self, id: RequestId) -> bool {
        let failure = self.why_pending(id);
        let is_pending = failure.is_some();
        failure.into_iter().for_each(|failure| self.fail(id, failure));
        is_pending
    }
}
