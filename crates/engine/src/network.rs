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

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use canele_rail::Rail;
use canele_rail::tcp::OpenError;
use canele_rail::tcp::interfaces::{self, Interface};
use canele_sys::ids::{LinkId, Rank};
use canele_sys::tunables::Tunables;

use crate::control::ToLauncher;
use crate::core::Core;

/// Passes between two looks at who connects: while nothing moves, and while something does.
const IDLE_PASSES: u32 = 16;
const BUSY_PASSES: u32 = 1024;
/// After a failure a link is tried again so soon at first, and so late at last.
const SOON: Duration = Duration::from_millis(50);
const LATE: Duration = Duration::from_secs(1);
/// So long a peer may be without any link before it counts as unreachable: one that was reached before, and one that never
/// was. Both are retried meanwhile: the peer may be connecting to this rank itself, or the launcher about to say that it has
/// finished.
const LOST: Duration = Duration::from_secs(8);
const NEVER: Duration = Duration::from_secs(4);

/// The efforts of a rank to reach ranks of other hosts.
pub(crate) struct Network {
    passes: u32,
    /// Links that are being made.
    efforts: HashMap<LinkId, Effort>,
    /// Peers that are wanted and to which there is no link, and when they count as unreachable.
    apart: HashMap<Rank, Instant>,
}

/// The attempts to make one link.
struct Effort {
    /// When to try again; now under way if none.
    again: Option<Instant>,
    /// How long to wait after the next failure.
    wait: Duration,
    /// Why the last attempt failed.
    why: String,
}

impl Network {
    pub fn new() -> Self {
        Self { passes: 0, efforts: HashMap::new(), apart: HashMap::new() }
    }

    /// Whether links to a peer are being made.
    pub fn is_busy_with(&self, peer: Rank) -> bool {
        self.efforts.keys().any(|link| link.peer() == peer)
    }

    /// How long a sleep may last at most because of what is to be done here.
    pub fn longest_sleep(&self) -> Option<Duration> {
        let now = Instant::now();
        let again = self.efforts.values().map(|effort| effort.again.map_or(LATE, |at| at - now.min(at)));
        let apart = self.apart.values().map(|until| until.saturating_duration_since(now));
        again.chain(apart).min()
    }
}

/// The addresses on which a rank listens, one list for each rail.
pub(crate) fn addresses(tunables: &Tunables) -> Result<Vec<Vec<IpAddr>>, crate::Error> {
    let named: Vec<&str> = tunables.rails.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    let found = interfaces::interfaces().map_err(OpenError::from)?;
    Ok(interfaces::choose(&found, &named)?.iter().map(Interface::addresses).collect())
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
        let known = self.rails.is_introduced(peer);
        if known {
            self.network.apart.entry(peer).or_insert_with(|| Instant::now() + NEVER);
        }
        for rail in (1..=self.rails.tcp.len() as u8).filter(|_| known) {
            self.dial(LinkId::new(rail, peer), SOON);
        }
        known
    }

    fn dial(&mut self, link: LinkId, wait: Duration) {
        self.rails.dial(link);
        self.network.efforts.insert(link, Effort { again: None, wait, why: String::new() });
    }

    /// Who connects over sockets, and who is lost. Says whether anything came of it.
    #[cold]
    pub fn tend_network(&mut self, moved: bool) -> bool {
        let network = &mut self.network;
        network.passes = network.passes.wrapping_add(1);
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
        if working && !moved {
            any |= self.try_again();
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
        if self.proto.gone(peer).is_some() || !self.rails.is_introduced(peer) {
            return;
        }
        if self.proto.is_cut(peer) {
            self.network.apart.entry(peer).or_insert_with(|| Instant::now() + LOST);
        }
        let effort =
            Effort { again: Some(Instant::now()), wait: SOON, why: "the connection was lost".into() };
        self.network.efforts.insert(link, effort);
    }

    /// An attempt failed: it is made again later.
    fn on_failed(&mut self, link: LinkId, why: String) {
        // Whatever the peer took for a link of this attempt, or one before it, is none.
        self.proto.disown(link.peer(), link.rail(), u32::MAX);
        let effort = self.network.efforts.entry(link);
        let effort = effort.or_insert(Effort { again: None, wait: SOON, why: String::new() });
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
        let due = |(link, effort): (&LinkId, &Effort)| {
            effort.again.is_some_and(|at| at <= now).then_some((*link, effort.wait))
        };
        let due: Vec<_> = self.network.efforts.iter().filter_map(due).collect();
        due.into_iter().for_each(|(link, wait)| self.dial(link, wait));
        !lost.is_empty()
    }

    /// There is no way to a peer.
    fn give_up(&mut self, peer: Rank) {
        let efforts = self.network.efforts.extract_if(|link, _| link.peer() == peer);
        let mut reasons: Vec<_> = efforts.map(|(link, effort)| (link.rail(), effort.why)).collect();
        reasons.sort();
        self.network.apart.remove(&peer);
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
