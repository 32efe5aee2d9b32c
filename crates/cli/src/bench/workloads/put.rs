//! Measures the one-way time of a put with remote notification: half a round trip of puts.

use super::super::Failure;
use super::super::case::{Case, Figure, Task};
use super::super::sample::Workload;
use super::largest;
use canele::{Endpoint, Job, Region, RemoteRegion};
use std::time::{Duration, Instant};

const ROUND_TRIPS: u32 = 20_000;
const FIND: Duration = Duration::from_secs(10);
/// The identifier of the notice.
const NOTICE: u64 = 7;

pub struct Put {
    endpoint: Endpoint,
    /// The region for the peer's puts; it lives as long as the puts.
    _mine: Region,
    theirs: RemoteRegion,
    memory: Vec<u8>,
    cases: Vec<Case>,
}

impl Put {
    pub fn new(job: &Job, task: &Task) -> Result<Put, Failure> {
        let me = job.rank().0;
        let case = |bytes| {
            let limits = task.message_limits(bytes);
            Case::of_bytes(bytes, Figure::Time, task.iterations(ROUND_TRIPS, bytes), limits)
        };
        let cases: Vec<Case> = task.sizes(&[8]).into_iter().map(case).collect();
        let mine = job.endpoint().region(largest(&cases).max(1))?;
        mine.publish(&format!("canele-bench-{me}"))?;
        let theirs = job.endpoint().find_region(&format!("canele-bench-{}", 1 - me), FIND)?;
        Ok(Put {
            endpoint: job.endpoint().clone(),
            _mine: mine,
            theirs,
            memory: vec![1; largest(&cases)],
            cases,
        })
    }
}

impl Workload for Put {
    fn cases(&self) -> Vec<Case> {
        self.cases.clone()
    }

    fn batch(&mut self, case: &Case) -> Result<f64, Failure> {
        let (endpoint, theirs) = (&self.endpoint, &self.theirs);
        let data = &self.memory[..case.bytes.unwrap_or(0)];
        let begin = Instant::now();
        if endpoint.rank().0 == 0 {
            for _ in 0..case.iterations {
                theirs.put_notify(0, data, NOTICE)?;
                endpoint.wait_notice(None)?;
            }
        } else {
            for _ in 0..case.iterations {
                endpoint.wait_notice(None)?;
                theirs.put_notify(0, data, NOTICE)?;
            }
        }
        Ok(begin.elapsed().as_nanos() as f64 / f64::from(case.iterations) / 2.0)
    }
}
