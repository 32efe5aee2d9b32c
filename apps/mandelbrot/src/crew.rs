//! The numbers of the workers: the ranks and threads that compute.
//!
//! Without threads every rank but the first is a worker, and the first is the master. With T threads each
//! rank, including the first, computes in T threads, and the master is one more thread of the first rank.

use std::ops::Range;

use crate::error::MandelbrotError;

/// The workers of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crew {
    ranks: usize,
    threads: Option<usize>,
}

impl Crew {
    /// Makes the workers of `ranks` ranks with `threads` threads each; without a number of threads the first
    /// rank does not compute.
    pub fn new(ranks: usize, threads: Option<usize>) -> Self {
        Self { ranks, threads }
    }

    /// Returns the number of workers; 0 for a rank that computes alone.
    pub fn workers(&self) -> usize {
        self.threads.map_or(self.ranks - 1, |threads| self.ranks * threads)
    }

    /// Returns the number of computing threads of a rank that computes.
    pub fn threads(&self) -> usize {
        self.threads.unwrap_or(1)
    }

    /// Returns the numbers of a rank's workers.
    pub fn of_rank(&self, rank: usize) -> Range<usize> {
        match self.threads {
            Some(threads) => rank * threads..(rank + 1) * threads,
            None => rank.saturating_sub(1)..rank,
        }
    }

    /// Checks that a request of a worker can come from a rank.
    ///
    /// # Errors
    /// Returns [`MandelbrotError::Stranger`] if the worker is not one of this rank.
    pub fn check(&self, worker: usize, rank: usize) -> Result<(), MandelbrotError> {
        if rank < self.ranks && self.of_rank(rank).contains(&worker) {
            return Ok(());
        }
        Err(MandelbrotError::Stranger { worker, rank })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_worker_belongs_to_one_rank() {
        for (ranks, threads) in [(1, None), (4, None), (1, Some(1)), (3, Some(1)), (2, Some(3))] {
            let crew = Crew::new(ranks, threads);
            let numbers: Vec<usize> = (0..ranks).flat_map(|rank| crew.of_rank(rank)).collect();
            assert_eq!(numbers, (0..crew.workers()).collect::<Vec<_>>(), "{crew:?}");
            for worker in 0..crew.workers() {
                let owners = (0..ranks).filter(|rank| crew.check(worker, *rank).is_ok());
                assert_eq!(owners.count(), 1, "{crew:?}: worker {worker}");
            }
            assert!(crew.check(crew.workers(), ranks - 1).is_err() && crew.check(0, ranks).is_err());
        }
    }

    #[test]
    fn the_first_rank_computes_only_in_threads() {
        assert!(Crew::new(3, None).of_rank(0).is_empty());
        assert_eq!(Crew::new(3, Some(2)).of_rank(0), 0..2);
    }
}
