//! Ranks with the states of survivors, and the possible next steps, of which chance takes one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use canele_collective::survivors::{Consensus, Contribution, Decision, Message, Name, Revocations};
use canele_sim::world::Random;
use canele_sys::ids::{FlowId, Rank};

/// Groups of all ranks.
pub const FLOWS: u32 = 2;
/// Agreements of each group.
pub const AGREEMENTS: u32 = 3;

struct Member {
    consensus: Consensus,
    revocations: Revocations,
    /// Messages that have left the states, not the rank.
    outbox: VecDeque<(Rank, Message)>,
    knows_dead: BTreeSet<Rank>,
    knows_groups: BTreeSet<FlowId>,
    /// The agreements that it has still to start, by group.
    next: BTreeMap<FlowId, u32>,
    acknowledged: BTreeMap<Name, Vec<Rank>>,
    decisions: BTreeMap<Name, Decision>,
    is_dead: bool,
    will_revoke: Option<FlowId>,
    has_revoked: bool,
}

pub struct World {
    random: Random,
    members: Vec<Member>,
    /// Messages under way from one rank to another, as bytes.
    channels: BTreeMap<(Rank, Rank), VecDeque<Vec<u8>>>,
    kills_left: usize,
    /// The number of `Done` messages of rank 0 before it dies.
    done_of_first: Option<usize>,
    delivered: usize,
}

#[derive(Clone, Copy)]
enum StepKind {
    Transmit(Rank),
    Deliver(Rank, Rank),
    Learn { dead: Rank, by: Rank },
    Start(Rank, FlowId),
    Group(Rank, FlowId),
    Revoke(Rank, FlowId),
    Kill(Rank),
}

