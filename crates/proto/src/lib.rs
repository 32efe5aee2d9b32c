//! Canelé's protocols, which match, announce and move messages, and pay for them by credit. No I/O, no clock,
//! no randomness.
//!
//! [`Proto`] is the state of one rank. All its input and output goes through the rail passed to
//! [`Proto::pass`]: it takes packets from the rail, and fills the rail's slots. The same code runs on shared
//! memory and on simulated ranks.
//!
//! ```text
//!  submit ──▶ request ──▶ backlog of the peer ──▶ packet ──▶ rail        (transmit)
//!  rail ──▶ packet ──▶ matching ──▶ request done, or unexpected           (handle)
//!  requests with a region at one end ──▶ copied here, piece by piece      (direct)
//! ```
//! Handling a packet never waits for room: answers are kept with the peer and sent when there is some.
#![forbid(unsafe_code)]

mod acknowledged;
pub mod backlog;
pub mod batch;
mod both_ends;
mod bounds;
pub mod choice;
mod coalesced;
#[cfg(test)]
mod compared;
pub mod credit;
mod deferred;
mod departures;
mod direct;
mod eager_multi;
mod early_match;
mod event;
mod flow;
mod gone;
mod handle;
mod holding;
mod incoming;
pub mod matching;
mod multipath;
mod notices;
mod observed;
mod outcome;
mod outgoing;
mod packet;
pub mod peer;
mod peers;
mod post;
mod pull;
mod put;
mod receive;
mod receive_run;
mod rendezvous;
mod reports;
pub mod request;
mod requests;
mod revoked;
pub mod rma;
mod sequencer;
pub mod slab;
mod spare;
pub mod strategy;
mod submit;
mod traffic;
mod transmit;
mod unexpected;
mod verbs;
pub mod wire;

use std::collections::VecDeque;

use canele_profile::HostProfile;
use canele_rail::{Corrupt, FullRail};
use canele_sys::ids::Rank;

pub use coalesced::CoalescedSend;
use credit::{CreditPool, LEAST_WINDOW, base_window};
use deferred::Deferred;
use departures::Departures;
use eager_multi::EagerMultis;
use early_match::EarlyMatches;
use event::Listener;
pub use event::{EventListener, ProtoEvent};
use flow::Flows;
pub use flow::MAX_FLOWS;
pub use holding::Holding;
use incoming::Incoming;
pub use notices::Notice;
use notices::Notices;
use observed::Observer;
pub use observed::{Leaving, MessageEvent, MessageObserver};
use outgoing::Outgoing;
use peer::{Peer, SendPath};
use peers::Peers;
pub use peers::{PeerIndex, ShortAddress};
pub use post::{Envelope, Filled, Payload, Sent, ShortSent};
pub use receive::{Received, Room};
pub use receive_run::Receives;
use reports::Reports;
pub use request::PendingOperation;
use request::{Failure, State};
use requests::Requests;
use strategy::Strategy;
pub use traffic::{Moved, Traffic, Watermark};
pub use unexpected::Matched;
use verbs::PostedVerbs;

/// The settings that all ranks of a job agree on.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Messages up to this many bytes go to a rank of this host without a handshake
    /// ([`choice::eager_bytes`]).
    pub eager_bytes: usize,
    /// Largest piece of a streamed message in bytes.
    pub piece_bytes: usize,
    /// The most unexpected payload that a rank holds, in bytes, shared out among its peers as they use it.
    pub unexpected_bytes: u64,
}

impl Settings {
    /// Returns the widest window of credit.
    fn widest_window(&self) -> u64 {
        self.unexpected_bytes.max(LEAST_WINDOW)
    }
}

