//! The lane: what one lock protects of the way of messages, and how threads make it progress and wait for it.
//!
//! [`Lane`] owns a rank's protocols, its rails and the threads that wait for them. The other parts of the engine get it as an argument. Job,
//! membership and launcher belong to no lane: they stand beside it in `Core`.

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

/// Protocols, rails and waiters: what an engine has of its rank's traffic.
pub(crate) struct Lane {
    /// Its number among the lanes of its rank.
    pub number: u8,
    pub rails: Set,
    pub proto: Proto,
    pub wait_policy: WaitPolicy,
    pub waiters: Waiters,
    pub deferred: DeferredRecvs,
    /// What is done behind requests of this lane, and in its next pass.
    pub follow_ups: FollowUps,
    /// Nothing is sent or received any more, because the rank has finished.
    pub is_closed: bool,
    pub counts: Counts,
}

impl Lane {
    /// The lane of this number, of a rank whose host has more ranks than processors if `oversubscribed`.
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

    /// As `Proto::post`.
    #[inline(always)]
    pub fn post(&mut self, envelope: Envelope, payload: impl Payload) -> Sent {
        self.proto.post(&mut self.rails, envelope, payload)
    }

    /// True of the lane that the regions of the rank belong to: to the others their memory is as any other, so buffers lose their place in a region.
    #[inline(always)]
    pub fn knows_regions(&self) -> bool {
        self.number == 0
    }

    /// As `Proto::submit_send`.
    pub fn submit_send(&mut self, envelope: Envelope, buffer: OutBuffer) -> RequestId {
        let buffer = if self.knows_regions() { buffer } else { buffer.without_place() };
        self.proto.submit_send(&mut self.rails, envelope, buffer)
    }

    /// As `Proto::submit_recv`.
    #[inline(always)]
    pub fn submit_recv(&mut self, flow: FlowId, want: Want, buffer: InBuffer) -> RequestId {
        let buffer = if self.knows_regions() { buffer } else { buffer.without_place() };
        self.proto.submit_recv(flow, want, buffer)
    }

    /// As `Proto::submit_recv_matched`.
    pub fn submit_recv_matched(&mut self, matched: Matched, buffer: InBuffer) -> RequestId {
        let buffer = if self.knows_regions() { buffer } else { buffer.without_place() };
        self.proto.submit_recv_matched(matched, buffer)
    }

    /// True if another rank of this host waits for the processor of this rank: `peer`, whose message is waited for, or else any.
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
