//! One case: an operation of so many ranks on a network, what it is checked for, and what is measured of it.

use std::time::Instant;

use canele_collective::{
    Buffers, CollectiveBuffer, CollectiveRequest, Op, Operation, Reduction, Root, Shape,
};
use canele_engine::FlowId;
use canele_mem::buffer::Divided;
use canele_profile::HostProfile;
use canele_proto::choice::eager_bytes;
use canele_proto::{Proto, Settings};
use canele_sys::ids::Rank;
use canele_sys::tunables::Tunables;
use indicatif::ProgressBar;
use serde::{Serialize, Serializer};

use super::crowd::{Crowd, Net, Trouble, protos, setup_ns};
use super::memory::change_of;
use crate::sim::arguments::{Network, ScaleOperation};

const FLOW: FlowId = FlowId(1);

/// What is to be done.
pub struct ScaleCase<'a> {
    pub network: &'a Network,
    pub ranks: usize,
    pub operation: ScaleOperation,
    /// Of a block.
    pub bytes: usize,
}

/// What was measured.
#[derive(Serialize)]
pub struct ScaleRow {
    pub ranks: usize,
    #[serde(serialize_with = "in_a_word")]
    pub operation: ScaleOperation,
    pub network: String,
    pub virtual_ns: u64,
    /// What as many messages one after the other as the algorithm has rounds would take in an idle network.
    pub rounds_ns: u64,
    pub messages: u64,
    pub events: u64,
    pub wall_s: f64,
    /// Of the protocols, before and after; of the simulated network and rails. None where allocations are not counted.
    pub idle_bytes: Option<u64>,
    pub state_bytes: Option<u64>,
    pub net_bytes: Option<u64>,
}

fn in_a_word<S: Serializer>(operation: &ScaleOperation, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(operation)
}

impl ScaleRow {
    /// As one JSON object.
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("it has no unencodable part")
    }
}

