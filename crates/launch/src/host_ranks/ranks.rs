//! Messages of ranks and their ends. Owns these reactions of a host.

use std::io;
use std::time::{Duration, Instant};

use canele_control::{Links, ReceiveError, SpawnedWorld, ToLauncher};
use rustix::process::Signal;

use super::control_channel::ControlChannel;
use super::{HostRanks, Report};
use crate::events::Events;
use crate::failure::Exit;
use crate::supervisor::ToSupervisor;

/// The time that a rank may live on after its control socket has closed before it finalised.
const CLOSED_GRACE: Duration = Duration::from_secs(1);
/// The most messages of one rank that are handled in a row, so that one rank cannot keep the host from the
/// others.
pub(super) const AT_A_TIME: u32 = 64;
/// The most messages of a rank that are handled after its end: more than its socket can hold.
const LAST_WORDS: u32 = 4096;

impl HostRanks {
    pub(super) fn channel_mut(&mut self, rank: u32) -> Option<&mut ControlChannel> {
        let place = self.local_ranks.place(rank)?;
        self.channels.get_mut(place)
    }

    /// Stores the links of a rank for all questions that wait for them.
    fn note_links(&mut self, rank: u32, links: &Links) {
        let Some(place) = self.local_ranks.place(rank) else { return };
        self.countings.iter_mut().for_each(|counting| counting.note_links(place, links));
    }

    /// Queues the messages that ranks get because of other ranks of their host.
    pub(super) fn post(&mut self) {
        for message in self.local_ranks.take_messages() {
            if let Some(channel) = self.channel_mut(message.to) {
                channel.push(message.message, message.descriptors);
            }
        }
        self.lanes.post();
    }

    pub(super) fn read_rank(&mut self, rank: u32, limit: u32, events: &Events) {
        for _ in 0..limit {
            let Some(channel) = self.channel_mut(rank).filter(|channel| channel.listens()) else { return };
            match channel.receive(events) {
                Ok(None) => return,
                Ok(Some(((message, descriptor), is_truncated))) => {
                    let handled = match message {
                        ToLauncher::Lane { number } => {
                            let socket = descriptor.map(|handed| handed.memory);
                            self.open_lane((rank, number), socket, events).map(|()| None)
                        }
                        message if is_truncated => self.local_ranks.handle_truncated(rank, message),
                        message => self.local_ranks.handle(rank, message, descriptor),
                    };
                    // These come before the job's answers: the welcome is first.
                    self.post();
                    match handled {
                        Ok(Some(ToLauncher::Links(links))) => self.note_links(rank, &links),
                        Ok(Some(message)) => self.reports.push(Report::Said { rank, message }),
                        Ok(None) => {}
                        Err(text) => return self.broke_rules(rank, text, events),
                    }
                }
                Err(ReceiveError::Malformed(text)) => {
                    return self.broke_rules(rank, format!("sent {text}"), events);
                }
                Err(ReceiveError::Closed | ReceiveError::System(_)) => {
                    if self.local_ranks.of(rank).is_inside() {
                        self.closed.push((rank, Instant::now() + CLOSED_GRACE));
                    }
                    return;
                }
            }
        }
    }

    /// Handles the end of a rank's process, or a rank without one.
    pub(super) fn handle_ended(&mut self, rank: u32, events: &Events) {
        self.local_ranks.handle_ended(rank);
        self.lanes.handle_ended(rank, events);
    }

    /// Adds ranks to the job, of which these are on this host.
    pub(super) fn grow(&mut self, world: &SpawnedWorld, here: &[u32]) -> io::Result<()> {
        let mut grown = self.local_ranks.grow(world.clone(), here.iter().copied());
        self.lanes.each(|ranks| {
            if grown.is_ok() {
                grown = ranks.grow(world.clone(), here.iter().copied());
            }
        });
        grown
    }

    /// Kills a rank that cannot be trusted; the report of its exit gives the reason.
    pub(super) fn broke_rules(&mut self, rank: u32, how: String, events: &Events) {
        self.reports.push(Report::Broke { rank, how });
        self.kill(rank, events);
    }

    pub(super) fn kill(&mut self, rank: u32, events: &Events) {
        if let Some(channel) = self.channel_mut(rank) {
            channel.ignore(events);
            match self.adopted.iter().find(|adopted| adopted.rank == rank) {
                Some(adopted) => adopted.signal(Signal::KILL),
                None => self.supervisor.send(&ToSupervisor::Kill { number: rank }, &[]),
            }
        }
    }

    /// Handles the end of an adopted process. Its end after it has finalised does not matter to the job,
    /// which began later than the process.
    pub(super) fn handle_adopted_exit(&mut self, rank: u32, events: &Events) {
        let Some(index) = self.adopted.iter().position(|adopted| adopted.rank == rank) else { return };
        let adopted = self.adopted.swap_remove(index);
        self.read_rank(rank, LAST_WORDS, events);
        let exit = match self.local_ranks.of(rank).finished {
            true => Exit::Status(0),
            false => adopted.exit(),
        };
        adopted.close(events);
        self.handle_exit(rank, exit, events);
        self.finish_once_ended(Instant::now());
    }

    pub(super) fn handle_exit(&mut self, rank: u32, exit: Exit, events: &Events) {
        // The messages and output of the rank come first (invariant I19).
        let Some(channel) = self.channel_mut(rank) else { return };
        channel.mute();
        self.read_rank(rank, LAST_WORDS, events);
        self.pipes.drain(rank);
        self.collect_prints();
        self.handle_ended(rank, events);
        self.drop_plans();
        let has_joined = self.local_ranks.of(rank).initialised;
        if let Some(text) = self.watch.remove(rank, self.local_ranks.info.ranks(), has_joined) {
            self.reports.push(Report::Failed { status: 1, text });
        }
        self.closed.retain(|&(other, _)| other != rank);
        if let Some(channel) = self.channel_mut(rank) {
            channel.close(events);
        }
        self.reports.push(Report::Exited { rank, exit });
    }
}
