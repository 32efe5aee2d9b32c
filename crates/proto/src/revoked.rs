//! Revoked flows: operations that wait there for another rank end, and no new ones begin.
//!
//! A message that has met its receive is moved to its end, as both ranks live. One that was announced is
//! asked back, because only its receiver knows whether it is read already.

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

    /// Returns the failure of operations on a flow, if it is revoked.
    pub fn why_revoked(&self, flow: FlowId) -> Option<Failure> {
        self.flows.is_revoked(flow).then_some(Failure::Revoked { flow })
    }

    /// Returns true if a message without a receive waits on a flow.
    #[inline(always)]
    pub fn has_unexpected(&self, flow: FlowId) -> bool {
        self.flows.has_unexpected(flow)
    }
}
