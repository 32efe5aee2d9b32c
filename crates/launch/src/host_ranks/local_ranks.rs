//! The inboxes, links and regions of the ranks of one host. All of them are descriptors that stay on the
//! host.
//!
//! Owns the data that ranks have sent about these, and queues the answers as messages. Other messages of
//! ranks are passed on. Never touches a socket or a process, so tests need neither.

mod linking;
mod of_lane;
mod truncated;

use std::collections::HashSet;
use std::io;
use std::mem;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use canele_control::{FromLauncher, Handed, JobInfo, RankSet, SpawnedWorld, ToLauncher, VERSION};
use canele_rail::shm::InboxNotifier;
use canele_sys::memory::Account;
use canele_trace::LogReader;

use super::introductions::Introductions;
use super::shared_regions::SharedRegions;
use crate::refused::refused_memory;
use crate::settings::Settings;

/// Limits of links over sockets in a report: for a whole job, and the least and the most for each rank. A
/// host sends the reports of all its ranks together.
const ALL_LINKS: u32 = 16 << 10;
const FEW_LINKS: u32 = 4;
const MANY_LINKS: u32 = 256;

/// A message for a rank.
#[derive(Debug)]
pub struct ControlMessage {
    /// The rank.
    pub to: u32,
    /// The message.
    pub message: FromLauncher,
    /// The descriptors of the message, in order.
    pub descriptors: Vec<Rc<OwnedFd>>,
}

/// A rank's inbox.
#[derive(Debug)]
pub(super) struct Inbox {
    memory: Rc<OwnedFd>,
    event: Option<Rc<OwnedFd>>,
    notifier: InboxNotifier,
}

/// Returns a new account of reserved memory. If none can be made, there are too few descriptors for ranks as
/// well, and the first rank reports that.
fn account() -> Option<Rc<OwnedFd>> {
    let account = Account::create().ok()?;
    Some(Rc::new(account.fd().try_clone_to_owned().ok()?))
}

/// Returns the number of links over sockets that each of `ranks` ranks may report.
fn most_links(ranks: u32) -> u32 {
    (ALL_LINKS / ranks.max(1)).clamp(FEW_LINKS, MANY_LINKS)
}

/// A rank of this host.
#[derive(Debug, Default)]
pub struct LocalRank {
    /// True once it has sent Hello.
    pub initialised: bool,
    /// True once it has sent Finished.
    pub finished: bool,
    /// True once its process has ended.
    pub ended: bool,
    /// The process of the rank, once started.
    pub pid: Option<u32>,
    pub(super) inbox: Option<Inbox>,
    /// True once it has sent its addresses.
    listens: bool,
    /// The log of its events, if it is traced.
    pub log: Option<LogReader>,
    /// True if the rank was asked for its links and has not answered.
    asked: bool,
}

impl LocalRank {
    /// Returns the notifier of the rank, if it has an inbox.
    pub fn notifier(&self) -> Option<&InboxNotifier> {
        self.inbox.as_ref().map(|inbox| &inbox.notifier)
    }

    /// Returns true while the rank is in the library.
    pub fn is_inside(&self) -> bool {
        self.initialised && !self.finished && !self.ended
    }
}

/// The ranks of one host.
#[derive(Debug)]
pub struct LocalRanks {
    pub(super) info: JobInfo,
    /// The file with the job's description, which each rank gets.
    job: Rc<OwnedFd>,
    ranks: RankSet,
    all: Vec<LocalRank>,
    /// Pairs (smaller rank first) of which one rank has asked for a link.
    pub(super) links: HashSet<(u32, u32)>,
    pub(super) regions: SharedRegions,
    /// Spawned ranks that have ended, whose regions may hold messages for others.
    pub(super) left_behind: Vec<u32>,
    /// Introductions between these ranks and those of other jobs.
    pub(super) introductions: Introductions,
    /// The page on which the ranks reserve memory; without it, each rank has its own.
    account: Option<Rc<OwnedFd>>,
    settings: Settings,
    out: Vec<ControlMessage>,
}

