//! The causes of waits: the ranks and places at which waits originate.
//!
//! ```text
//!   rank 1  ══ computes ══╗                        rank 3 waits for 2, which waits for 1, which computes longer:
//!   rank 2  ── waits ─────╚═▶ sends ══╗            all of both waits is the cost of what rank 1 computes
//!   rank 3  ── waits ─────────────────╚═▶
//! ```
//! A wait for a late thread is explained by comparing both threads since they were last in step. The late
//! thread spent more time than the waiting one with some activity. If it computed longer, that is a cause. If
//! it waited longer, the causes of those waits are causes of this one, too. The waits are explained in the
//! order of their ends, so each wait that another one depends on is explained first.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::recorded::Trace;
use super::timeline::{Activity, ThreadTimeline, Timeline};
use super::waits::{self, WaitInterval, WaitReason};

/// The number of causes that are kept for a wait; smaller ones are counted as unknown.
const MOST_ORIGINS: usize = 12;
/// The most pieces of a thread that are compared; and, next, the most earlier releases that are examined.
const MOST_PIECES: usize = 2048;
const MOST_RELEASES: usize = 16;
/// The least time, as a share of a wait, that its thread must have computed since the moment from which both
/// threads are compared.
const LEAST_COMPUTED: f64 = 0.1;

/// The kind of a cause.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CauseKind {
    /// A rank computes longer than the ranks that wait for it.
    Computes,
    /// A rank spends longer in a call of the library.
    Library,
    /// A message of a rank is on its way.
    Transfer,
    /// The trace does not contain the reason.
    Unknown,
}

/// The origin of waits: a rank and a place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
struct Origin {
    rank: u32,
    kind: CauseKind,
    place: u32,
}

/// A cause and its cost. Times are in µs.
#[derive(Clone, Debug, Serialize)]
pub struct Cause {
    pub rank: u32,
    pub kind: CauseKind,
    /// The call before which the rank computes, or the call in which it spends its time.
    pub call: String,
    /// The place of that call in the source, if the trace has it.
    pub site: Option<String>,
    /// The sum of the times that other ranks wait because of it.
    pub waited: f64,
    /// The time that each of these ranks waits, the longest first.
    pub waiting: Vec<WaitingRank>,
    /// The waiting ranks, each with the rank that it waits for, from the origin on.
    pub chain: Vec<ChainLink>,
}

#[derive(Clone, Debug, Serialize)]
pub struct WaitingRank {
    pub rank: u32,
    pub waited: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct ChainLink {
    pub rank: u32,
    pub waits_for: u32,
    pub waited: f64,
}

/// The cost of a cause so far.
#[derive(Default)]
struct Cost {
    waited: f64,
    ranks: BTreeMap<u32, f64>,
    /// The times by the waiting rank and the rank that it waits for directly.
    edges: BTreeMap<(u32, u32), f64>,
}

/// The causes of a wait, each with its share.
type Shares = Vec<(Origin, f64)>;

/// Returns the causes of all waits, the most expensive first.
pub fn causes(trace: &Trace) -> Vec<Cause> {
    let mut timeline = Timeline::of(trace);
    let waits = waits::cut(trace, &mut timeline);
    let mut order: Vec<usize> = (0..waits.len()).collect();
    order.sort_by(|a, b| waits[*a].end.total_cmp(&waits[*b].end));
    let mut search = Search {
        trace,
        explained: vec![None; waits.len()],
        in_step: HashMap::new(),
        releases: vec![Vec::new(); timeline.threads.len()],
        timeline: &timeline,
        waits: &waits,
    };
    let mut costs: BTreeMap<Origin, Cost> = BTreeMap::new();
    for number in order {
        let wait = &waits[number];
        let shares = search.explain(wait);
        let rank = timeline.threads[wait.thread].rank;
        let direct = match wait.reason {
            WaitReason::LateUntil { thread, .. } | WaitReason::DependsOn { thread } => {
                timeline.threads[thread].rank
            }
            WaitReason::Unknown => rank,
        };
        for (origin, share) in &shares {
            let (cost, waited) = (costs.entry(*origin).or_default(), share * (wait.end - wait.start));
            cost.waited += waited;
            *cost.ranks.entry(rank).or_default() += waited;
            *cost.edges.entry((rank, direct)).or_default() += waited;
        }
        search.explained[number] = Some(shares);
    }
    let mut causes: Vec<_> =
        costs.into_iter().map(|(origin, cost)| cost.into_cause(origin, &timeline)).collect();
    causes.sort_by(|a, b| b.waited.total_cmp(&a.waited));
    causes
}

/// The state of the search for causes.
struct Search<'a> {
    trace: &'a Trace,
    timeline: &'a Timeline,
    waits: &'a [WaitInterval],
    explained: Vec<Option<Shares>>,
    /// The moment at which two ranks were last in step: one waited until the other one had sent. The lower
    /// rank is the first of the pair.
    in_step: HashMap<(u32, u32), f64>,
    /// The moments at which the waits of each thread for late threads ended.
    releases: Vec<Vec<f64>>,
}

