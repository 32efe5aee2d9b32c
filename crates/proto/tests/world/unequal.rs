//! Rails of different speeds, both ends real protocols. The tests measure the spread of a large message over
//! them and the time of an urgent one beside large ones. On virtual time the figures never vary.

use canele_mem::buffer::Owned;
use canele_proto::backlog::RailPolicy;
use canele_proto::matching::Want;
use canele_proto::request::Buffer;
use canele_proto::{Envelope, Proto, Settings};
use canele_rail::{Distance, Rail};
use canele_sim::world::{Model, SimRail, World};
use canele_sys::ids::{FlowId, LinkId, Rank, RequestId, Tag};

const SENDER: usize = 0;
const RECEIVER: usize = 1;
const TAG: Tag = Tag(1);
const MEGABYTE: usize = 1 << 20;
/// Speeds of networks of 1000, 500 and 100 Mbit/s, in bytes per millisecond.
const SPEEDS: [u64; 3] = [125_000, 62_500, 12_500];

struct Pair {
    world: World,
    protos: [Proto; 2],
    rails: [SimRail; 2],
    /// The last time at which each link had bytes under way.
    ends_ns: Vec<u64>,
}

/// A message under way, at both ends.
struct Message {
    send: RequestId,
    receive: RequestId,
    memory: [Owned<u8>; 2],
}

impl Pair {
    /// Makes a pair whose links open in this order.
    fn new(strategy: &str, speeds: &[u64]) -> Self {
        let model = |bytes_per_ms| Model {
            latency_ns: 20_000,
            bytes_per_ms,
            overhead_ns: 2000,
            recoverable: true,
            distance: Distance::Network,
            busy: true,
            maps_regions: false,
            ..Model::default()
        };
        let models: Vec<Model> = speeds.iter().copied().map(model).collect();
        let world = World::new(2, &models, 1);
        let settings = Settings { eager_bytes: 16 << 10, piece_bytes: 16 << 10, unexpected_bytes: 1 << 30 };
        let mut rails = [0, 1].map(|rank| world.rail(Rank(rank)));
        let mut protos = [0, 1].map(|rank| Proto::new(Rank(rank), 2, settings));
        for (me, (proto, rail)) in protos.iter_mut().zip(&mut rails).enumerate() {
            proto.set_strategy(canele_proto::strategy::named(strategy).expect("a strategy"));
            for network in 0..speeds.len() as u8 {
                let other = Rank(1 - me as u32);
                let link = rail.open_link(network, other);
                proto.link_opened(rail, other, link);
            }
        }
        rails.iter_mut().for_each(SimRail::accept);
        Self { world, protos, rails, ends_ns: vec![0; speeds.len()] }
    }

    fn start(&mut self, flow: FlowId, bytes: usize) -> Message {
        let mut memory = [1, 0].map(|byte| Owned::new(vec![byte; bytes]));
        let want = Want { source: Some(Rank(0)), tag: Some(TAG) };
        let receive = self.protos[RECEIVER].submit_recv(flow, want, memory[RECEIVER].lend_in());
        let (proto, rail) = (&mut self.protos[SENDER], &mut self.rails[SENDER]);
        let send = proto.submit_send(rail, Envelope::new(Rank(1), flow, TAG), memory[SENDER].lend_out());
        Message { send, receive, memory }
    }

    /// Passes until nothing moves, then advances the time.
    fn go_on(&mut self) {
        loop {
            let passes = self.protos.iter_mut().zip(&mut self.rails).map(|(proto, rail)| proto.pass(rail));
            if passes.filter(|moved| *moved).count() == 0 {
                break;
            }
        }
        for (network, end_ns) in self.ends_ns.iter_mut().enumerate() {
            if self.rails[SENDER].speed(LinkId::new(network as u8, Rank(1))).under_way > 0 {
                *end_ns = self.world.now_ns();
            }
        }
        self.world.advance().expect("something is under way");
    }

