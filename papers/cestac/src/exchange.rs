//! The exchange of samples between three ranks: the only file of this crate that communicates.
//!
//! Each rank sends its samples to both others before it receives theirs, 4 to 16 bytes in a message.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use canele::{Error, Flow, Job, Rank, Tag};

use crate::error::SessionError;
use crate::rounding::Float;
use crate::samples::{SAMPLES, Samples};

/// The tag of all messages, on a flow of their own.
const SAMPLE: Tag = Tag(0);

/// Counts of the exchanged samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Exchanges {
    /// Number of exchanges.
    pub count: u64,
    /// Total time, including waits for other ranks; 0 unless exchanges are timed.
    pub time: Duration,
}

/// The three ranks of a job.
struct Brothers {
    flow: Flow,
    own: usize,
    is_timed: bool,
    exchanges: Exchanges,
}

thread_local! {
    static BROTHERS: RefCell<Option<Brothers>> = const { RefCell::new(None) };
}

/// Lets this thread exchange samples with the other ranks of `job`, all of which call this. Returns this rank's number.
pub(crate) fn open(job: &Job) -> Result<usize, SessionError> {
    if job.size() as usize != SAMPLES {
        return Err(SessionError::Ranks { ranks: job.size() });
    }
    let own = job.rank().0 as usize;
    BROTHERS.with_borrow_mut(|brothers| {
        if brothers.is_some() {
            return Err(SessionError::AlreadyOpen);
        }
        let flow = job.world().duplicate()?;
        *brothers = Some(Brothers { flow, own, is_timed: false, exchanges: Exchanges::default() });
        Ok(own)
    })
}

/// Ends the exchange that [`open`] began.
pub(crate) fn close() {
    BROTHERS.set(None);
}

/// Switches the timing of exchanges on or off.
pub(crate) fn set_timed(is_timed: bool) {
    BROTHERS.with_borrow_mut(|brothers| {
        if let Some(brothers) = brothers {
            brothers.is_timed = is_timed;
        }
    });
}

/// Returns the count and time of this thread's exchanges.
pub(crate) fn exchanges() -> Exchanges {
    BROTHERS.with_borrow(|brothers| brothers.as_ref().map_or_else(Exchanges::default, |one| one.exchanges))
}

/// Sends this rank's samples of M numbers to the other ranks. Returns all samples of each number.
///
/// # Panics
/// No session is open, or a rank has finished or died.
pub(crate) fn exchange<F: Float, const M: usize>(own: [F; M]) -> [Samples<F>; M] {
    BROTHERS.with_borrow_mut(|brothers| {
        let Some(brothers) = brothers else {
            panic!(
                "a number of the parallel form needs a session on this thread: call Session::parallel first"
            )
        };
        match brothers.exchange(own) {
            Ok(all) => all,
            Err(error) => panic!("samples cannot be exchanged: {error}"),
        }
    })
}

impl Brothers {
    fn exchange<F: Float, const M: usize>(&mut self, own: [F; M]) -> Result<[Samples<F>; M], Error> {
        let start = self.is_timed.then(Instant::now);
        let mut received = [own; SAMPLES];
        let others = [(self.own + 1) % SAMPLES, (self.own + 2) % SAMPLES];
        for other in others {
            self.flow.send(rank(other), SAMPLE, &own)?;
        }
        for other in others {
            self.flow.recv(rank(other), SAMPLE, &mut received[other])?;
        }
        self.exchanges.count += 1;
        if let Some(start) = start {
            self.exchanges.time += start.elapsed();
        }
        Ok(std::array::from_fn(|number| received.map(|samples| samples[number])))
    }
}

/// Returns one of three ranks.
fn rank(number: usize) -> Rank {
    Rank(number as u32)
}
