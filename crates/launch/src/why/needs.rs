//! The needs of waiting ranks, and the set of ranks whose wait can never end.
//!
//! A rank is *stuck* if no possible action of others can end the wait of any of its threads. Ranks that do
//! not wait may do anything. A rank that waits for one of them, directly or through others, is not stuck.
//! Among the other ranks, a thread that needs all of several ranks is stuck if one of them is. A thread that
//! needs any one of several ranks is stuck if all of them are.

use std::collections::{BTreeMap, BTreeSet};

use canele_control::{ThreadWait, UnexpectedMessage, WaitCollective, WaitOperation};

/// The facts about one rank.
#[derive(Debug, Clone)]
pub struct RankFacts<'a> {
    /// The number of the rank.
    pub rank: u32,
    /// True if the rank has finished or ended: it does nothing more.
    pub is_gone: bool,
    /// True if the rank has called `MPI_Finalize`: it waits for the others and sends them nothing more.
    pub is_finalizing: bool,
    /// The waits of its waiting threads.
    pub waits: Vec<&'a ThreadWait>,
    /// True if more of its threads wait, whose waits are unknown.
    pub has_more: bool,
    /// Messages that it has and that no receive has asked for.
    pub unexpected: &'a [UnexpectedMessage],
}

/// All ranks, by number.
pub struct Ranks<'a> {
    pub all: BTreeMap<u32, &'a RankFacts<'a>>,
    /// For each collective in which ranks wait, the members that they wait for and that are not in it.
    outside: BTreeMap<Call, Vec<u32>>,
}

/// The ranks that a wait depends on.
pub enum Needs {
    /// The wait needs each of them.
    All(Vec<u32>),
    /// The wait needs one of them.
    OneOf(Vec<u32>),
    /// The wait needs any other rank.
    AnyOther,
}

/// The key by which two members know that they are in the same call.
pub type CallKey = (u32, bool, u32);

/// A call, and its operation.
type Call = (CallKey, String);

fn call(collective: &WaitCollective) -> Call {
    (key(collective), collective.operation.to_string())
}

pub fn key(collective: &WaitCollective) -> CallKey {
    (collective.flow, collective.started, collective.call)
}

/// Returns the operation of a wait that has only one.
fn only(wait: &ThreadWait) -> Option<&WaitOperation> {
    match &wait.operations[..] {
        [one] if wait.left_out == 0 => Some(one),
        _ => None,
    }
}

pub fn collective(wait: &ThreadWait) -> Option<&WaitCollective> {
    match only(wait)? {
        WaitOperation::Collective(collective) => Some(collective),
        _ => None,
    }
}

impl<'a> Ranks<'a> {
    /// Returns the needs of these ranks.
    pub fn new(facts: &'a [RankFacts<'a>]) -> Self {
        let all = facts.iter().map(|facts| (facts.rank, facts)).collect();
        let mut ranks = Self { all, outside: BTreeMap::new() };
        ranks.outside = ranks.find_outside();
        ranks
    }
}

