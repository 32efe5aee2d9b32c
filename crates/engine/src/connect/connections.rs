//! Links to ranks of other hosts: made when first wanted, over every rail, made again after a loss, given up
//! after a time.
//!
//! Owns the attempts to make links and their deadlines. A lost link is no failure while there is another, or
//! if a new one opens in time: the protocols settle its packets. The launcher and its agents judge whether a
//! host is dead, not this module.
//!
//! ```text
//!   wanted ─▶ Connect ─▶ Reach: addresses ─▶ connect every rail ─▶ opened
//!                                               ▲      │
//!                           after 50 ms … 1 s ──┴──────┘ failed or lost; too long no link ─▶ unreachable
//! ```

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use canele_rail::{Rail, Set, Unreachable};
use canele_sys::ids::{LinkId, Rank};

use canele_control::{JobInfo, RailAddress};

use crate::lane::Lane;

/// Passes between two looks for new connections: while nothing moves, and while something does.
const IDLE_PASSES: u32 = 16;
const BUSY_PASSES: u32 = 1024;
/// The number of idle passes in a row after which acknowledgements are sent, as before a sleep.
const LONG_IDLE_PASSES: u32 = 4096;
/// The delay before a link is tried again: after the first failure, and at most.
const MIN_BACKOFF: Duration = Duration::from_millis(50);
const MAX_BACKOFF: Duration = Duration::from_secs(1);
/// The silence after which a link is given up: if there is another link, and if there is none.
const SILENCE_LIMIT: Duration = Duration::from_millis(400);
const SILENCE_LIMIT_OF_LAST_LINK: Duration = Duration::from_secs(2);
/// The interval at which links are checked for silence while packets are under way.
const SILENCE_CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// The time after which an attempt to restore a lost link begins anew: the network may have dropped its
/// packets.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(1);
/// The time without any link after which a peer counts as unreachable: one that was reached before, and one
/// that never was. Both are retried meanwhile: the peer may be connecting to this rank, or have finished. The
/// first time stays below ten seconds together with the time after which a link is given up, here or by the
/// kernel.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(6);
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(12);

/// The attempts of a rank to reach ranks of other hosts.
pub(crate) struct Connections {
    passes: u32,
    /// The number of passes since something moved.
    idle: u32,
    /// Links that are being made.
    attempts: HashMap<LinkId, Attempt>,
    /// Wanted peers without a link, and the times at which they count as unreachable.
    unlinked: HashMap<Rank, Instant>,
    /// Peers that were reached at some time.
    reached: HashSet<Rank>,
    /// The time of the last check for silence.
    silence_checked_at: Instant,
}

/// The attempts to make one link.
struct Attempt {
    /// The time of the next attempt; `None` while one is under way.
    next_at: Option<Instant>,
    /// The start of the last attempt.
    begun_at: Instant,
    /// The delay after the next failure.
    backoff: Duration,
    /// The reason for which the last attempt failed.
    last_failure: String,
}

impl Default for Attempt {
    fn default() -> Self {
        Self { next_at: None, begun_at: Instant::now(), backoff: MIN_BACKOFF, last_failure: String::new() }
    }
}

impl Connections {
    pub fn new(now: Instant) -> Self {
        Self {
            passes: 0,
            idle: 0,
            attempts: HashMap::new(),
            unlinked: HashMap::new(),
            reached: HashSet::new(),
            silence_checked_at: now,
        }
    }

    /// Returns true if links to a peer are being made.
    pub fn is_connecting_to(&self, peer: Rank) -> bool {
        self.attempts.keys().any(|link| link.peer() == peer)
    }

    /// Returns the links that are being made, with the reason of the last failure.
    pub fn failures(&self) -> impl Iterator<Item = (LinkId, &str)> {
        self.attempts.iter().map(|(link, attempt)| (*link, attempt.last_failure.as_str()))
    }

    /// Returns the longest time for which a thread may sleep before work is due here; `waiting` is true if
    /// packets are under way that may be lost.
    pub fn longest_sleep(&self, now: Instant, waiting: bool) -> Option<Duration> {
        let again = self
            .attempts
            .values()
            .map(|attempt| attempt.next_at.unwrap_or(attempt.begun_at + ATTEMPT_TIMEOUT));
        let again = again.map(|at| at.saturating_duration_since(now));
        let unlinked = self.unlinked.values().map(|until| until.saturating_duration_since(now));
        again.chain(unlinked).chain(waiting.then_some(SILENCE_CHECK_INTERVAL)).min()
    }
}

