//! Measures a client that requests several pages at once from a page server (NewMadeleine's distributed
//! shared memory). A request has the client's number, the page, whether it may be deferred, and the kind of
//! access. An answer has the page's number, whether it was found, and the page itself. Only the page depends
//! on earlier segments.

use super::super::Failure;
use super::super::case::{Case, Figure, Task};
use super::super::sample::Workload;
use super::{largest, other};
use canele::{Endpoint, Error, Flow, Job, Tag};
use std::time::{Duration, Instant};

const PAGE_BYTES: usize = 65 << 10;
const PAGES: [u32; 8] = [1, 2, 3, 4, 8, 16, 32, 64];
const ROUNDS: u32 = 2_000;
/// The phase until all answers have begun and every announced page has been requested.
const REQUEST: &str = "request + rendezvous";
const WHOLE: &str = "whole";
const ASK: Tag = Tag(1);
/// The answer about page `n` has this tag plus `n`.
const ANSWER: u32 = 1000;
const READ: u8 = 1;

pub struct Dsm {
    endpoint: Endpoint,
    flow: Flow,
    /// Memory for the most pages that are requested at once.
    memory: Vec<u8>,
    cases: Vec<Case>,
}

impl Dsm {
    pub fn new(job: &Job, task: &Task) -> Result<Dsm, Failure> {
        let pages = if task.packs.is_empty() { PAGES.to_vec() } else { task.packs.clone() };
        let mut cases = Vec::new();
        for bytes in task.sizes(&[PAGE_BYTES]) {
            for (count, operation) in pages.iter().flat_map(|count| [(*count, REQUEST), (*count, WHOLE)]) {
                let rounds = task.iterations(ROUNDS, bytes * count as usize);
                let case = Case {
                    operation: Some(operation.to_owned()),
                    packs: Some(count),
                    ..Case::of_bytes(bytes, Figure::Time, rounds, vec![])
                };
                cases.extend(case.under_each(task));
            }
        }
        let most = pages.iter().max().copied().unwrap_or(1) as usize;
        let memory = vec![1; most * largest(&cases)];
        Ok(Dsm { endpoint: job.endpoint().clone(), flow: job.world(), memory, cases })
    }

    /// Runs the client: requests all pages, then receives them. Returns the time until their announcements
    /// were answered, and until the end.
    fn ask(&mut self, pages: u32, bytes: usize) -> Result<[Duration; 2], Error> {
        let (flow, server, me) = (&self.flow, other(&self.flow), self.flow.rank().0);
        let memory = &mut self.memory;
        let begin = Instant::now();
        let answered = flow.scope(|scope| {
            for page in 0..pages {
                let mut request = scope.pack(server, ASK);
                request.safer(&[me])?;
                request.safer(&[page])?;
                request.safer(&[0u8])?;
                request.safer(&[READ])?;
                request.end()?;
            }
            for (page, place) in (0..pages).zip(memory.chunks_exact_mut(bytes)) {
                let tag = Tag(ANSWER + page);
                let mut answer = scope.unpack(server, tag);
                let (mut number, mut found) = ([0u32], [0u8]);
                answer.express(&mut number)?;
                answer.express(&mut found)?;
                if found[0] == 1 {
                    // The page is announced; the receive answers that.
                    flow.probe(server, tag)?;
                    answer.cheaper(place)?;
                }
            }
            Ok(begin.elapsed())
        })?;
        Ok([answered, begin.elapsed()])
    }

    /// Runs the server: answers `pages` requests.
    fn serve(&self, pages: u32, bytes: usize) -> Result<(), Error> {
        let (flow, client) = (&self.flow, other(&self.flow));
        flow.scope(|scope| {
            for _ in 0..pages {
                let mut request = scope.unpack(client, ASK);
                let (mut asker, mut page, mut deferred, mut access) = ([0u32], [0u32], [0u8], [0u8]);
                request.express(&mut asker)?;
                request.express(&mut page)?;
                request.express(&mut deferred)?;
                request.express(&mut access)?;
                let place = self.memory.chunks_exact(bytes).nth(page[0] as usize);
                let mut answer = scope.pack(client, Tag(ANSWER + page[0]));
                answer.safer(&page)?;
                answer.safer(&[u8::from(place.is_some())])?;
                if let Some(place) = place {
                    answer.cheaper(place)?;
                }
                answer.end()?;
            }
            Ok(())
        })
    }
}

impl Workload for Dsm {
    fn cases(&self) -> Vec<Case> {
        self.cases.clone()
    }

    fn batch(&mut self, case: &Case) -> Result<f64, Failure> {
        let (pages, bytes) = (case.packs.unwrap_or(1), case.bytes.unwrap_or(1));
        let whole = usize::from(case.operation.as_deref() == Some(WHOLE));
        let mut ns = 0.0;
        for _ in 0..case.iterations {
            if self.flow.rank().0 == 0 {
                ns += self.ask(pages, bytes)?[whole].as_nanos() as f64;
            } else {
                self.serve(pages, bytes)?;
            }
        }
        Ok(ns / f64::from(case.iterations))
    }

    fn protocol(&self, case: &Case) -> Option<String> {
        super::protocol(&self.endpoint, case)
    }
}
