//! Master and slaves over mailboxes (DECK): the only file of this program that communicates.
//!
//! The master has one mailbox, into which all slaves post: a request, and with it the slice they
//! have finished. Each slave has a mailbox of its own, into which the master posts the next slice,
//! or an empty one when there is no more.
//!
//! ```text
//!   slave → master   rank, first row, end row, iterations, samples    (rows 0 to 0: nothing yet)
//!   master → slave   first row, end row                               (rows 0 to 0: no more work)
//! ```

use std::time::Duration;

use canele::{Endpoint, Flow, Job, Message, Op, Postbox, Rank};
use canele_show::Moved;

use crate::error::MandelbrotError;
use crate::run::Farm;
use crate::slices::{Finished, Slice, Work, compute};
use crate::view::View;

const MASTER: &str = "mandelbrot master";
/// Longest wait for a mailbox that another rank makes at its start.
const PATIENCE: Duration = Duration::from_secs(60);

/// All ranks of a job.
pub struct Ranks<'a> {
    job: &'a Job,
    endpoint: &'a Endpoint,
    flow: &'a Flow,
}

impl<'a> Ranks<'a> {
    /// The farm of the ranks of `job`.
    pub fn new(job: &'a Job) -> Self {
        Self { job, endpoint: job.endpoint(), flow: job.world() }
    }
}

impl Farm for Ranks<'_> {
    fn rank(&self) -> usize {
        self.job.rank().0 as usize
    }

    fn size(&self) -> usize {
        self.job.size() as usize
    }

    fn agree(&mut self, begin: bool) -> Result<bool, MandelbrotError> {
        let mut word = [u8::from(begin)];
        self.flow.broadcast(Rank(0), &mut word).map_err(failed)?;
        Ok(word[0] != 0)
    }

    fn master(&mut self, work: &mut Work, seen: &mut dyn FnMut(&Work)) -> Result<(), MandelbrotError> {
        let slaves = self.size() - 1;
        let requests = self.endpoint.create_mailbox(MASTER, 2 * slaves).map_err(failed)?;
        let mut boxes: Vec<Option<Postbox>> = (0..=slaves).map(|_| None).collect();
        let mut dismissed = 0;
        while dismissed < slaves {
            let (rank, finished) = read_request(requests.retrieve().map_err(failed)?).map_err(failed)?;
            if !finished.slice.is_empty() {
                work.finished(rank, &finished)?;
                seen(work);
            }
            if boxes[rank].is_none() {
                boxes[rank] = Some(self.endpoint.find_mailbox(&slave_box(rank), PATIENCE).map_err(failed)?);
            }
            let next = work.next(rank);
            dismissed += usize::from(next.is_none());
            let Some(slave) = &boxes[rank] else { continue };
            slave.post(answer(next.unwrap_or(0..0)).map_err(failed)?).map_err(failed)?;
        }
        Ok(())
    }

    fn slave(&mut self, view: &View) -> Result<(), MandelbrotError> {
        let answers = self.endpoint.create_mailbox(&slave_box(self.rank()), 1).map_err(failed)?;
        let master = self.endpoint.find_mailbox(MASTER, PATIENCE).map_err(failed)?;
        let mut finished = Finished { slice: 0..0, iterations: 0, samples: Vec::new() };
        loop {
            master.post(request(self.rank(), &finished).map_err(failed)?).map_err(failed)?;
            let slice = read_answer(answers.retrieve().map_err(failed)?).map_err(failed)?;
            if slice.is_empty() {
                return Ok(());
            }
            finished = compute(view, slice);
        }
    }

    fn tally(&mut self) -> Result<Moved, MandelbrotError> {
        let counters = self.endpoint.counters();
        let names = ["short", "eager", "rendezvous"];
        let own = ["sent_messages", "sent_bytes", "sent_short", "sent_eager", "sent_rendezvous"]
            .map(|name| counters.get(name));
        let mut sums = [0; 5];
        self.flow.reduce(Rank(0), &own, &mut sums, Op::Sum).map_err(failed)?;
        let protocols = names.into_iter().zip(sums[2..].iter().copied()).collect();
        Ok(Moved { messages: sums[0], bytes: sums[1], protocols })
    }
}

fn slave_box(rank: usize) -> String {
    format!("mandelbrot slave {rank}")
}

fn request(rank: usize, finished: &Finished) -> Result<Message, canele::Error> {
    let mut message = Message::new();
    message.pack(&[
        rank as u64,
        finished.slice.start as u64,
        finished.slice.end as u64,
        finished.iterations,
    ])?;
    message.pack_one(finished.samples.len() as u64)?;
    message.pack(&finished.samples)?;
    Ok(message)
}

fn read_request(mut message: Message) -> Result<(usize, Finished), canele::Error> {
    let mut head = [0_u64; 5];
    message.unpack(&mut head)?;
    let [rank, start, end, iterations, bytes] = head;
    let mut samples = vec![0_u8; bytes as usize];
    message.unpack(&mut samples)?;
    Ok((rank as usize, Finished { slice: start as usize..end as usize, iterations, samples }))
}

fn answer(slice: Slice) -> Result<Message, canele::Error> {
    let mut message = Message::new();
    message.pack(&[slice.start as u64, slice.end as u64])?;
    Ok(message)
}

fn read_answer(mut message: Message) -> Result<Slice, canele::Error> {
    let mut rows = [0_u64; 2];
    message.unpack(&mut rows)?;
    Ok(rows[0] as usize..rows[1] as usize)
}

fn failed(error: canele::Error) -> MandelbrotError {
    MandelbrotError::Communication(Box::new(error))
}
