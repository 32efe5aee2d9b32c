//! The answers of several launchers, read as they come.
//!
//! Owns the time limits and the limits of memory. Never waits for one launcher alone. For root, a process of
//! another user has less time and less room than root's own.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use canele_sys::ids::LinkId;
use canele_sys::peer_credentials::PeerCredentials;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};

use super::QueryError;
use super::answer::{AnswerError, AnswerLimits, AnswerReader};
use super::reach::Reached;
use crate::job_report::JobReport;

/// The time that launchers of this user have to answer.
const ANSWER_TIME: Duration = Duration::from_secs(5);
/// The time that a process of another user has to answer root.
const STRANGERS_TIME: Duration = Duration::from_secs(2);
/// The limits on an answer of this user's launchers, or of root's.
const OWN: AnswerLimits = AnswerLimits { line: 64 << 20, bytes: 1 << 30, ranks: LinkId::MOST_RANKS };
/// The limits, for root, on an answer of another user's process, and on all answers of that user's processes
/// together.
const STRANGERS: AnswerLimits = AnswerLimits { line: 1 << 20, bytes: 16 << 20, ranks: 4096 };
/// The limit, for root, on the answers of all processes of other users.
const ALL_STRANGERS_BYTES: usize = 64 << 20;
/// The number of bytes read at once.
const PIECE: usize = 64 << 10;

/// A launcher's answer, or the reason why there is none.
pub type Answered = (Reached, Result<JobReport, QueryError>);

struct Conversation {
    with: Reached,
    number: u32,
    is_own: bool,
    answer: AnswerReader,
}

/// The number of bytes that other users' processes have sent.
#[derive(Default)]
struct StrangersBytes {
    by_user: HashMap<u32, usize>,
    all: usize,
}

impl StrangersBytes {
    fn add(&mut self, peer: PeerCredentials, bytes: usize) -> Result<(), AnswerError> {
        let user = self.by_user.entry(peer.uid).or_default();
        *user += bytes;
        self.all += bytes;
        match *user > STRANGERS.bytes || self.all > ALL_STRANGERS_BYTES {
            true => Err(AnswerError::TooLong(STRANGERS.bytes)),
            false => Ok(()),
        }
    }
}

/// Reads all answers. Messages name each launcher by the number that it has for the user `own`.
pub fn converse(reached: Vec<Reached>, own: u32) -> Vec<Answered> {
    let begin = |with: Reached| {
        let number = with.peer.pid.unwrap_or(with.name.pid);
        let is_own = with.peer.uid == own || with.peer.uid == 0;
        let limits = if is_own { OWN } else { STRANGERS };
        Conversation { with, number, is_own, answer: AnswerReader::new(limits) }
    };
    let mut open: Vec<Conversation> = reached.into_iter().map(begin).collect();
    let mut bytes = StrangersBytes::default();
    let mut piece = vec![0; PIECE];
    let start = Instant::now();
    let mut answered = Vec::new();
    while !open.is_empty() {
        let times = open.iter().map(|one| start + if one.is_own { ANSWER_TIME } else { STRANGERS_TIME });
        let deadlines: Vec<Instant> = times.collect();
        let ready = wait(&open, deadlines.iter().copied().min().unwrap_or(start));
        let now = Instant::now();
        let mut going_on = Vec::new();
        for ((mut one, deadline), is_ready) in open.into_iter().zip(deadlines).zip(ready) {
            let result = match is_ready {
                true => one.read(&mut piece, &mut bytes),
                false => None,
            };
            let late = || (now >= deadline).then_some(Err(QueryError::Late(one.number)));
            match result.or_else(late) {
                Some(result) => answered.push((one.with, result)),
                None => going_on.push(one),
            }
        }
        open = going_on;
    }
    answered
}

/// Waits until data can be read or the deadline has come; returns true for each connection with data.
fn wait(open: &[Conversation], deadline: Instant) -> Vec<bool> {
    let mut sockets: Vec<_> =
        open.iter().map(|one| PollFd::from_borrowed_fd(one.with.socket.as_fd(), PollFlags::IN)).collect();
    let left = deadline.saturating_duration_since(Instant::now()) + Duration::from_micros(100);
    // An interrupted wait finds no data.
    let _ = poll(&mut sockets, Timespec::try_from(left).ok().as_ref());
    sockets.iter().map(|socket| !socket.revents().is_empty()).collect()
}

impl Conversation {
    /// Reads a piece; returns the result once there is one.
    fn read(
        &mut self,
        piece: &mut [u8],
        bytes: &mut StrangersBytes,
    ) -> Option<Result<JobReport, QueryError>> {
        let count = match read(&self.with.socket, &mut *piece) {
            Ok(count) => count,
            Err(Errno::AGAIN | Errno::INTR) => return None,
            Err(error) => return Some(Err(QueryError::System(self.number, error.into()))),
        };
        if count == 0 {
            return Some(Err(self.error(self.answer.ended())));
        }
        let counted = if self.is_own { Ok(()) } else { bytes.add(self.with.peer, count) };
        match counted.and_then(|()| self.answer.add(&piece[..count])) {
            Ok(None) => None,
            Ok(Some(mut report)) => {
                report.job = self.number;
                if !self.is_own {
                    // No file named by another user's process is opened.
                    report.ranks.iter_mut().for_each(|rank| rank.calls.clear());
                }
                Some(Ok(report))
            }
            Err(error) => Some(Err(self.error(error))),
        }
    }

    fn error(&self, error: AnswerError) -> QueryError {
        let number = self.number;
        match error {
            AnswerError::Empty => QueryError::Refused(number),
            AnswerError::Busy => QueryError::Busy(number),
            AnswerError::Unreadable(why) => QueryError::Unreadable(number, why),
            AnswerError::TooLong(limit) => {
                QueryError::TooLong { job: number, user: self.with.peer.uid, limit: limit >> 20 }
            }
        }
    }
}
