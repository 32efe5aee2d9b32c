//! Measures the time from the post of a mailbox message to its retrieval: half a round trip between two
//! mailboxes, including packing and unpacking.

use super::super::Failure;
use super::super::case::{Case, Figure, Task};
use super::super::sample::Workload;
use super::largest;
use canele::{Error, Job, Mailbox, MailboxSender, Message};
use std::time::{Duration, Instant};

const ROUND_TRIPS: u32 = 20_000;
const DEPTH: usize = 64;
const FIND: Duration = Duration::from_secs(10);

pub struct Mailboxes {
    me: u32,
    mine: Mailbox,
    theirs: MailboxSender,
    memory: Vec<u8>,
    cases: Vec<Case>,
}

impl Mailboxes {
    pub fn new(job: &Job, task: &Task) -> Result<Mailboxes, Failure> {
        let me = job.rank().0;
        let case = |bytes| {
            let limits = task.message_limits(bytes);
            Case::of_bytes(bytes, Figure::Time, task.iterations(ROUND_TRIPS, bytes), limits)
        };
        let cases: Vec<Case> = task.sizes(&[48]).into_iter().map(case).collect();
        let mine = job.endpoint().create_mailbox(&format!("canele-bench-{me}"), DEPTH)?;
        let theirs = job.endpoint().find_mailbox(&format!("canele-bench-{}", 1 - me), FIND)?;
        Ok(Mailboxes { me, mine, theirs, memory: vec![1; largest(&cases)], cases })
    }

    #[inline(always)]
    fn post(&self, bytes: usize) -> Result<(), Error> {
        let mut message = Message::with_capacity(bytes);
        message.pack(&self.memory[..bytes]);
        self.theirs.post(message)
    }

    #[inline(always)]
    fn retrieve(&mut self, bytes: usize) -> Result<(), Error> {
        self.mine.retrieve()?.unpack(&mut self.memory[..bytes])
    }
}

impl Workload for Mailboxes {
    fn cases(&self) -> Vec<Case> {
        self.cases.clone()
    }

    fn batch(&mut self, case: &Case) -> Result<f64, Failure> {
        let bytes = case.bytes.unwrap_or(0);
        let begin = Instant::now();
        if self.me == 0 {
            for _ in 0..case.iterations {
                self.post(bytes)?;
                self.retrieve(bytes)?;
            }
        } else {
            for _ in 0..case.iterations {
                self.retrieve(bytes)?;
                self.post(bytes)?;
            }
        }
        Ok(begin.elapsed().as_nanos() as f64 / f64::from(case.iterations) / 2.0)
    }
}
