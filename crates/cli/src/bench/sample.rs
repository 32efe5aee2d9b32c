//! The rounds: limit, ours, limit, ours …, so that a machine that drifts drifts for both.
//!
//! Every rank runs the same cases in the same order; rank 0's clock counts. Nothing here knows what a
//! workload does.

use super::Failure;
use super::case::{Case, Limit, Task};
use super::statistics::mean;
use canele_sys::limits::Limits;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Processors need about this long to reach their speed.
const WARM_UP: Duration = Duration::from_secs(1);
/// Bytes that one round of a copying limit moves in one direction, and the most iterations.
const COPIED_BYTES: usize = 1 << 25;
const COPIES: usize = 20_000;

/// A benchmark's program: what each rank does to measure one case.
pub trait Workload {
    /// The rows to be; the same on all ranks.
    fn cases(&self) -> Vec<Case>;

    /// Runs the operations of one batch on this rank and answers nanoseconds per operation, as far as this
    /// rank can tell: only rank 0's answer counts. Batches of one case follow each other without a barrier.
    ///
    /// # Errors
    /// Whatever the library answers: the measurement ends.
    fn batch(&mut self, case: &Case) -> Result<f64, Failure>;

    /// The protocol that carried the case's messages, once it has run.
    fn protocol(&self, _case: &Case) -> Option<String> {
        None
    }
}

/// All figures of one case, in nanoseconds per operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// One per round: the mean of its batches.
    pub rounds: Vec<f64>,
    /// Every batch of every round.
    pub batches: Vec<f64>,
    /// Per limit of the case, one per round, measured just before it.
    pub beside: Vec<Vec<f64>>,
}

/// What a job measured.
#[derive(Debug, Default)]
pub struct Sample {
    pub cases: Vec<(Case, Measured)>,
    /// Every limit measured, in nanoseconds (of `cells`: per cell), one figure per time it was measured.
    pub limits: BTreeMap<Limit, Vec<f64>>,
}

/// Measures all cases of a workload. `progress` hears after each round how many are done.
pub fn sample(
    work: &mut dyn Workload,
    limits: &mut Limits,
    task: &Task,
    mut progress: impl FnMut(u32),
) -> Result<Sample, Failure> {
    let cases = work.cases().into_iter().map(|case| prepared(case, task.ranks)).collect();
    let mut sample = Sample { cases, limits: BTreeMap::new() };
    let usual = usual_limits(&sample, task.ranks);
    warm_up(work, limits, &sample, task.ranks)?;
    for round in 1..=task.rounds {
        for limit in &usual {
            let figure = measure(limits, *limit);
            sample.limits.entry(*limit).or_default().push(figure);
        }
        for (case, measured) in &mut sample.cases {
            for (limit, beside) in case.limits.iter().zip(&mut measured.beside) {
                let figure = measure(limits, *limit);
                beside.push(figure);
                sample.limits.entry(*limit).or_default().push(figure);
            }
            limits.agree(0);
            let first = measured.batches.len();
            for _ in 0..case.batches {
                measured.batches.push(work.batch(case)?);
            }
            measured.rounds.push(mean(&measured.batches[first..]));
            limits.agree(0);
        }
        progress(round);
    }
    Ok(sample)
}

/// More than two ranks have only the limits that concern all of them.
fn prepared(mut case: Case, ranks: u32) -> (Case, Measured) {
    case.limits.retain(|limit| ranks == 2 || *limit == Limit::Flags);
    let beside = vec![Vec::new(); case.limits.len()];
    (case, Measured { beside, ..Measured::default() })
}

/// What every job measures once a round, unless a case does so anyway.
fn usual_limits(sample: &Sample, ranks: u32) -> Vec<Limit> {
    let mut usual = vec![Limit::Flags];
    if ranks == 2 {
        usual.extend([Limit::Line, Limit::Cells]);
        let sizes = sample.cases.iter().filter_map(|(case, _)| case.bytes).filter(|bytes| *bytes >= 64);
        usual
            .extend(sizes.flat_map(|bytes| [Limit::Copy1(bytes), Limit::Copy2(bytes), Limit::Stream(bytes)]));
    }
    usual.retain(|limit| !sample.cases.iter().any(|(case, _)| case.limits.contains(limit)));
    usual.sort();
    usual.dedup();
    usual
}

/// Works for about a second, as rank 0 sees it, so that connections, pages and clocks are up.
fn warm_up(work: &mut dyn Workload, limits: &mut Limits, sample: &Sample, ranks: u32) -> Result<(), Failure> {
    let begin = Instant::now();
    for (case, _) in &sample.cases {
        work.batch(case)?;
    }
    // Rank 0 decides, so that all leave together.
    while limits.agree(u64::from(begin.elapsed() < WARM_UP)) == 1 {
        if ranks == 2 {
            limits.line_ns(50_000)
        } else {
            limits.flags_ns(500)
        };
    }
    Ok(())
}

fn measure(limits: &mut Limits, limit: Limit) -> f64 {
    // Ranks come here apart by as much as the last operation left them; the loops start with both.
    limits.agree(0);
    let copies = |bytes: usize| (COPIED_BYTES / bytes.max(1)).clamp(1, COPIES) as u32;
    match limit {
        Limit::Line => limits.line_ns(100_000),
        Limit::Cells => 1e9 / limits.cells_per_s(1 << 21),
        Limit::Flags => limits.flags_ns(2000),
        Limit::Copy1(bytes) => limits.copy1_ns(bytes, copies(bytes)),
        Limit::Copy2(bytes) => limits.copy2_ns(bytes, copies(bytes)),
        Limit::Stream(bytes) => limits.stream_ns(bytes, copies(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::arguments::Bench;
    use super::super::case::Figure;
    use super::super::report::tests::task;
    use super::*;
    use canele_sys::limits::Shape;
    use canele_sys::segment::Segment;

    /// Counts; the second case fails from the given batch on.
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
        let shape = Shape { ranks: 1, largest_bytes: 0 };
        let segment = Segment::create("limits-test", shape.block_bytes()).unwrap();
        let mut limits = Limits::on(&segment, 0, shape).unwrap();
        let mut work = Counting { calls: vec![], fails_at };
        let mut heard = vec![];
        let answer = sample(&mut work, &mut limits, &task(Bench::Collectives, 1), |round| heard.push(round));
        (work, answer, heard)
    }

    #[test]
    fn rounds_take_every_case_beside_its_limit() {
        let (work, answer, heard) = run(usize::MAX);
        let sample = answer.unwrap();
        // One warm-up batch each, then three rounds of two batches per case.
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