impl ScaleCase<'_> {
    pub fn run(&self, bar: &ProgressBar) -> Result<ScaleRow, Trouble> {
        let (ranks, model) = (self.ranks, &self.network.model);
        let mut idle = Vec::new();
        let per_rank = |bytes: Option<u64>| bytes.map(|bytes| bytes / ranks as u64);
        let idle_bytes = per_rank(change_of(|| idle = protos(ranks, settings())));
        let mut crowd = Crowd { protos: idle, net: Net::new(ranks, model) };
        if self.operation != ScaleOperation::Connect {
            self.once(&mut crowd, 0, bar)?; // It opens the connections.
        }
        let (messages, events) = (sent(&crowd.protos), crowd.net.world.events());
        let (virtual_ns, wall_s) = self.once(&mut crowd, 1, bar)?;
        let messages = sent(&crowd.protos) - messages;
        let events = crowd.net.world.events() - events;
        let Crowd { protos, net } = crowd;
        let net_bytes = per_rank(change_of(|| drop(net)));
        let state_bytes = per_rank(change_of(|| drop(protos)));
        let (operation, network) = (self.operation, self.network.name.clone());
        let rounds_ns = self.rounds_ns();
        Ok(ScaleRow {
            ranks,
            operation,
            network,
            virtual_ns,
            rounds_ns,
            messages,
            events,
            wall_s,
            idle_bytes,
            state_bytes,
            net_bytes,
        })
    }

    /// Runs and checks it; gives its virtual time and ours.
    fn once(&self, crowd: &mut Crowd, call: u32, bar: &ProgressBar) -> Result<(u64, f64), Trouble> {
        let mut requests: Vec<_> = crowd.protos.iter().map(|proto| self.request(proto, call)).collect();
        let (begin_ns, start) = (crowd.net.world.now_ns(), Instant::now());
        let end_ns = crowd.run(&mut requests, |world| {
            let (events, us) = (world.events() as f64 / 1e6, world.now_ns() / 1000);
            bar.set_message(format!(
                "{} of {} ranks: {events:.1} M events, {us} µs",
                self.operation, self.ranks
            ));
            bar.tick();
        })?;
        let wall_s = start.elapsed().as_secs_f64();
        let sums = self.sums();
        let is_right =
            |(rank, request): &(Rank, &CollectiveRequest)| self.is_right(*rank, request.output(), &sums);
        let wrong = (0..).map(Rank).zip(&requests).find(|of_rank| !is_right(of_rank));
        match wrong {
            Some((rank, _)) => Err(Trouble::Wrong(rank)),
            None => Ok((end_ns - begin_ns, wall_s)),
        }
    }

    fn request(&self, proto: &Proto, call: u32) -> CollectiveRequest {
        let (me, ranks) = (proto.me().0 as usize, self.ranks);
        let words = self.bytes / 8;
        let fill = |to: usize| (0..words).flat_map(move |n| word(me, to, n).to_le_bytes());
        let (operation, input, output) = match self.operation {
            ScaleOperation::Connect | ScaleOperation::Barrier => (Operation::Barrier, Vec::new(), Vec::new()),
            ScaleOperation::Broadcast => {
                let output = if me == 0 { fill(0).collect() } else { vec![0; words * 8] };
                (Operation::Broadcast(Root::At(0)), Vec::new(), output)
            }
            ScaleOperation::Allreduce => (Operation::Allreduce, fill(0).collect(), vec![0; words * 8]),
            ScaleOperation::Alltoall => {
                let input = (0..ranks).flat_map(fill).collect();
                (Operation::Alltoall, input, vec![0; ranks * words * 8])
            }
        };
        let shape = Shape { element: 8, ..Shape::new(operation, words * 8) };
        let own = |bytes: Vec<u8>| CollectiveBuffer::Own(Box::new(Divided::from(&bytes[..])));
        let buffers = Buffers { input: own(input), output: own(output) };
        CollectiveRequest::new(proto, (FLOW, call), None, shape, Some(Reduction::of::<u64>(Op::Sum)), buffers)
            .expect("an operation without lists or roots")
    }

    fn is_right(&self, me: Rank, output: &[u8], sums: &[u64]) -> bool {
        let (me, words) = (me.0 as usize, self.bytes / 8);
        let mut got =
            output.chunks_exact(8).map(|word| word.iter().rev().fold(0, |w, b| w << 8 | u64::from(*b)));
        match self.operation {
            ScaleOperation::Connect | ScaleOperation::Barrier => true,
            ScaleOperation::Broadcast => (0..words).all(|n| got.next() == Some(word(0, 0, n))),
            ScaleOperation::Allreduce => got.eq(sums.iter().copied()),
            ScaleOperation::Alltoall => {
                (0..self.ranks).all(|from| (0..words).all(|n| got.next() == Some(word(from, me, n))))
            }
        }
    }

    /// What an allreduce gives: the sums of all ranks' words.
    fn sums(&self) -> Vec<u64> {
        let sum = |n| (0..self.ranks).fold(0, |sum: u64, rank| sum.wrapping_add(word(rank, 0, n)));
        let words = if self.operation == ScaleOperation::Allreduce { self.bytes / 8 } else { 0 };
        (0..words).map(sum).collect()
    }

    fn rounds_ns(&self) -> u64 {
        let (ranks, model) = (self.ranks, &self.network.model);
        let rounds = u64::from(ranks.next_power_of_two().ilog2());
        rounds
            * match self.operation {
                ScaleOperation::Connect => setup_ns(model) + model.idle_ns(0),
                ScaleOperation::Barrier => model.idle_ns(0),
                ScaleOperation::Broadcast | ScaleOperation::Allreduce => model.idle_ns(self.bytes as u64),
                ScaleOperation::Alltoall => model.idle_ns((self.bytes * ranks / 2) as u64),
            }
    }
}

/// Another one for every pair and place.
fn word(from: usize, to: usize, n: usize) -> u64 {
    ((from as u64) << 40 | (to as u64) << 16 | n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn sent(protos: &[Proto]) -> u64 {
    protos.iter().flat_map(|proto| &proto.traffic.sent).map(|moved| moved.messages).sum()
}

fn settings() -> Settings {
    let tunables = Tunables::default();
    Settings {
        eager_bytes: eager_bytes(tunables.eager_bytes, &HostProfile::SHARED_CACHES),
        piece_bytes: tunables.piece_bytes,
        unexpected_bytes: tunables.unexpected_bytes as u64,
    }
}