impl World {
    /// Makes a few ranks, of which some die.
    pub fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let ranks = 2 + random.below(6);
        let kills = random.below(ranks);
        let mut world = Self::of(ranks, kills);
        for at in 0..ranks {
            let flow = FlowId(10 + 2 * random.below(FLOWS as usize) as u32);
            world.members[at].will_revoke = random.chance(15).then_some(flow);
        }
        world.random = random;
        world
    }

    /// Makes `ranks` ranks, of which `kills_left` die.
    pub fn of(ranks: usize, kills_left: usize) -> Self {
        let member = |me: u32| Member {
            consensus: Consensus::new(Rank(me)),
            revocations: Revocations::new(Rank(me)),
            outbox: VecDeque::new(),
            knows_dead: BTreeSet::new(),
            knows_groups: BTreeSet::new(),
            next: (0..FLOWS).map(|n| (FlowId(10 + 2 * n), 0)).collect(),
            acknowledged: BTreeMap::new(),
            decisions: BTreeMap::new(),
            is_dead: false,
            will_revoke: None,
            has_revoked: false,
        };
        let members = (0..ranks as u32).map(member).collect();
        let (random, channels, done_of_first) = (Random(1), BTreeMap::new(), None);
        Self { random, members, channels, kills_left, done_of_first, delivered: 0 }
    }

    /// Makes ranks whose first coordinator dies after `done` reports that all have a decision, in the order
    /// of events of `seed`.
    pub fn with_death_amid_done(ranks: usize, done: usize, seed: u64) -> Self {
        Self { random: Random(seed), done_of_first: Some(done), ..Self::of(ranks, 0) }
    }

    /// Returns true if a rank dies instead of sending this message.
    fn dies_before(&mut self, from: Rank, message: &Message) -> bool {
        let Some(done) = self.done_of_first.filter(|_| from == Rank(0)) else { return false };
        if !matches!(message, Message::Done(_)) {
            return false;
        }
        self.members[0].is_dead = done == 0;
        self.done_of_first = Some(done.saturating_sub(1));
        done == 0
    }

    pub fn ranks(&self) -> usize {
        self.members.len()
    }

    fn all(&self) -> Arc<[Rank]> {
        (0..self.ranks() as u32).map(Rank).collect()
    }

    pub fn survivors(&self) -> Vec<Rank> {
        self.all().iter().copied().filter(|rank| !self.is_dead(*rank)).collect()
    }

    pub fn is_dead(&self, rank: Rank) -> bool {
        self.members[rank.0 as usize].is_dead
    }

    pub fn names(&self) -> Vec<Name> {
        let flows = (0..FLOWS).map(|n| FlowId(10 + 2 * n));
        flows.flat_map(|flow| (0..AGREEMENTS).map(move |number| Name { flow, number })).collect()
    }

    pub fn decision(&self, rank: Rank, name: Name) -> Option<&Decision> {
        self.members[rank.0 as usize].decisions.get(&name)
    }

    pub fn acknowledged(&self, rank: Rank, name: Name) -> &[Rank] {
        self.members[rank.0 as usize].acknowledged.get(&name).map_or(&[], Vec::as_slice)
    }

    pub fn is_revoked(&self, rank: Rank, flow: FlowId) -> bool {
        self.members[rank.0 as usize].revocations.is_revoked(flow)
    }

    pub fn was_revoked_by_a_survivor(&self, flow: FlowId) -> bool {
        let revoked =
            |member: &Member| !member.is_dead && member.has_revoked && member.will_revoke == Some(flow);
        self.members.iter().any(revoked)
    }

    pub fn is_empty(&self, rank: Rank) -> bool {
        self.members[rank.0 as usize].consensus.is_empty()
    }

    pub fn delivered(&self) -> usize {
        self.delivered
    }

    /// Returns the word of a rank for an agreement.
    pub fn word(rank: Rank, name: Name) -> u64 {
        let seed = u64::from(rank.0) << 40 | u64::from(name.flow.0) << 20 | u64::from(name.number);
        let mut random = Random(seed + 1);
        random.next_u64() | random.next_u64()
    }

    /// Runs until no step is possible.
    pub fn run(&mut self) {
        loop {
            let steps = self.steps();
            if steps.is_empty() {
                return;
            }
            let step = steps[self.random.below(steps.len())];
            self.take(step);
        }
    }

    fn steps(&self) -> Vec<StepKind> {
        let mut steps = Vec::new();
        for ((from, to), queue) in &self.channels {
            if !queue.is_empty() && !self.is_dead(*to) {
                steps.push(StepKind::Deliver(*from, *to));
            }
        }
        for rank in self.survivors() {
            let member = &self.members[rank.0 as usize];
            if !member.outbox.is_empty() {
                steps.push(StepKind::Transmit(rank));
            }
            for (flow, number) in &member.next {
                let before = number.checked_sub(1).map(|number| Name { flow: *flow, number });
                if *number < AGREEMENTS && before.is_none_or(|name| member.decisions.contains_key(&name)) {
                    steps.push(StepKind::Start(rank, *flow));
                }
                if !member.knows_groups.contains(flow) {
                    steps.push(StepKind::Group(rank, *flow));
                }
            }
            if let Some(flow) = member.will_revoke
                && !member.has_revoked
                && member.knows_groups.contains(&flow)
            {
                steps.push(StepKind::Revoke(rank, flow));
            }
            // A rank learns of a death after the last message of the dead.
            let came = |dead: &Rank| self.channels.get(&(*dead, rank)).is_none_or(VecDeque::is_empty);
            let dead = self.all().iter().copied().filter(|dead| self.is_dead(*dead)).collect::<Vec<_>>();
            let unknown = dead.into_iter().filter(|dead| !member.knows_dead.contains(dead));
            steps.extend(unknown.filter(came).map(|dead| StepKind::Learn { dead, by: rank }));
            if self.kills_left > 0 {
                steps.push(StepKind::Kill(rank));
            }
        }
        steps
    }

    fn take(&mut self, step: StepKind) {
        let (all, ranks) = (self.all(), self.ranks());
        match step {
            StepKind::Transmit(from) => {
                if let Some((to, message)) = self.members[from.0 as usize].outbox.pop_front()
                    && !self.dies_before(from, &message)
                {
                    self.channels.entry((from, to)).or_default().push_back(message.encode());
                }
            }
            StepKind::Deliver(from, to) => {
                let bytes = self.channels.get_mut(&(from, to)).and_then(VecDeque::pop_front);
                let message = Message::decode(&bytes.expect("one waits"), ranks).expect("it was encoded");
                self.delivered += 1;
                let member = &mut self.members[to.0 as usize];
                match message {
                    Message::Revoke(flow) => {
                        let group = member.knows_groups.contains(&flow).then_some(&all);
                        member.revocations.handle_message(from, flow, group);
                    }
                    message => member.consensus.handle_message(from, message),
                }
                self.collect(to);
            }
            StepKind::Learn { dead, by } => {
                let member = &mut self.members[by.0 as usize];
                member.knows_dead.insert(dead);
                member.consensus.handle_gone(dead);
                member.revocations.handle_gone(dead);
                self.collect(by);
            }
            StepKind::Start(rank, flow) => self.start(rank, flow),
            StepKind::Group(rank, flow) => {
                let member = &mut self.members[rank.0 as usize];
                member.knows_groups.insert(flow);
                member.revocations.handle_group(flow, &all);
                self.collect(rank);
            }
            StepKind::Revoke(rank, flow) => {
                let member = &mut self.members[rank.0 as usize];
                member.has_revoked = true;
                member.revocations.revoke(flow, &all);
                self.collect(rank);
            }
            StepKind::Kill(rank) => {
                // Rarely, so that agreements are under way by then.
                if self.random.chance(4) {
                    self.members[rank.0 as usize].is_dead = true;
                    self.kills_left -= 1;
                }
            }
        }
    }

    fn start(&mut self, rank: Rank, flow: FlowId) {
        let all = self.all();
        let member = &mut self.members[rank.0 as usize];
        let Some(number) = member.next.get_mut(&flow) else { return };
        let name = Name { flow, number: *number };
        *number += 1;
        let acknowledged: Vec<Rank> = member.knows_dead.iter().copied().collect();
        member.acknowledged.insert(name, acknowledged.clone());
        let contribution =
            Contribution { words: vec![Self::word(rank, name)], failed: Vec::new(), acknowledged };
        member.consensus.start(name, all, contribution);
        self.collect(rank);
    }

    /// Takes the results of the states of a rank.
    fn collect(&mut self, rank: Rank) {
        let member = &mut self.members[rank.0 as usize];
        while let Some((name, decision)) = member.consensus.poll_decided() {
            assert!(member.decisions.insert(name, decision).is_none(), "{rank} is told of {name:?} twice");
        }
        while let Some(sent) = member.consensus.poll_transmit() {
            member.outbox.push_back(sent);
        }
        while let Some(sent) = member.revocations.poll_transmit() {
            member.outbox.push_back(sent);
        }
    }
}
