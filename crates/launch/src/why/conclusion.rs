//! The conclusions from the waits of all ranks. Owns pure functions from the ranks' reports to findings.

use std::collections::{BTreeMap, BTreeSet};

use canele_control::{ThreadWait, UnexpectedMessage, WaitCollective, WaitMessage, WaitOperation};
use serde::Serialize;

use super::needs::{Needs, RankFacts, Ranks, collective, key};

/// A finding that explains why ranks wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitFinding {
    /// A rank waits for a message, and has one of the same source and flow with another tag.
    OtherTag {
        /// The waiting rank.
        rank: u32,
        /// The message that it waits for.
        wanted: WaitMessage,
        /// The message that it has.
        has: UnexpectedMessage,
    },
    /// A rank waits for a message, and has one of the same source and tag on another flow.
    OtherFlow {
        /// The waiting rank.
        rank: u32,
        /// The message that it waits for.
        wanted: WaitMessage,
        /// The message that it has.
        has: UnexpectedMessage,
    },
    /// Members of a flow are in different collectives as their n-th call.
    OtherCollective {
        /// One collective, and the ranks in it.
        one: (WaitCollective, Vec<u32>),
        /// The other collective, and the ranks in it.
        other: (WaitCollective, Vec<u32>),
    },
    /// Two ranks wait for each other in collectives on different flows, which they call in different order.
    OtherOrder {
        /// One rank, and its collective.
        one: (u32, WaitCollective),
        /// The other rank, and its collective.
        other: (u32, WaitCollective),
    },
    /// Ranks wait for each other in a cycle, each for the next.
    Cycle {
        /// The ranks in the order in which they wait; a single one waits for itself.
        ranks: Vec<u32>,
    },
    /// A rank waits for one that has finished or ended.
    Gone {
        /// The waiting rank.
        rank: u32,
        /// The rank that it waits for.
        peer: u32,
    },
    /// A rank has called `MPI_Finalize`, and others still wait for it.
    Finalizing {
        /// The rank in `MPI_Finalize`.
        rank: u32,
        /// The ranks that wait for it.
        by: Vec<u32>,
    },
    /// Ranks wait in a collective for others that are not in it.
    Absent {
        /// The collective.
        collective: WaitCollective,
        /// The ranks in it.
        inside: Vec<u32>,
        /// The ranks that are not in it.
        absent: Vec<u32>,
    },
    /// Ranks wait for a message from any rank, and no rank is left that could send one.
    NoSenderLeft {
        /// The waiting ranks.
        ranks: Vec<u32>,
    },
    /// Ranks wait, none can help another one, and no other finding applies.
    Stuck {
        /// The ranks.
        ranks: Vec<u32>,
    },
    /// A rank does not wait, and others wait for it.
    Awaited {
        /// The rank.
        rank: u32,
        /// The ranks that wait for it, directly or through others.
        by: Vec<u32>,
    },
}

