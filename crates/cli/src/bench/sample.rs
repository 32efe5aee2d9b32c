//! The rounds: limit, Canelé, limit, Canelé …, so that a drift of the machine affects both.
//!
//! Every rank runs the same cases in the same order. Times are measured with rank 0's clock. This module does
//! not know the workloads.

use super::Failure;
use super::bare::Bare;
use super::case::{Case, Limit, Task};
use super::statistics::mean;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Time that processors need to reach their speed.
const WARM_UP: Duration = Duration::from_secs(1);

/// A benchmark's program: the work of each rank to measure one case.
pub trait Workload {
    /// Returns the future rows, equal on all ranks.
    fn cases(&self) -> Vec<Case>;

    /// Runs the operations of one batch on this rank and returns nanoseconds per operation. Only the result
    /// of rank 0 is valid. Batches of one case follow each other without a barrier.
    ///
    /// # Errors
    /// Returns the error of the library: the measurement ends.
    fn batch(&mut self, case: &Case) -> Result<f64, Failure>;

    /// Returns additional results of the last batch.
    fn aside(&mut self) -> Aside {
        Aside::default()
    }

    /// Returns the protocol of the case's messages, once it has run.
    fn protocol(&self, _case: &Case) -> Option<String> {
        None
    }
}

/// Additional results of a batch.
#[derive(Debug, Default)]
pub struct Aside {
    /// The time of every operation, if timed. Percentiles then use these times instead of batches.
    pub each: Vec<f64>,
    /// The data rate of simultaneous streams, in 10⁹ bytes per second.
    pub streams: Option<f64>,
    /// The bytes that each network carried from rank 0's host.
    pub rail_bytes: BTreeMap<String, u64>,
}

/// All figures of one case, in nanoseconds per operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// One value per round: the mean of its batches.
    pub rounds: Vec<f64>,
    /// Every batch of every round.
    pub batches: Vec<f64>,
    /// For each limit of the case, one value per round, measured just before it.
    pub beside: Vec<Vec<f64>>,
    /// True if operations were timed one by one.
    pub one_by_one: bool,
    /// One value per batch with simultaneous streams.
    pub streams: Vec<f64>,
    /// The sums over all rounds.
    pub rail_bytes: BTreeMap<String, u64>,
}

impl Measured {
    /// Adds the result of a batch.
    fn take(&mut self, ns: f64, aside: Aside) {
        if aside.each.is_empty() {
            self.batches.push(ns);
        } else {
            self.one_by_one = true;
            self.batches.extend(aside.each);
        }
        self.streams.extend(aside.streams);
        for (rail, bytes) in aside.rail_bytes {
            *self.rail_bytes.entry(rail).or_default() += bytes;
        }
    }
}

/// The measurements of a job.
#[derive(Debug, Default)]
pub struct Sample {
    pub cases: Vec<(Case, Measured)>,
    /// Every measured limit, in nanoseconds (of `cells`: per cell), with one figure for each measurement.
    pub limits: BTreeMap<Limit, Vec<f64>>,
}

/// Measures all cases of a workload. `choose` sets the strategy of a case that has one, while nothing is
/// under way. `progress` is called after each round with the number of completed ones.
pub fn sample(
    work: &mut dyn Workload,
    bare: &mut dyn Bare,
    task: &Task,
    mut choose: impl FnMut(&str) -> Result<(), Failure>,
    mut progress: impl FnMut(u32),
) -> Result<Sample, Failure> {
    let cases = work.cases().into_iter().map(|case| prepared(case, task, bare)).collect();
    let mut sample = Sample { cases, limits: BTreeMap::new() };
    let usual = usual_limits(&sample, task, bare);
    warm_up(work, bare, &sample)?;
    for round in 1..=task.rounds {
        for limit in &usual {
            let figure = bare.measure(*limit)?;
            sample.limits.entry(*limit).or_default().push(figure);
        }
        for (case, measured) in &mut sample.cases {
            for (limit, beside) in case.limits.iter().zip(&mut measured.beside) {
                let figure = bare.measure(*limit)?;
                beside.push(figure);
                sample.limits.entry(*limit).or_default().push(figure);
            }
            if let Some(strategy) = &case.strategy {
                choose(strategy)?;
            }
            bare.agree(0)?;
            let mut batches = Vec::new();
            for _ in 0..case.batches {
                batches.push(work.batch(case)?);
                measured.take(batches[batches.len() - 1], work.aside());
            }
            measured.rounds.push(mean(&batches));
            bare.agree(0)?;
        }
        progress(round);
    }
    Ok(sample)
}

