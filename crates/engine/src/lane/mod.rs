//! The lane: the state of message traffic that one lock protects, and the threads that make it progress and
//! wait for it.
//!
//! [`Lane`] owns a rank's protocols, its rails and the threads that wait for them. The other parts of the
//! engine get it as an argument. Job, membership and launcher belong to no lane: they stand beside it in
//! `Core`.

pub(crate) mod awaited;
pub(crate) mod spin;
mod wait;
pub(crate) mod wait_policy;
pub(crate) mod waiters;

use canele_mem::buffer::{InBuffer, OutBuffer};
use canele_proto::matching::Want;
use canele_proto::{Envelope, Matched, Payload, Proto, Sent};
use canele_rail::Set;
use canele_sys::ids::{FlowId, Rank, RequestId};
use canele_sys::tunables::Tunables;

use crate::p2p::deferred::DeferredRecvs;
use crate::p2p::follow_ups::FollowUps;
use crate::stats::Counts;
use wait_policy::WaitPolicy;
use waiters::Waiters;

/// Protocols, rails and waiters: the traffic of an engine.
pub(crate) struct Lane {
    /// Its number among the lanes of its rank.
    pub number: u8,
    pub rails: Set,
    pub proto: Proto,
    pub wait_policy: WaitPolicy,
    pub waiters: Waiters,
    pub deferred: DeferredRecvs,
    /// Work after requests of this lane, and in its next pass.
    pub follow_ups: FollowUps,
    /// True once nothing is sent or received any more, because the rank has finished.
    pub is_closed: bool,
    pub counts: Counts,
}

impl Lane {
    /// Makes the lane of this number. `oversubscribed` is true if the host has more ranks than processors.
    pub fn new(number: u8, rails: Set, proto: Proto, tunables: &Tunables, oversubscribed: bool) -> Self {
        Self {
            number,
            rails,
            proto,
            wait_policy: WaitPolicy::new(tunables, oversubscribed),
            waiters: Waiters::default(),
            deferred: DeferredRecvs::of_lane(number),
            follow_ups: FollowUps::default(),
            is_closed: false,
            counts: Counts::default(),
        }
    }

    /// Posts a message as `Proto::post` does.
    #[inline(always)]
    pub fn post(&mut self, envelope: Envelope, payload: impl Payload) -> Sent {
        self.proto.post(&mut self.rails, envelope, payload)
    }

    /// Returns true for the lane that knows the regions of the rank. On other lanes a region is ordinary
    /// memory, so buffers lose their place in it.
    #[inline(always)]
    pub fn knows_regions(&self) -> bool {
        self.number == 0
    }

    /// Submits a send as `Proto::submit_send` does.
    pub fn submit_send(&mut self, envelope: Envelope, buffer: OutBuffer) -> RequestId {
        let buffer = if self.knows_regions() { buffer } else { buffer.without_place() };
        self.proto.submit_send(&mut self.rails, envelope, buffer)
    }

    /// Submits a receive as `Proto::submit_recv` does.
    #[inline(always)]
    pub fn submit_recv(&mut self, flow: FlowId, want: Want, buffer: InBuffer) -> RequestId {
        let buffer = if self.knows_regions() { buffer } else { buffer.without_place() };
        self.proto.submit_recv(flow, want, buffer)
    }

    /// Submits a receive as `Proto::submit_recv_matched` does.
    pub fn submit_recv_matched(&mut self, matched: Matched, buffer: InBuffer) -> RequestId {
        let buffer = if self.knows_regions() { buffer } else { buffer.without_place() };
        self.proto.submit_recv_matched(matched, buffer)
    }

    /// Returns true if another rank of this host waits for the processor of this rank: `peer`, whose message
    /// is awaited, or else any.
    #[inline]
    pub fn is_processor_wanted(&mut self, peer: Option<Rank>) -> bool {
        !self.wait_policy.is_oversubscribed() && self.rails.is_processor_wanted(peer)
    }

    /// Wakes the waiters that wait for an operation that has ended since they were last woken.
    pub fn wake_waiters(&mut self) {
        let proto = &self.proto;
        self.waiters.wake_ended(proto.completions(), |request| proto.is_done(request));
    }
}