/// The violation of a rank that joins again after its first program has finished.
const SECOND_PROGRAM: &str = "started a second program that joins the job, behind one that has finished: a rank joins once, as the others have parted \
     from it. Run the programs one after the other, each with a `canele run` of its own";
/// The violation of a rank that joins again while its first process runs.
const SECOND_PROCESS: &str = "started a second process that joins the job in the place of the first: a rank is one process. Start further ones with \
     MPI_Comm_spawn, or by `canele run`, as a job of their own";

impl LocalRanks {
    /// Returns these ranks of the job, none of which has started.
    ///
    /// # Errors
    /// Fails if the job's description cannot be written.
    pub fn new(info: JobInfo, ranks: RankSet) -> io::Result<LocalRanks> {
        let job = Rc::new(info.write().map_err(refused_memory)?);
        Ok(LocalRanks {
            info,
            job,
            all: ranks.iter().map(|_| LocalRank::default()).collect(),
            ranks,
            links: HashSet::new(),
            regions: SharedRegions::default(),
            left_behind: Vec::new(),
            introductions: Introductions::default(),
            account: account(),
            settings: Settings::default(),
            out: Vec::new(),
        })
    }

    /// Returns true if `rank` is a rank of this host.
    pub fn has(&self, rank: u32) -> bool {
        self.ranks.contains(rank)
    }

    /// Returns the numbers of the ranks of this host.
    pub fn ranks(&self) -> &RankSet {
        &self.ranks
    }

    /// Returns the place of `rank` among the ranks of this host; none if it is not one of them.
    pub fn place(&self, rank: u32) -> Option<usize> {
        self.ranks.place(rank).map(|place| place as usize)
    }

    /// Returns the data of `rank`, which must be a rank of this host.
    pub fn of(&self, rank: u32) -> &LocalRank {
        &self.all[self.place(rank).expect("a rank of this host")]
    }

    /// Returns the data of `rank`, which must be a rank of this host, to be changed.
    pub fn of_mut(&mut self, rank: u32) -> &mut LocalRank {
        let place = self.place(rank).expect("a rank of this host");
        &mut self.all[place]
    }

    /// Adds ranks to the job, of which `here` are on this host, and tells the ranks that are in the library.
    ///
    /// # Errors
    /// Fails if the job's description cannot be written.
    pub fn grow(&mut self, world: SpawnedWorld, here: impl Iterator<Item = u32>) -> io::Result<()> {
        self.info.spawned.push(world.clone());
        self.job = Rc::new(self.info.write().map_err(refused_memory)?);
        let inside = self.ranks.iter().zip(&self.all).filter(|(_, local_rank)| local_rank.is_inside());
        for to in inside.map(|(rank, _)| rank).collect::<Vec<_>>() {
            self.send(to, FromLauncher::Grown { world: world.clone() }, Vec::new());
        }
        for rank in here {
            self.ranks.push(rank);
            self.all.push(LocalRank::default());
        }
        Ok(())
    }

    /// Returns all of them in order.
    pub fn all(&self) -> &[LocalRank] {
        &self.all
    }

    /// Takes the queued messages, in order.
    pub fn take_messages(&mut self) -> Vec<ControlMessage> {
        mem::take(&mut self.out)
    }

    /// Asks each rank that is in the library for its links. A rank that has not answered yet is not asked
    /// again, so at most one request waits for a rank that computes.
    pub fn ask_for_links(&mut self) {
        let most = most_links(self.info.ranks());
        for (index, local_rank) in self.ranks.iter().zip(&mut self.all) {
            if local_rank.is_inside()
                && local_rank.inbox.is_some()
                && !mem::replace(&mut local_rank.asked, true)
            {
                let message = FromLauncher::ShowLinks { most };
                self.out.push(ControlMessage { to: index, message, descriptors: Vec::new() });
            }
        }
    }

