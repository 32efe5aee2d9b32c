//! The job as its launcher knows it: ranks, inboxes, links, regions, names.
//!
//! Owns what ranks have told and what they are owed; answers are put in an out-tray as parcels. Never touches
//! a socket or a process, so all of it is tested without either.

use std::collections::{HashMap, HashSet};
use std::mem;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use canele_engine::control::{FromLauncher, Gone, Handed, JobInfo, OnFailure, ToLauncher, VERSION};

use super::failure::{Exit, Failure};
use canele_rail::shm::Doorbell;

/// A message for a rank.
#[derive(Debug)]
pub struct Parcel {
    /// The rank.
    pub to: u32,
    /// What it is told.
    pub message: FromLauncher,
    /// What goes with it.
    pub descriptor: Option<Rc<Handed>>,
}

/// A rank's inbox.
#[derive(Debug)]
struct Inbox {
    descriptor: Rc<Handed>,
    bytes: u64,
    doorbell: Doorbell,
}

/// A rank found that another one broke the rules of rail or protocol, and accepts nothing more from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// Who found it.
    pub by: u32,
    /// Who broke the rules.
    pub of: u32,
    /// How.
    pub what: String,
}

impl Cut {
    fn message(&self) -> FromLauncher {
        FromLauncher::CutOff { by: self.by, of: self.of, what: self.what.clone() }
    }
}

/// What is known of one rank.
#[derive(Debug, Default)]
pub struct Member {
    /// Its process, once started.
    pub pid: Option<u32>,
    /// It has said Hello.
    pub initialised: bool,
    /// It has said Finished.
    pub finished: bool,
    /// How its process ended.
    pub exit: Option<Exit>,
    /// What it last said it does.
    pub doing: String,
    /// It broke the rules, thus.
    pub broken: Option<String>,
    inbox: Option<Inbox>,
    told_gone: bool,
}

impl Member {
    /// One word for lists.
    pub fn state(&self) -> &'static str {
        match self {
            Member { exit: Some(_), .. } => "ended",
            Member { pid: None, .. } => "starting",
            Member { finished: true, .. } => "finished",
            Member { initialised: true, .. } => "initialised",
            _ => "running",
        }
    }

    /// Whether it is in the library.
    fn listens(&self) -> bool {
        self.initialised && !self.finished && self.exit.is_none()
    }

    /// The doorbell of its inbox, if it has one.
    pub fn doorbell(&self) -> Option<&Doorbell> {
        self.inbox.as_ref().map(|inbox| &inbox.doorbell)
    }
}

/// The job.
#[derive(Debug)]
pub struct Job {
    info: JobInfo,
    members: Vec<Member>,
    /// Pairs (smaller rank first) one of which has asked for a link.
    links: HashSet<(u32, u32)>,
    regions: HashMap<(u32, u64), Rc<Handed>>,
    names: HashMap<String, (u32, Vec<u8>)>,
    finds: HashMap<String, Vec<(u32, u64)>>,
    /// The settings of the first rank that has told them.
    settings: Option<(u32, Vec<(String, String)>)>,
    cuts: Vec<Cut>,
    /// Of the cuts so far, how many were taken.
    cuts_taken: usize,
    out: Vec<Parcel>,
}

impl Job {
    /// A job none of whose ranks has started.
    pub fn new(info: JobInfo) -> Job {
        let members = (0..info.size).map(|_| Member::default()).collect();
        Job {
            info,
            members,
            links: HashSet::new(),
            regions: HashMap::new(),
            names: HashMap::new(),
            finds: HashMap::new(),
            settings: None,
            cuts: Vec::new(),
            cuts_taken: 0,
            out: Vec::new(),
        }
    }

    /// What is known of `rank`.
    pub fn member(&self, rank: u32) -> &Member {
        &self.members[rank as usize]
    }

    /// The same, to be changed.
    pub fn member_mut(&mut self, rank: u32) -> &mut Member {
        &mut self.members[rank as usize]
    }

    /// All ranks in order.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The ranks whose processes have not ended.
    pub fn running(&self) -> Vec<u32> {
        (0..self.info.size).filter(|&rank| self.member(rank).exit.is_none()).collect()
    }

    /// Takes the parcels that wait to be sent, in order.
    pub fn take_parcels(&mut self) -> Vec<Parcel> {
        mem::take(&mut self.out)
    }

    /// The next cut that was not taken yet.
    pub fn take_cut(&mut self) -> Option<Cut> {
        let cut = self.cuts.get(self.cuts_taken).cloned()?;
        self.cuts_taken += 1;
        Some(cut)
    }

    fn send(&mut self, to: u32, message: FromLauncher, descriptor: Option<Rc<Handed>>) {
        self.out.push(Parcel { to, message, descriptor });
    }

