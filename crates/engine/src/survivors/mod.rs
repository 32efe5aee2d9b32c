//! The survivors of deaths: agreements of the living ranks, and revoked groups. The protocols are those of
//! [`canele_collective::survivors`]; this module owns their messages, the ranks that are gone, and the
//! waiting threads.
//!
//! The launcher informs all ranks of the same deaths, and of each rank that another one has cut off, which
//! counts as gone for all. If this rank alone cannot reach another one, it reports to the launcher that it
//! has cut it off.

mod calls;
mod mail;
mod other_jobs;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use canele_collective::Pairs;
use canele_collective::survivors::{Consensus, Contribution, Message, Name, Revocations};
use canele_control::{RankEnd, ToLauncher};
use canele_mem::buffer::Divided;
use canele_proto::peer::PeerEnd;
use canele_proto::request::{Buffer, Failure};
use canele_proto::slab::Key;
use canele_rail::Corrupt;
use canele_sys::ids::{FlowId, Rank, Tag};

use crate::core::Core;
use crate::lane::Lane;
use crate::{Completion, Error, Status};
use mail::Mail;

/// The flow of the messages of these protocols.
const MESSAGES: FlowId = FlowId(8);
/// The most flows that are kept from being used again: beyond it the oldest is given back.
const MOST_KEPT: usize = 4096;

/// An event after which operations may fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailureKind {
    /// A group was revoked.
    Revoked,
    /// A rank is gone that has not finished.
    Died,
}

/// A function that is called, with the engine's lock held, after a failure.
pub type FailureHook = Arc<dyn Fn(FailureKind) + Send + Sync>;

/// The state of the survivors' protocols on one rank.
pub(crate) struct Survivors {
    consensus: Consensus,
    revocations: Revocations,
    mail: Mail,
    /// The groups of this rank, by their flow.
    groups: HashMap<FlowId, Arc<[Rank]>>,
    /// The number of agreements on each flow, if there were any.
    numbers: HashMap<FlowId, u32>,
    /// Agreements that a thread waits for or will ask about.
    waiting: HashMap<Name, Key>,
    /// Flows of groups that are revoked together with another one, by the flow of that one.
    followers: HashMap<FlowId, Vec<FlowId>>,
    /// The numbers of ranks gone and of split pairs at the last look.
    seen: (usize, usize),
    /// The number of deaths that were reported to the hook.
    deaths_told: usize,
    /// Flows of groups that this rank has left, about which others may still ask.
    kept: VecDeque<FlowId>,
    /// The reason for which this rank itself counts as gone.
    excluded: Option<Failure>,
    /// Ranks that this rank alone cannot reach, which it has reported to the launcher.
    reported: HashSet<Rank>,
    /// True if the protocols do not know yet which ranks are gone.
    is_behind: bool,
    pub failure_hook: Option<FailureHook>,
    me: Rank,
}

impl Survivors {
    pub fn new(me: Rank) -> Self {
        Self {
            consensus: Consensus::new(me),
            revocations: Revocations::new(me),
            mail: Mail::default(),
            groups: HashMap::new(),
            numbers: HashMap::new(),
            waiting: HashMap::new(),
            followers: HashMap::new(),
            seen: (0, 0),
            deaths_told: 0,
            kept: VecDeque::new(),
            excluded: None,
            reported: HashSet::new(),
            is_behind: false,
            failure_hook: None,
            me,
        }
    }

    /// Returns true if [`Core::advance_survivors`] may have work.
    #[inline]
    pub fn have_work(&self, lane: &Lane, splits: &[Failure]) -> bool {
        lane.proto.has_unexpected(MESSAGES)
            || self.mail.is_busy()
            || self.seen != (lane.proto.count_gone(), splits.len())
    }

    /// Adds a group that communicates on a flow; returns true if others have revoked it already.
    fn enter(&mut self, flow: FlowId, members: Arc<[Rank]>) -> bool {
        let is_revoked = self.revocations.handle_group(flow, &members);
        self.groups.insert(flow, members);
        is_revoked
    }