impl Search<'_> {
    fn explain(&mut self, wait: &WaitInterval) -> Shares {
        let (own, took) = (&self.timeline.threads[wait.thread], wait.end - wait.start);
        let unknown = vec![(Origin { rank: own.rank, kind: CauseKind::Unknown, place: 0 }, 1.0)];
        if took <= 0.0 {
            return Shares::new();
        }
        match wait.reason {
            WaitReason::Unknown => unknown,
            WaitReason::DependsOn { thread } => {
                let mut shares = HashMap::new();
                let other = &self.timeline.threads[thread];
                self.add_excess(
                    &mut shares,
                    1.0,
                    (other, (wait.start, wait.end)),
                    (own, (wait.start, wait.start)),
                );
                complete(shares, own.rank)
            }
            WaitReason::LateUntil { thread, at, sender } => {
                let other = &self.timeline.threads[thread];
                let late = at.clamp(wait.start, wait.end) - wait.start;
                // A time that is shorter than the error between the clocks of two hosts is not certain.
                let is_certain = late > self.trace.clock_error(own.rank, other.rank);
                let late = if is_certain { late } else { 0.0 };
                let mut shares = HashMap::new();
                if late > 0.0 {
                    let since = self.compared_since(wait, other, late);
                    let stretches = ((other, (since, wait.start + late)), (own, (since, wait.start)));
                    self.add_excess(&mut shares, late / took, stretches.0, stretches.1);
                    let pair = (own.rank.min(other.rank), own.rank.max(other.rank));
                    self.in_step.insert(pair, wait.end);
                    self.releases[wait.thread].push(wait.end);
                }
                let on_its_way = Origin { rank: sender, kind: CauseKind::Transfer, place: 0 };
                *shares.entry(on_its_way).or_default() += 1.0 - late / took;
                complete(shares, own.rank)
            }
        }
    }

    /// Returns the moment from which on both threads are compared. They were in step at that moment, or the
    /// waiting thread was released then and has computed since.
    fn compared_since(&self, wait: &WaitInterval, other: &ThreadTimeline, late: f64) -> f64 {
        let own = &self.timeline.threads[wait.thread];
        let pair = (own.rank.min(other.rank), own.rank.max(other.rank));
        let start = own.start().max(other.start()).min(wait.start);
        let in_step = self.in_step.get(&pair).copied().unwrap_or(start).min(wait.start);
        let mut since = None;
        for release in self.releases[wait.thread].iter().rev().take(MOST_RELEASES) {
            let release = release.min(wait.start);
            since = Some(release);
            let computed = own.spent((release, wait.start))[Activity::Computes as usize];
            if computed >= LEAST_COMPUTED * late || release <= in_step {
                break;
            }
            since = None;
        }
        since.unwrap_or(in_step).max(in_step)
    }

    /// Adds the activities on which the late thread spent more time than the other one. Their shares have the
    /// sum `part`.
    fn add_excess(
        &self,
        shares: &mut HashMap<Origin, f64>,
        part: f64,
        (late, stretch): (&ThreadTimeline, (f64, f64)),
        (own, own_stretch): (&ThreadTimeline, (f64, f64)),
    ) {
        let (spent, own_spent) = (late.spent(stretch), own.spent(own_stretch));
        let excess: [f64; 3] = std::array::from_fn(|at| (spent[at] - own_spent[at]).max(0.0));
        let sum: f64 = excess.iter().sum();
        if sum <= 0.0 {
            return;
        }
        for (activity, kind) in
            [(Activity::Computes, CauseKind::Computes), (Activity::Library, CauseKind::Library)]
        {
            let share = part * excess[activity as usize] / sum;
            if share > 0.0 {
                add_places(shares, (kind, share), activity, (late, stretch), (own, own_stretch));
            }
        }
        let share = part * excess[Activity::Waits as usize] / sum;
        if share > 0.0 {
            self.add_waits(shares, share, late, stretch);
        }
    }

    /// Adds the causes of the waits of a late thread.
    fn add_waits(
        &self,
        shares: &mut HashMap<Origin, f64>,
        share: f64,
        late: &ThreadTimeline,
        stretch: (f64, f64),
    ) {
        let mut found: Vec<(&Shares, f64)> = Vec::new();
        for (at, spent) in late.backwards(stretch).take(MOST_PIECES) {
            let wait = late.pieces[at].wait.filter(|wait| self.waits[*wait].start < stretch.1);
            if let Some(explained) = wait.and_then(|wait| self.explained[wait].as_ref()) {
                found.push((explained, spent));
            }
        }
        let sum: f64 = found.iter().map(|(_, spent)| spent).sum();
        for (explained, spent) in found {
            for (origin, of_wait) in explained {
                *shares.entry(*origin).or_default() += share * spent / sum * of_wait;
            }
        }
    }
}

