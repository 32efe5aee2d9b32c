//! The lanes of a host's ranks beyond their first. Each lane has links, regions and inboxes of its own, with
//! the same lane of other ranks.
//!
//! Owns the lanes' sockets, and the data that ranks have sent over them. A lane is told of every end of a
//! rank, as its rank is. A lane of a rank that has ended is closed.

use std::io;
use std::os::fd::OwnedFd;

use canele_control::{FromLauncher, MOST_LANES, ReceiveError, Socket, ToLauncher};

use super::control_channel::ControlChannel;
use super::local_ranks::LocalRanks;
use super::{HostRanks, Report};
use crate::events::{Events, Source};
use crate::job::LaneOf;

/// The lanes beyond the first.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    /// The ranks' data on each lane, from number 1.
    ranks: Vec<LocalRanks>,
    channels: Vec<LaneChannel>,
}

/// The socket of one lane of a rank.
#[derive(Debug)]
struct LaneChannel {
    rank: u32,
    number: u8,
    channel: ControlChannel,
}

impl Lanes {
    /// Opens a lane of a rank.
    ///
    /// # Errors
    /// Fails with a text that says, after `rank N `, which rule the rank broke; or with the system's error.
    fn open(
        &mut self,
        first: &LocalRanks,
        (rank, number): LaneOf,
        socket: OwnedFd,
        events: &Events,
    ) -> Result<io::Result<()>, String> {
        if !(1..MOST_LANES).contains(&number) || !first.of(rank).is_inside() {
            return Err(format!("opened lane {number}, which it cannot have"));
        }
        if self.channels.iter().any(|lane| (lane.rank, lane.number) == (rank, number)) {
            return Err(format!("opened lane {number} twice"));
        }
        while self.ranks.len() < number.into() {
            match first.of_lane() {
                Ok(ranks) => self.ranks.push(ranks),
                Err(error) => return Ok(Err(error)),
            }
        }
        let source = Source::Lane(self.channels.len() as u32);
        let channel = match ControlChannel::new(source, Socket::new(socket), events) {
            Ok(channel) => channel,
            Err(error) => return Ok(Err(error.into())),
        };
        self.channels.push(LaneChannel { rank, number, channel });
        Ok(Ok(()))
    }

    /// Sends a message to one lane of a rank, if it is open.
    pub fn tell_one(&mut self, (rank, number): LaneOf, message: FromLauncher) {
        let mut lanes = self.channels.iter_mut();
        if let Some(lane) = lanes.find(|lane| (lane.rank, lane.number) == (rank, number)) {
            lane.channel.push(message, Vec::new());
        }
    }

    /// Sends all lanes of a rank a message about other ranks.
    pub fn tell(&mut self, rank: u32, message: &FromLauncher) {
        if let FromLauncher::Gone { .. } | FromLauncher::Finished { .. } | FromLauncher::CutOff { .. } =
            message
        {
            let lanes = self.channels.iter_mut().filter(|lane| lane.rank == rank);
            lanes.for_each(|lane| lane.channel.push(message.clone(), Vec::new()));
        }
    }

    /// Applies `act` to the ranks' data on each lane.
    pub fn each(&mut self, act: impl FnMut(&mut LocalRanks)) {
        self.ranks.iter_mut().for_each(act);
    }

    /// Returns the ranks' data on each lane, from number 1.
    pub fn all(&self) -> &[LocalRanks] {
        &self.ranks
    }

    /// Handles the end of a rank.
    pub fn handle_ended(&mut self, rank: u32, events: &Events) {
        self.each(|ranks| ranks.handle_ended(rank));
        let lanes = self.channels.iter_mut().filter(|lane| lane.rank == rank);
        lanes.for_each(|lane| lane.channel.close(events));
    }

    /// Queues the messages that lanes get because of other ranks' lanes.
    pub fn post(&mut self) {
        for (ranks, number) in self.ranks.iter_mut().zip(1..) {
            for message in ranks.take_messages() {
                let mut lanes = self.channels.iter_mut();
                if let Some(lane) = lanes.find(|lane| (lane.rank, lane.number) == (message.to, number)) {
                    lane.channel.push(message.message, message.descriptors);
                }
            }
        }
    }

