//! How all members of a group learn that it is revoked, though those who tell them may die.
//!
//! Who revokes a group tells all members. A member that learns of it remembers who told it, and tells all members itself should that one
//! be gone, which may have told only some. So a group costs one message for each member, and as many again for each that dies amid
//! them. What is known of a group is kept until its flow is given back.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use canele_sys::ids::{FlowId, Rank};

use super::message::Message;

/// Groups that are not known here yet: more are not kept.
const MOST_EARLY: usize = 1 << 16;

/// The groups of one rank that are revoked.
pub struct Revocations {
    me: Rank,
    gone: BTreeSet<Rank>,
    revoked: BTreeMap<FlowId, Revoked>,
    /// Groups that are not known here yet, and who said that they are revoked.
    early: BTreeSet<(FlowId, Rank)>,
    outgoing: VecDeque<(Rank, Message)>,
}

struct Revoked {
    members: Arc<[Rank]>,
    /// Who told this rank: itself, once it has told all.
    from: Rank,
}

impl Revocations {
    /// Those of rank `me`.
    pub fn new(me: Rank) -> Self {
        let (gone, revoked, early) = (BTreeSet::new(), BTreeMap::new(), BTreeSet::new());
        Self { me, gone, revoked, early, outgoing: VecDeque::new() }
    }

    /// Revokes a group; says whether it was not revoked before.
    pub fn revoke(&mut self, flow: FlowId, members: &Arc<[Rank]>) -> bool {
        let is_new = self.add(flow, members, self.me);
        if is_new {
            self.tell_all(members, flow);
        }
        is_new
    }

    /// A group is revoked, as another rank says. `members` are those of the group with that flow here, if there is one. Says whether it was
    /// not known.
    pub fn handle_message(&mut self, from: Rank, flow: FlowId, members: Option<&Arc<[Rank]>>) -> bool {
        match members {
            Some(members) if members.contains(&from) => self.add_from(flow, members, from),
            // Another group with the same flow, which this rank is not in any more.
            Some(_) => false,
            None => {
                if self.early.len() < MOST_EARLY && !self.revoked.contains_key(&flow) {
                    self.early.insert((flow, from));
                }
                false
            }
        }
    }

    /// A group with this flow is known from now on; says whether it is revoked already.
    pub fn handle_group(&mut self, flow: FlowId, members: &Arc<[Rank]>) -> bool {
        let said = self.early.extract_if((flow, Rank(0))..=(flow, Rank(u32::MAX)), |_| true);
        let said: Vec<Rank> = said.map(|(_, from)| from).collect();
        let from = said.into_iter().find(|from| members.contains(from));
        from.is_some_and(|from| self.add_from(flow, members, from))
    }

    /// A rank is gone, and its last message was handled.
    pub fn handle_gone(&mut self, rank: Rank) {
        if rank == self.me || !self.gone.insert(rank) {
            return;
        }
        let from_it = self.revoked.iter_mut().filter(|(_, revoked)| revoked.from == rank);
        let mut to_tell = Vec::new();
        for (flow, revoked) in from_it {
            revoked.from = self.me;
            to_tell.push((*flow, revoked.members.clone()));
        }
        to_tell.iter().for_each(|(flow, members)| self.tell_all(members, *flow));
    }

    /// The next message to be sent.
    pub fn poll_transmit(&mut self) -> Option<(Rank, Message)> {
        self.outgoing.pop_front()
    }

    /// True if the group with this flow is revoked.
    pub fn is_revoked(&self, flow: FlowId) -> bool {
        self.revoked.contains_key(&flow)
    }

    /// The flow of a group that is gone may be another group's from now on.
    pub fn forget(&mut self, flow: FlowId) {
        self.revoked.remove(&flow);
    }

    /// True if no group is revoked.
    pub fn is_empty(&self) -> bool {
        self.revoked.is_empty()
    }

    fn add_from(&mut self, flow: FlowId, members: &Arc<[Rank]>, from: Rank) -> bool {
        if self.gone.contains(&from) { self.revoke(flow, members) } else { self.add(flow, members, from) }
    }

    fn add(&mut self, flow: FlowId, members: &Arc<[Rank]>, from: Rank) -> bool {
        let is_new = !self.revoked.contains_key(&flow);
        if is_new {
            self.revoked.insert(flow, Revoked { members: members.clone(), from });
        }
        is_new
    }

    fn tell_all(&mut self, members: &[Rank], flow: FlowId) {
        let to = members.iter().filter(|rank| **rank != self.me && !self.gone.contains(rank));
        self.outgoing.extend(to.map(|rank| (*rank, Message::Revoke(flow))));
    }
}
