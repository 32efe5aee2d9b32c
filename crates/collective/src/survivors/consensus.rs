//! Agreement among the living members of a group, though more die meanwhile.
//!
//! ```text
//!   member ──Vote──▶ coordinator: the first living member      all that live voted, or one knows a decision
//!   member ◀─Decided── coordinator
//!   member ──Have──▶ coordinator ──Done──▶ members                 all have it: forgotten
//! ```
//! A member gives its vote to the first member that it does not know to be gone. That coordinator decides as
//! soon as all that live have voted for *it*. When it dies, each member turns to the next: with its vote, or
//! with the decision if it has that. A member that has turned to the next coordinator accepts nothing from
//! the one before, and the next one waits for all that live. So either one of them has the decision of the
//! one before, or none of them ever will. Members return as soon as they have the decision, and keep it until
//! all have it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use canele_sys::ids::{FlowId, Rank};

use super::message::Message;

/// The name of an agreement: the flow of its group, and a number that its members count alike.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Name {
    /// The flow of the group.
    pub flow: FlowId,
    /// The number among the agreements of the group.
    pub number: u32,
}

/// The input of a member to an agreement, or of all together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Contribution {
    /// Words, combined by conjunction.
    pub words: Vec<u64>,
    /// Members that are gone, in ascending order; combined by union.
    pub failed: Vec<Rank>,
    /// Members whose death the program has acknowledged, in ascending order; combined by intersection.
    pub acknowledged: Vec<Rank>,
}

/// The result of an agreement of the living members. `failed` are all members without words in it.
pub type Decision = Contribution;

impl Contribution {
    /// Adds the words and acknowledged deaths of another member.
    fn combine(&mut self, other: &Self) {
        self.words.truncate(other.words.len());
        self.words.iter_mut().zip(&other.words).for_each(|(mine, theirs)| *mine &= theirs);
        self.acknowledged.retain(|rank| other.acknowledged.binary_search(rank).is_ok());
    }
}

/// The most agreements that one member's messages keep here before this rank starts them.
const MOST_EARLY: usize = 1024;

/// All agreements of one rank that are under way, or about which others may ask.
pub struct Consensus {
    me: Rank,
    gone: BTreeSet<Rank>,
    all: BTreeMap<Name, Instance>,
    outgoing: VecDeque<(Rank, Message)>,
    decided: VecDeque<(Name, Decision)>,
}

/// One agreement.
#[derive(Default)]
struct Instance {
    /// The contribution of the program; `None` until the program takes part.
    mine: Option<Mine>,
    /// The votes for this rank as the coordinator.
    votes: BTreeMap<Rank, Contribution>,
    decision: Option<Decision>,
    /// Members that are known to have the decision.
    have: BTreeSet<Rank>,
    /// The member whose `Decided` this rank took.
    from: Option<Rank>,
    /// The last coordinator to which this rank gave its vote or decision, and true if it had the decision.
    told: Option<(Rank, bool)>,
    /// True if this rank, as the coordinator, has sent the decision to all.
    announced: bool,
}

struct Mine {
    members: Arc<[Rank]>,
    contribution: Contribution,
}

impl Consensus {
    /// Makes the agreements of rank `me`.
    pub fn new(me: Rank) -> Self {
        Self {
            me,
            gone: BTreeSet::new(),
            all: BTreeMap::new(),
            outgoing: VecDeque::new(),
            decided: VecDeque::new(),
        }
    }

    /// Starts an agreement among `members`, of which this rank is one; all give equally many words.
    pub fn start(&mut self, name: Name, members: Arc<[Rank]>, contribution: Contribution) {
        self.all.entry(name).or_default().mine = Some(Mine { members, contribution });
        self.go_on(name);
    }

    /// Handles a message of another member that is not gone.
    pub fn handle_message(&mut self, from: Rank, message: Message) {
        if self.gone.contains(&from) {
            return;
        }
        let name = match message {
            Message::Vote(name, vote) => {
                let is_early =
                    |instance: &Instance| instance.mine.is_none() && instance.votes.contains_key(&from);
                let early = self.all.values().filter(|instance| is_early(instance)).count();
                if early >= MOST_EARLY && !self.all.contains_key(&name) {
                    return;
                }
                self.all.entry(name).or_default().votes.insert(from, vote);
                name
            }
            Message::Decided(name, decision) => {
                let Some(instance) = self.all.get_mut(&name).filter(|instance| instance.mine.is_some())
                else {
                    // The agreement was forgotten here, because all have its decision.
                    return self.outgoing.push_back((from, Message::Done(name)));
                };
                instance.have.insert(from);
                if instance.decision.is_none() {
                    instance.from = Some(from);
                    self.decide(name, decision);
                }
                name
            }
            Message::Have(name) => {
                if let Some(instance) = self.all.get_mut(&name) {
                    instance.have.insert(from);
                }
                name
            }
            Message::Done(name) => {
                if self.all.get(&name).is_some_and(|instance| instance.decision.is_some()) {
                    self.forget(name, from);
                }
                name
            }
            Message::Revoke(_) => return,
        };
        self.go_on(name);
    }

