//! The job as its launcher knows it: ranks, names, cuts, and the addresses of ranks.
//!
//! Owns the reactions to messages that concern ranks of several hosts, and queues the answers. Never touches
//! a socket or a process, so tests need neither.

mod cuts;
mod lanes;
mod worlds;

use std::collections::{HashMap, HashSet};
use std::mem;

use canele_control::{
    FromLauncher, JobInfo, MOST_SERIES, RailAddress, RankEnd, ToLauncher, check_addresses, series_of,
};

pub use cuts::Cut;
pub use lanes::LaneOf;

use super::failure::{Exit, RankFailure};
use super::given_up::GivenUp;
use super::job_elsewhere::ElsewhereLinks;
use super::member::Member;
use super::settings::Settings;
use super::world_graph::WorldGraph;

/// A job.
#[derive(Debug)]
pub struct Job {
    info: JobInfo,
    members: Vec<Member>,
    /// Pairs of ranks of different hosts or jobs (smaller rank first) of which one has asked for a link.
    links: HashSet<(u32, u32)>,
    names: HashMap<String, (u32, Vec<u8>)>,
    finds: HashMap<String, Vec<(u32, u64)>>,
    settings: Settings,
    cuts: Vec<Cut>,
    /// The number of cuts that were taken.
    cuts_taken: usize,
    out: Vec<(u32, FromLauncher)>,
    /// The links of each further lane, from number 1.
    lanes: Vec<lanes::LaneLinks>,
    out_to_lanes: Vec<(LaneOf, FromLauncher)>,
    /// Ranks that have finished and of which the other ranks are not informed yet.
    finished: Vec<u32>,
    /// Ranks of this job that are gone and of which other jobs are not informed yet.
    gone: Vec<(u32, RankEnd)>,
    /// True once adopted ranks are informed that all ranks have finished.
    over_reported: bool,
    /// The operations that ranks gave up as they finished.
    pub given_up: GivenUp,
    /// The links with ranks of other jobs.
    pub(super) elsewhere: ElsewhereLinks,
    /// The connections between worlds of this job.
    worlds: WorldGraph,
}

impl Job {
    /// Returns a job none of whose ranks has started.
    pub fn new(info: JobInfo) -> Job {
        let members = (0..info.size).map(|_| Member::default()).collect();
        Job {
            info,
            members,
            links: HashSet::new(),
            names: HashMap::new(),
            finds: HashMap::new(),
            settings: Settings::default(),
            cuts: Vec::new(),
            cuts_taken: 0,
            out: Vec::new(),
            lanes: Vec::new(),
            out_to_lanes: Vec::new(),
            finished: Vec::new(),
            gone: Vec::new(),
            over_reported: false,
            given_up: GivenUp::default(),
            elsewhere: ElsewhereLinks::default(),
            worlds: WorldGraph::default(),
        }
    }

    /// Returns the job's description.
    pub fn info(&self) -> &JobInfo {
        &self.info
    }

    /// Queues a message for a rank.
    pub fn tell(&mut self, to: u32, message: FromLauncher) {
        self.send(to, message);
    }

    /// Returns the data of `rank`.
    pub fn member(&self, rank: u32) -> &Member {
        &self.members[rank as usize]
    }

    /// Returns the data of `rank`, to be changed.
    pub fn member_mut(&mut self, rank: u32) -> &mut Member {
        &mut self.members[rank as usize]
    }

    /// Returns all ranks in order.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Returns the ranks of this job whose processes have not ended.
    pub fn running(&self) -> Vec<u32> {
        (0..self.info.ranks()).filter(|&rank| self.runs(rank)).collect()
    }

    fn runs(&self, rank: u32) -> bool {
        let member = self.member(rank);
        member.exit.is_none() && !member.is_elsewhere
    }

    /// Takes the queued messages, each with its rank, in order.
    pub fn take_messages(&mut self) -> Vec<(u32, FromLauncher)> {
        mem::take(&mut self.out)
    }

    /// Returns the settings that all ranks have alike, once the first has sent them.
    pub fn settings(&self) -> &[(String, String)] {
        self.settings.of_first()
    }

    /// Returns the value of a name that a rank has published.
    pub fn published_by(&self, rank: u32, name: &str) -> Option<&[u8]> {
        self.names.get(name).filter(|(owner, _)| *owner == rank).map(|(_, value)| &value[..])
    }

    /// Returns the ranks of this job that are gone.
    pub fn gone(&self) -> Vec<(u32, RankEnd)> {
        let gone = |rank: &u32| self.member(*rank).end_reported && !self.member(*rank).is_elsewhere;
        (0..self.info.ranks()).filter(gone).map(|rank| (rank, self.member(rank).end())).collect()
    }

    /// Takes the ranks of this job that are gone and of which other jobs must be informed.
    pub fn take_gone(&mut self) -> Vec<(u32, RankEnd)> {
        mem::take(&mut self.gone)
    }