    /// Removes a group. Its flow is given back, unless the other members may ask about it: then it is kept.
    /// Beyond the limit the oldest kept one is given back. Returns the flows given back.
    pub fn leave(&mut self, flow: FlowId, pairs: &mut Pairs) -> Vec<FlowId> {
        self.groups.remove(&flow);
        self.followers.remove(&flow);
        self.followers.values_mut().for_each(|followers| followers.retain(|follower| *follower != flow));
        if !self.revocations.is_revoked(flow) && !self.numbers.contains_key(&flow) {
            pairs.free(flow.0 / 2);
            return vec![flow];
        }
        let mut given_back = Vec::new();
        self.kept.push_back(flow);
        while self.kept.len() > MOST_KEPT
            && let Some(oldest) = self.kept.pop_front_if(|flow| !self.consensus.is_of(*flow))
        {
            self.numbers.remove(&oldest);
            self.revocations.forget(oldest);
            pairs.free(oldest.0 / 2);
            given_back.push(oldest);
        }
        given_back
    }

    fn draw(&mut self, flow: FlowId) -> Name {
        let next = self.numbers.entry(flow).or_default();
        let number = *next;
        *next = next.wrapping_add(1);
        Name { flow, number }
    }

    fn call_hook(&self, kind: FailureKind) {
        if let Some(hook) = &self.failure_hook {
            hook(kind);
        }
    }

    /// Calls the hook if this number of deaths is greater than at its last call. It is called at once,
    /// because a wait that a death ends makes no further pass.
    pub fn report_deaths(&mut self, deaths: usize) {
        if std::mem::replace(&mut self.deaths_told, deaths) != deaths {
            self.call_hook(FailureKind::Died);
        }
    }

    /// Notes that this rank counts as gone for all others.
    pub fn handle_excluded(&mut self, why: Failure) {
        self.excluded.get_or_insert(why);
    }
}

impl Core {
    /// Drops messages that came for groups that this rank has left.
    pub fn drop_messages_of_kept_flows(&mut self) {
        let Self { survivors, lane, .. } = self;
        for flow in survivors.kept.iter().flat_map(|flow| [*flow, FlowId(flow.0 + 1)]) {
            lane.proto.drop_unexpected(flow);
        }
    }

    /// Takes messages, learns of gone ranks, sends the answers, and ends decided agreements; returns true if
    /// anything was done.
    #[cold]
    #[inline(never)]
    pub fn advance_survivors(&mut self) -> bool {
        let mut any = false;
        self.survivors.mail.take_new(&mut self.lane.proto);
        while let Some((from, bytes)) = self.survivors.mail.poll(&mut self.lane.proto) {
            any = true;
            self.handle_survivor_message(from, &bytes);
        }
        any |= self.learn_of_gone();
        self.settle_survivors() | any
    }

    fn handle_survivor_message(&mut self, from: Rank, bytes: &[u8]) {
        let ranks = self.lane.proto.ranks();
        match other_jobs::decode(&self.membership.job, from, bytes, ranks) {
            Ok(Message::Revoke(flow)) => {
                let members = self.survivors.groups.get(&flow);
                if self.survivors.revocations.handle_message(from, flow, members) {
                    self.handle_revoked(flow);
                }
            }
            Ok(message) => self.survivors.consensus.handle_message(from, message),
            Err(malformed) => {
                let Lane { proto, rails, .. } = &mut self.lane;
                proto.on_corrupt(
                    rails,
                    from,
                    Corrupt(format!("{from} sent {malformed}, {} bytes", bytes.len())),
                );
            }
        }
    }

    /// Handles the revocation of a group: operations on its flows end, and on those of its followers.
    fn handle_revoked(&mut self, flow: FlowId) {
        let Self { lane, survivors, membership, .. } = self;
        let followers = survivors.followers.get(&flow).into_iter().flatten();
        for flow in [&flow].into_iter().chain(followers).copied() {
            lane.proto.revoke(flow);
            lane.proto.revoke(FlowId(flow.0 + 1));
            membership.splits.push(Failure::Revoked { flow });
        }
        lane.waiters.wake_all_after_pass();
        survivors.call_hook(FailureKind::Revoked);
    }