/// Returns the findings that explain why ranks wait, the most informative first.
pub fn conclude(facts: &[RankFacts<'_>]) -> Vec<WaitFinding> {
    let ranks = Ranks::new(facts);
    let mut findings = ranks.other_messages();
    findings.extend(ranks.other_collectives());
    findings.extend(ranks.finalizing(&findings));
    let stuck = ranks.stuck();
    findings.extend(ranks.cycle(&stuck, &findings));
    findings.extend(ranks.gone());
    findings.extend(ranks.absent(&findings));
    findings.extend(ranks.without_sender(&stuck));
    findings.extend(ranks.awaited(&findings));
    if findings.is_empty() && !stuck.is_empty() {
        findings.push(WaitFinding::Stuck { ranks: stuck.into_iter().collect() });
    }
    findings
}

/// Returns the message that an operation waits for, unless it has begun to arrive.
fn still_wanted(operation: &WaitOperation) -> Option<WaitMessage> {
    match operation {
        WaitOperation::Receive(message) | WaitOperation::Probe(message) if !message.moving => Some(*message),
        _ => None,
    }
}

/// Returns true if a message is the one that is waited for.
fn is_it(wanted: &WaitMessage, has: &UnexpectedMessage) -> bool {
    wanted.peer.is_none_or(|peer| peer == has.source)
        && wanted.tag.is_none_or(|tag| tag == has.tag)
        && wanted.flow == Some(has.flow)
}

impl Ranks<'_> {
    /// Finds messages that resemble the awaited ones.
    fn other_messages(&self) -> Vec<WaitFinding> {
        let mut found = Vec::new();
        for facts in self.all.values() {
            let (rank, operations) = (facts.rank, facts.waits.iter().flat_map(|wait| &wait.operations));
            let wanted: Vec<WaitMessage> = operations.filter_map(still_wanted).collect();
            // Unexpected messages that an operation waits for are about to be received.
            let left = facts.unexpected.iter().filter(|has| !wanted.iter().any(|wanted| is_it(wanted, has)));
            for wanted in &wanted {
                if facts.unexpected.iter().any(|has| is_it(wanted, has)) {
                    continue;
                }
                let from_it = || left.clone().filter(|has| wanted.peer.is_none_or(|peer| peer == has.source));
                let is_tag = |has: &&UnexpectedMessage| wanted.tag.is_none_or(|tag| tag == has.tag);
                let is_flow = |has: &&UnexpectedMessage| wanted.flow == Some(has.flow);
                if let Some(has) = from_it().find(is_flow) {
                    found.push(WaitFinding::OtherTag { rank, wanted: *wanted, has: *has });
                } else if let Some(has) = from_it().find(is_tag) {
                    found.push(WaitFinding::OtherFlow { rank, wanted: *wanted, has: *has });
                }
            }
        }
        found
    }

    /// Finds calls of the same number on a flow that are different collectives.
    fn other_collectives(&self) -> Vec<WaitFinding> {
        let differ = |members: Vec<(u32, &WaitCollective)>| {
            let first = members[0].1;
            let other = members.iter().find(|(_, collective)| collective.operation != first.operation)?.1;
            let inside = |of: &WaitCollective| {
                let same = members.iter().filter(|(_, collective)| collective.operation == of.operation);
                (of.clone(), same.map(|(rank, _)| *rank).collect())
            };
            Some(WaitFinding::OtherCollective { one: inside(first), other: inside(other) })
        };
        self.calls().into_values().filter_map(differ).collect()
    }

    /// Finds the first cycle of stuck ranks, unless another finding explains it.
    fn cycle(&self, stuck: &BTreeSet<u32>, before: &[WaitFinding]) -> Option<WaitFinding> {
        let explained = |rank: u32| {
            before.iter().any(|finding| match finding {
                WaitFinding::OtherTag { rank: by, .. } | WaitFinding::OtherFlow { rank: by, .. } => {
                    *by == rank
                }
                WaitFinding::OtherCollective { one, other } => {
                    one.1.contains(&rank) || other.1.contains(&rank)
                }
                WaitFinding::Finalizing { by, .. } => by.contains(&rank),
                _ => false,
            })
        };
        let next_of = |wait: &ThreadWait| match self.needs(wait)? {
            Needs::All(ranks) => ranks.into_iter().find(|peer| stuck.contains(peer)),
            Needs::OneOf(_) | Needs::AnyOther => None,
        };
        let next = |rank: u32| self.waits_of(rank).iter().find_map(|wait| next_of(wait));
        let mut seen = BTreeSet::new();
        for start in stuck {
            let (mut path, mut at) = (Vec::new(), *start);
            while seen.insert(at) {
                path.push(at);
                match next(at) {
                    Some(peer) => at = peer,
                    None => break,
                }
            }
            let Some(begin) =
                path.iter().position(|rank| *rank == at && next(path[path.len() - 1]) == Some(at))
            else {
                continue;
            };
            let ranks = path.split_off(begin);
            if ranks.iter().any(|rank| explained(*rank)) {
                continue;
            }
            return Some(self.as_order(&ranks).unwrap_or(WaitFinding::Cycle { ranks }));
        }
        None
    }

    /// Returns the finding for a cycle of ranks in collectives on different flows.
    fn as_order(&self, ranks: &[u32]) -> Option<WaitFinding> {
        let collective_of = |rank: u32| self.waits_of(rank).iter().find_map(|wait| collective(wait));
        let all: Option<Vec<_>> = ranks.iter().map(|rank| Some((*rank, collective_of(*rank)?))).collect();
        let all = all?;
        let (one, other) = all.iter().find_map(|one| {
            let other = all.iter().find(|other| other.1.flow != one.1.flow)?;
            Some((one, other))
        })?;
        Some(WaitFinding::OtherOrder { one: (one.0, one.1.clone()), other: (other.0, other.1.clone()) })
    }

    /// Finds ranks in `MPI_Finalize` for which others wait, unless their calls differ.
    fn finalizing(&self, before: &[WaitFinding]) -> Vec<WaitFinding> {
        let differs = |rank: u32| {
            before.iter().any(|finding| match finding {
                WaitFinding::OtherCollective { one, other } => {
                    one.1.contains(&rank) || other.1.contains(&rank)
                }
                _ => false,
            })
        };
        let mut by: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for (rank, wait) in self.waits().filter(|(rank, _)| !self.is_finalizing(*rank) && !differs(*rank)) {
            let Some(Needs::All(peers)) = self.needs(wait) else { continue };
            if let Some(peer) = peers.into_iter().find(|peer| self.is_finalizing(*peer)) {
                by.entry(peer).or_default().insert(rank);
            }
        }
        let found =
            |(rank, by): (_, BTreeSet<_>)| WaitFinding::Finalizing { rank, by: by.into_iter().collect() };
        by.into_iter().map(found).collect()
    }

    fn gone(&self) -> Vec<WaitFinding> {
        let waits = self.waits().filter_map(|(rank, wait)| match self.needs(wait)? {
            Needs::All(ranks) => Some((rank, ranks.into_iter().find(|peer| self.is_gone(*peer))?)),
            Needs::OneOf(_) | Needs::AnyOther => None,
        });
        // Several threads may wait for the same rank.
        let waits: BTreeSet<_> = waits.collect();
        waits.into_iter().map(|(rank, peer)| WaitFinding::Gone { rank, peer }).collect()
    }

    /// Finds collectives that some members wait in and others are not in.
    fn absent(&self, before: &[WaitFinding]) -> Vec<WaitFinding> {
        let is_explained = |members: &[(u32, &WaitCollective)]| {
            before.iter().any(|finding| match finding {
                WaitFinding::OtherCollective { one, .. } => key(&one.0) == key(members[0].1),
                WaitFinding::OtherOrder { one, other } => {
                    members.iter().any(|(rank, _)| *rank == one.0 || *rank == other.0)
                }
                WaitFinding::Cycle { ranks } => members.iter().any(|(rank, _)| ranks.contains(rank)),
                _ => false,
            })
        };
        // A rank in `MPI_Finalize` waits for ranks that still work.
        let is_end =
            |members: &[(u32, &WaitCollective)]| members.iter().all(|(rank, _)| self.is_finalizing(*rank));
        let absent = |members: Vec<(u32, &WaitCollective)>| {
            let absent = self.outside(members[0].1);
            (!absent.is_empty() && !is_end(&members) && !is_explained(&members)).then(|| {
                WaitFinding::Absent {
                    collective: WaitCollective {
                        peers: Vec::new(),
                        peers_left_out: 0,
                        ..members[0].1.clone()
                    },
                    inside: members.iter().map(|(rank, _)| *rank).collect(),
                    absent,
                }
            })
        };
        self.calls().into_values().filter_map(absent).collect()
    }

    fn without_sender(&self, stuck: &BTreeSet<u32>) -> Option<WaitFinding> {
        let is_from_any = |operation: &WaitOperation| match operation {
            WaitOperation::Receive(message) | WaitOperation::Probe(message) => message.peer.is_none(),
            _ => false,
        };
        let from_any =
            |rank: &u32| self.waits_of(*rank).iter().all(|wait| wait.operations.iter().any(is_from_any));
        let ranks: Vec<u32> = stuck.iter().copied().filter(from_any).collect();
        (!ranks.is_empty()).then_some(WaitFinding::NoSenderLeft { ranks })
    }

    /// Finds ranks that do not wait and for which others do, unless they were named before.
    fn awaited(&self, before: &[WaitFinding]) -> Vec<WaitFinding> {
        let mut by: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for (rank, _) in self.waits() {
            let (mut seen, mut open) = (BTreeSet::from([rank]), vec![rank]);
            while let Some(at) = open.pop() {
                if self.waits_of(at).is_empty() && !self.is_gone(at) {
                    by.entry(at).or_default().insert(rank);
                }
                for wait in self.waits_of(at) {
                    let Some(Needs::All(peers)) = self.needs(wait) else { continue };
                    open.extend(peers.into_iter().filter(|peer| seen.insert(*peer)));
                }
            }
        }
        let is_absent = |rank: &u32| {
            before
                .iter()
                .any(|finding| matches!(finding, WaitFinding::Absent { absent, .. } if absent.contains(rank)))
        };
        by.into_iter()
            .filter(|(rank, _)| !is_absent(rank))
            .map(|(rank, by)| WaitFinding::Awaited { rank, by: by.into_iter().collect() })
            .collect()
    }
}

#[cfg(test)]
#[path = "conclusion_tests.rs"]
mod tests;
