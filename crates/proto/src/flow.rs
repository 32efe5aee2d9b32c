//! Flows of a rank: each has its own matching, and how urgent its messages are.

use std::sync::Arc;

use canele_sys::ids::{FlowId, Rank};

use crate::Proto;
use crate::backlog::{LEVELS, ORDINARY, RailPolicy};
use crate::matching::Matcher;

/// Flows are numbered below this, so that a corrupted number cannot make a table of any size.
pub const MAX_FLOWS: u32 = 1 << 16;

/// One flow of this rank.
pub(crate) struct Flow {
    pub matcher: Matcher,
    /// How urgent its messages are, and which rails take them.
    pub level: u8,
    pub policy: RailPolicy,
    /// Who sends on it; all, if nobody said.
    pub senders: Option<Arc<[Rank]>>,
    /// How many of the deaths so far its any-source receives have been told of.
    pub deaths_told: usize,
    /// Deaths count as told only once they are acknowledged.
    pub acknowledges: bool,
    /// Operations that wait for a peer fail, and so do new ones.
    pub revoked: bool,
}

impl Default for Flow {
    fn default() -> Self {
        let (matcher, level, policy) = (Matcher::default(), ORDINARY, RailPolicy::Any);
        Self { matcher, level, policy, senders: None, deaths_told: 0, acknowledges: false, revoked: false }
    }
}

impl Proto {
    /// What [`Proto::set_flow`] was told of a flow last.
    pub fn flow_settings(&mut self, flow: FlowId) -> (u8, RailPolicy) {
        self.flow(flow).map_or((ORDINARY, RailPolicy::Any), |flow| (flow.level, flow.policy))
    }

    /// How urgent the messages of a flow are from now on, and which rails take them.
    ///
    /// # Panics
    /// There is no such level.
    pub fn set_flow(&mut self, flow: FlowId, level: u8, policy: RailPolicy) {
        assert!(usize::from(level) < LEVELS, "levels go from 0 to {}", LEVELS - 1);
        if let Some(flow) = self.flow(flow) {
            (flow.level, flow.policy) = (level, policy);
        }
    }

    /// The flow, made if it is new here: a peer may use one before this rank does.
    #[inline(always)]
    pub(crate) fn flow(&mut self, id: FlowId) -> Option<&mut Flow> {
        if id.0 as usize >= self.flows.len() {
            self.grow_flows(id)?;
        }
        Some(&mut self.flows[id.0 as usize])
    }

    #[cold]
    fn grow_flows(&mut self, id: FlowId) -> Option<()> {
        if id.0 >= MAX_FLOWS {
            return None;
        }
        self.flows.resize_with(id.0 as usize + 1, Flow::default);
        Some(())
    }
}