impl Ranks<'_> {
    pub fn waits(&self) -> impl Iterator<Item = (u32, &ThreadWait)> {
        self.all.iter().flat_map(|(rank, facts)| facts.waits.iter().map(|wait| (*rank, *wait)))
    }

    pub fn is_gone(&self, rank: u32) -> bool {
        self.all.get(&rank).is_some_and(|facts| facts.is_gone)
    }

    pub fn is_finalizing(&self, rank: u32) -> bool {
        self.all.get(&rank).is_some_and(|facts| facts.is_finalizing)
    }

    pub fn waits_of(&self, rank: u32) -> &[&ThreadWait] {
        self.all.get(&rank).map_or(&[], |facts| &facts.waits)
    }

    /// Returns the needs of one operation; none if they are not known, or if it is already moving.
    fn needs_of_operation(&self, operation: &WaitOperation) -> Option<Needs> {
        match operation {
            WaitOperation::Send(message)
            | WaitOperation::Receive(message)
            | WaitOperation::Probe(message) => {
                if message.moving {
                    return None;
                }
                Some(match message.peer {
                    Some(peer) => Needs::All(vec![peer]),
                    None => Needs::AnyOther,
                })
            }
            WaitOperation::Collective(collective) => {
                // Ranks in the same call wait with this rank, not for it, whatever they have exchanged so
                // far.
                let outside = self.outside(collective);
                (!outside.is_empty()).then_some(Needs::All(outside))
            }
            WaitOperation::Other { peer, .. } => peer.map(|peer| Needs::All(vec![peer])),
            WaitOperation::Library => None,
        }
    }

    /// Returns the ranks for which members in this collective wait, and which are not in it.
    pub fn outside(&self, collective: &WaitCollective) -> Vec<u32> {
        // A wait for one of several operations uses its own peers: the waits of the other members are not
        // reported.
        let own = || collective.peers.clone();
        self.outside.get(&call(collective)).cloned().unwrap_or_else(own)
    }

    /// Finds these ranks for every collective that ranks wait in.
    fn find_outside(&self) -> BTreeMap<Call, Vec<u32>> {
        let mut all: BTreeMap<Call, (BTreeSet<u32>, BTreeSet<u32>)> = BTreeMap::new();
        for (rank, collective) in self.members() {
            let (inside, awaited) = all.entry(call(collective)).or_default();
            inside.insert(rank);
            awaited.extend(&collective.peers);
        }
        let outside = |(call, (inside, awaited)): (Call, (BTreeSet<u32>, BTreeSet<u32>))| {
            (call, awaited.difference(&inside).copied().collect())
        };
        all.into_iter().map(outside).collect()
    }

    /// Iterates over the ranks that wait only in a collective, with that collective.
    pub fn members(&self) -> impl Iterator<Item = (u32, &WaitCollective)> {
        self.waits().filter_map(|(rank, wait)| Some((rank, collective(wait)?)))
    }

    /// Returns the needs of a wait; a wait for several operations needs any of them.
    pub fn needs(&self, wait: &ThreadWait) -> Option<Needs> {
        if let Some(one) = only(wait) {
            return self.needs_of_operation(one);
        }
        if wait.left_out > 0 || wait.operations.is_empty() {
            return None;
        }
        let (mut any, mut is_any_other) = (Vec::new(), false);
        for operation in &wait.operations {
            match self.needs_of_operation(operation)? {
                Needs::All(ranks) | Needs::OneOf(ranks) => any.extend(ranks),
                Needs::AnyOther => is_any_other = true,
            }
        }
        Some(if is_any_other { Needs::AnyOther } else { Needs::OneOf(any) })
    }

    /// Returns the needs of each waiting thread of a rank; none if they are not known for all of them.
    fn needs_of_threads(&self, facts: &RankFacts<'_>) -> Option<Vec<Needs>> {
        if facts.waits.is_empty() || facts.has_more {
            return None;
        }
        facts.waits.iter().map(|wait| self.needs(wait)).collect()
    }

    /// Returns the ranks whose wait no possible action of others ends.
    pub fn stuck(&self) -> BTreeSet<u32> {
        let candidates = self.all.values();
        let mut stuck: BTreeMap<u32, Vec<Needs>> =
            candidates.filter_map(|facts| Some((facts.rank, self.needs_of_threads(facts)?))).collect();
        loop {
            let may_act = |rank: &u32| !stuck.contains_key(rank) && !self.is_gone(*rank);
            let any_may_act = self.all.keys().any(may_act);
            let may_end = |needs: &Needs| match needs {
                Needs::All(ranks) => ranks.iter().all(may_act),
                Needs::OneOf(ranks) => ranks.iter().any(may_act),
                // The rank itself is among those that may be stuck.
                Needs::AnyOther => any_may_act,
            };
            let freed = stuck.iter().filter(|(_, threads)| threads.iter().any(may_end));
            let freed: Vec<u32> = freed.map(|(rank, _)| *rank).collect();
            if freed.is_empty() {
                return stuck.into_keys().collect();
            }
            freed.iter().for_each(|rank| drop(stuck.remove(rank)));
        }
    }

    /// Returns for each call the ranks in it with their collectives.
    pub fn calls(&self) -> BTreeMap<CallKey, Vec<(u32, &WaitCollective)>> {
        let mut calls: BTreeMap<CallKey, Vec<_>> = BTreeMap::new();
        for (rank, collective) in self.members() {
            calls.entry(key(collective)).or_default().push((rank, collective));
        }
        calls
    }
}
