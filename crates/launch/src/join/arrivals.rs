//! The ranks of one host that connect to their agent to join the job, until the job begins.
//!
//! Owns their sockets and the descriptors that report the ends of their processes, which are no children of
//! this one. Trusts only ranks of this user.

use std::os::fd::OwnedFd;

use canele_control::join::{JoinAnswer, JoinRequest, JoinTask, accept_from_this_user};
use canele_control::{RankSet, Socket, VERSION};
use canele_sys::topology;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::thread::{CpuSet, sched_getaffinity};

use crate::events::{Events, Ready, Source};
use crate::host_ranks::Adopted;
use crate::wording::rank_list;

/// An event of a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrival {
    /// The rank has connected.
    Joined(u32),
    /// The rank has ended; it may have joined before.
    Left(u32),
}

/// A rank that has connected.
#[derive(Debug)]
pub struct JoinedRank {
    /// The rank's number.
    pub rank: u32,
    /// The process of the rank.
    pub pid: u32,
    /// The descriptor that reports the end of its process.
    pub process: OwnedFd,
    /// The socket to it.
    pub socket: Socket,
    /// The process that has started it, with the descriptor that reports its end, if it can be watched.
    pub starter: Option<(Pid, OwnedFd)>,
}

/// A process that has connected.
#[derive(Debug)]
struct Connected {
    socket: Socket,
    pid: Pid,
    process: OwnedFd,
    rank: Option<u32>,
}

/// The ranks of one host that have connected.
#[derive(Debug)]
pub struct Arrivals {
    /// The task, with the key that proves that a process is of the job.
    pub begin: JoinTask,
    listener: OwnedFd,
    /// The processes by their places; none for those that have gone.
    connected: Vec<Option<Connected>>,
    /// The processors that any of the ranks may use.
    processors: CpuSet,
}

impl Arrivals {
    /// Waits for ranks at `listener`.
    ///
    /// # Errors
    /// Fails as epoll_ctl(2) does.
    pub fn new(begin: JoinTask, listener: OwnedFd, events: &Events) -> rustix::io::Result<Arrivals> {
        events.add(&listener, Source::JoinListener(0), Ready::IN)?;
        Ok(Arrivals { begin, listener, connected: Vec::new(), processors: CpuSet::new() })
    }

