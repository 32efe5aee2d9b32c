//! Flows of a rank: each has its own matching, and its own level and rail policy.

use std::sync::Arc;

use canele_sys::ids::{FlowId, Rank};

use crate::Proto;
use crate::backlog::{LEVELS, ORDINARY, RailPolicy};
use crate::matching::Matcher;

/// The bound on numbers of flows, so that a corrupted number cannot make a table of any size.
pub const MAX_FLOWS: u32 = 1 << 16;

/// One flow of this rank.
pub(crate) struct Flow {
    pub matcher: Matcher,
    /// The level of its messages, and the rails that take them.
    pub level: u8,
    pub policy: RailPolicy,
    /// The ranks that send on it; `None` means all.
    pub senders: Option<Arc<[Rank]>>,
    /// The number of deaths that were reported to its any-source receives.
    pub deaths_told: usize,
    /// True if deaths count as reported only once they are acknowledged.
    pub acknowledges: bool,
    /// True if operations that wait for a peer fail, and new ones too.
    pub revoked: bool,
}

impl Default for Flow {
    fn default() -> Self {
        let (matcher, level, policy) = (Matcher::default(), ORDINARY, RailPolicy::Any);
        Self { matcher, level, policy, senders: None, deaths_told: 0, acknowledges: false, revoked: false }
    }
}

/// The flows of this rank, by their numbers. A flow is made when this rank or a peer first uses it.
#[derive(Default)]
pub(crate) struct Flows(Vec<Flow>);

impl Flows {
    /// Returns the flow, if it was used.
    #[inline(always)]
    pub fn known(&self, id: FlowId) -> Option<&Flow> {
        self.0.get(id.0 as usize)
    }

    /// Returns the flow to be changed, if it was used.
    #[inline(always)]
    pub fn known_mut(&mut self, id: FlowId) -> Option<&mut Flow> {
        self.0.get_mut(id.0 as usize)
    }

    /// Returns the flow, made if it is new here; `None` if there can be no such flow.
    #[inline(always)]
    pub fn touched(&mut self, id: FlowId) -> Option<&mut Flow> {
        if id.0 as usize >= self.0.len() {
            self.grow(id)?;
        }
        Some(&mut self.0[id.0 as usize])
    }

    #[cold]
    fn grow(&mut self, id: FlowId) -> Option<()> {
        if id.0 >= MAX_FLOWS {
            return None;
        }
        self.0.resize_with(id.0 as usize + 1, Flow::default);
        Some(())
    }

    /// Returns the flows that were used, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (FlowId, &Flow)> {
        (0..).map(FlowId).zip(&self.0)
    }

    /// Returns true if no receive and no message waits on a flow.
    #[inline(always)]
    pub fn is_quiet(&self, id: FlowId) -> bool {
        self.known(id).is_none_or(|flow| flow.matcher.is_quiet())
    }

    /// Returns true if a message without a receive waits on a flow.
    #[inline(always)]
    pub fn has_unexpected(&self, id: FlowId) -> bool {
        self.known(id).is_some_and(|flow| flow.matcher.has_unexpected())
    }

    /// Returns true if a flow was revoked.
    pub fn is_revoked(&self, id: FlowId) -> bool {
        self.known(id).is_some_and(|flow| flow.revoked)
    }

    /// Returns true if a program acknowledges deaths on a flow.
    pub fn acknowledges(&self, id: FlowId) -> bool {
        self.known(id).is_some_and(|flow| flow.acknowledges)
    }

    /// Returns true if not every rail may take the messages of a flow.
    pub fn chooses_rail(&self, id: FlowId) -> bool {
        self.known(id).is_some_and(|flow| flow.policy != RailPolicy::Any)
    }

    /// Returns true if a peer sends on a flow, as far as is known.
    pub fn has_sender(&self, id: FlowId, peer: Rank) -> bool {
        let senders = self.known(id).and_then(|flow| flow.senders.as_ref());
        senders.is_none_or(|senders| senders.contains(&peer))
    }

    /// Returns the number of deaths that were reported on a flow.
    #[inline(always)]
    pub fn deaths_told(&self, id: FlowId) -> usize {
        self.known(id).map_or(0, |flow| flow.deaths_told)
    }

    /// Forgets a flow except for its reported deaths, if nothing waits on it: it may be used anew.
    pub fn reset(&mut self, id: FlowId) {
        if let Some(flow) = self.known_mut(id).filter(|flow| flow.matcher.is_quiet()) {
            *flow = Flow { deaths_told: flow.deaths_told, ..Flow::default() };
        }
    }
}

impl Proto {
    /// Returns the last settings of a flow by [`Proto::set_flow`].
    pub fn flow_settings(&mut self, flow: FlowId) -> (u8, RailPolicy) {
        self.flow(flow).map_or((ORDINARY, RailPolicy::Any), |flow| (flow.level, flow.policy))
    }

    /// Sets the level of the messages of a flow, and the rails that take them.
    ///
    /// # Panics
    /// There is no such level.
    pub fn set_flow(&mut self, flow: FlowId, level: u8, policy: RailPolicy) {
        assert!(usize::from(level) < LEVELS, "levels go from 0 to {}", LEVELS - 1);
        if let Some(flow) = self.flow(flow) {
            (flow.level, flow.policy) = (level, policy);
        }
    }

    /// Returns the flow, made if it is new here: a peer may use one before this rank does.
    #[inline(always)]
    pub(crate) fn flow(&mut self, id: FlowId) -> Option<&mut Flow> {
        self.flows.touched(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: FlowId = FlowId(3);

    #[test]
    fn a_flow_comes_about_when_it_is_used_and_others_stay_as_they_are() {
        let mut flows = Flows::default();
        assert!(flows.is_quiet(FLOW) && flows.known(FLOW).is_none() && flows.has_sender(FLOW, Rank(1)));
        assert!(flows.touched(FlowId(MAX_FLOWS)).is_none() && flows.iter().count() == 0);
        let flow = flows.touched(FLOW).expect("there can be one");
        (flow.revoked, flow.senders, flow.policy) = (true, Some([Rank(2)].into()), RailPolicy::Prefer(1));
        assert!(flows.is_revoked(FLOW) && flows.chooses_rail(FLOW) && !flows.has_sender(FLOW, Rank(1)));
        assert!(!flows.is_revoked(FlowId(2)) && flows.has_sender(FlowId(2), Rank(1)));
    }

    #[test]
    fn a_flow_that_is_used_anew_is_told_of_no_death_twice() {
        let mut flows = Flows::default();
        let flow = flows.touched(FLOW).expect("there can be one");
        (flow.revoked, flow.acknowledges, flow.deaths_told) = (true, true, 2);
        flows.reset(FLOW);
        assert_eq!(
            (flows.is_revoked(FLOW), flows.acknowledges(FLOW), flows.deaths_told(FLOW)),
            (false, false, 2)
        );
    }
}
