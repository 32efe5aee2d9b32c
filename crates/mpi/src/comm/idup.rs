//! Duplicates that are made while the program goes on (MPI 5.0, §7.4.2).
//!
//! ```text
//!   which pairs of flows are free everywhere? ──▶ all take the first ──▶ could all? ──▶ the duplicate; else once more
//! ```
//!
//! Between two groups a conjunction gives each group the other's alone, so it is made twice: the second time everybody says
//! what the first gave and its own, and both groups have the same.

use std::sync::Arc;

use canele_engine::collective::{Buffers, Kernel, Operation, Place, Reduction, Shape, WINDOW};
use canele_engine::{Ended, FlowId, Pending};
use canele_sys::buffer::Divided;

use super::Comm;
use crate::info::Info;
use crate::request::{Request, Step, Steps};
use crate::status::Status;
use crate::{Class, Error, Result};

/// What is done with the duplicate.
pub type Done = Box<dyn FnOnce(Arc<Comm>) -> Result<()> + Send>;

/// A duplicate that is being made.
struct Duplicate {
    comm: Arc<Comm>,
    info: Option<Arc<Info>>,
    done: Option<Done>,
    /// The window of pairs that is looked at begins here.
    first: u32,
    /// The pair that all are asked about, and whether it was free here.
    taken: Option<(u32, bool)>,
    /// Between two groups: what this rank said, until the other group's is known.
    said: Option<Vec<u64>>,
}

/// Pairs in a window.
const PAIRS: u32 = WINDOW as u32 * u64::BITS;

impl Comm {
    /// Starts to make a duplicate, as [`Comm::dup`].
    ///
    /// # Errors
    /// The job is over.
    pub fn idup(self: &Arc<Self>, info: Option<Arc<Info>>, done: Done) -> Result<Request> {
        let mut duplicate =
            Duplicate { comm: self.clone(), info, done: Some(done), first: 0, taken: None, said: None };
        let pending = duplicate.ask()?;
        Ok(Request::steps(self.clone(), pending, Box::new(duplicate)))
    }
}

impl Duplicate {
    /// Starts to find out which pairs are free everywhere.
    fn ask(&mut self) -> Result<Pending> {
        let free = self.comm.engine.free_pairs(self.first)?;
        self.conjunction(&free)
    }

    /// Starts to find out which bits everybody says.
    fn conjunction(&mut self, words: &[u64]) -> Result<Pending> {
        self.said = self.comm.is_inter().then(|| words.to_vec());
        self.of_the_other_group(words)
    }

    /// The same, of the other group alone if there is one.
    fn of_the_other_group(&self, words: &[u64]) -> Result<Pending> {
        let bytes: &[u8] = bytemuck::cast_slice(words);
        let shape = Shape { element: 8, ..Shape::new(Operation::Allreduce, bytes.len()) };
        let input = Place::Own(Box::new(Divided::from(bytes)));
        let output = Place::Own(Box::new(Divided::new(bytes.len())));
        let and: Kernel = |into, from, _| into.iter_mut().zip(from).for_each(|(a, b)| *a &= b);
        let buffers = Buffers { input, output };
        let (engine, flow) = (&self.comm.engine, self.comm.collectives());
        Ok(engine.start_collective(flow, shape, Some(Reduction::from(and)), buffers)?)
    }

    fn next(&mut self, ended: Ended) -> Result<Option<Pending>> {
        ended.result?;
        let output =
            ended.output.ok_or_else(|| Error::new(Class::Internal, "a conjunction has no result"))?;
        let words: Vec<u64> = output.bytes().as_chunks().0.iter().map(|w| u64::from_ne_bytes(*w)).collect();
        if let Some(said) = self.said.take() {
            let both: Vec<u64> = words.iter().zip(said).map(|(theirs, mine)| theirs & mine).collect();
            return self.of_the_other_group(&both).map(Some);
        }
        match self.taken.take() {
            None => self.take(&words).map(Some),
            Some((pair, true)) if words[0] == 1 => self.finish(FlowId(2 * pair)).map(|()| None),
            Some((pair, taken)) => {
                if taken {
                    self.comm.engine.return_pair(pair)?;
                }
                self.first = pair + 1;
                self.ask().map(Some)
            }
        }
    }

    /// Takes the first pair that is free everywhere, and asks whether all could.
    fn take(&mut self, window: &[u64]) -> Result<Pending> {
        let begin = self.first / PAIRS * PAIRS;
        let Some((n, word)) = (0..).zip(window).find(|(_, word)| **word != 0) else {
            self.first = begin + PAIRS;
            return self.ask();
        };
        let pair = begin + n * u64::BITS + word.trailing_zeros();
        let taken = self.comm.engine.take_pair(pair)?;
        self.taken = Some((pair, taken));
        self.conjunction(&[u64::from(taken)])
    }

    fn finish(&mut self, flow: FlowId) -> Result<()> {
        let made = self.comm.dup_on(flow, self.info.take())?;
        match self.done.take() {
            Some(done) => done(made),
            None => Ok(()),
        }
    }
}

impl Steps for Duplicate {
    fn step(&mut self, ended: Ended) -> Step {
        match self.next(ended) {
            Ok(Some(pending)) => Step::Next(pending),
            Ok(None) => Step::Done(Ok(Status::EMPTY)),
            Err(error) => Step::Done(Err(error)),
        }
    }
}
