//! Flows that are revoked: what waits there for another rank ends, and nothing new begins.
//!
//! A message that has met its receive is moved to its end, as both ranks live. One that was announced is asked back, because only its
//! receiver knows whether it is read already.

use canele_sys::ids::FlowId;

use crate::Proto;
use crate::request::{Failure, State};

impl Proto {
    /// Revokes a flow.
    pub fn revoke(&mut self, flow: FlowId) {
        let Some(state) = self.flow(flow) else { return };
        if std::mem::replace(&mut state.revoked, true) {
            return;
        }
        let is_on = |state: &State| match state {
            State::ExpectMessage { flow: of, .. } => *of == flow,
            State::ExpectRoom(send, _) | State::ExpectCts(send) | State::ExpectSelf(send) => {
                send.flow == flow
            }
            _ => false,
        };
        for id in self.requests.find(is_on) {
            if !self.withdraw_here(id, Failure::Revoked { flow }) {
                self.cancel(id);
            }
        }
    }

    /// Why nothing can be done on a flow, if it is revoked.
    pub fn why_revoked(&self, flow: FlowId) -> Option<Failure> {
        self.flows.is_revoked(flow).then_some(Failure::Revoked { flow })
    }

    /// True if a message waits on a flow for which there is no receive.
    #[inline(always)]
    pub fn has_unexpected(&self, flow: FlowId) -> bool {
        self.flows.has_unexpected(flow)
    }
}
