//! Progress and waiting: one thread of a rank makes progress, the others sleep until it has something for them.
//!
//! [`Progress`] owns what every other part of the engine works with: the rails, the protocols, and how threads wait. The other parts
//! get it as an argument.

pub(crate) mod awaited;
pub(crate) mod launcher_watch;
mod pass;
pub(crate) mod spin;
mod wait;
pub(crate) mod wait_policy;
pub(crate) mod waiters;

use std::sync::Arc;

use canele_mem::buffer::OutBuffer;
use canele_proto::{Envelope, Payload, Proto, Sent};
use canele_rail::Set;
use canele_sys::ids::{Rank, RequestId};
use canele_sys::tunables::Tunables;
use canele_trace::Tracer;

use crate::stats::Counts;
use wait_policy::WaitPolicy;
use waiters::Waiters;

/// The rails and the protocols of a rank, and the threads that wait for what they do.
pub(crate) struct Progress {
    pub rails: Set,
    pub proto: Proto,
    pub wait_policy: WaitPolicy,
    pub waiters: Waiters,
    /// The rank has finished: nothing is sent or received any more.
    pub is_finished: bool,
    pub counts: Counts,
    /// What records the events of this rank, if it is traced.
    pub tracer: Option<Arc<Tracer>>,
}

impl Progress {
    /// Of a rank whose host has more ranks than processors if `oversubscribed`.
    pub fn new(rails: Set, proto: Proto, tunables: &Tunables, oversubscribed: bool) -> Self {
        Self {
            rails,
            proto,
            wait_policy: WaitPolicy::new(tunables, oversubscribed),
            waiters: Waiters::default(),
            is_finished: false,
            counts: Counts::default(),
            tracer: None,
        }
    }

    /// As `Proto::post`.
    #[inline(always)]
    pub fn post(&mut self, envelope: Envelope, payload: impl Payload) -> Sent {
        self.proto.post(&mut self.rails, envelope, payload)
    }

    /// As `Proto::submit_send`.
    pub fn submit_send(&mut self, envelope: Envelope, buffer: OutBuffer) -> RequestId {
        self.proto.submit_send(&mut self.rails, envelope, buffer)
    }

    /// True if another rank of this host waits for the processor of this rank: `peer`, whose message is waited for, or else any.
    #[inline]
    pub fn is_processor_wanted(&mut self, peer: Option<Rank>) -> bool {
        !self.wait_policy.oversubscribed && self.rails.is_processor_wanted(peer)
    }

    /// Wakes the waiters that wait for an operation that has ended since they were last woken.
    pub fn wake_waiters(&mut self) {
        let proto = &self.proto;
        self.waiters.wake_ended(proto.completions(), |request| proto.is_done(request));
    }
}