/// The protocol state of one rank.
///
/// It has neither I/O nor a clock: its caller brings the rail and calls it in this order.
///
/// 1. [`Proto::new`] or [`Proto::added`], then [`Proto::set_host_profile`], [`Proto::set_strategy`],
///    [`Proto::observe_messages`] and [`Proto::set_flow`] set the state of the start.
///    [`Proto::add_ranks`] and [`Proto::link_opened`] follow the job as it grows.
/// 2. [`Proto::post`] and [`Proto::try_recv`] do an operation that needs no request, or change nothing.
/// 3. [`Proto::submit_send`], [`Proto::submit_recv`], [`Proto::submit_put`] and [`Proto::submit_fence`] begin
///    the other operations.
/// 4. [`Proto::pass`] takes packets, sends and copies. When [`Proto::completions`] has changed,
///    [`Proto::take`] gives outcomes, and [`Proto::take_notice`] notices.
/// 5. If [`Proto::wants_anything`] after a pass, the caller handles the results of [`Proto::take_wanted`],
///    [`Proto::take_fenced`] and [`Proto::take_fault`].
///    [`Proto::take_lost_link`] names links to be made again.
/// 6. [`Proto::handle_gone`], [`Proto::handle_unreachable`] and [`Proto::handle_cut_off`] end operations that
///    need a peer that is gone.
/// 7. [`Proto::close`] ends all operations, once [`Proto::is_flushed`].
///
/// Each field owns its state and the rules for it, in the file of its type. The files of calls and packets
/// (`submit.rs`, `handle.rs` …) use several.
pub struct Proto {
    // The ranks of the job, and its settings.
    me: Rank,
    settings: Settings,
    /// The costs from which limits are computed.
    host: HostProfile,
    /// The longest bulk that every link so far can carry.
    max_bulk: usize,
    peers: Peers,
    departures: Departures,
    credit_pool: CreditPool,

    // Operations that callers have begun.
    flows: Flows,
    requests: Requests,

    // Packets from peers that were not taken.
    incoming: Incoming,
    eager_multis: EagerMultis,
    early_matches: EarlyMatches,
    deferred: Deferred,
    notices: Notices,
    /// RMA requests that the target has not taken.
    arrived_requests: VecDeque<rma::ArrivedRequest>,
    /// True if an RMA request has come, or was submitted here: passes look after them.
    rma_requested: bool,

    // Packets to peers.
    outgoing: Outgoing,
    verbs: PostedVerbs,

    // Reports to the caller, a tool and a trace.
    reports: Reports,
    listener: Listener,
    observer: Observer,
    /// Counts of packets and bytes so far.
    pub traffic: Traffic,
}

impl Proto {
    /// Makes the state of rank `me`, which was added to a running job that has `ranks` ranks with it. It and
    /// its peers begin with the least credit for each other, as in [`Proto::add_ranks`].
    pub fn added(me: Rank, ranks: usize, settings: Settings) -> Self {
        let mut proto = Self::new(me, 1, settings);
        proto.credit_pool = CreditPool::least(settings.unexpected_bytes, ranks);
        proto.peers = Peers::new(0, 0);
        proto.peers.grow(ranks);
        proto.departures = Departures::new(ranks - 1);
        proto
    }

    /// Grows the job to so many ranks. New ranks begin with the least credit.
    pub fn add_ranks(&mut self, ranks: usize) {
        let more = ranks.saturating_sub(self.peers.len());
        self.peers.grow(ranks);
        self.credit_pool.grow(more);
        self.departures.ranks_added(more);
    }

    /// Makes the state of rank `me` among `ranks`.
    pub fn new(me: Rank, ranks: usize, settings: Settings) -> Self {
        Self {
            me,
            settings,
            host: HostProfile::SHARED_CACHES,
            max_bulk: usize::MAX,
            peers: Peers::new(ranks, base_window(settings.unexpected_bytes, ranks)),
            departures: Departures::new(ranks - 1),
            credit_pool: CreditPool::new(settings.unexpected_bytes, ranks),
            flows: Flows::default(),
            requests: Requests::new(),
            incoming: Incoming::default(),
            eager_multis: EagerMultis::default(),
            early_matches: EarlyMatches::default(),
            deferred: Deferred::default(),
            notices: Notices::default(),
            arrived_requests: VecDeque::new(),
            rma_requested: false,
            outgoing: Outgoing::new(ranks),
            verbs: PostedVerbs::default(),
            reports: Reports::default(),
            listener: Listener::default(),
            observer: Observer::default(),
            traffic: Traffic::default(),
        }
    }

    /// Returns this rank.
    pub fn me(&self) -> Rank {
        self.me
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        self.peers.len()
    }

    /// Returns the length of the largest message that goes without a handshake, in bytes.
    pub fn eager_bytes(&self) -> usize {
        self.settings.eager_bytes.min(self.max_bulk)
    }

