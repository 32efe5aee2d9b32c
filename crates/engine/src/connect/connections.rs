//! Links to ranks of other hosts: made when first wanted, over every rail, made again when they are lost, given up after a time.
//!
//! Owns the attempts to make links and their deadlines. A link that is lost is no failure as long as there is another, or a new one
//! comes about in time: what was on it is settled by the protocols. Whether a host is dead is judged by the launcher and its
//! agents, not here.
//!
//! ```text
//!   wanted ─▶ Connect ─▶ Reach: addresses ─▶ connect every rail ─▶ opened
//!                                               ▲      │
//!                           after 50 ms … 1 s ──┴──────┘ failed or lost; no link at all for so long ─▶ unreachable
//! ```

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use canele_rail::{Rail, Set, Unreachable};
use canele_sys::ids::{LinkId, Rank};

use canele_control::{JobInfo, RailAddress};

use crate::lane::Lane;

/// Passes between two looks at who connects: while nothing moves, and while something does.
const IDLE_PASSES: u32 = 16;
const BUSY_PASSES: u32 = 1024;
/// So many idle passes in a row are a sleep to those who wait for acknowledgements.
const LONG_IDLE_PASSES: u32 = 4096;
/// After a failure a link is tried again so soon at first, and so late at last.
const MIN_BACKOFF: Duration = Duration::from_millis(50);
const MAX_BACKOFF: Duration = Duration::from_secs(1);
/// A link whose other end has answered nothing for so long is given up, if there is another; and if there is none.
const SILENCE_LIMIT: Duration = Duration::from_millis(400);
const SILENCE_LIMIT_OF_LAST_LINK: Duration = Duration::from_secs(2);
/// How often links are checked for silence while something is under way.
const SILENCE_CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// An attempt to get a lost link back that took so long is begun anew: what the first one sent went into the cut.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(1);
/// So long a peer may be without any link before it counts as unreachable: one that was reached before, and one that never
/// was. Both are retried meanwhile: the peer may be connecting to this rank itself, or the launcher about to say that it has
/// finished. Together with the time after which a link is given up, here or by the kernel, less than ten seconds.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(6);
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(12);

/// The attempts of a rank to reach ranks of other hosts.
pub(crate) struct Connections {
    passes: u32,
    /// Passes since something moved.
    idle: u32,
    /// Links that are being made.
    attempts: HashMap<LinkId, Attempt>,
    /// Peers that are wanted and to which there is no link, and when they count as unreachable.
    unlinked: HashMap<Rank, Instant>,
    /// Peers that were reached at some time.
    reached: HashSet<Rank>,
    /// When links were last checked for silence.
    silence_checked_at: Instant,
}

/// The attempts to make one link.
struct Attempt {
    /// When to try again; under way if none.
    next_at: Option<Instant>,
    /// When the last attempt began.
    begun_at: Instant,
    /// How long to wait after the next failure.
    backoff: Duration,
    /// Why the last attempt failed.
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

    /// Whether links to a peer are being made.
    pub fn is_connecting_to(&self, peer: Rank) -> bool {
        self.attempts.keys().any(|link| link.peer() == peer)
    }

    /// The links that are being made, with why the last attempt failed.
    pub fn failures(&self) -> impl Iterator<Item = (LinkId, &str)> {
        self.attempts.iter().map(|(link, attempt)| (*link, attempt.last_failure.as_str()))
    }

    /// How long a sleep may last at most because of what is to be done here; with `waiting` something is under way that may
    /// be lost.
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
        // A rank that wants nothing of the peer waits for the peer's connection.
        if proto.is_wanted(peer) {
            self.connect_all(rails, peer);
        }
    }

    /// Begins to connect over every rail to a peer of another host; says whether it is known where that is.
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

    /// Advances connections to other hosts, and looks for lost ones; says whether there was anything. `moved`: something has moved in
    /// this pass before.
    #[cold]
    pub fn tend(&mut self, lane: &mut Lane, job: &JobInfo, moved: bool) -> bool {
        self.passes = self.passes.wrapping_add(1);
        self.idle = if moved { 0 } else { self.idle.saturating_add(1) };
        // A rank that never sleeps would owe acknowledgements for ever.
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
        // Now and then where there is always something else to do, too.
        let due = !moved || self.passes.is_multiple_of(BUSY_PASSES);
        if due {
            let now = Instant::now();
            any |= working && self.retry(lane, job, now);
            any |= self.close_silent(lane, now);
        }
        if any {
            // A waiter may wait for a link.
            lane.waiters.wake_all_after_pass();
        }
        any
    }

    /// Tells the protocols of links that were made; says whether there were any. They know a link before anything is received
    /// from it: otherwise they could not say later what had come over it.
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
            // A waiter may wait for a link.
            lane.waiters.wake_all_after_pass();
        }
        any
    }

    /// A link was lost: another is made at once.
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

    /// An attempt failed: it is made again later.
    pub(super) fn handle_failed(&mut self, lane: &mut Lane, link: LinkId, why: String) {
        if lane.rails.has_link(link) {
            return; // The peer's own attempt has made it.
        }
        // What the peer took for a link of this attempt, or of one before, is none.
        lane.proto.report_never_opened(link.peer(), link.rail(), u32::MAX);
        let attempt = self.attempts.entry(link).or_default();
        (attempt.next_at, attempt.last_failure) = (Some(Instant::now() + attempt.backoff), why);
        attempt.backoff = (2 * attempt.backoff).min(MAX_BACKOFF);
    }

    /// Makes the attempts that are due; gives peers up that were without a link for too long. Says whether there was one.
    pub(super) fn retry(&mut self, lane: &mut Lane, job: &JobInfo, now: Instant) -> bool {
        let Lane { rails, proto, .. } = lane;
        // A link that is there is not begun anew, which would lose what is on it.
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

    /// The links to attempt `now`, and whether an attempt is under way that took too long.
    fn due_attempts(&self, now: Instant) -> Vec<(LinkId, bool)> {
        let due = |(link, attempt): (&LinkId, &Attempt)| {
            let at = attempt
                .next_at
                .or(self.reached.contains(&link.peer()).then_some(attempt.begun_at + ATTEMPT_TIMEOUT))?;
            (at <= now).then_some((*link, attempt.next_at.is_none()))
        };
        self.attempts.iter().filter_map(due).collect()
    }

    /// Closes links whose other end's host answers nothing, so that what is on them goes another way. Says whether there
    /// was one.
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

    /// There is no way to a peer.
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

    /// A peer is gone: no link to it is made or kept.
    pub fn forget_links(&mut self, lane: &mut Lane, peer: Rank) {
        self.attempts.retain(|link, _| link.peer() != peer);
        self.unlinked.remove(&peer);
        lane.rails.forget_network_links(peer);
    }
}
