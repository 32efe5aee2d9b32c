//! The master: distributes slices to workers on request, and joins the rows.
//!
//! It has one mailbox, into which all workers post reports ([`crate::messages`]). Each worker has its own
//! mailbox, into which the master posts slices, and at the end the order to stop. A request that finds no
//! slice stays open, because a slice may be lost and distributed again.

use std::time::Duration;

use canele::{Endpoint, Error, Failure, Job, Mailbox, MailboxSender, Rank, Tag};
use canele_show::Moved;

use crate::error::PovrayError;
use crate::messages::{Report, pack_order};
use crate::slices::Work;

/// Name of the master's mailbox.
pub const MASTER: &str = "povray master";
/// Longest wait for a worker's mailbox, which the worker makes before its first request.
const LONGEST_START: Duration = Duration::from_secs(60);
/// A tag of no message: a receive with it only shows if its source is alive.
const NEVER_SENT: Tag = Tag(1);

/// Returns the name of a worker's mailbox.
pub fn worker_box(rank: usize) -> String {
    format!("povray worker {rank}")
}

/// The master's side of the farm.
pub struct Master {
    endpoint: Endpoint,
    reports: Mailbox,
    workers: Vec<Worker>,
    /// The data that workers moved before they left, and the time that they waited.
    totals: Totals,
}

/// The state of a worker.
struct Worker {
    rank: usize,
    /// None before its first request.
    orders: Option<MailboxSender>,
    /// Number of unanswered requests.
    open: usize,
    /// True if it has left or died.
    gone: bool,
}

/// Sums over the workers that have left in good order.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    /// The data that each of them, and the master, moved.
    pub moved: Vec<Moved>,
    /// Total time in which they had nothing to render.
    pub waited: Duration,
    /// Number of these workers.
    pub workers: u32,
}

/// An event for the master.
enum Event {
    Report(usize, Report),
    Died(usize),
}

impl Master {
    /// Makes the master of all other ranks, each of which renders `at_once` slices at a time.
    ///
    /// # Errors
    /// Communication failed.
    pub fn new(job: &Job, at_once: usize) -> Result<Self, PovrayError> {
        let ranks = job.size() as usize;
        // This is room for the requests and the last report, so no worker ever waits for room.
        let reports = job.endpoint().create_mailbox(MASTER, (ranks - 1) * (at_once + 1))?;
        let worker = |rank| Worker { rank, orders: None, open: 0, gone: is_dead(job, rank) };
        let workers = (1..ranks).map(worker).collect();
        Ok(Self { endpoint: job.endpoint().clone(), reports, workers, totals: Totals::default() })
    }

    /// Distributes slices until the picture is complete, or no worker is left; calls `seen` after each.
    ///
    /// # Errors
    /// A worker cannot render, a slice was lost too often, or communication failed.
    pub fn run(&mut self, work: &mut Work, seen: &mut dyn FnMut(&Work)) -> Result<(), PovrayError> {
        while !work.is_done() && self.is_any_left() {
            match self.next_event()? {
                Event::Died(rank) => {
                    self.worker(rank).gone = true;
                    work.lost_rank(rank)?;
                }
                Event::Report(rank, report) => self.handle(rank, report, work, seen)?,
            }
            self.hand_out(work)?;
        }
        Ok(())
    }

    fn handle(
        &mut self,
        rank: usize,
        report: Report,
        work: &mut Work,
        seen: &mut dyn FnMut(&Work),
    ) -> Result<(), PovrayError> {
        match report {
            Report::Ready => self.meet(rank)?,
            Report::Rows(slice, samples) => {
                work.finished(rank, &slice, &samples)?;
                seen(work);
            }
            Report::Lost(slice, why) => work.lost(rank, &slice, &why)?,
            Report::Failed(why) => {
                self.meet(rank)?;
                return Err(PovrayError::Worker { rank, why });
            }
            Report::Left(..) => return Err(PovrayError::Message { rank }),
        }
        self.worker(rank).open += 1;
        Ok(())
    }

