//! Requests about a running job, made by `canele info --job` and `canele why` over an abstract Unix socket,
//! or by its launcher itself.
//!
//! Owns the listening socket, the requests, and the answers being written. An answer
//! is a line of JSON for the job and one for each rank. They are written as the asking process reads them, so
//! that no job is too large. Only the user who runs the job (and root) gets an answer. Never waits for the
//! asking process, nor for a rank.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use canele_sys::exhausted::pause_if_exhausted;
use canele_sys::peer_credentials::peer_credentials;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendFlags, SocketFlags, SocketType, accept_with, bind, listen, send, socket_with,
};
use serde::{Deserialize, Serialize};

use super::events::{Events, Ready, Source};
use super::host_ranks::{Counts, Order};
use super::job_report::{JobReport, RankReport};
use super::query_name::QueryName;

/// The most requests that are answered at a time; further asking processes get [`Busy`].
const ANSWERS: usize = 16;
/// The most connections that wait to be accepted; the system may allow fewer.
const BACKLOG: i32 = 4096;
/// The most connections that are closed in a row, of other users or for lack of a place.
const CLOSED_AT_A_TIME: usize = 64;
/// The number of ranks whose lines are written together.
const LINES: usize = 64;
/// The time that ranks have to answer another process, which may ask again.
const ASKERS_TIMEOUT: Duration = Duration::from_millis(50);
/// The time that ranks have to answer the launcher itself, which asks once.
const LAUNCHERS_TIMEOUT: Duration = Duration::from_secs(1);
/// The additional time in which a host must send the counters of its ranks.
const TRAVEL: Duration = Duration::from_millis(500);

/// The answer if no request can be accepted.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Busy {
    /// The number of requests that are being answered.
    pub busy: usize,
}

/// The launcher's side.
#[derive(Debug)]
pub struct Queries {
    listener: OwnedFd,
    answers: Vec<Option<PendingAnswer>>,
    own: Option<OwnQuestion>,
    /// The number of requests so far.
    questions: u32,
}

#[derive(Debug)]
struct PendingAnswer {
    to: OwnedFd,
    question: u32,
    step: Step,
}

/// The launcher's own request, which needs no socket.
#[derive(Debug)]
struct OwnQuestion {
    question: u32,
    counting: CounterQuery,
}

/// A request for current counters of the ranks.
#[derive(Debug)]
struct CounterQuery {
    /// The time at which it is answered with the available data.
    until: Instant,
    /// The number of hosts that have not sent their counts.
    missing: usize,
    /// The counts of every rank.
    counts: Vec<Counts>,
}

impl CounterQuery {
    fn new(hosts: usize, ranks: u32, timeout: Duration) -> Self {
        let until = Instant::now() + timeout + TRAVEL;
        Self { until, missing: hosts, counts: vec![Counts::default(); ranks as usize] }
    }

    /// Adds the counts of a host's ranks, in the order of `ranks`.
    fn add(&mut self, ranks: impl Iterator<Item = u32>, counted: Vec<Counts>) {
        self.missing = self.missing.saturating_sub(1);
        for (rank, counted) in ranks.zip(counted) {
            // Ranks that were spawned after the request are not reported.
            if let Some(place) = self.counts.get_mut(rank as usize) {
                *place = counted;
            }
        }
    }

    fn is_over(&self, now: Instant) -> bool {
        self.missing == 0 || now >= self.until
    }
}

#[derive(Debug)]
enum Step {
    Counting(CounterQuery),
    /// A line, whose first bytes are already written, and the ranks whose lines follow.
    Writing(Vec<u8>, std::vec::IntoIter<RankReport>),
}