    /// Handles a message of rank `from`.
    ///
    /// # Errors
    /// A text that says, after `rank N `, which rule the rank broke. Nothing else was harmed.
    pub fn handle(
        &mut self,
        from: u32,
        message: ToLauncher,
        descriptor: Option<Handed>,
    ) -> Result<(), String> {
        let wants_one = matches!(message, ToLauncher::Inbox { .. } | ToLauncher::Region { .. });
        let event = descriptor.as_ref().is_some_and(|handed| handed.event.is_some());
        if event && !matches!(message, ToLauncher::Inbox { .. }) {
            return Err(format!("sent {message:?} with two descriptors"));
        }
        if wants_one != descriptor.is_some() {
            let what = if wants_one { "without its descriptor" } else { "with a descriptor" };
            return Err(format!("sent {message:?} {what}"));
        }
        let hello = matches!(message, ToLauncher::Hello { .. });
        if hello == self.member(from).initialised {
            let when = if hello { "twice" } else { "before its Hello" };
            return Err(format!("sent {message:?} {when}"));
        }
        match (message, descriptor) {
            (ToLauncher::Hello { version }, _) => return self.handle_hello(from, version),
            (ToLauncher::Inbox { settings }, Some(inbox)) => return self.handle_inbox(from, inbox, settings),
            (ToLauncher::Connect { peer }, _) => return self.handle_connect(from, peer),
            (ToLauncher::Addresses { .. }, _) => {}
            (ToLauncher::Region { id }, Some(region)) => {
                if self.regions.insert((from, id), Rc::new(region)).is_some() {
                    return Err(format!("sent region {id:#x} twice"));
                }
            }
            (ToLauncher::DropRegion { id }, _) => {
                if self.regions.remove(&(from, id)).is_none() {
                    return Err(format!("dropped region {id:#x}, which it does not have"));
                }
            }
            (ToLauncher::FindRegion { owner, id }, _) => {
                let region = self.regions.get(&(owner, id)).cloned();
                self.send(from, FromLauncher::Region { owner, id, found: region.is_some() }, region);
            }
            (ToLauncher::Publish { name, value }, _) => self.publish(from, name, value),
            (ToLauncher::Withdraw { name }, _) => {
                if self.names.get(&name).is_none_or(|&(owner, _)| owner != from) {
                    return Err(format!("withdrew the name {name:?}, which it did not publish"));
                }
                self.names.remove(&name);
            }
            (ToLauncher::Find { ticket, name }, _) => match self.names.get(&name) {
                Some((_, value)) => {
                    let value = value.clone();
                    self.send(from, FromLauncher::Found { ticket, value }, None);
                }
                None => self.finds.entry(name).or_default().push((from, ticket)),
            },
            (ToLauncher::Forget { ticket }, _) => self.finds.retain(|_, waiting| {
                waiting.retain(|&find| find != (from, ticket));
                !waiting.is_empty()
            }),
            (ToLauncher::Finished, _) => {
                self.member_mut(from).finished = true;
                self.tell_gone(from, Gone::Finished);
            }
            (ToLauncher::CutOff { peer, what }, _) => return self.handle_cut(from, peer, what),
            (ToLauncher::Doing { what }, _) => self.member_mut(from).doing = what,
            (ToLauncher::Inbox { .. } | ToLauncher::Region { .. }, None) => unreachable!("checked above"),
        }
        Ok(())
    }

    fn handle_hello(&mut self, from: u32, version: u32) -> Result<(), String> {
        // Answered in any case, so that the rank too can name both versions.
        self.send(from, FromLauncher::Welcome { version: VERSION, job: self.info.clone() }, None);
        if version != VERSION {
            return Err(format!(
                "speaks version {version} of the launcher's protocol, and this `canele run` version {VERSION}: \
                 build both from the same release"
            ));
        }
        self.member_mut(from).initialised = true;
        for rank in 0..self.info.size {
            if self.member(rank).told_gone {
                let how = self.how_gone(rank);
                self.send(from, FromLauncher::Gone { rank, how }, None);
            }
        }
        for cut in 0..self.cuts.len() {
            self.send(from, self.cuts[cut].message(), None);
        }
        Ok(())
    }

    fn handle_inbox(
        &mut self,
        from: u32,
        inbox: Handed,
        settings: Vec<(String, String)>,
    ) -> Result<(), String> {
        if self.member(from).inbox.is_some() {
            return Err("sent its inbox twice".into());
        }
        self.compare(from, settings)?;
        let unusable = |error: &dyn std::fmt::Display| format!("sent an unusable inbox ({error})");
        let bytes = rustix::fs::fstat(&inbox).map_err(|error| unusable(&error))?.st_size as u64;
        let copy = inbox.memory.try_clone().map_err(|error| unusable(&error))?;
        let event = inbox.event.as_ref().map(OwnedFd::try_clone).transpose();
        let event = event.map_err(|error| unusable(&error))?;
        let doorbell = Doorbell::map(copy, event).map_err(|error| unusable(&error))?;
        // What was sent before there was a bell.
        doorbell.ring();
        self.member_mut(from).inbox = Some(Inbox { descriptor: Rc::new(inbox), bytes, doorbell });
        let wanted: Vec<u32> = (0..self.info.size)
            .filter(|&peer| self.links.contains(&(from.min(peer), from.max(peer))))
            .collect();
        for peer in wanted {
            self.introduce(from, peer);
            self.introduce(peer, from);
        }
        Ok(())
    }