    /// Answers open requests as long as slices wait.
    fn hand_out(&mut self, work: &mut Work) -> Result<(), PovrayError> {
        for worker in self.workers.iter_mut().filter(|worker| !worker.gone) {
            while worker.open > 0
                && let Some(slice) = work.next(worker.rank)
            {
                worker.open -= 1;
                if !worker.post(Some(&slice))? {
                    worker.gone = true;
                    work.lost_rank(worker.rank)?;
                    break;
                }
            }
        }
        Ok(())
    }

    /// Tells all workers to stop, even if the picture is incomplete, and waits until each has left or died.
    ///
    /// # Errors
    /// Communication failed.
    pub fn dismiss(mut self) -> Result<Totals, PovrayError> {
        for worker in self.workers.iter_mut().filter(|worker| !worker.gone) {
            worker.post(None)?;
        }
        while self.is_any_left() {
            match self.next_event()? {
                Event::Died(rank) => self.worker(rank).gone = true,
                Event::Report(rank, Report::Left(moved, waited)) => {
                    self.worker(rank).gone = true;
                    self.totals.moved.push(moved);
                    self.totals.waited += waited;
                    self.totals.workers += 1;
                }
                Event::Report(rank, Report::Ready | Report::Failed(_))
                    if self.worker(rank).orders.is_none() =>
                {
                    self.meet(rank)?;
                    self.worker(rank).post(None)?;
                }
                Event::Report(..) => {}
            }
        }
        self.totals.moved.push(Moved::by(&self.endpoint.counters()?));
        Ok(self.totals)
    }

    /// Returns the next report of a present worker, or the death of one.
    fn next_event(&mut self) -> Result<Event, PovrayError> {
        loop {
            let (rank, event) = match self.reports.retrieve() {
                Ok(message) => {
                    let sender = message.sender().map(|rank| rank.0 as usize).filter(|rank| *rank > 0);
                    let rank = sender.ok_or(PovrayError::Message { rank: 0 })?;
                    let report = Report::unpack(message).ok().flatten();
                    (rank, Event::Report(rank, report.ok_or(PovrayError::Message { rank })?))
                }
                Err(error) => {
                    let rank = dead_rank(&error).ok_or(error)?;
                    (rank, Event::Died(rank))
                }
            };
            if !self.worker(rank).gone {
                return Ok(event);
            }
        }
    }

    /// Finds the mailbox of a worker that has posted for the first time.
    fn meet(&mut self, rank: usize) -> Result<(), PovrayError> {
        if self.worker(rank).orders.is_none() {
            match self.endpoint.find_mailbox(&worker_box(rank), LONGEST_START) {
                Ok(orders) => self.worker(rank).orders = Some(orders),
                // Its death is reported, too.
                Err(error) if dead_rank(&error).is_some() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn worker(&mut self, rank: usize) -> &mut Worker {
        &mut self.workers[rank - 1]
    }

    fn is_any_left(&self) -> bool {
        self.workers.iter().any(|worker| !worker.gone)
    }
}

impl Worker {
    /// Posts an order, if the mailbox is known; returns false if the worker died or left.
    fn post(&self, slice: Option<&std::ops::Range<usize>>) -> Result<bool, Error> {
        match self.orders.as_ref().map(|orders| orders.post(pack_order(slice))) {
            Some(Err(Error::Closed(_))) => Ok(false),
            Some(Err(error)) if dead_rank(&error).is_some() => Ok(false),
            Some(Err(error)) => Err(error),
            Some(Ok(())) => Ok(true),
            None => Ok(false),
        }
    }
}

/// Returns true if a rank died before the mailbox existed; the mailbox reports later deaths.
fn is_dead(job: &Job, rank: usize) -> bool {
    let probe = job.world().recv_deadline::<u8>(Rank(rank as u32), NEVER_SENT, &mut [], Duration::ZERO);
    matches!(probe, Err(Error::Failed(Failure::PeerFailed(_))))
}

fn dead_rank(error: &Error) -> Option<usize> {
    match error {
        Error::Failed(
            Failure::PeerFailed(rank)
            | Failure::PeerFinished(rank)
            | Failure::RegionLost(rank)
            | Failure::Unreachable(rank, _),
        ) => Some(rank.0 as usize),
        _ => None,
    }
}
