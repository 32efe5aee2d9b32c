//! Measures large messages over all networks between two hosts. They are sent one at a time, each answered,
//! or as a mixed load, all outstanding at once. Beside them plain sockets run on each network alone. The
//! kernel's counters show the bytes of each network.

use super::super::Failure;
use super::super::case::{Buffers, Case, Figure, Limit, Task};
use super::super::sample::{Aside, Workload};
use super::{largest, other};
use canele::{Endpoint, Error, Flow, Job, Tag, wait_all};
use std::collections::BTreeMap;
use std::time::Instant;

const SIZES: [usize; 5] = [64 << 10, 1 << 20, 4 << 20, 64 << 20, 256 << 20];
const SINGLE: &str = "single";
const MIXED: &str = "mixed";
/// The parts of the mixed load: number of messages and bytes of each.
const PARTS: [(usize, usize); 4] = [(4, 4 << 20), (16, 64 << 10), (64, 4 << 10), (256, 64)];
/// Bytes that one round of a case moves, and the largest number of messages.
const ROUND_BYTES: usize = 1 << 26;
const MESSAGES: usize = 50;
/// More networks than any host here has; a limit on a missing network is left out.
const MOST_RAILS: usize = 8;
const DATA: Tag = Tag(1);
const ANSWER: Tag = Tag(2);

pub struct Rails {
    endpoint: Endpoint,
    flow: Flow,
    memory: Vec<u8>,
    /// Buffers of the mixed load, in its order: otherwise the first touch of memory would be timed, too.
    mixed: Vec<Vec<u8>>,
    aside: Aside,
    cases: Vec<Case>,
}

impl Rails {
    pub fn new(job: &Job, task: &Task) -> Result<Rails, Failure> {
        let case = |operation: &str, bytes: usize| {
            let most = task.iterations.map_or(MESSAGES, |count| count as usize).max(1);
            let count = (ROUND_BYTES / bytes).clamp(1, most);
            let limits = (0..MOST_RAILS).map(|rail| Limit::Rail(rail, bytes)).collect();
            Case {
                operation: Some(operation.to_owned()),
                buffers: Some(Buffers::Private),
                batches: 1,
                ..Case::of_bytes(bytes, Figure::Bandwidth, count as u32, limits)
            }
        };
        let mixed: usize = PARTS.iter().map(|(count, bytes)| count * bytes).sum();
        let mut cases: Vec<Case> =
            task.sizes(&SIZES).into_iter().flat_map(|bytes| case(SINGLE, bytes).under_each(task)).collect();
        let memory = vec![1; largest(&cases)];
        cases.extend(case(MIXED, mixed).under_each(task));
        Ok(Rails {
            endpoint: job.endpoint().clone(),
            flow: job.world(),
            memory,
            mixed: order().map(|bytes| vec![1; bytes]).collect(),
            aside: Aside::default(),
            cases,
        })
    }

    fn single(&mut self, bytes: usize) -> Result<(), Error> {
        let (peer, memory) = (other(&self.flow), &mut self.memory[..bytes]);
        if peer.0 == 1 {
            self.flow.send(peer, DATA, memory)?;
            self.flow.recv::<u8>(peer, ANSWER, &mut []).map(drop)
        } else {
            self.flow.recv(peer, DATA, memory)?;
            self.flow.send::<u8>(peer, ANSWER, &[])
        }
    }

    /// Starts everything before the first wait, the large messages among the small ones.
    fn mixed(&mut self) -> Result<(), Error> {
        let (flow, peer) = (&self.flow, other(&self.flow));
        let start = |memory| match peer.0 {
            1 => flow.isend(peer, DATA, memory),
            _ => flow.irecv(peer, DATA, memory),
        };
        let requests = std::mem::take(&mut self.mixed).into_iter().map(start).collect::<Result<_, _>>()?;
        self.mixed = wait_all(requests)?.into_iter().map(|(_, memory)| memory).collect();
        match peer.0 {
            1 => flow.recv::<u8>(peer, ANSWER, &mut []).map(drop),
            _ => flow.send::<u8>(peer, ANSWER, &[]),
        }
    }
}

impl Workload for Rails {
    fn cases(&self) -> Vec<Case> {
        self.cases.clone()
    }

    fn batch(&mut self, case: &Case) -> Result<f64, Failure> {
        let (before, mut each) = (carried(), Vec::new());
        for _ in 0..case.iterations {
            let begin = Instant::now();
            match case.operation.as_deref() {
                Some(MIXED) => self.mixed()?,
                _ => self.single(case.bytes.unwrap_or(1))?,
            }
            each.push(begin.elapsed().as_nanos() as f64);
        }
        let mean = super::super::statistics::mean(&each);
        let grown = |(rail, bytes): (String, u64)| {
            let more = bytes.saturating_sub(before.get(&rail).copied().unwrap_or(0));
            (more > 0).then_some((rail, more))
        };
        let rail_bytes = carried().into_iter().filter_map(grown).collect();
        self.aside = Aside { each, streams: None, rail_bytes };
        Ok(mean)
    }

    fn aside(&mut self) -> Aside {
        std::mem::take(&mut self.aside)
    }

    fn protocol(&self, case: &Case) -> Option<String> {
        (case.operation.as_deref() == Some(SINGLE)).then(|| super::protocol(&self.endpoint, case)).flatten()
    }
}

/// Returns the lengths of the messages of the mixed load, in their order.
fn order() -> impl Iterator<Item = usize> {
    let turns = PARTS[0].0;
    let turn =
        move || PARTS.into_iter().flat_map(move |(count, bytes)| std::iter::repeat_n(bytes, count / turns));
    (0..turns).flat_map(move |_| turn())
}

/// Returns the bytes that every network of this host has sent so far by the kernel's counters; empty if
/// unavailable.
fn carried() -> BTreeMap<String, u64> {
    let text = std::fs::read_to_string("/proc/self/net/dev").unwrap_or_default();
    let line = |line: &str| {
        let (name, figures) = line.split_once(':')?;
        // Eight figures about received data come first.
        Some((name.trim().to_owned(), figures.split_whitespace().nth(8)?.parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}