    /// Makes one progress pass: takes packets, sends waiting messages, copies. Returns true if it did
    /// anything.
    ///
    /// Sending comes before copying, so that the other end can copy at the same time.
    pub fn pass<R: FullRail>(&mut self, rail: &mut R) -> bool {
        rail.begin_pass();
        let received = self.receive(rail);
        self.close_lost_links(rail);
        let sent = self.transmit(rail);
        let copied = self.copy(rail);
        // The peer is told now that a copy has ended, because the caller may leave the library, and return
        // late or never.
        if copied {
            self.transmit(rail);
        }
        let moved = rail.flush();
        received | sent | copied | moved | self.close_buffers(rail)
    }

    /// Advances requests whose buffers a rail held; returns true if there was one.
    #[inline(always)]
    fn close_buffers<R: FullRail>(&mut self, rail: &mut R) -> bool {
        self.requests.has_held_buffers()
            && (self.handle_completed_verbs(rail) | self.requests.close_buffers())
    }

    /// Sets the costs of this job's hosts, and the bytes that go unannounced. Links that open later have
    /// limits by them.
    pub fn set_host_profile(&mut self, host: &HostProfile, eager_bytes: usize) {
        (self.host, self.settings.eager_bytes) = (*host, eager_bytes);
    }

    /// Returns the costs of this job's hosts.
    pub fn host_profile(&self) -> &HostProfile {
        &self.host
    }

    /// Sets the policy that puts waiting messages into packets.
    ///
    /// Messages that wait already keep the order that the policy before gave them.
    pub fn set_strategy(&mut self, strategy: Box<dyn Strategy>) {
        self.outgoing.set_strategy(strategy);
    }

    /// Returns the most that a rank holds of messages that came before their receive, in bytes of credit.
    pub fn credit_total(&self) -> u64 {
        self.settings.widest_window()
    }

    /// Returns the name of the strategy.
    pub fn strategy(&self) -> &str {
        self.outgoing.strategy()
    }

    /// Takes a peer whose link is to be opened, if there is one. [`Proto::link_opened`] answers it.
    pub fn take_wanted(&mut self) -> Option<Rank> {
        self.reports.take_wanted()
    }

    /// Returns true if [`Proto::take_wanted`], [`Proto::take_fenced`] or [`Proto::take_fault`] has a result.
    #[inline(always)]
    pub fn wants_anything(&self) -> bool {
        self.reports.wants_anything()
    }

    /// Takes an answered fence: the peer and the ticket of the fence.
    pub fn take_fenced(&mut self) -> Option<(Rank, u64)> {
        self.reports.take_fenced()
    }

    /// Takes a peer that broke the protocol and was cut off, with its fault.
    pub fn take_fault(&mut self) -> Option<(Rank, Corrupt)> {
        self.reports.take_fault()
    }

    /// Returns true once this rank has sent or got an RMA request.
    #[inline(always)]
    pub fn has_rma_requests(&self) -> bool {
        self.rma_requested
    }

    /// Returns a count that changes whenever an operation completes, or a packet comes that a call may wait
    /// for.
    pub fn completions(&self) -> u64 {
        self.requests.completions()
    }

    /// Returns true if no packet or copy of this rank waits, not even for a peer whose link is still to be
    /// opened.
    pub fn is_flushed(&self) -> bool {
        let waits = |peer: &Peer| peer.send_path() == SendPath::ExpectLink && peer.has_outgoing();
        self.is_idle() && !self.peers.iter().any(|peer| waits(peer) || peer.has_unacked())
    }

    /// Returns true if a pass that receives nothing would do nothing.
    pub fn is_idle(&self) -> bool {
        self.outgoing.is_empty() && self.requests.is_idle()
    }

    /// Ends every operation that is under way, because this rank has finished the job, and begins none any
    /// more. No message goes straight to the rail: each takes the general path, which returns the reason.
    /// Call it once [`Proto::is_flushed`].
    pub fn close(&mut self) {
        self.departures.close();
        self.peers.close();
        let has_ended = |state: &State| matches!(state, State::Closing(_) | State::Done(_) | State::Moving);
        for id in self.requests.find(|state| !has_ended(state)) {
            if !self.withdraw_here(id, Failure::Finished) {
                self.fail(id, Failure::Finished);
            }
        }
        self.requests.count_completion();
    }

    /// Returns the failure of all operations, if this rank has finished the job.
    pub fn why_closed(&self) -> Option<Failure> {
        self.departures.why_closed()
    }

    /// Puts a peer into the list of those with something to be sent.
    fn list(&mut self, peer: Rank) {
        self.outgoing.list(peer, &mut self.peers[peer.0 as usize]);
    }
}
