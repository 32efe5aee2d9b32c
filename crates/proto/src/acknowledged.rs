//! Receives from any source on flows whose program acknowledges deaths: they stay posted, and a caller that waits for one looks here.

use canele_sys::ids::{FlowId, RequestId};

use crate::Proto;
use crate::request::{Failure, State};

impl Proto {
    /// From now on a death ends no receive from any source on this flow: a caller that waits for one is told of it, again and again, until it is
    /// acknowledged.
    pub fn acknowledge_deaths(&mut self, flow: FlowId) {
        if let Some(flow) = self.flow(flow) {
            (flow.acknowledges, flow.deaths_told) = (true, 0);
        }
    }

    /// Acknowledges the first deaths, so many of all.
    pub fn acknowledge(&mut self, flow: FlowId, deaths: usize) {
        let known = self.deaths().len();
        if let Some(flow) = self.flow(flow) {
            flow.deaths_told = flow.deaths_told.max(deaths.min(known));
        }
    }

    pub(crate) fn acknowledges(&self, flow: FlowId) -> bool {
        self.flows.acknowledges(flow)
    }

    /// Why a receive from any source on this flow may wait in vain: a sender died, which is not acknowledged.
    pub fn unacknowledged(&mut self, flow: FlowId) -> Option<Failure> {
        let mut told = self.flows.known(flow).filter(|flow| flow.acknowledges)?.deaths_told;
        let dead = loop {
            match self.deaths().get(told) {
                Some(dead) if self.sends_on(flow, *dead) => break Some(*dead),
                Some(_) => told += 1,
                None => break None,
            }
        };
        // Others need not be looked at again.
        self.flow(flow)?.deaths_told = told;
        self.why_gone(dead?)
    }

    /// Why a request may wait in vain: it is a receive from any source without a message, as [`Proto::unacknowledged`] says.
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

    /// Ends such a request; says whether it was one.
    #[inline]
    pub fn fail_pending(&mut self, id: RequestId) -> bool {
        let failure = self.why_pending(id);
        let is_pending = failure.is_some();
        failure.into_iter().for_each(|failure| self.fail(id, failure));
        is_pending
    }
}