    pub(super) fn send(&mut self, to: u32, message: FromLauncher, descriptors: Vec<Rc<OwnedFd>>) {
        self.out.push(ControlMessage { to, message, descriptors });
    }

    /// Handles a message of rank `from`; returns it if the job must know it too.
    ///
    /// # Errors
    /// Fails with a text that says, after `rank N `, which rule the rank broke. No other rank was harmed.
    pub fn handle(
        &mut self,
        from: u32,
        message: ToLauncher,
        descriptor: Option<Handed>,
    ) -> Result<Option<ToLauncher>, String> {
        let wants_one = matches!(
            message,
            ToLauncher::Inbox { .. }
                | ToLauncher::Region { .. }
                | ToLauncher::Ring { .. }
                | ToLauncher::Trace
        );
        let event = descriptor.as_ref().is_some_and(|handed| handed.event.is_some());
        if event && !matches!(message, ToLauncher::Inbox { .. }) {
            return Err(format!("sent {message:?} with two descriptors"));
        }
        if wants_one != descriptor.is_some() {
            let what = if wants_one { "without its descriptor" } else { "with a descriptor" };
            return Err(format!("sent {message:?} {what}"));
        }
        let hello = matches!(message, ToLauncher::Hello { .. });
        match (hello, self.of(from)) {
            (true, rank) if rank.finished => return Err(SECOND_PROGRAM.into()),
            (true, rank) if rank.initialised => return Err(SECOND_PROCESS.into()),
            (false, rank) if !rank.initialised => return Err(format!("sent {message:?} before its Hello")),
            _ => {}
        }
        match (&message, descriptor) {
            (ToLauncher::Hello { version }, _) => self.handle_hello(from, *version)?,
            (ToLauncher::Inbox { settings }, Some(inbox)) => {
                self.handle_inbox(from, inbox, settings)?;
            }
            (ToLauncher::Addresses { .. }, _) => self.handle_addresses(from)?,
            (ToLauncher::Connect { peers }, _) => return self.handle_connect(from, peers),
            (ToLauncher::Trace, Some(log)) => {
                if self.of(from).log.is_some() {
                    return Err("sent its log of events twice".into());
                }
                let log =
                    LogReader::map(log.memory).map_err(|why| format!("sent an unusable log ({why})"))?;
                self.of_mut(from).log = Some(log);
                return Ok(None);
            }
            (&ToLauncher::Region { id }, Some(region)) => {
                if !self.regions.add((from, id), region.memory) {
                    return Err(format!("sent region {id:#x} twice"));
                }
                return Ok(None);
            }
            (&ToLauncher::Ring { to }, Some(ring)) => {
                if !self.takes_ring(from, to) {
                    return Err(format!("sent a ring for rank {to}, which takes none from it"));
                }
                if self.is_elsewhere(to) {
                    self.send_ring(from, to, ring.memory);
                } else if self.of(to).is_inside() {
                    self.send(to, FromLauncher::Ring { from }, vec![Rc::new(ring.memory)]);
                }
                return Ok(None);
            }
            (ToLauncher::DropRegion { id }, _) => {
                let Some(keepers) = self.regions.remove((from, *id)) else {
                    return Err(format!("dropped region {id:#x}, which it does not have"));
                };
                keepers.into_iter().for_each(|keeper| self.tell_dropped(keeper, from, *id));
                return Ok(None);
            }
            (&ToLauncher::FindRegion { owner, id, .. }, _) if self.is_elsewhere(owner) => {
                self.find_region_elsewhere(from, owner, id);
                return Ok(None);
            }
            (&ToLauncher::FindRegion { owner, id, is_kept }, _) => {
                let region = self.regions.find((owner, id), Some(from).filter(|_| is_kept));
                let found = region.is_some();
                // The owner only asks if its region is known here.
                let memory = region.filter(|_| owner != from);
                self.send(from, FromLauncher::Region { owner, id, found }, memory.into_iter().collect());
                return Ok(None);
            }
            (ToLauncher::Links(links), _) => {
                let asked = mem::replace(&mut self.of_mut(from).asked, false);
                if !asked || !links.is_sound(self.info.ranks(), most_links(self.info.ranks())) {
                    return Err("showed its links unasked, or such as there cannot be".into());
                }
            }
            (ToLauncher::Finished, _) => self.of_mut(from).finished = true,
            _ => {}
        }
        Ok(Some(message))
    }