    /// Sends messages until sockets are full; returns true if some wait until descriptors under way have been
    /// received.
    pub fn flush(&mut self, reading_paused: bool, events: &Events) -> bool {
        let Self { ranks, channels } = self;
        channels.iter_mut().fold(false, |held_back, lane| {
            let notifier = ranks[usize::from(lane.number) - 1].of(lane.rank).notifier();
            lane.channel.flush(notifier, reading_paused, events) | held_back
        })
    }

    /// Reads the next message of a lane; returns the lane and its rank, and the message if it concerns the
    /// job.
    fn read(
        &mut self,
        index: usize,
        events: &Events,
    ) -> Option<(LaneOf, Result<Option<ToLauncher>, String>)> {
        let LaneChannel { rank, number, channel } = self.channels.get_mut(index)?;
        if !channel.listens() {
            return None;
        }
        let ranks = &mut self.ranks[usize::from(*number) - 1];
        let handled = match channel.receive(events) {
            Ok(Some(((message, _), _))) if !is_of_lane(&message) => {
                Err(format!("sent {message:?} over its lane {number}, where it has no meaning"))
            }
            Ok(Some(((message, _), true))) => ranks.handle_truncated(*rank, message),
            Ok(Some(((message, descriptor), false))) => ranks.handle(*rank, message, descriptor),
            Err(ReceiveError::Malformed(text)) => Err(format!("sent {text}")),
            Ok(None) | Err(ReceiveError::Closed | ReceiveError::System(_)) => return None,
        };
        Some(((*rank, *number), handled))
    }
}

/// Returns true if a lane may send this message: one about links and memory, or its end.
fn is_of_lane(message: &ToLauncher) -> bool {
    matches!(
        message,
        ToLauncher::Hello { .. }
            | ToLauncher::Inbox { .. }
            | ToLauncher::Addresses { .. }
            | ToLauncher::Connect { .. }
            | ToLauncher::Region { .. }
            | ToLauncher::FindRegion { .. }
            | ToLauncher::DropRegion { .. }
            | ToLauncher::CutOff { .. }
            | ToLauncher::Unreachable { .. }
            | ToLauncher::Links(_)
            | ToLauncher::Finished
    )
}

impl HostRanks {
    /// Opens a lane of a rank. If the system refuses, the lane sees the end of its socket.
    pub(super) fn open_lane(
        &mut self,
        lane: LaneOf,
        socket: Option<OwnedFd>,
        events: &Events,
    ) -> Result<(), String> {
        let Some(socket) = socket else { return Ok(()) };
        self.lanes.open(&self.local_ranks, lane, socket, events).map(drop)
    }

