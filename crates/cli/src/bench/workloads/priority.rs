//! Measures the round trip of an urgent message of 64 bytes, alone and beside four streams of messages of 1
//! MB in its first direction. Its flow has the highest priority. Round trips are timed one by one.

use super::super::Failure;
use super::super::case::{Case, Figure, Task};
use super::super::sample::{Aside, Workload};
use super::other;
use canele::{Error, Flow, Job, Request, Tag};
use std::time::Instant;

const URGENT_BYTES: usize = 64;
const STREAM_BYTES: usize = 1 << 20;
const STREAMS: usize = 4;
const HIGHEST: u8 = 7;
const TRIPS: u32 = 200;
const ALONE: &str = "urgent round trip alone";
const BESIDE: &str = "urgent round trip beside 4 streams";

const DATA: Tag = Tag(1);
/// The tag of the message with the number of messages of each stream.
const END: Tag = Tag(2);

pub struct Priority {
    urgent: Flow,
    streams: Vec<Flow>,
    aside: Aside,
    cases: Vec<Case>,
}

/// One stream, at either end: the message under way and the number of messages.
struct PriorityStream<'a> {
    flow: &'a Flow,
    under_way: Option<Request<u8>>,
    count: u32,
}

impl PriorityStream<'_> {
    /// Starts the next message, sent or received, once the last one has ended. Returns true if it has started
    /// one.
    fn go_on(&mut self, sends: bool) -> Result<bool, Error> {
        let buffer = match self.under_way.take() {
            None => vec![1; STREAM_BYTES],
            Some(mut request) => {
                if !request.test()? {
                    self.under_way = Some(request);
                    return Ok(false);
                }
                self.count += 1;
                request.wait()?.1
            }
        };
        let peer = other(self.flow);
        let next = match sends {
            true => self.flow.isend(peer, DATA, buffer)?,
            false => self.flow.irecv(peer, DATA, buffer)?,
        };
        self.under_way = Some(next);
        Ok(true)
    }
}

impl Priority {
    pub fn new(job: &Job, task: &Task) -> Result<Priority, Failure> {
        let trips = task.iterations.unwrap_or(TRIPS).max(2);
        let case = |operation: &str, flows| Case {
            operation: Some(operation.to_owned()),
            flows: Some(flows),
            packs: Some(1),
            batches: 1,
            ..Case::of_bytes(URGENT_BYTES, Figure::Time, trips, vec![])
        };
        let cases = [case(ALONE, 1), case(BESIDE, 1 + STREAMS as u32)];
        let cases = cases.into_iter().flat_map(|case| case.under_each(task)).collect();
        let urgent = job.world().duplicate()?;
        urgent.set_priority(HIGHEST)?;
        let streams = (0..STREAMS).map(|_| job.world().duplicate()).collect::<Result<_, _>>()?;
        Ok(Priority { urgent, streams, aside: Aside::default(), cases })
    }

    fn streams(&self, count: usize) -> Vec<PriorityStream<'_>> {
        self.streams[..count].iter().map(|flow| PriorityStream { flow, under_way: None, count: 0 }).collect()
    }

    /// Rank 0: keeps the streams running and times urgent round trips among them.
    fn ask(&self, trips: u32, count: usize) -> Result<Aside, Error> {
        let (peer, mut streams, mut each) = (other(&self.urgent), self.streams(count), Vec::new());
        let begin = Instant::now();
        // The first round trip starts before the streams run.
        for trip in 0..=trips {
            streams.iter_mut().try_for_each(|stream| stream.go_on(true).map(drop))?;
            let asked = Instant::now();
            let mut answer = self.urgent.irecv(peer, DATA, vec![0u8; URGENT_BYTES])?;
            let question = self.urgent.isend(peer, DATA, vec![1u8; URGENT_BYTES])?;
            while !answer.test()? {
                streams.iter_mut().try_for_each(|stream| stream.go_on(true).map(drop))?;
            }
            if trip > 0 {
                each.push(asked.elapsed().as_nanos() as f64);
            }
            question.wait()?;
        }
        let mut counts = [0u32; STREAMS];
        for (stream, count) in streams.iter_mut().zip(&mut counts) {
            *count = stream.count + 1;
        }
        self.urgent.send(peer, END, &counts)?;
        for stream in streams {
            stream.under_way.map(Request::wait).transpose()?;
        }
        self.urgent.recv::<u8>(peer, END, &mut [])?;
        let bytes = counts[..count].iter().map(|count| u64::from(*count)).sum::<u64>() * STREAM_BYTES as u64;
        let rate = (count > 0).then(|| bytes as f64 / begin.elapsed().as_nanos() as f64);
        Ok(Aside { each, streams: rate, ..Aside::default() })
    }

    /// Rank 1: receives the streams and answers urgent messages.
    fn answer(&self, count: usize) -> Result<(), Error> {
        let (peer, mut streams) = (other(&self.urgent), self.streams(count));
        let mut urgent = self.urgent.irecv(peer, DATA, vec![0u8; URGENT_BYTES])?;
        let mut end = self.urgent.irecv(peer, END, vec![0u32; STREAMS])?;
        while !end.test()? {
            streams.iter_mut().try_for_each(|stream| stream.go_on(false).map(drop))?;
            if urgent.test()? {
                let (_, buffer) = urgent.wait()?;
                self.urgent.send(peer, DATA, &buffer)?;
                urgent = self.urgent.irecv(peer, DATA, buffer)?;
            }
        }
        let (_, counts) = end.wait()?;
        for (stream, count) in streams.iter_mut().zip(counts) {
            while stream.count < count {
                stream.go_on(false)?;
            }
        }
        // The remaining posted receives have no message and are withdrawn.
        drop((urgent, streams));
        self.urgent.send::<u8>(peer, END, &[])
    }
}

impl Workload for Priority {
    fn cases(&self) -> Vec<Case> {
        self.cases.clone()
    }

    fn batch(&mut self, case: &Case) -> Result<f64, Failure> {
        let streams = case.flows.unwrap_or(1) as usize - 1;
        if self.urgent.rank().0 == 1 {
            self.answer(streams)?;
            return Ok(0.0);
        }
        self.aside = self.ask(case.iterations, streams)?;
        Ok(super::super::statistics::median(&self.aside.each))
    }

    fn aside(&mut self) -> Aside {
        std::mem::take(&mut self.aside)
    }
}