impl Connections {
    /// Handles the addresses on which a peer of another host listens, for each of its rails in order.
    pub fn handle_addresses(
        &mut self,
        lane: &mut Lane,
        job: &JobInfo,
        peer: Rank,
        addresses: &[RailAddress],
    ) {
        let Lane { rails, proto, .. } = lane;
        if peer.0 as usize >= proto.ranks() || proto.gone(peer).is_some() {
            return;
        }
        let addresses = addresses.iter().map(|rail| (rail.driver.as_str(), rail.address.as_slice()));
        if !rails.introduce(peer, addresses) {
            let host = job.host_name(peer.0);
            let why = format!(
                "its host {host} and this one share no network but addresses that this host has itself: CANELE_RAILS names the \
                 interfaces to use"
            );
            return proto.handle_unreachable(peer, why);
        }
        // A rank that needs no link to the peer waits for the peer's connection.
        if proto.is_wanted(peer) {
            self.connect_all(rails, peer);
        }
    }

    /// Begins to connect over every rail to a peer of another host; returns true if its addresses are known.
    pub fn connect_all(&mut self, rails: &mut Set, peer: Rank) -> bool {
        let routes = rails.routes(peer);
        if !routes.is_empty() {
            self.unlinked.entry(peer).or_insert_with(|| Instant::now() + CONNECT_TIMEOUT);
        }
        routes.iter().for_each(|link| self.connect(rails, *link));
        !routes.is_empty()
    }

    fn connect(&mut self, rails: &mut Set, link: LinkId) {
        rails.connect(link);
        let attempt = self.attempts.entry(link).or_default();
        (attempt.next_at, attempt.begun_at) = (None, Instant::now());
    }

    /// Advances connections to other hosts, and looks for lost ones; returns true if there was anything.
    /// `moved` is true if this pass has moved something.
    #[cold]
    pub fn tend(&mut self, lane: &mut Lane, job: &JobInfo, moved: bool) -> bool {
        self.passes = self.passes.wrapping_add(1);
        self.idle = if moved { 0 } else { self.idle.saturating_add(1) };
        // Without this, a rank that never sleeps would owe acknowledgements for ever.
        if self.idle == LONG_IDLE_PASSES {
            lane.rails.send_pending();
        }
        let working = !(self.attempts.is_empty() && self.unlinked.is_empty());
        let passes = if moved { BUSY_PASSES } else { IDLE_PASSES };
        let due = self.passes.is_multiple_of(passes) || working && !moved;
        if due || lane.rails.has_connection_events() {
            lane.rails.progress_connections();
        }
        let mut any = lane.rails.has_settled() | self.open_links(lane);
        while let Some(link) = lane.proto.take_lost_link() {
            any = true;
            self.handle_lost(lane, link);
        }
        while let Some(Unreachable { link, why }) = lane.rails.take_unreachable() {
            any = true;
            self.handle_failed(lane, link, why);
        }
        // These checks also run now and then while other work never ends.
        let due = !moved || self.passes.is_multiple_of(BUSY_PASSES);
        if due {
            let now = Instant::now();
            any |= working && self.retry(lane, job, now);
            any |= self.close_silent(lane, now);
        }
        if any {
            // A thread may wait for a link.
            lane.waiters.wake_all_after_pass();
        }
        any
    }

    /// Informs the protocols of links that were made; returns true if there was one. They must know a link
    /// before packets are received from it: otherwise they could not report the link's progress later.
    pub fn open_links(&mut self, lane: &mut Lane) -> bool {
        let mut any = false;
        while let Some(link) = lane.rails.take_opened() {
            any = true;
            lane.counts.connections += 1;
            self.attempts.remove(&link);
            self.unlinked.remove(&link.peer());
            self.reached.insert(link.peer());
            lane.proto.link_opened(&lane.rails, link.peer(), link);
        }
        if any {
            // A thread may wait for a link.
            lane.waiters.wake_all_after_pass();
        }
        any
    }

    /// Handles the loss of a link: another is made at once.
    fn handle_lost(&mut self, lane: &Lane, link: LinkId) {
        let (peer, proto) = (link.peer(), &lane.proto);
        if proto.gone(peer).is_some() || !lane.rails.routes(peer).contains(&link) {
            return;
        }
        if proto.is_cut(peer) {
            self.unlinked.entry(peer).or_insert_with(|| Instant::now() + RECONNECT_TIMEOUT);
        }
        let last_failure = "the connection was lost".into();
        self.attempts
            .insert(link, Attempt { next_at: Some(Instant::now()), last_failure, ..Attempt::default() });
    }