/// Keeps the limits of a case that can be measured here.
fn prepared(mut case: Case, task: &Task, bare: &dyn Bare) -> (Case, Measured) {
    case.limits.retain(|limit| task.limits && bare.has(*limit));
    let beside = vec![Vec::new(); case.limits.len()];
    (case, Measured { beside, ..Measured::default() })
}

/// Returns the limits that every job measures once a round, unless a case does so anyway.
fn usual_limits(sample: &Sample, task: &Task, bare: &dyn Bare) -> Vec<Limit> {
    let cases: Vec<&Case> = sample.cases.iter().map(|(case, _)| case).collect();
    let mut usual = bare.usual(task, &cases);
    usual.retain(|limit| task.limits && !cases.iter().any(|case| case.limits.contains(limit)));
    usual.sort();
    usual.dedup();
    usual
}

/// Works for about a second by rank 0's clock, so that connections, pages and processor clocks are ready.
fn warm_up(work: &mut dyn Workload, bare: &mut dyn Bare, sample: &Sample) -> Result<(), Failure> {
    let begin = Instant::now();
    for (case, _) in &sample.cases {
        work.batch(case)?;
    }
    // Rank 0 decides, so that all ranks leave the loop together.
    while bare.agree(u64::from(begin.elapsed() < WARM_UP))? == 1 {
        bare.stir()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::arguments::Bench;
    use super::super::bare::BareMemory;
    use super::super::case::Figure;
    use super::super::report::tests::task;
    use super::*;
    use canele_mem::limits::{MachineLimits, MeasuredSizes};
    use canele_sys::segment::Segment;

    /// A workload that counts calls; the second case fails from the given batch on.
    struct Counting {
        calls: Vec<usize>,
        fails_at: usize,
    }

    impl Workload for Counting {
        fn cases(&self) -> Vec<Case> {
            let case = |bytes| Case {
                batches: 2,
                ..Case::of_bytes(bytes, Figure::Time, 1, vec![Limit::Flags, Limit::Line])
            };
            vec![case(1), case(2)]
        }

        fn batch(&mut self, case: &Case) -> Result<f64, Failure> {
            self.calls.push(case.bytes.unwrap_or(0));
            if self.calls.len() >= self.fails_at {
                Err("rank 1 is gone".into())
            } else {
                Ok(self.calls.len() as f64)
            }
        }
    }

    fn run(fails_at: usize) -> (Counting, Result<Sample, Failure>, Vec<u32>) {
        let shape = MeasuredSizes { ranks: 1, largest_bytes: 0 };
        let segment = Segment::create("limits-test", shape.block_bytes()).unwrap();
        let mut bare = BareMemory(MachineLimits::on(&segment, 0, shape).unwrap());
        let mut work = Counting { calls: vec![], fails_at };
        let mut heard = vec![];
        let answer =
            sample(&mut work, &mut bare, &task(Bench::Collectives, 1), |_| Ok(()), |round| heard.push(round));
        (work, answer, heard)
    }

    #[test]
    fn rounds_take_every_case_beside_its_limit() {
        let (work, answer, heard) = run(usize::MAX);
        let sample = answer.unwrap();
        // There is one warm-up batch each, then three rounds of two batches per case.
        assert_eq!(work.calls, [1, 2, 1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2]);
        assert_eq!(heard, [1, 2, 3]);
        let (case, measured) = &sample.cases[0];
        assert_eq!(case.limits, [Limit::Flags], "a line is measured by two ranks only");
        assert_eq!(measured.batches, [3.0, 4.0, 7.0, 8.0, 11.0, 12.0]);
        assert_eq!(measured.rounds, [3.5, 7.5, 11.5]);
        assert_eq!(measured.beside[0].len(), 3);
        assert_eq!(sample.limits[&Limit::Flags].len(), 6);
    }

    #[test]
    fn a_failure_ends_the_measurement() {
        let (work, answer, heard) = run(5);
        assert_eq!(answer.unwrap_err().to_string(), "rank 1 is gone");
        assert_eq!((work.calls.len(), heard.len()), (5, 0));
    }
}
