//! Master and workers (DECK calls them master and slaves) over mailboxes: the only file of this program that
//! communicates.
//!
//! The master has one mailbox, into which all workers post: a request, and with it their finished slice. Each
//! worker has its own mailbox, into which the master posts the next slice, or an empty one at the end. A
//! worker is a rank, or a thread of one: [`Crew`].
//!
//! ```text
//!   worker → master   its number, first row, end row, iterations, samples    (rows 0 to 0: nothing yet)
//!   master → worker   first row, end row                                     (rows 0 to 0: no more work)
//! ```

use std::time::{Duration, Instant};

use canele::{Flow, Job, MailboxSender, Message, Op, Rank};
use canele_show::Moved;

use crate::crew::Crew;
use crate::error::MandelbrotError;
use crate::slices::{Finished, Slice, Work, compute};
use crate::view::View;

const MASTER: &str = "mandelbrot master";
/// Longest wait for a mailbox that another rank makes at its start.
const FIND_TIMEOUT: Duration = Duration::from_secs(60);

/// The ranks of a job, which compute a picture together; rank 0 has the master.
pub struct Farm<'a> {
    job: &'a Job,
    flow: Flow,
    /// The workers.
    pub crew: Crew,
}

impl<'a> Farm<'a> {
    /// Makes the farm of the ranks of `job`, each with `threads` computing threads; see [`Crew::new`].
    pub fn new(job: &'a Job, threads: Option<usize>) -> Self {
        Self { job, flow: job.world(), crew: Crew::new(job.size() as usize, threads) }
    }

    /// Returns the number of this rank; 0 is the master.
    pub fn rank(&self) -> usize {
        self.job.rank().0 as usize
    }

    /// Returns the number of ranks.
    pub fn size(&self) -> usize {
        self.job.size() as usize
    }

    /// Broadcasts rank 0's decision to begin the work; all ranks return it.
    ///
    /// # Errors
    /// Communication failed, as for all calls.
    pub fn agree(&self, begin: bool) -> Result<bool, MandelbrotError> {
        let mut word = [u8::from(begin)];
        self.flow.broadcast(Rank(0), &mut word)?;
        Ok(word[0] != 0)
    }

    /// Rank 0: distributes all slices and collects them; calls `seen` after each.
    ///
    /// # Errors
    /// A worker returned a slice that it was not asked for. Then no worker gets more work.
    pub fn master(&self, work: &mut Work, seen: &mut dyn FnMut(&Work)) -> Result<(), MandelbrotError> {
        let (endpoint, workers) = (self.job.endpoint(), self.crew.workers());
        // No worker asks again before it was answered, so none ever waits for room.
        let requests = endpoint.create_mailbox(MASTER, workers)?;
        let find = |worker| endpoint.find_mailbox(&worker_box(worker), FIND_TIMEOUT);
        let boxes = (0..workers).map(find).collect::<Result<Vec<MailboxSender>, _>>()?;
        let (mut dismissed, mut result) = (0, Ok(()));
        while dismissed < workers {
            let message = requests.retrieve()?;
            let rank = message.sender().expect("a message that was retrieved has a sender").0 as usize;
            let taken = read_request(message).map_err(MandelbrotError::from);
            let checked = taken.and_then(|(worker, finished)| {
                self.crew.check(worker, rank)?;
                Ok((worker, finished))
            });
            let (worker, finished) = match checked {
                Ok(request) => request,
                Err(error) => {
                    // Workers that still compute must not wait for more; those that have ended need no
                    // message.
                    boxes.iter().for_each(|worker| drop(worker.post(answer(0..0))));
                    return Err(error);
                }
            };
            if result.is_ok() && !finished.slice.is_empty() {
                result = work.finished(worker, &finished).map(|()| seen(work));
            }
            // After a failure there is no more work, so that all workers end.
            let next = if result.is_ok() { work.next(worker) } else { None };
            dismissed += usize::from(next.is_none());
            boxes[worker].post(answer(next.unwrap_or(0..0)))?;
        }
        result
    }

    /// Runs one worker: computes slices until there are none. Returns the time spent asking for them.
    ///
    /// # Errors
    /// Communication failed.
    pub fn worker(&self, worker: usize, view: &View) -> Result<Duration, MandelbrotError> {
        let mut asking = Duration::ZERO;
        let mut start = Instant::now();
        let answers = self.job.endpoint().create_mailbox(&worker_box(worker), 1)?;
        let master = self.job.endpoint().find_mailbox(MASTER, FIND_TIMEOUT)?;
        let mut finished = Finished { slice: 0..0, iterations: 0, samples: Vec::new() };
        loop {
            master.post(request(worker, &finished))?;
            let slice = read_answer(answers.retrieve()?)?;
            asking += start.elapsed();
            if slice.is_empty() {
                return Ok(asking);
            }
            finished = compute(view, slice);
            start = Instant::now();
        }
    }

    /// Returns the data moved by all ranks, and the mean of the times of all workers. Each rank passes the
    /// sum of its workers. It is valid on rank 0 only.
    ///
    /// # Errors
    /// Communication failed.
    pub fn sum_up(&self, asking: Duration) -> Result<(Moved, Duration), MandelbrotError> {
        let own = Moved::by(&self.job.endpoint().counters()?).numbers();
        let (mut sums, mut times) = (own, [0]);
        self.flow.reduce(Rank(0), &own, &mut sums, Op::Sum)?;
        self.flow.reduce(Rank(0), &[asking.as_nanos() as u64], &mut times, Op::Sum)?;
        let workers = self.crew.workers().max(1) as u64;
        Ok((Moved::from_numbers(sums), Duration::from_nanos(times[0] / workers)))
    }
}

fn worker_box(worker: usize) -> String {
    format!("mandelbrot worker {worker}")
}

fn request(worker: usize, finished: &Finished) -> Message {
    let Finished { slice, iterations, samples } = finished;
    let head = [worker as u64, slice.start as u64, slice.end as u64, *iterations];
    let mut message = Message::with_capacity(size_of_val(&head) + samples.len());
    message.pack(&head);
    message.pack(samples);
    message
}

fn read_request(mut message: Message) -> Result<(usize, Finished), canele::Error> {
    let mut head = [0_u64; 4];
    message.unpack(&mut head)?;
    let mut samples = vec![0_u8; message.len() - size_of_val(&head)];
    message.unpack(&mut samples)?;
    let [worker, start, end, iterations] = head;
    Ok((worker as usize, Finished { slice: start as usize..end as usize, iterations, samples }))
}

fn answer(slice: Slice) -> Message {
    let mut message = Message::new();
    message.pack(&[slice.start as u64, slice.end as u64]);
    message
}

fn read_answer(mut message: Message) -> Result<Slice, canele::Error> {
    let mut rows = [0_u64; 2];
    message.unpack(&mut rows)?;
    Ok(rows[0] as usize..rows[1] as usize)
}