    /// Handles the failure of an attempt: it is made again later.
    pub(super) fn handle_failed(&mut self, lane: &mut Lane, link: LinkId, why: String) {
        if lane.rails.has_link(link) {
            return; // The peer's own attempt has made it.
        }
        // Links of this attempt, or of one before, are reported as never opened.
        lane.proto.report_never_opened(link.peer(), link.rail(), u32::MAX);
        let attempt = self.attempts.entry(link).or_default();
        (attempt.next_at, attempt.last_failure) = (Some(Instant::now() + attempt.backoff), why);
        attempt.backoff = (2 * attempt.backoff).min(MAX_BACKOFF);
    }

    /// Makes the attempts that are due; gives up peers that were without a link for too long. Returns true if
    /// a peer was given up.
    pub(super) fn retry(&mut self, lane: &mut Lane, job: &JobInfo, now: Instant) -> bool {
        let Lane { rails, proto, .. } = lane;
        // An open link is not begun anew, which would lose the packets on it.
        self.attempts.retain(|link, _| proto.gone(link.peer()).is_none() && !rails.has_link(*link));
        self.unlinked.retain(|peer, _| proto.gone(*peer).is_none());
        let late = |(peer, until): (&Rank, &Instant)| (now >= *until).then_some(*peer);
        let lost: Vec<Rank> = self.unlinked.iter().filter_map(late).collect();
        lost.iter().for_each(|peer| self.give_up(lane, job, *peer));
        for (link, anew) in self.due_attempts(now) {
            if anew {
                lane.rails.disconnect(link);
            }
            self.connect(&mut lane.rails, link);
        }
        !lost.is_empty()
    }

    /// Returns the links to attempt `now`; true for those with an attempt under way that took too long.
    fn due_attempts(&self, now: Instant) -> Vec<(LinkId, bool)> {
        let due = |(link, attempt): (&LinkId, &Attempt)| {
            let at = attempt
                .next_at
                .or(self.reached.contains(&link.peer()).then_some(attempt.begun_at + ATTEMPT_TIMEOUT))?;
            (at <= now).then_some((*link, attempt.next_at.is_none()))
        };
        self.attempts.iter().filter_map(due).collect()
    }

    /// Closes links whose other end's host does not answer, so that their packets go another way. Returns
    /// true if there was one.
    fn close_silent(&mut self, lane: &mut Lane, now: Instant) -> bool {
        if now < self.silence_checked_at + SILENCE_CHECK_INTERVAL {
            return false;
        }
        self.silence_checked_at = now;
        let silent = lane.rails.silent_links();
        let is_silent = |link: &LinkId| silent.iter().any(|(other, _)| other == link);
        let dead = |(link, since): &(LinkId, Duration)| {
            let others = lane.proto.links_to(link.peer()).any(|other| !is_silent(&other));
            *since >= if others { SILENCE_LIMIT } else { SILENCE_LIMIT_OF_LAST_LINK }
        };
        let dead: Vec<_> = silent.iter().filter(|silence| dead(silence)).map(|(link, _)| *link).collect();
        dead.iter().for_each(|link| lane.proto.close_link(&mut lane.rails, *link));
        !dead.is_empty()
    }

    /// Gives up a peer that cannot be reached.
    fn give_up(&mut self, lane: &mut Lane, job: &JobInfo, peer: Rank) {
        let attempts = self.attempts.extract_if(|link, _| link.peer() == peer);
        let mut reasons: Vec<_> =
            attempts.map(|(link, attempt)| (link.rail(), attempt.last_failure)).collect();
        reasons.sort();
        self.forget_links(lane, peer);
        let text = reasons.into_iter().map(|(rail, why)| format!("over rail {rail} {why}"));
        let text = text.collect::<Vec<_>>().join("; ");
        let host = job.host_name(peer.0);
        lane.proto.handle_unreachable(peer, format!("no connection to host {host}: {text}"));
    }

    /// Drops the links to a peer that is gone, and makes no new one.
    pub fn forget_links(&mut self, lane: &mut Lane, peer: Rank) {
        self.attempts.retain(|link, _| link.peer() != peer);
        self.unlinked.remove(&peer);
        lane.rails.forget_network_links(peer);
    }
}
