//! RMA requests that have come, on their way to the target.
//!
//! A request that is here as a whole passes neither matching nor a posted receive. It waits in one list, in
//! the order of arrival, until the target takes it. A request in several parts, or before its turn, is an
//! unexpected message of the flow of requests; then all requests behind it are, too.

use canele_mem::window::Window;
use canele_rail::Corrupt;
use canele_sys::ids::{Rank, Tag};

use super::REQUESTS;
use crate::Proto;
use crate::unexpected::KeptPayload;

/// A request that has come.
pub(crate) struct ArrivedRequest {
    pub from: Rank,
    pub tag: Tag,
    pub payload: KeptPayload,
}

impl Proto {
    /// Keeps a request for the target, unless it has to wait behind an unexpected message. Returns true if it
    /// was kept.
    pub(crate) fn keep_request(
        &mut self,
        from: Rank,
        tag: Tag,
        payload: Window<'_>,
    ) -> Result<bool, Corrupt> {
        if self.flow(REQUESTS).is_none_or(|flow| flow.matcher.unexpected_count() > 0) {
            return Ok(false);
        }
        self.charge(from, payload.len())?;
        let payload = self.incoming.copy_payload(payload, &mut self.traffic);
        self.arrived_requests.push_back(ArrivedRequest { from, tag, payload });
        self.rma_requested = true;
        self.requests.count_completion();
        Ok(true)
    }

    /// Gives the credit of a request back, which the target keeps from now on.
    pub(super) fn release_request(&mut self, from: Rank, payload: &KeptPayload) {
        self.consumed(from, payload.protocol(), payload.len());
    }

    /// Drops every request of an origin that the target has not taken.
    pub(super) fn forget_requests(&mut self, from: Rank) {
        for request in std::mem::take(&mut self.arrived_requests) {
            if request.from != from {
                self.arrived_requests.push_back(request);
                continue;
            }
            self.release_request(from, &request.payload);
            self.recycle(request.payload);
        }
        self.forget(REQUESTS, from, None);
    }
}