/// Adds the places at which a late thread spent more time on an activity than the other one.
fn add_places(
    shares: &mut HashMap<Origin, f64>,
    (kind, share): (CauseKind, f64),
    activity: Activity,
    (late, stretch): (&ThreadTimeline, (f64, f64)),
    (own, own_stretch): (&ThreadTimeline, (f64, f64)),
) {
    let mut places: BTreeMap<u32, f64> = BTreeMap::new();
    for (thread, stretch, sign) in [(late, stretch, 1.0), (own, own_stretch, -1.0)] {
        for (at, spent) in thread.backwards(stretch).take(MOST_PIECES) {
            if thread.pieces[at].activity == activity {
                *places.entry(thread.pieces[at].place).or_default() += sign * spent;
            }
        }
    }
    let sum: f64 = places.values().map(|spent| spent.max(0.0)).sum();
    for (place, spent) in places.into_iter().filter(|(_, spent)| *spent > 0.0) {
        *shares.entry(Origin { rank: late.rank, kind, place }).or_default() += share * spent / sum;
    }
}

/// Returns the largest shares; the rest is one unknown share.
fn complete(shares: HashMap<Origin, f64>, rank: u32) -> Shares {
    let mut shares: Shares = shares.into_iter().filter(|(_, share)| *share > 0.0).collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    shares.truncate(MOST_ORIGINS);
    let rest = 1.0 - shares.iter().map(|(_, share)| share).sum::<f64>();
    if rest > 1e-9 {
        shares.push((Origin { rank, kind: CauseKind::Unknown, place: 0 }, rest));
    }
    shares
}

impl Cost {
    fn into_cause(self, origin: Origin, timeline: &Timeline) -> Cause {
        let place = timeline.places.get(origin.place as usize);
        let place = place.filter(|_| matches!(origin.kind, CauseKind::Computes | CauseKind::Library));
        let mut waiting: Vec<_> =
            self.ranks.iter().map(|(rank, waited)| WaitingRank { rank: *rank, waited: *waited }).collect();
        waiting.sort_by(|a, b| b.waited.total_cmp(&a.waited));
        Cause {
            rank: origin.rank,
            kind: origin.kind,
            call: place.map_or(String::new(), |place| place.call.to_string()),
            site: place.and_then(|place| place.site.as_deref().map(str::to_owned)),
            waited: self.waited,
            waiting,
            chain: self.chain(origin.rank),
        }
    }

    /// Returns each waiting rank with the rank that it waits for longest, ordered from the origin on.
    fn chain(&self, origin: u32) -> Vec<ChainLink> {
        let mut longest: BTreeMap<u32, ChainLink> = BTreeMap::new();
        for ((rank, waits_for), waited) in self.edges.iter().filter(|((rank, other), _)| rank != other) {
            let link = ChainLink { rank: *rank, waits_for: *waits_for, waited: *waited };
            let known = longest.entry(*rank).or_insert_with(|| link.clone());
            if known.waited < *waited {
                *known = link;
            }
        }
        let mut links: HashMap<u32, Vec<ChainLink>> = HashMap::new();
        for link in longest.into_values().filter(|link| link.rank != origin) {
            links.entry(link.waits_for).or_default().push(link);
        }
        let mut chain = Vec::new();
        let mut reached = vec![origin];
        let mut next = 0;
        while let Some(at) = reached.get(next).copied() {
            next += 1;
            let mut behind = links.remove(&at).unwrap_or_default();
            behind.sort_by(|a, b| b.waited.total_cmp(&a.waited));
            reached.extend(behind.iter().map(|link| link.rank));
            chain.extend(behind);
        }
        chain
    }
}

#[cfg(test)]
#[path = "causes_tests.rs"]
mod tests;
