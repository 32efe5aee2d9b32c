//! Links to ranks of other hosts: made when first wanted, over every rail, made again when they are lost, given up after a time.
//!
//! Owns the efforts to make links and their deadlines. A link that is lost is no failure as long as there is another, or a new one
//! comes about in time: what was on it is settled by the protocols. Whether a host is dead is judged by the launcher and its
//! agents, not here.
//!
//! ```text
//!   wanted ─▶ Connect ─▶ Reach: addresses ─▶ dial every rail ─▶ opened
//!                                               ▲      │
//!                           after 50 ms … 1 s ──┴──────┘ failed or lost; no link at all for so long ─▶ unreachable
//! ```

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use canele_rail::Rail;
use canele_sys::ids::{LinkId, Rank};

use crate::control::ToLauncher;
use crate::core::Core;

/// Passes between two looks at who connects: while nothing moves, and while something does.
const IDLE_PASSES: u32 = 16;
const BUSY_PASSES: u32 = 1024;
/// So many idle passes in a row are a sleep to those who wait for acknowledgements.
const LONG_IDLE_PASSES: u32 = 4096;
/// After a failure a link is tried again so soon at first, and so late at last.
const SOON: Duration = Duration::from_millis(50);
const LATE: Duration = Duration::from_secs(1);
/// A link whose other end has answered nothing for so long is given up, if there is another; and if there is none.
const SUSPECT: Duration = Duration::from_millis(400);
const ALONE: Duration = Duration::from_secs(2);
/// How often that is looked at while something is under way.
const LOOK: Duration = Duration::from_millis(100);
/// An attempt to get a lost link back that took so long is begun anew: what the first one sent went into the cut.
const ANEW: Duration = Duration::from_secs(1);
/// So long a peer may be without any link before it counts as unreachable: one that was reached before, and one that never
/// was. Both are retried meanwhile: the peer may be connecting to this rank itself, or the launcher about to say that it has
/// finished. Together with the time after which a link is given up, here or by the kernel, less than ten seconds.
const LOST: Duration = Duration::from_secs(6);
const NEVER: Duration = Duration::from_secs(12);

/// The efforts of a rank to reach ranks of other hosts.
pub(crate) struct Network {
    passes: u32,
    /// Passes since something moved.
    idle: u32,
    /// Links that are being made.
    efforts: HashMap<LinkId, Effort>,
    /// Peers that are wanted and to which there is no link, and when they count as unreachable.
    apart: HashMap<Rank, Instant>,
    /// Peers that were reached at some time.
    met: HashSet<Rank>,
    /// When links were last looked at that may be silent.
    looked: Instant,
}

/// The attempts to make one link.
struct Effort {
    /// When to try again; under way if none.
    again: Option<Instant>,
    /// When the last attempt began.
    since: Instant,
    /// How long to wait after the next failure.
    wait: Duration,
    /// Why the last attempt failed.
    why: String,
}

impl Default for Effort {
    fn default() -> Self {
        Self { again: None, since: Instant::now(), wait: SOON, why: String::new() }
    }
}

impl Network {
    pub fn new() -> Self {
        Self {
            passes: 0,
            idle: 0,
            efforts: HashMap::new(),
            apart: HashMap::new(),
            met: HashSet::new(),
            looked: Instant::now(),
        }
    }

    /// Whether links to a peer are being made.
    pub fn is_busy_with(&self, peer: Rank) -> bool {
        self.efforts.keys().any(|link| link.peer() == peer)
    }

    /// The links that are being made, with why the last attempt failed.
    pub fn attempts(&self) -> impl Iterator<Item = (LinkId, &str)> {
        self.efforts.iter().map(|(link, effort)| (*link, effort.why.as_str()))
    }

    /// How long a sleep may last at most because of what is to be done here; with `waiting` something is under way that may
    /// be lost.
    pub fn longest_sleep(&self, waiting: bool) -> Option<Duration> {
        let now = Instant::now();
        let again = self.efforts.values().map(|effort| effort.again.unwrap_or(effort.since + ANEW));
        let again = again.map(|at| at.saturating_duration_since(now));
        let apart = self.apart.values().map(|until| until.saturating_duration_since(now));
        again.chain(apart).chain(waiting.then_some(LOOK)).min()
    }
}

impl Core {
    /// A peer of another host listens there, on its rails in order.
    pub fn on_reach(&mut self, peer: Rank, rails: Vec<Vec<SocketAddr>>) {
        if peer.0 as usize >= self.proto.ranks() || self.proto.gone(peer).is_some() {
            return;
        }
        for (at, addresses) in rails.into_iter().enumerate().take(self.rails.tcp.len()) {
            self.rails.introduce(peer, at, addresses);
        }
        // Whoever wants nothing of the peer waits for its connection.
        if self.proto.is_wanted(peer) {
            self.dial_all(peer);
        }
    }

    /// Begins to connect over every rail to a peer of another host; says whether it is known where that is.
    pub fn dial_all(&mut self, peer: Rank) -> bool {
        let ways = self.rails.ways(peer);
        if !ways.is_empty() {
            self.network.apart.entry(peer).or_insert_with(|| Instant::now() + NEVER);
        }
        ways.iter().for_each(|link| self.dial(*link));
        !ways.is_empty()
    }

    fn dial(&mut self, link: LinkId) {
        self.rails.dial(link);
        let effort = self.network.efforts.entry(link).or_default();
        (effort.again, effort.since) = (None, Instant::now());
    }

