//! One case: an operation of many ranks on a network, its checks, and its measurements.

use std::sync::Arc;
use std::time::Instant;

use canele_collective::{
    Algorithm, Buffers, CollectiveBuffer, CollectiveRequest, CollectiveSpec, Op, Reduction, Schedule, Shape,
};
use canele_engine::FlowId;
use canele_mem::buffer::Divided;
use canele_proto::choice::eager_bytes;
use canele_proto::{Proto, Settings};
use canele_sys::ids::{Rank, Tag};
use canele_sys::tunables::Tunables;
use indicatif::ProgressBar;
use serde::{Serialize, Serializer};

use super::crowd::{Crowd, Net, Trouble, protos};
use super::data::Data;
use super::memory::change_of;
use super::placing::{HOST, Placing};
use crate::sim::arguments::{Network, ScaleOperation};

const FLOW: FlowId = FlowId(1);

/// A case to run.
pub struct ScaleCase<'a> {
    pub network: &'a Network,
    pub ranks: usize,
    /// Number of ranks on each host; the last one may have fewer.
    pub per_host: usize,
    pub operation: ScaleOperation,
    /// Bytes of a block.
    pub bytes: usize,
    pub algorithm: Option<Algorithm>,
}

/// The measurements of a case.
#[derive(Serialize)]
pub struct ScaleRow {
    pub ranks: usize,
    pub per_host: usize,
    #[serde(serialize_with = "in_a_word")]
    pub operation: ScaleOperation,
    pub network: String,
    pub virtual_ns: u64,
    /// The estimate of the model: successive messages for the rounds of doubling, and the bytes of the
    /// busiest port.
    pub model_ns: u64,
    pub messages: u64,
    /// Number of messages between hosts among `messages`.
    pub between: u64,
    pub events: u64,
    pub wall_s: f64,
    /// Memory of the protocols, before and after, and of the simulated network and rails. None if allocations
    /// are not counted.
    pub idle_bytes: Option<u64>,
    pub state_bytes: Option<u64>,
    pub net_bytes: Option<u64>,
}

fn in_a_word<S: Serializer>(operation: &ScaleOperation, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(operation)
}

impl ScaleRow {
    /// Returns one JSON object.
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("it has no unencodable part")
    }
}

impl ScaleCase<'_> {
    pub fn run(&self, bar: &ProgressBar) -> Result<ScaleRow, Trouble> {
        let ranks = self.ranks;
        let mut idle = Vec::new();
        let per_rank = |bytes: Option<u64>| bytes.map(|bytes| bytes / ranks as u64);
        let placing = Placing::new(&self.network.model, ranks, self.per_host, self.algorithm);
        let idle_bytes = per_rank(change_of(|| idle = protos(ranks, settings())));
        let mut crowd = Crowd { protos: idle, net: Net::new(&placing) };
        if self.operation != ScaleOperation::Connect {
            self.once(&mut crowd, &placing, 0, bar)?; // This run opens the connections.
        }
        let (messages, events) = (sent(&crowd.protos), crowd.net.world.events());
        let between = crowd.net.between_hosts();
        let (virtual_ns, wall_s) = self.once(&mut crowd, &placing, 1, bar)?;
        let messages = sent(&crowd.protos) - messages;
        let between = crowd.net.between_hosts() - between;
        let events = crowd.net.world.events() - events;
        let Crowd { protos, net } = crowd;
        let net_bytes = per_rank(change_of(|| drop(net)));
        let state_bytes = per_rank(change_of(|| drop(protos)));
        let (operation, network) = (self.operation, self.network.name.clone());
        let model_ns = placing.model_ns(operation, self.bytes as u64);
        Ok(ScaleRow {
            ranks,
            per_host: self.per_host,
            operation,
            network,
            virtual_ns,
            model_ns,
            messages,
            between,
            events,
            wall_s,
            idle_bytes,
            state_bytes,
            net_bytes,
        })
    }

    /// Runs and checks the case once; returns its virtual time and the real time.
    fn once(
        &self,
        crowd: &mut Crowd,
        placing: &Placing,
        call: u32,
        bar: &ProgressBar,
    ) -> Result<(u64, f64), Trouble> {
        let data = Data { operation: self.operation, ranks: self.ranks, words: self.bytes / 8 };
        let mut requests: Vec<_> =
            (0..self.ranks).map(|me| self.request(placing, &data, (me, call))).collect();
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
        let is_wrong = |(me, request): &(usize, &CollectiveRequest)| !data.is_right(*me, request.output());
        match requests.iter().enumerate().find(is_wrong) {
            Some((me, _)) => Err(Trouble::Wrong(Rank(me as u32))),
            None => Ok((end_ns - begin_ns, wall_s)),
        }
    }

    fn request(&self, placing: &Placing, data: &Data, (me, call): (usize, u32)) -> CollectiveRequest {
        let shape = Shape { element: 8, ..Shape::new(self.operation.of_members(), data.words * 8) };
        let schedule =
            Schedule::make(placing.seat(me), (None, placing.hosts()), &CollectiveSpec::from(shape))
                .expect("an operation without lists, whose root there is");
        let own = |bytes: Vec<u8>| CollectiveBuffer::Own(Box::new(Divided::from(&bytes[..])));
        let buffers = Buffers { input: own(data.input(me)), output: own(data.output(me)) };
        let reduction = Some(Reduction::of::<u64>(Op::Sum));
        CollectiveRequest::of(Arc::new(schedule), (FLOW, Tag(call)), reduction, buffers)
    }
}

fn sent(protos: &[Proto]) -> u64 {
    protos.iter().flat_map(|proto| &proto.traffic.sent).map(|moved| moved.messages).sum()
}

fn settings() -> Settings {
    let tunables = Tunables::default();
    Settings {
        eager_bytes: eager_bytes(tunables.eager_bytes, &HOST),
        piece_bytes: tunables.piece_bytes,
        unexpected_bytes: tunables.unexpected_bytes as u64,
    }
}