    /// Handles the end of a rank of another job.
    pub fn handle_gone_elsewhere(&mut self, rank: u32, how: RankEnd) {
        let member = self.member_mut(rank);
        if member.is_elsewhere {
            let how = *member.gone.get_or_insert(how);
            self.tell_gone(rank, how);
        }
    }

    /// Returns true if there are finished ranks of which the other ranks are not informed yet.
    pub fn has_finished(&self) -> bool {
        !self.finished.is_empty()
    }

    /// Tells every rank that is in the library which others have finished, in one message.
    pub fn tell_finished(&mut self) {
        let mut finished = mem::take(&mut self.finished);
        finished.sort_unstable();
        let series = series_of(&finished);
        let listening = (0..self.info.ranks()).filter(|&to| self.member(to).listens());
        for to in listening.collect::<Vec<_>>() {
            self.send_finished(to, &series);
        }
    }

    /// Sends a rank the finished ranks, in messages of bounded length.
    fn send_finished(&mut self, to: u32, series: &[(u32, u32)]) {
        for part in series.chunks(MOST_SERIES) {
            self.send(to, FromLauncher::Finished { ranks: part.to_vec() });
        }
    }

    fn send(&mut self, to: u32, message: FromLauncher) {
        self.out.push((to, message));
    }

    /// Handles a message of rank `from`. The rank's host has handled its own part before.
    ///
    /// # Errors
    /// Fails with a text that says, after `rank N `, which rule the rank broke. No other rank was harmed.
    pub fn handle(&mut self, from: u32, message: ToLauncher) -> Result<(), String> {
        match message {
            ToLauncher::Hello { .. } => self.handle_hello(from),
            ToLauncher::Inbox { settings } => return self.settings.compare(from, &settings),
            ToLauncher::Addresses { rails } => {
                check_addresses(&rails)?;
                self.handle_addresses(from, rails);
            }
            ToLauncher::Connect { peers } => {
                return peers.into_iter().try_for_each(|peer| self.handle_connect(from, peer));
            }
            ToLauncher::Publish { name, value } => self.publish(from, name, value),
            ToLauncher::Withdraw { name } => {
                if self.names.get(&name).is_none_or(|&(owner, _)| owner != from) {
                    return Err(format!("withdrew the name {name:?}, which it did not publish"));
                }
                self.names.remove(&name);
            }
            ToLauncher::Find { ticket, name } => match self.names.get(&name) {
                Some((_, value)) => {
                    let value = value.clone();
                    self.send(from, FromLauncher::Found { ticket, value });
                }
                None => self.finds.entry(name).or_default().push((from, ticket)),
            },
            ToLauncher::Forget { ticket } => self.finds.retain(|_, waiting| {
                waiting.retain(|&find| find != (from, ticket));
                !waiting.is_empty()
            }),
            ToLauncher::Finalizing => self.member_mut(from).is_finalizing = true,
            ToLauncher::Finished => {
                self.member_mut(from).finished = true;
                self.tell_gone(from, RankEnd::Finished);
                self.tell_over();
            }
            ToLauncher::CutOff { peer, what } | ToLauncher::Unreachable { peer, what } => {
                return self.handle_cut(from, peer, what);
            }
            ToLauncher::GivenUp { operations, what } => self.given_up.add(from, operations, what),
            ToLauncher::SetConnected { world, is_connected } => {
                return self.worlds.set_connected(&self.info, from, world, is_connected);
            }
            // The launcher handles these.
            ToLauncher::Spawn { .. }
            | ToLauncher::Abort { .. }
            | ToLauncher::OpenPort { .. }
            | ToLauncher::ClosePort { .. }
            | ToLauncher::Accept { .. }
            | ToLauncher::ConnectPort { .. }
            | ToLauncher::Abandon { .. }
            | ToLauncher::Announce { .. }
            | ToLauncher::FindElsewhere { .. } => {}
            // These messages concern one host alone.
            ToLauncher::Links(_)
            | ToLauncher::Lane { .. }
            | ToLauncher::Trace
            | ToLauncher::Region { .. }
            | ToLauncher::Ring { .. }
            | ToLauncher::DropRegion { .. }
            | ToLauncher::FindRegion { .. } => {}
        }
        Ok(())
    }

    fn handle_hello(&mut self, from: u32) {
        self.member_mut(from).initialised = true;
        // Finished ranks that are not reported yet are reported to all ranks together.
        let told = |rank: &u32| self.member(*rank).end_reported && !self.finished.contains(rank);
        let gone = (0..self.info.ranks()).filter(told);
        let gone = gone.map(|rank| (rank, self.member(rank).end()));
        let (finished, others): (Vec<_>, Vec<_>) = gone.partition(|&(_, how)| how == RankEnd::Finished);
        if !finished.is_empty() {
            let finished: Vec<u32> = finished.into_iter().map(|(rank, _)| rank).collect();
            self.send_finished(from, &series_of(&finished));
        }
        for (rank, how) in others {
            self.send(from, FromLauncher::Gone { rank, how });
        }
        for cut in 0..self.cuts.len() {
            self.send(from, self.cuts[cut].message());
        }
    }