    /// The first rank decides what the others must have too.
    fn compare(&mut self, from: u32, settings: Vec<(String, String)>) -> Result<(), String> {
        let Some((first, theirs)) = &self.settings else {
            self.settings = Some((from, settings));
            return Ok(());
        };
        match settings.iter().zip(theirs).find(|(mine, first)| mine != first) {
            None => Ok(()),
            Some(((name, mine), (other, value))) => Err(format!(
                "has {name}={mine}, but rank {first} has {other}={value}: all ranks of a job must have the same"
            )),
        }
    }

    fn handle_connect(&mut self, from: u32, peer: u32) -> Result<(), String> {
        if peer >= self.info.size || peer == from {
            return Err(format!("asked for a link with rank {peer} of {}", self.info.size));
        }
        // Asked by both at once: both have been, or will be, told by the first.
        if self.links.insert((from.min(peer), from.max(peer))) {
            self.introduce(from, peer);
            self.introduce(peer, from);
        }
        Ok(())
    }

    /// All who are in the library are told, so that nobody waits for what cannot come; not if the job ends anyway.
    fn handle_cut(&mut self, by: u32, of: u32, what: String) -> Result<(), String> {
        if of >= self.info.size || of == by {
            return Err(format!("cut off rank {of} of {}", self.info.size));
        }
        if self.cuts.iter().any(|cut| (cut.by, cut.of) == (by, of)) {
            return Err(format!("cut off rank {of} twice"));
        }
        let cut = Cut { by, of, what };
        if self.info.on_failure == OnFailure::Continue {
            let all = (0..self.info.size).filter(|&to| to != by && self.member(to).listens());
            for to in all.collect::<Vec<_>>() {
                self.send(to, cut.message(), None);
            }
        }
        self.cuts.push(cut);
        Ok(())
    }

    /// Gives `to` the inbox of `peer`, once both have sent theirs.
    fn introduce(&mut self, to: u32, peer: u32) {
        if let (Some(_), Some(inbox)) = (&self.member(to).inbox, &self.member(peer).inbox) {
            let (bytes, descriptor) = (inbox.bytes, Rc::clone(&inbox.descriptor));
            self.send(to, FromLauncher::Peer { rank: peer, bytes }, Some(descriptor));
        }
    }

    fn publish(&mut self, from: u32, name: String, value: Vec<u8>) {
        if self.names.contains_key(&name) {
            return self.send(from, FromLauncher::PublishRefused { name }, None);
        }
        for (rank, ticket) in self.finds.remove(&name).unwrap_or_default() {
            self.send(rank, FromLauncher::Found { ticket, value: value.clone() }, None);
        }
        self.names.insert(name, (from, value));
    }

    /// The process of `rank` has ended. Tells the others if it has not said Finished.
    /// Answers whether, and how, this was a failure.
    pub fn handle_exit(&mut self, rank: u32, exit: Exit) -> Option<Failure> {
        let member = self.member_mut(rank);
        member.exit = Some(exit);
        let failure = match (member.broken.take(), exit) {
            (Some(text), _) => Some(Failure::Broken(text)),
            (None, Exit::Signal(signal)) => Some(Failure::Killed(signal)),
            (None, Exit::Status(0)) if member.initialised && !member.finished => Some(Failure::Unfinished),
            (None, Exit::Status(0)) => None,
            (None, Exit::Status(status)) => Some(Failure::Exited(status)),
        };
        let how = self.how_gone(rank);
        self.tell_gone(rank, how);
        self.finds.retain(|_, waiting| {
            waiting.retain(|&(from, _)| from != rank);
            !waiting.is_empty()
        });
        failure
    }

    fn how_gone(&self, rank: u32) -> Gone {
        match *self.member(rank) {
            Member { finished: true, .. } => Gone::Finished,
            Member { exit: Some(Exit::Signal(signal)), .. } => Gone::Killed(signal),
            Member { exit: Some(Exit::Status(0)), initialised: false, .. } => Gone::Finished,
            Member { exit: Some(Exit::Status(status)), .. } => Gone::Exited(status),
            Member { exit: None, .. } => Gone::Finished,
        }
    }

    /// Tells every rank that is in the library, once.
    fn tell_gone(&mut self, rank: u32, how: Gone) {
        if mem::replace(&mut self.member_mut(rank).told_gone, true) {
            return;
        }
        for to in 0..self.info.size {
            if to != rank && self.member(to).listens() {
                self.send(to, FromLauncher::Gone { rank, how }, None);
            }
        }
    }
}

#[cfg(test)]
#[path = "job_tests.rs"]
mod tests;
