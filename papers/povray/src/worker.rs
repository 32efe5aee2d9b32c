//! A worker: renders the slices that the master distributes.
//!
//! The worker's thread waits for orders in its mailbox and starts processes. The threads that read POV-Ray's
//! output post the rows into the master's mailbox themselves. So no thread polls, and rows never wait.

use std::sync::Arc;
use std::time::Duration;

use canele::{Error, Failure, Job, Mailbox, MailboxSender, Rank};
use canele_show::Moved;

use crate::arguments::Arguments;
use crate::error::PovrayError;
use crate::master::{MASTER, worker_box};
use crate::messages::{Report, unpack_order};
use crate::outcome::Outcome;
use crate::process::Processes;
use crate::rendering::Rendering;
use crate::slices::Slice;

/// Longest wait for the master's mailbox, which the master makes at its start.
const LONGEST_START: Duration = Duration::from_secs(60);

/// Renders slices until the master sends the order to stop.
///
/// # Errors
/// The master is gone, or communication failed. The master reports any other reason why this rank cannot
/// render.
pub fn work(arguments: &Arguments, job: &Job) -> Result<(), PovrayError> {
    let rank = job.rank().0 as usize;
    let at_once = usize::from(arguments.processes);
    // This is room for one order per unanswered request, and the order to stop.
    let orders = job.endpoint().create_mailbox(&worker_box(rank), at_once + 1)?;
    let master = Arc::new(job.endpoint().find_mailbox(MASTER, LONGEST_START).map_err(master_lost)?);
    let waited = match Rendering::new(arguments) {
        Ok(rendering) => render(rendering, at_once, &orders, &master)?,
        Err(error) => {
            post(&master, &Report::Failed(error.to_string()))?;
            while next_order(&orders)?.is_some() {}
            Duration::ZERO
        }
    };
    let moved = Moved::by(&job.endpoint().counters()?);
    post(&master, &Report::Left(moved, waited))
}

/// Follows orders; returns the time in which nothing was rendered.
fn render(
    rendering: Rendering,
    at_once: usize,
    orders: &Mailbox,
    master: &Arc<MailboxSender>,
) -> Result<Duration, PovrayError> {
    let mut processes = Processes::new(rendering);
    for _ in 0..at_once {
        post(master, &Report::Ready)?;
    }
    while let Some(slice) = next_order(orders)? {
        let (of, to) = (slice.clone(), master.clone());
        // If the master is gone, this worker's thread learns of it, too.
        let started = processes.start(slice, move |outcome| drop(post(&to, &report(of, outcome))));
        if let Err(error) = started {
            post(master, &Report::Failed(error.to_string()))?;
        }
    }
    Ok(processes.stop())
}

fn report(slice: Slice, outcome: Outcome) -> Report {
    match outcome {
        Outcome::Rows(samples) => Report::Rows(slice, samples),
        Outcome::Killed(why) => Report::Lost(slice, why),
        Outcome::Failed(why) => Report::Failed(why),
    }
}

/// Waits for the next order: a slice, or none to stop. It ignores the death of another worker.
fn next_order(orders: &Mailbox) -> Result<Option<Slice>, PovrayError> {
    loop {
        match orders.retrieve() {
            Ok(order) => return Ok(unpack_order(order)?),
            Err(Error::Failed(Failure::PeerFailed(rank))) if rank != Rank(0) => {}
            Err(error) => return Err(master_lost(error)),
        }
    }
}

fn post(master: &MailboxSender, report: &Report) -> Result<(), PovrayError> {
    master.post(report.pack()).map_err(master_lost)
}

fn master_lost(error: Error) -> PovrayError {
    match error {
        Error::Failed(
            Failure::PeerFailed(Rank(0)) | Failure::PeerFinished(Rank(0)) | Failure::NoSenderLeft,
        )
        | Error::Closed(_) => PovrayError::MasterLost,
        error => error.into(),
    }
}