    /// Handles a ready descriptor; returns the events of ranks.
    pub fn handle(&mut self, source: Source, events: &Events) -> Vec<Arrival> {
        match source {
            Source::JoinListener(_) => self.accept(events),
            Source::Joining(place) => self.read(place as usize, events).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Accepts connections; returns the ranks that connected and have ended since.
    fn accept(&mut self, events: &Events) -> Vec<Arrival> {
        let mut left = Vec::new();
        while let Ok((socket, pid)) = accept_from_this_user(&self.listener) {
            let place = Source::Joining(self.connected.len() as u32);
            let process = match pidfd_open(pid, PidfdFlags::empty()) {
                Ok(process) => process,
                Err(Errno::SRCH) => {
                    left.extend(rank_of_ended(&socket).map(Arrival::Left));
                    continue;
                }
                Err(error) => {
                    let why = format!(
                        "the end of its process could not be noticed ({error}): Linux 5.3 or later is needed"
                    );
                    refuse(&socket, &why);
                    continue;
                }
            };
            if events.add(&socket, place, Ready::IN).is_ok() {
                self.connected.push(Some(Connected { socket, pid, process, rank: None }));
            }
        }
        left
    }

    fn read(&mut self, place: usize, events: &Events) -> Option<Arrival> {
        let connected = self.connected.get(place)?.as_ref()?;
        let (rank, refused) = match connected.socket.try_receive::<JoinRequest>() {
            Ok(None) => return None,
            Ok(Some((JoinRequest::Join { version, rank, ranks }, None))) => {
                (rank, self.check(version, rank, ranks))
            }
            Ok(Some(_)) => (u32::MAX, Err("it says what a rank does not say".into())),
            Err(_) => {
                let left = self.close(place, events)?;
                return left.rank.map(Arrival::Left);
            }
        };
        if let Err(why) = refused {
            let refused = self.close(place, events)?;
            refuse(&refused.socket, &why);
            return refused.rank.map(Arrival::Left);
        }
        let connected = self.connected[place].as_mut()?;
        connected.rank = Some(rank);
        if let Ok(set) = sched_getaffinity(Some(connected.pid)) {
            (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).for_each(|cpu| self.processors.set(cpu));
        }
        Some(Arrival::Joined(rank))
    }

    fn check(&self, version: u32, rank: u32, ranks: u32) -> Result<(), String> {
        if version != VERSION {
            return Err(format!(
                "it speaks version {version} of the launcher's protocol, and the agent of its host version {VERSION}: use one release \
                 everywhere"
            ));
        }
        if ranks != self.begin.ranks || rank >= ranks {
            return Err(format!("its job has {} ranks", self.begin.ranks));
        }
        match self.ranks().any(|other| other == rank) {
            true => Err("another process has joined as this rank".into()),
            false => Ok(()),
        }
    }

    fn close(&mut self, place: usize, events: &Events) -> Option<Connected> {
        let connected = self.connected[place].take()?;
        events.remove(&connected.socket);
        Some(connected)
    }

    /// Returns the ranks that have connected.
    pub fn ranks(&self) -> impl Iterator<Item = u32> {
        self.connected.iter().flatten().filter_map(|connected| connected.rank)
    }

    /// Tells all connected processes why the job cannot start.
    pub fn refuse(&self, why: &str) {
        self.connected.iter().flatten().for_each(|connected| refuse(&connected.socket, why));
    }

    /// Returns the number of processors that the ranks can use at the same time, however each of them is
    /// bound.
    pub fn processors(&self) -> u32 {
        match (self.processors.count(), topology::quota()) {
            (0, _) => topology::usable(),
            (count, None) => count,
            (count, Some(quota)) => count.min(quota).max(1),
        }
    }

    /// Checks that the connected ranks are `ranks`, informs them that all have joined, and returns them.
    ///
    /// # Errors
    /// Fails with a text if other ranks have come.
    pub fn begin(mut self, ranks: &RankSet, events: &Events) -> Result<Vec<JoinedRank>, String> {
        events.remove(&self.listener);
        // Ranks that have their answer may start another program, which looks for a socket of this name.
        drop(self.listener);
        let mut all = Vec::new();
        for connected in self.connected.drain(..).flatten() {
            events.remove(&connected.socket);
            let Connected { socket, pid, process, rank: Some(rank) } = connected else { continue };
            let pid = pid.as_raw_nonzero().get() as u32;
            // This comes before the answer. After the answer the rank checks that its starter still lives.
            all.push(JoinedRank { rank, pid, process, socket, starter: starter_of(pid) });
        }
        all.sort_by_key(|joined| joined.rank);
        if !all.iter().map(|joined| joined.rank).eq(ranks.iter()) {
            let ranks: Vec<u32> = ranks.iter().collect();
            return Err(format!("those that have come are not {}", rank_list(&ranks)));
        }
        for (local_rank, joined) in (0..).zip(&all) {
            let answer = JoinAnswer::Joined { local_rank, local_size: ranks.len() };
            // A rank that does not read has ended, which is noticed next.
            let _ = joined.socket.try_send(&answer, &[]);
        }
        Ok(all)
    }
}

/// Returns the process that has started `pid`. Returns none if it cannot be watched, such as one in another
/// user's namespace; the other launcher must end such ranks.
fn starter_of(pid: u32) -> Option<(Pid, OwnedFd)> {
    let starter = Adopted::parent_of(pid)?;
    Some((starter, pidfd_open(starter, PidfdFlags::empty()).ok()?))
}

/// Returns the number of a rank that has sent it and ended before its connection was accepted.
fn rank_of_ended(socket: &Socket) -> Option<u32> {
    match socket.try_receive() {
        Ok(Some((JoinRequest::Join { rank, .. }, _))) => Some(rank),
        _ => None,
    }
}

fn refuse(socket: &Socket, why: &str) {
    // A process that does not read has ended.
    let _ = socket.try_send(&JoinAnswer::Refused { why: why.to_owned() }, &[]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_that_has_said_its_number_and_ended_is_known() {
        for (request, expected) in
            [(Some(JoinRequest::Join { version: VERSION, rank: 3, ranks: 4 }), Some(3)), (None, None)]
        {
            let (agent, rank) = Socket::pair().unwrap();
            request.iter().for_each(|request| rank.try_send(request, &[]).unwrap());
            drop(rank);
            assert_eq!(rank_of_ended(&agent), expected);
        }
    }
}