    /// Who connects over sockets, and who is lost. Says whether anything came of it.
    #[cold]
    pub fn tend_network(&mut self, moved: bool) -> bool {
        let network = &mut self.network;
        network.passes = network.passes.wrapping_add(1);
        network.idle = if moved { 0 } else { network.idle.saturating_add(1) };
        // Whoever never sleeps would owe it for ever.
        if network.idle == LONG_IDLE_PASSES {
            self.rails.leave();
        }
        let working = !(network.efforts.is_empty() && network.apart.is_empty());
        let passes = if moved { BUSY_PASSES } else { IDLE_PASSES };
        if network.passes.is_multiple_of(passes) || working && !moved {
            self.rails.meet(self.since.elapsed().as_nanos() as u64);
        }
        let mut any = self.rails.has_settled();
        while let Some(link) = self.rails.take_opened() {
            any = true;
            self.counts.connections += 1;
            self.network.efforts.remove(&link);
            self.network.apart.remove(&link.peer());
            self.network.met.insert(link.peer());
            self.proto.link_opened(&self.rails, link.peer(), link);
        }
        while let Some(link) = self.proto.take_lost_link() {
            any = true;
            self.on_lost(link);
        }
        while let Some((link, why)) = self.rails.take_unreachable() {
            any = true;
            self.on_failed(link, why);
        }
        // Now and then where there is always something else to do, too.
        let due = !moved || self.network.passes.is_multiple_of(BUSY_PASSES);
        if working && due {
            any |= self.try_again();
        }
        if due {
            any |= self.suspect();
        }
        if any {
            // Whoever follows may wait for a link.
            self.told = u64::MAX;
        }
        any
    }

    /// A link was lost: another is made at once.
    fn on_lost(&mut self, link: LinkId) {
        let peer = link.peer();
        if self.proto.gone(peer).is_some() || !self.rails.ways(peer).contains(&link) {
            return;
        }
        if self.proto.is_cut(peer) {
            self.network.apart.entry(peer).or_insert_with(|| Instant::now() + LOST);
        }
        let why = "the connection was lost".into();
        self.network.efforts.insert(link, Effort { again: Some(Instant::now()), why, ..Effort::default() });
    }

    /// An attempt failed: it is made again later.
    fn on_failed(&mut self, link: LinkId, why: String) {
        // Whatever the peer took for a link of this attempt, or one before it, is none.
        self.proto.disown(link.peer(), link.rail(), u32::MAX);
        let effort = self.network.efforts.entry(link).or_default();
        (effort.again, effort.why) = (Some(Instant::now() + effort.wait), why);
        effort.wait = (2 * effort.wait).min(LATE);
    }

    /// Makes the attempts that are due; gives up who was without a link for too long. Says whether anybody was.
    fn try_again(&mut self) -> bool {
        let (now, proto) = (Instant::now(), &self.proto);
        self.network.efforts.retain(|link, _| proto.gone(link.peer()).is_none());
        self.network.apart.retain(|peer, _| proto.gone(*peer).is_none());
        let late = |(peer, until): (&Rank, &Instant)| (now >= *until).then_some(*peer);
        let lost: Vec<Rank> = self.network.apart.iter().filter_map(late).collect();
        lost.iter().for_each(|peer| self.give_up(*peer));
        let met = &self.network.met;
        let due = |(link, effort): (&LinkId, &Effort)| {
            let at = effort.again.or(met.contains(&link.peer()).then_some(effort.since + ANEW))?;
            (at <= now).then_some((*link, effort.again.is_none()))
        };
        let due: Vec<_> = self.network.efforts.iter().filter_map(due).collect();
        for (link, anew) in due {
            if anew {
                self.rails.disconnect(link);
            }
            self.dial(link);
        }
        !lost.is_empty()
    }

    /// Gives up links whose other end's host answers nothing, so that what is on them goes another way. Says whether there
    /// was one.
    fn suspect(&mut self) -> bool {
        let now = Instant::now();
        if now < self.network.looked + LOOK {
            return false;
        }
        self.network.looked = now;
        let silent = self.rails.silent();
        let is_silent = |link: &LinkId| silent.iter().any(|(other, _)| other == link);
        let dead = |(link, since): &(LinkId, Duration)| {
            let others = self.proto.links_to(link.peer()).any(|other| !is_silent(&other));
            *since >= if others { SUSPECT } else { ALONE }
        };
        let dead: Vec<_> = silent.iter().filter(|silence| dead(silence)).map(|(link, _)| *link).collect();
        dead.iter().for_each(|link| self.proto.bury(&mut self.rails, *link));
        !dead.is_empty()
    }

    /// There is no way to a peer.
    fn give_up(&mut self, peer: Rank) {
        let efforts = self.network.efforts.extract_if(|link, _| link.peer() == peer);
        let mut reasons: Vec<_> = efforts.map(|(link, effort)| (link.rail(), effort.why)).collect();
        reasons.sort();
        self.forget_links(peer);
        let text = reasons.into_iter().map(|(rail, why)| format!("over rail {rail} {why}"));
        let text = text.collect::<Vec<_>>().join("; ");
        let host = self.job.hosts.get(self.job.host_of(peer.0)).map_or("", |host| &host.name);
        self.proto.handle_unreachable(peer, format!("no connection to host {host}: {text}"));
    }

    /// Tells the launcher where this rank listens.
    pub fn tell_addresses(&mut self) -> Result<(), crate::Error> {
        let rails = self.rails.tcp.iter().map(|tcp| tcp.addresses().to_vec()).collect();
        self.tell(&ToLauncher::Addresses { rails })
    }

    /// A peer is gone: no link to it is made or kept.
    pub fn forget_links(&mut self, peer: Rank) {
        self.network.efforts.retain(|link, _| link.peer() != peer);
        self.network.apart.remove(&peer);
        for rail in 1..=self.rails.tcp.len() as u8 {
            self.rails.disconnect(LinkId::new(rail, peer));
        }
    }
}
