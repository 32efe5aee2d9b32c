//! Measures parallel ping-pongs (NewMadeleine's multiplexing): on several flows at once a message of several
//! packs travels both ways. The time is that of one pack one way.

use super::super::Failure;
use super::super::case::{Case, Figure, Task};
use super::super::sample::Workload;
use super::other;
use canele::{Endpoint, Error, Flow, Job, Request, Tag, wait_all};
use std::time::Instant;

const SIZES: [usize; 5] = [4, 64, 1 << 10, 8 << 10, 64 << 10];
const FLOWS: [u32; 4] = [1, 2, 4, 16];
const PACKS: [u32; 4] = [1, 4, 16, 32];
/// Number of packs per round.
const SENT: u32 = 20_000;
const PACK: Tag = Tag(1);

pub struct Flows {
    endpoint: Endpoint,
    flows: Vec<Flow>,
    /// Buffers of completed packs.
    spare: Vec<Vec<u8>>,
    cases: Vec<Case>,
}

impl Flows {
    pub fn new(job: &Job, task: &Task) -> Result<Flows, Failure> {
        let or =
            |asked: &[u32], usual: &[u32]| if asked.is_empty() { usual.to_vec() } else { asked.to_vec() };
        let (flows, packs) = (or(&task.flows, &FLOWS), or(&task.packs, &PACKS));
        let mut cases = Vec::new();
        for bytes in task.sizes(&SIZES) {
            for (flows, packs) in
                flows.iter().flat_map(|flows| packs.iter().map(move |packs| (*flows, *packs)))
            {
                let all = flows * packs;
                let rounds = task.iterations((SENT / all).max(1), bytes * all as usize);
                let case = Case {
                    flows: Some(flows),
                    packs: Some(packs),
                    ..Case::of_bytes(bytes, Figure::Time, rounds, vec![])
                };
                cases.extend(case.under_each(task));
            }
        }
        let most = flows.iter().max().copied().unwrap_or(1);
        let flows = (0..most).map(|_| job.world().duplicate()).collect::<Result<_, _>>()?;
        Ok(Flows { endpoint: job.endpoint().clone(), flows, spare: Vec::new(), cases })
    }

    /// Returns a buffer of `bytes`.
    fn buffer(&mut self, bytes: usize) -> Vec<u8> {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.resize(bytes, 1);
        buffer
    }

    fn send(&mut self, flow: usize, packs: u32, bytes: usize) -> Result<Vec<Request<u8>>, Error> {
        (0..packs)
            .map(|_| {
                let buffer = self.buffer(bytes);
                self.flows[flow].isend(other(&self.flows[flow]), PACK, buffer)
            })
            .collect()
    }

    fn receive(&mut self, flow: usize, packs: u32, bytes: usize) -> Result<Vec<Request<u8>>, Error> {
        (0..packs)
            .map(|_| {
                let buffer = self.buffer(bytes);
                self.flows[flow].irecv(other(&self.flows[flow]), PACK, buffer)
            })
            .collect()
    }

    fn end(&mut self, requests: Vec<Request<u8>>) -> Result<(), Error> {
        self.spare.extend(wait_all(requests)?.into_iter().map(|(_, buffer)| buffer));
        Ok(())
    }

    /// Sends messages on all flows once there and back.
    fn round_trip(&mut self, flows: usize, packs: u32, bytes: usize) -> Result<(), Error> {
        let begins = self.flows[0].rank().0 == 0;
        let coming: Vec<_> =
            (0..flows).map(|flow| self.receive(flow, packs, bytes)).collect::<Result<_, _>>()?;
        let mut sent = Vec::new();
        for flow in (0..flows).filter(|_| begins) {
            sent.extend(self.send(flow, packs, bytes)?);
        }
        for (flow, message) in coming.into_iter().enumerate() {
            self.end(message)?;
            if !begins {
                sent.extend(self.send(flow, packs, bytes)?);
            }
        }
        self.end(sent)
    }
}

impl Workload for Flows {
    fn cases(&self) -> Vec<Case> {
        self.cases.clone()
    }

    fn batch(&mut self, case: &Case) -> Result<f64, Failure> {
        let (flows, packs) = (case.flows.unwrap_or(1), case.packs.unwrap_or(1));
        let begin = Instant::now();
        for _ in 0..case.iterations {
            self.round_trip(flows as usize, packs, case.bytes.unwrap_or(0))?;
        }
        let packs = 2.0 * f64::from(flows) * f64::from(packs) * f64::from(case.iterations);
        Ok(begin.elapsed().as_nanos() as f64 / packs)
    }

    fn protocol(&self, case: &Case) -> Option<String> {
        super::protocol(&self.endpoint, case)
    }
}