    /// Passes until the message is there.
    fn finish(&mut self, message: Message) {
        let Message { send, receive, memory: [mut from, mut to] } = message;
        for _ in 0..100_000 {
            if let Some(outcome) = self.protos[RECEIVER].take(receive) {
                assert!(outcome.result.is_ok(), "{:?}", outcome.result);
                let Buffer::In(buffer) = outcome.buffer else { panic!("a receive gives its buffer back") };
                to.take_back_in(buffer);
                break;
            }
            self.go_on();
        }
        for _ in 0..100_000 {
            if let Some(outcome) = self.protos[SENDER].take(send) {
                let Buffer::Out(buffer) = outcome.buffer else { panic!("a send gives its buffer back") };
                from.take_back_out(buffer);
                break;
            }
            self.go_on();
        }
        assert_eq!(from.bytes(), to.bytes());
    }
}

/// Returns the time of the bytes if all rails were busy to the end.
fn ideal_ns(bytes: usize, speeds: &[u64]) -> u64 {
    bytes as u64 * 1_000_000 / speeds.iter().sum::<u64>()
}

#[test]
fn unequal_rails_end_together() {
    for strategy in ["split", "priority", "aggregate"] {
        // In each order in which they may be asked.
        for speeds in [[0, 1, 2], [2, 1, 0], [1, 2, 0]].map(|order| order.map(|n: usize| SPEEDS[n])) {
            for megabytes in [4, 16] {
                let mut pair = Pair::new(strategy, &speeds);
                let message = pair.start(FlowId(1), megabytes * MEGABYTE);
                pair.finish(message);
                let (first, last) = (pair.ends_ns.iter().min().unwrap(), pair.ends_ns.iter().max().unwrap());
                let ideal_ns = ideal_ns(megabytes * MEGABYTE, &speeds);
                let what = format!("{strategy}, {megabytes} MB over {speeds:?}: {:?}", pair.ends_ns);
                assert!(last - first <= ideal_ns * 2 / 100, "{what} of {ideal_ns}");
                assert!(*last <= ideal_ns * 103 / 100, "{what} of {ideal_ns}");
            }
        }
    }
}

#[test]
fn a_rail_that_would_end_last_gets_nothing_of_a_message() {
    let mut pair = Pair::new("split", &[125_000, 250]);
    let message = pair.start(FlowId(1), 64 << 10);
    pair.finish(message);
    assert_eq!(pair.ends_ns[1], 0, "the slow rail carried something");
}

/// Returns the longest time of an urgent message beside four streams of large messages and many short ones.
fn urgent_ns(strategy: &str, speeds: &[u64]) -> u64 {
    let mut pair = Pair::new(strategy, speeds);
    let urgent = FlowId(9);
    pair.protos.iter_mut().for_each(|proto| proto.set_flow(urgent, 7, RailPolicy::Any));
    let mut longest_ns = 0;
    for _ in 0..8 {
        let mut others: Vec<_> = (1..5).map(|flow| pair.start(FlowId(flow), MEGABYTE)).collect();
        (0..40).for_each(|_| pair.go_on());
        others.extend((0..100).map(|n| pair.start(FlowId(20 + n % 5), 12 << 10)));
        let begin_ns = pair.world.now_ns();
        let message = pair.start(urgent, 64);
        pair.finish(message);
        longest_ns = longest_ns.max(pair.world.now_ns() - begin_ns);
        others.into_iter().for_each(|message| pair.finish(message));
    }
    longest_ns
}

#[test]
fn an_urgent_message_waits_for_what_has_left_and_nothing_else() {
    for speeds in [&SPEEDS[..], &SPEEDS[..1]] {
        let [fifo, aggregate, priority, split] =
            ["fifo", "aggregate", "priority", "split"].map(|strategy| urgent_ns(strategy, speeds));
        // The packets that a link holds may be under way.
        let held_ns = (256 << 10) * 1_000_000 / SPEEDS[0];
        for ours in [priority, split] {
            assert!(ours <= held_ns * 11 / 10, "{ours} of {held_ns} ns over {speeds:?}");
            assert!(2 * ours < fifo.min(aggregate), "{ours}, fifo {fifo}, aggregate {aggregate}");
        }
    }
}