impl Queries {
    /// Listens for requests about the job of this process.
    ///
    /// # Errors
    /// Fails as socket(2), bind(2) and getrandom(2) do.
    pub fn listen(events: &Events) -> Result<Queries, Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let listener = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        bind(&listener, &QueryName::draw()?.address()?)?;
        listen(&listener, BACKLOG)?;
        events.add(&listener, Source::Listener, Ready::IN)?;
        Ok(Queries { listener, answers: (0..ANSWERS).map(|_| None).collect(), own: None, questions: 0 })
    }

    /// Accepts a request. Returns the order for `hosts` to count the `ranks`, if the asking user may know the
    /// answer. Asking processes without a free place get [`Busy`].
    pub fn accept(&mut self, hosts: usize, ranks: u32) -> Option<Order> {
        let Some(place) = self.answers.iter().position(Option::is_none) else {
            self.refuse_waiting();
            return None;
        };
        let to = self.next_asker()?;
        self.questions = self.questions.wrapping_add(1);
        let step = Step::Counting(CounterQuery::new(hosts, ranks, ASKERS_TIMEOUT));
        self.answers[place] = Some(PendingAnswer { to, question: self.questions, step });
        Some(count(self.questions, ASKERS_TIMEOUT, true))
    }

    /// Closes the waiting connections, so that the listener does not stay readable while no place is free.
    fn refuse_waiting(&self) {
        for _ in 0..CLOSED_AT_A_TIME {
            let Some(to) = self.next_asker() else { return };
            // A new connection has room for a line.
            let _ = send(
                &to,
                &line(&Busy { busy: self.answers.len() }),
                SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
            );
        }
    }

    /// Returns the next connection of this user or of root. Connections of other users are closed, a bounded
    /// number at a time.
    fn next_asker(&self) -> Option<OwnedFd> {
        for _ in 0..CLOSED_AT_A_TIME {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let to = accept_with(&self.listener, flags).map_err(pause_if_exhausted).ok()?;
            let own = rustix::process::getuid().as_raw();
            if peer_credentials(&to).is_ok_and(|asker| asker.uid == own || asker.uid == 0) {
                return Some(to);
            }
        }
        None
    }

    /// Handles the counts of a host's ranks, in the order of `ranks`.
    pub fn handle_counts(&mut self, question: u32, ranks: impl Iterator<Item = u32>, counted: Vec<Counts>) {
        if let Some(own) = self.own.as_mut().filter(|own| own.question == question) {
            return own.counting.add(ranks, counted);
        }
        let mut answers = self.answers.iter_mut().flatten();
        let Some(answer) = answers.find(|answer| answer.question == question) else { return };
        if let Step::Counting(counting) = &mut answer.step {
            counting.add(ranks, counted);
        }
    }

    /// Makes the launcher's own request; returns the order as [`accept`](Self::accept) does. Returns none if
    /// such a request is pending.
    pub fn ask_own(&mut self, has_places: bool, hosts: usize, ranks: u32) -> Option<Order> {
        if self.own.is_some() {
            return None;
        }
        self.questions = self.questions.wrapping_add(1);
        self.own = Some(OwnQuestion {
            question: self.questions,
            counting: CounterQuery::new(hosts, ranks, LAUNCHERS_TIMEOUT),
        });
        Some(count(self.questions, LAUNCHERS_TIMEOUT, has_places))
    }

    /// Returns the deadline of the answer to the launcher's own request, if there is one.
    pub fn own_deadline(&self) -> Option<Instant> {
        self.own.as_ref().map(|own| own.counting.until)
    }

    /// Takes the answer to the launcher's own question, once there is one.
    pub fn take_own(&mut self, now: Instant, report: impl Fn(&[Counts]) -> JobReport) -> Option<JobReport> {
        let own = self.own.take_if(|own| own.counting.is_over(now))?;
        Some(report(&own.counting.counts))
    }

    /// Returns the next time for `look`, if a request is pending.
    pub fn deadline(&self) -> Option<Instant> {
        let looks = self.answers.iter().flatten().filter_map(|answer| match &answer.step {
            Step::Counting(counting) => Some(counting.until),
            Step::Writing(..) => None,
        });
        looks.chain(self.own.iter().map(|own| own.counting.until)).min()
    }

    /// Begins to write the answers that wait for no host any more.
    pub fn look(&mut self, now: Instant, report: impl Fn(&[Counts]) -> JobReport, events: &Events) {
        for (index, slot) in (0..).zip(&mut self.answers) {
            let Some(PendingAnswer { to, step, .. }) = slot else { continue };
            let Step::Counting(counting) = step else { continue };
            if !counting.is_over(now) {
                continue;
            }
            let mut report = report(&counting.counts);
            let ranks = std::mem::take(&mut report.ranks);
            *step = Step::Writing(line(&report), ranks.into_iter());
            if events.add(to.as_fd(), Source::Answer(index), Ready::OUT).is_err() {
                *slot = None;
            }
        }
    }

    /// Writes a part of an answer; closes the connection once it is complete or the asker has gone.
    pub fn write(&mut self, index: u32, events: &Events) {
        let Some(slot) = self.answers.get_mut(index as usize) else { return };
        let Some(PendingAnswer { to, step: Step::Writing(rest, ranks), .. }) = slot else { return };
        match send(&to, rest, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Ok(count) if count < rest.len() => drop(rest.drain(..count)),
            Ok(_) if ranks.len() > 0 => *rest = ranks.take(LINES).flat_map(|rank| line(&rank)).collect(),
            Err(Errno::AGAIN | Errno::INTR) => {}
            _ => {
                events.remove(&to);
                *slot = None;
            }
        }
    }
}

/// Returns the order to hosts for a request.
fn count(question: u32, timeout: Duration, has_places: bool) -> Order {
    Order::Count { question, timeout_ms: timeout.as_millis() as u32, has_places }
}

/// Returns a line of an answer.
fn line(report: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(report).expect("a report has no unencodable part");
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests;