    /// Informs the protocols of gone ranks; returns true if there are new ones. While no agreement or
    /// revocation is under way, this is put off.
    fn learn_of_gone(&mut self) -> bool {
        let Self { survivors, lane, membership, .. } = self;
        let now = (lane.proto.count_gone(), membership.splits.len());
        survivors.is_behind |= survivors.seen != now;
        survivors.seen = now;
        survivors.report_deaths(lane.proto.deaths().len());
        if !survivors.is_behind || survivors.consensus.is_empty() && survivors.revocations.is_empty() {
            return false;
        }
        self.tell_survivors_of_gone();
        true
    }

    /// Informs the protocols of all gone ranks, and the launcher of those that this rank alone cannot reach.
    fn tell_survivors_of_gone(&mut self) {
        let Self { survivors, lane, membership, .. } = self;
        survivors.is_behind = false;
        let proto = &lane.proto;
        let all = (0..proto.ranks() as u32).map(Rank);
        let gone = all.filter_map(|rank| Some((rank, proto.gone(rank)?)));
        let (unreachable, gone): (Vec<_>, Vec<_>) = gone.partition(|(_, how)| *how == PeerEnd::Unreachable);
        let cut_off = membership.splits.iter().filter_map(|split| match split {
            Failure::CutOff { of, .. } => Some(*of),
            _ => None,
        });
        for rank in gone.into_iter().chain(unreachable.clone()).map(|(rank, _)| rank).chain(cut_off) {
            survivors.consensus.handle_gone(rank);
            survivors.revocations.handle_gone(rank);
        }
        for (rank, _) in unreachable {
            if survivors.reported.insert(rank) {
                let what = proto.why_gone(rank).map_or_else(String::new, |why| why.to_string());
                if membership.launcher.send(&ToLauncher::Unreachable { peer: rank.0, what }).is_err() {
                    return self.handle_lost_launcher();
                }
            }
        }
    }

    /// Sends the messages of the protocols, and ends decided agreements; returns true if one has ended.
    fn settle_survivors(&mut self) -> bool {
        let Self { survivors, lane, membership, .. } = self;
        let next = |survivors: &mut Survivors| {
            survivors.consensus.poll_transmit().or_else(|| survivors.revocations.poll_transmit())
        };
        while let Some((to, message)) = next(survivors) {
            let bytes = other_jobs::encode(&membership.job, to, message);
            survivors.mail.send(&mut lane.proto, &mut lane.rails, to, &bytes);
        }
        survivors.mail.clear(&mut lane.proto);
        let mut any = false;
        if let Some(why) = self.survivors.excluded.clone() {
            for name in self.survivors.waiting.keys().copied().collect::<Vec<_>>() {
                self.end_agreement(name, Err(why.clone().into()));
            }
        }
        while let Some((name, decision)) = self.survivors.consensus.poll_decided() {
            any = true;
            self.handle_decided(name, decision);
        }
        any
    }

    /// Ends an agreement: ranks that are gone in its decision are gone for this rank, too.
    fn handle_decided(&mut self, name: Name, decision: Contribution) {
        let me = self.survivors.me;
        let result = if decision.failed.contains(&me) {
            let why = "the other members could not, and go on without it".into();
            Err(Failure::Unreachable(me, why).into())
        } else {
            for rank in &decision.failed {
                if !matches!(self.lane.proto.gone(*rank), Some(how) if how != PeerEnd::Finished) {
                    self.handle_gone(*rank, RankEnd::HostLost);
                }
            }
            Ok(decision)
        };
        self.end_agreement(name, result);
    }

    fn end_agreement(&mut self, name: Name, result: Result<Contribution, Error>) {
        let Some(key) = self.survivors.waiting.remove(&name) else { return };
        let output = result.as_ref().ok().map(|decision| {
            let bytes = Message::Decided(name, decision.clone()).encode();
            Box::new(Divided::from(&bytes[..]))
        });
        let source = self.survivors.me;
        let result = result.map(|_| Status { source, tag: Tag(name.number), bytes: 0 });
        let completion = Completion { result, buffer: Buffer::None, output };
        self.collectives.end(key, completion);
        self.lane.waiters.wake_all_after_pass();
    }
}