    pub(super) fn read_lane(&mut self, index: u32, limit: u32, events: &Events) {
        for _ in 0..limit {
            let Some(((rank, number), handled)) = self.lanes.read(index as usize, events) else { return };
            self.lanes.post();
            match handled {
                Ok(Some(message @ (ToLauncher::CutOff { .. } | ToLauncher::Unreachable { .. }))) => {
                    self.reports.push(Report::Said { rank, message });
                }
                Ok(Some(message @ (ToLauncher::Addresses { .. } | ToLauncher::Connect { .. }))) => {
                    self.reports.push(Report::SaidOnLane { rank, number, message });
                }
                Ok(_) => {}
                Err(text) => return self.broke_rules(rank, text, events),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd, BorrowedFd};

    use canele_control::{Host, JobInfo, PeerInbox, RankEnd, RankSet, VERSION};
    use canele_rail::shm::Shm;
    use canele_sys::ids::Rank;

    use super::*;

    const HELLO: ToLauncher = ToLauncher::Hello { version: VERSION };

    /// Returns two ranks that are in the library.
    fn two_ranks() -> LocalRanks {
        let mut all = LocalRanks::new(JobInfo::new(vec![Host::this(2)]), RankSet::from(0..2)).unwrap();
        (0..2).for_each(|rank| assert!(all.handle(rank, HELLO, None).is_ok()));
        all
    }

    /// Opens a lane of a rank; returns the rank's end of its socket.
    fn open(
        lanes: &mut Lanes,
        first: &LocalRanks,
        lane: (u32, u8),
        events: &Events,
    ) -> Result<Socket, String> {
        let (ours, launchers) = Socket::pair().unwrap();
        lanes.open(first, lane, launchers.into(), events).map(|opened| opened.unwrap())?;
        Ok(ours)
    }

    /// Sends a message of the rank, then the answers to all.
    fn say(
        lanes: &mut Lanes,
        (index, socket): (usize, &Socket),
        message: &ToLauncher,
        descriptors: &[BorrowedFd<'_>],
        events: &Events,
    ) -> Result<Option<ToLauncher>, String> {
        socket.try_send(message, descriptors).unwrap();
        let ((rank, _), handled) = lanes.read(index, events).expect("a message");
        assert_eq!(rank as usize, index);
        lanes.post();
        lanes.flush(false, events);
        handled
    }

    fn heard(socket: &Socket) -> Vec<FromLauncher> {
        let next = || socket.try_receive_any::<FromLauncher>().ok().flatten();
        std::iter::from_fn(next).map(|(message, _)| message).collect()
    }

    #[test]
    fn lanes_of_one_number_are_linked_and_hear_of_ends() {
        let (first, events, mut lanes) = (two_ranks(), Events::new().unwrap(), Lanes::default());
        let sockets = [0, 1].map(|rank| open(&mut lanes, &first, (rank, 3), &events).unwrap());
        for (index, socket) in sockets.iter().enumerate() {
            say(&mut lanes, (index, socket), &HELLO, &[], &events).unwrap();
            assert_eq!(heard(socket), [FromLauncher::Welcome { version: VERSION }]);
            let rail = Shm::open(Rank(index as u32), 0..2, 64, 0, 0).unwrap();
            let inbox = ToLauncher::Inbox { settings: Vec::new() };
            say(&mut lanes, (index, socket), &inbox, &[rail.inbox_fd()], &events).unwrap();
        }
        say(&mut lanes, (0, &sockets[0]), &ToLauncher::Connect { peers: vec![1] }, &[], &events).unwrap();
        for (socket, rank) in sockets.iter().zip([1, 0]) {
            let peer = PeerInbox { rank, has_event: false };
            assert_eq!(heard(socket), [FromLauncher::Peers { peers: vec![peer] }]);
        }
        let gone = FromLauncher::Gone { rank: 0, how: RankEnd::Killed(9) };
        lanes.tell(1, &gone);
        lanes.tell(1, &FromLauncher::ShowLinks { most: 4 });
        lanes.handle_ended(0, &events);
        lanes.flush(false, &events);
        assert_eq!(heard(&sockets[1]), [gone], "and nothing that concerns the rank alone");
        assert!(matches!(sockets[0].try_receive_any::<FromLauncher>(), Err(ReceiveError::Closed)));
    }

    #[test]
    fn a_rank_that_opens_a_lane_against_the_rules_is_blamed() {
        let (mut first, events, mut lanes) = (two_ranks(), Events::new().unwrap(), Lanes::default());
        for number in [0, MOST_LANES, u8::MAX] {
            assert!(open(&mut lanes, &first, (0, number), &events).is_err());
        }
        let socket = open(&mut lanes, &first, (0, 1), &events).unwrap();
        assert!(open(&mut lanes, &first, (0, 1), &events).is_err_and(|why| why.contains("twice")));
        let lookup = ToLauncher::Find { ticket: 1, name: "a".into() };
        let told = say(&mut lanes, (0, &socket), &lookup, &[], &events);
        assert!(told.is_err_and(|why| why.contains("over its lane 1")));
        let region = ToLauncher::Region { id: 1 };
        let memory = std::fs::File::open("/dev/null").unwrap();
        let told = say(&mut lanes, (0, &socket), &region, &[memory.as_fd()], &events);
        assert!(told.is_err_and(|why| why.contains("before its Hello")));
        first.handle(1, ToLauncher::Finished, None).unwrap();
        assert!(open(&mut lanes, &first, (1, 1), &events).is_err(), "it has finished");
    }
}