    /// Handles the end of a rank, after its last message.
    pub fn handle_gone(&mut self, rank: Rank) {
        if rank == self.me || !self.gone.insert(rank) {
            return;
        }
        for name in self.all.keys().copied().collect::<Vec<_>>() {
            self.go_on(name);
        }
    }

    /// Takes the next message to be sent.
    pub fn poll_transmit(&mut self) -> Option<(Rank, Message)> {
        self.outgoing.pop_front()
    }

    /// Takes an agreement that this rank has started and that has ended. Each is reported once.
    pub fn poll_decided(&mut self) -> Option<(Name, Decision)> {
        self.decided.pop_front()
    }

    /// Returns true if nothing is under way or kept for others.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns true if an agreement of the group with this flow is under way or kept for others.
    pub fn is_of(&self, flow: FlowId) -> bool {
        let from = Name { flow, number: 0 };
        self.all.range(from..=Name { flow, number: u32::MAX }).any(|(_, instance)| instance.mine.is_some())
    }

    /// Forgets an agreement after the coordinator's report that all have the decision. Members that know
    /// already that the coordinator is gone have turned to this rank, and wait for the same report from it.
    fn forget(&mut self, name: Name, coordinator: Rank) {
        let Some(instance) = self.all.remove(&name) else { return };
        let waiting = instance.have.into_iter().filter(|rank| *rank != coordinator && *rank != self.me);
        self.outgoing.extend(waiting.map(|rank| (rank, Message::Done(name))));
    }

    fn decide(&mut self, name: Name, decision: Decision) {
        if let Some(instance) = self.all.get_mut(&name) {
            instance.decision = Some(decision.clone());
            self.decided.push_back((name, decision));
        }
    }

    /// Takes the next step, by the present knowledge.
    fn go_on(&mut self, name: Name) {
        let Some(instance) = self.all.get(&name) else { return };
        let Some(mine) = &instance.mine else { return };
        let lives = |rank: &&Rank| !self.gone.contains(rank);
        let others = |rank: &&Rank| **rank != self.me;
        let Some(coordinator) = mine.members.iter().find(lives).copied() else { return };
        if coordinator != self.me {
            return self.tell_coordinator(name, coordinator);
        }
        let members: Vec<Rank> = mine.members.iter().filter(lives).filter(others).copied().collect();
        if instance.decision.is_none() {
            if !members.iter().all(|member| instance.votes.contains_key(member)) {
                return;
            }
            let decision = self.combined(instance, mine, &members);
            self.decide(name, decision);
        }
        self.announce(name, &members);
    }

    /// Gives the vote or the decision to the coordinator, once.
    fn tell_coordinator(&mut self, name: Name, coordinator: Rank) {
        let Some(instance) = self.all.get_mut(&name) else { return };
        let Some(mine) = &instance.mine else { return };
        let now = (coordinator, instance.decision.is_some());
        if instance.told == Some(now) {
            return;
        }
        let message = match &instance.decision {
            None => {
                let mut vote = mine.contribution.clone();
                vote.failed = mine.members.iter().filter(|rank| self.gone.contains(rank)).copied().collect();
                vote.failed.sort_unstable();
                Message::Vote(name, vote)
            }
            Some(_) if instance.from == Some(coordinator) => Message::Have(name),
            Some(decision) => Message::Decided(name, decision.clone()),
        };
        instance.told = Some(now);
        self.outgoing.push_back((coordinator, message));
    }

    /// Returns the combined contribution of all that live. A member that is gone for one of them is gone for
    /// all, though its vote came.
    fn combined(&self, instance: &Instance, mine: &Mine, members: &[Rank]) -> Decision {
        let votes = || members.iter().filter_map(|member| Some((member, instance.votes.get(member)?)));
        let mut failed: Vec<Rank> = votes().flat_map(|(_, vote)| &vote.failed).copied().collect();
        failed.extend(&self.gone);
        failed.retain(|rank| mine.members.contains(rank));
        failed.sort_unstable();
        failed.dedup();
        let mut decision = mine.contribution.clone();
        let lived = votes().filter(|(member, _)| failed.binary_search(member).is_err());
        lived.for_each(|(_, vote)| decision.combine(vote));
        Decision { failed, ..decision }
    }

    /// Sends the decision to all that live, as the coordinator, and forgets it once all have it.
    fn announce(&mut self, name: Name, members: &[Rank]) {
        let Some(instance) = self.all.get_mut(&name) else { return };
        let Some(decision) = &instance.decision else { return };
        if !std::mem::replace(&mut instance.announced, true) {
            let each = |member: &Rank| (*member, Message::Decided(name, decision.clone()));
            self.outgoing.extend(members.iter().map(each));
        }
        if members.iter().all(|member| instance.have.contains(member)) {
            self.outgoing.extend(members.iter().map(|member| (*member, Message::Done(name))));
            self.all.remove(&name);
        }
    }
}