    /// Returns true if a rank may send another one a ring. One of the two was spawned or is of another job,
    /// and they have a link.
    fn takes_ring(&self, from: u32, to: u32) -> bool {
        if self.is_released(to) {
            return true; // The rank ended while the ring was under way.
        }
        let is_linked = self.links.contains(&(from.min(to), from.max(to)));
        is_linked && (self.is_elsewhere(to) || self.has(to) && from != to && from.max(to) >= self.info.size)
    }

    /// Tells a rank that keeps a region that its owner has dropped it.
    fn tell_dropped(&mut self, keeper: u32, owner: u32, id: u64) {
        if self.is_elsewhere(keeper) {
            self.tell_dropped_elsewhere(keeper, owner, id);
        } else if self.of(keeper).is_inside() {
            self.send(keeper, FromLauncher::RegionDropped { owner, id }, Vec::new());
        }
    }

    fn handle_hello(&mut self, from: u32, version: u32) -> Result<(), String> {
        // The answer is always sent, so that the rank too can name both versions.
        let descriptors = std::iter::once(&self.job).chain(&self.account).cloned().collect();
        self.send(from, FromLauncher::Welcome { version: VERSION }, descriptors);
        if version != VERSION {
            return Err(format!(
                "speaks version {version} of the launcher's protocol, and this `canele run` version {VERSION}: \
                 build both from the same release"
            ));
        }
        self.of_mut(from).initialised = true;
        Ok(())
    }

    fn handle_inbox(
        &mut self,
        from: u32,
        inbox: Handed,
        settings: &[(String, String)],
    ) -> Result<(), String> {
        if self.of(from).inbox.is_some() {
            return Err("sent its inbox twice".into());
        }
        self.settings.compare(from, settings)?;
        let unusable = |error: &dyn std::fmt::Display| format!("sent an unusable inbox ({error})");
        let copy = inbox.memory.try_clone().map_err(|error| unusable(&error))?;
        let event = inbox.event.as_ref().map(OwnedFd::try_clone).transpose();
        let event = event.map_err(|error| unusable(&error))?;
        let notifier = InboxNotifier::map(copy, event).map_err(|error| unusable(&error))?;
        // This notifies the rank of messages that came before its inbox.
        notifier.notify();
        let (memory, event) = (Rc::new(inbox.memory), inbox.event.map(Rc::new));
        self.of_mut(from).inbox = Some(Inbox { memory, event, notifier });
        let wanted = self.ranks.iter().filter(|&peer| self.links.contains(&(from.min(peer), from.max(peer))));
        for peer in wanted.collect::<Vec<_>>() {
            self.introduce(from, peer);
            self.introduce(peer, from);
        }
        self.introduce_elsewhere(from);
        Ok(())
    }

    /// Returns the descriptors of a rank's inbox, if it has sent one.
    pub(super) fn inbox_of(&self, rank: u32) -> Option<Vec<Rc<OwnedFd>>> {
        let inbox = self.of(rank).inbox.as_ref()?;
        Some(std::iter::once(&inbox.memory).chain(&inbox.event).cloned().collect())
    }

    fn handle_addresses(&mut self, from: u32) -> Result<(), String> {
        let local_rank = self.of_mut(from);
        if local_rank.inbox.is_none() {
            return Err("sent its addresses before its inbox".into());
        }
        if mem::replace(&mut local_rank.listens, true) {
            return Err("sent its addresses twice".into());
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "local_ranks_tests.rs"]
mod tests;
