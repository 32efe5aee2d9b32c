//! The spread of a revocation to all members of a group, though members that spread it may die.
//!
//! The revoking rank informs all members. A member that learns of it remembers its informant. If that one
//! dies, it may have informed only some, so the member informs all itself. A revocation costs one message for
//! each member, and as many again for each informant that dies meanwhile. The state of a group is kept until
//! its flow is given back.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use canele_sys::ids::{FlowId, Rank};

use super::message::Message;

/// The most kept reports about groups that are not known here yet.
const MOST_EARLY: usize = 1 << 16;

/// The groups of one rank that are revoked.
pub struct Revocations {
    me: Rank,
    gone: BTreeSet<Rank>,
    revoked: BTreeMap<FlowId, Revoked>,
    /// Groups that are not known here yet, and the ranks that reported their revocation.
    early: BTreeSet<(FlowId, Rank)>,
    outgoing: VecDeque<(Rank, Message)>,
}

struct Revoked {
    members: Arc<[Rank]>,
    /// The rank that informed this one: itself, once it has informed all.
    from: Rank,
}

impl Revocations {
    /// Makes the state of rank `me`, on which no group is revoked.
    pub fn new(me: Rank) -> Self {
        let (gone, revoked, early) = (BTreeSet::new(), BTreeMap::new(), BTreeSet::new());
        Self { me, gone, revoked, early, outgoing: VecDeque::new() }
    }

    /// Revokes a group; returns false if it was revoked before.
    pub fn revoke(&mut self, flow: FlowId, members: &Arc<[Rank]>) -> bool {
        let is_new = self.add(flow, members, self.me);
        if is_new {
            self.tell_all(members, flow);
        }
        is_new
    }

    /// Handles the report of another rank that a group is revoked. `members` are those of the group with that
    /// flow here, if there is one. Returns true if the revocation is new here.
    pub fn handle_message(&mut self, from: Rank, flow: FlowId, members: Option<&Arc<[Rank]>>) -> bool {
        match members {
            Some(members) if members.contains(&from) => self.add_from(flow, members, from),
            // The message is about another group with the same flow, which this rank has left.
            Some(_) => false,
            None => {
                if self.early.len() < MOST_EARLY && !self.revoked.contains_key(&flow) {
                    self.early.insert((flow, from));
                }
                false
            }
        }
    }

    /// Adds a group with this flow; returns true if it is revoked already.
    pub fn handle_group(&mut self, flow: FlowId, members: &Arc<[Rank]>) -> bool {
        let said = self.early.extract_if((flow, Rank(0))..=(flow, Rank(u32::MAX)), |_| true);
        let said: Vec<Rank> = said.map(|(_, from)| from).collect();
        let from = said.into_iter().find(|from| members.contains(from));
        from.is_some_and(|from| self.add_from(flow, members, from))
    }

    /// Handles the end of a rank, after its last message.
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

    /// Takes the next message to be sent.
    pub fn poll_transmit(&mut self) -> Option<(Rank, Message)> {
        self.outgoing.pop_front()
    }

    /// Returns true if the group with this flow is revoked.
    pub fn is_revoked(&self, flow: FlowId) -> bool {
        self.revoked.contains_key(&flow)
    }

    /// Forgets a group that this rank has left: its flow may be another group's from now on.
    pub fn forget(&mut self, flow: FlowId) {
        self.revoked.remove(&flow);
    }

    /// Returns true if no group is revoked.
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