    fn handle_addresses(&mut self, from: u32, rails: Vec<RailAddress>) {
        self.member_mut(from).addresses = Some(rails);
        let wanted = |&peer: &u32| self.links.contains(&(from.min(peer), from.max(peer)));
        for peer in (0..self.info.ranks()).filter(wanted).collect::<Vec<_>>() {
            self.introduce(from, peer);
        }
    }

    fn handle_connect(&mut self, from: u32, peer: u32) -> Result<(), String> {
        if peer >= self.info.ranks() || peer == from {
            return Err(format!("asked for a link with rank {peer} of {}", self.info.ranks()));
        }
        // If both ask at once, the first request informs both.
        if self.note_link(from, peer) {
            self.introduce(from, peer);
        }
        Ok(())
    }

    /// Notes that one of two ranks asks for a link with the other; returns true if that is new.
    pub(super) fn note_link(&mut self, one: u32, other: u32) -> bool {
        self.links.insert((one.min(other), one.max(other)))
    }

    /// Tells two ranks of different hosts the addresses of each other, once both have sent them.
    fn introduce(&mut self, one: u32, other: u32) {
        if self.member(other).is_elsewhere {
            return self.introduce_elsewhere(one, other);
        }
        let addresses = |rank| self.member(rank).addresses.clone();
        if let (Some(ones), Some(others)) = (addresses(one), addresses(other)) {
            self.send(one, FromLauncher::Reach { rank: other, rails: others });
            self.send(other, FromLauncher::Reach { rank: one, rails: ones });
        }
    }

    fn publish(&mut self, from: u32, name: String, value: Vec<u8>) {
        if self.names.contains_key(&name) {
            return self.send(from, FromLauncher::PublishRefused { name });
        }
        for (rank, ticket) in self.finds.remove(&name).unwrap_or_default() {
            self.send(rank, FromLauncher::Found { ticket, value: value.clone() });
        }
        self.names.insert(name, (from, value));
    }

    /// Handles the end of the process of `rank`. Tells the others if it has not sent Finished. Returns the
    /// failure, if this was one.
    pub fn handle_exit(&mut self, rank: u32, exit: Exit) -> Option<RankFailure> {
        let member = self.member_mut(rank);
        member.exit = Some(exit);
        let failure = match (member.broken.take(), exit) {
            _ if member.unwanted => None,
            (Some(text), _) => Some(RankFailure::Broken(text)),
            (None, Exit::Signal(signal)) => Some(RankFailure::Killed(signal)),
            (None, Exit::Status(0)) if member.initialised && !member.finished => {
                Some(RankFailure::Unfinished)
            }
            (None, Exit::Status(0)) => None,
            (None, Exit::Unknown) => Some(RankFailure::Unknown),
            (None, Exit::Status(status)) => Some(RankFailure::Exited(status)),
            (None, Exit::Lost) => Some(RankFailure::HostLost),
        };
        let how = self.member(rank).end();
        self.tell_gone(rank, how);
        self.finds.retain(|_, waiting| {
            waiting.retain(|&(from, _)| from != rank);
            !waiting.is_empty()
        });
        self.tell_over();
        // The launcher ends the connected ranks after this call, so a failure leaves the connections as they
        // are.
        let world = self.info.world_of(rank);
        if failure.is_none() && !world.clone().any(|rank| self.runs(rank)) {
            self.worlds.remove_world(world.start);
        }
        // The job frees the data of spawned ranks, because it may spawn any number of them. It keeps the data
        // of ranks of the start.
        if rank >= self.info.size {
            self.member_mut(rank).addresses = None;
            self.links.retain(|(one, other)| *one != rank && *other != rank);
        }
        failure
    }

    /// Lets ranks that another launcher has started end, once all ranks (also spawned ones) have finished or
    /// ended.
    fn tell_over(&mut self) {
        let is_done = |member: &Member| member.finished || member.exit.is_some() || member.is_elsewhere;
        if !self.info.joined || self.over_reported || !self.members.iter().all(is_done) {
            return;
        }
        self.over_reported = true;
        for rank in (0..self.info.size).filter(|&rank| self.member(rank).exit.is_none()).collect::<Vec<_>>() {
            self.send(rank, FromLauncher::Over);
        }
    }

    /// Informs every rank that is in the library, once. Finished ranks are reported later and together: with
    /// one message to every rank for each end, the messages would grow with the square of the ranks.
    fn tell_gone(&mut self, rank: u32, how: RankEnd) {
        if mem::replace(&mut self.member_mut(rank).end_reported, true) {
            return;
        }
        if !self.member(rank).is_elsewhere {
            self.gone.push((rank, how));
        }
        if how == RankEnd::Finished {
            return self.finished.push(rank);
        }
        for to in 0..self.info.ranks() {
            if to != rank && self.member(to).listens() {
                self.send(to, FromLauncher::Gone { rank, how });
            }
        }
    }
}

#[cfg(test)]
#[path = "job_tests.rs"]
mod tests;
