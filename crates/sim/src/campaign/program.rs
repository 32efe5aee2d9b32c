//! Random programs: the actions of each rank in their order, drawn from a seed, and made smaller to find the
//! cause of a failure.

use crate::fault::Rates;
use crate::world::{Cut, Model, Random, Topology, When, Wormhole};
use canele_proto::Settings;
use canele_proto::matching::Want;
use canele_proto::request::Mode;
use canele_rail::Distance;
use canele_sys::ids::{FlowId, Rank, Tag};
use canele_sys::tunables::STRATEGIES;

use super::{Packets, Setup};

/// The place of a message's bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Memory {
    Plain,
    /// A list of this many pieces of memory.
    List(usize),
    Region,
}

#[derive(Clone, Copy, Debug)]
pub enum Action {
    Send {
        to: Rank,
        flow: FlowId,
        tag: Tag,
        mode: Mode,
        len: usize,
        memory: Memory,
        /// True if the short path is tried first.
        short: bool,
    },
    Receive {
        flow: FlowId,
        want: Want,
        room: usize,
        memory: Memory,
        short: bool,
    },
    Probe {
        flow: FlowId,
        want: Want,
    },
    /// Takes a message, for a later `ReceiveMatched` to receive.
    MatchedProbe {
        flow: FlowId,
        want: Want,
    },
    ReceiveMatched {
        room: usize,
        memory: Memory,
    },
    /// Cancels one of the rank's operations under way, chosen by `which`.
    Cancel {
        which: usize,
    },
}

#[derive(Clone, Debug)]
pub struct Program {
    pub seed: u64,
    pub settings: Settings,
    /// The networks, one for each rail.
    pub networks: Vec<Model>,
    pub strategy: String,
    pub packets: Packets,
    /// The actions of each rank.
    pub actions: Vec<Vec<Action>>,
    /// The rank that dies, the steps until then, and the steps from then to its report to the others.
    pub death: Option<(Rank, usize, usize)>,
    /// Connections that are lost.
    pub cuts: Vec<Cut>,
    /// True if every rank has an observer of messages.
    pub observed: bool,
}

/// The number of programs of which one is observed.
const OBSERVED: u64 = 4;
const FLOWS: usize = 2;
const TAGS: usize = 3;

impl Program {
    pub fn new(seed: u64, setup: &Setup) -> Self {
        let mut random = Random(seed);
        let r = &mut random;
        let deadly = setup.faults.deaths && !setup.faults.packets;
        let ranks = setup.ranks.unwrap_or_else(|| r.pick(&[2, 2, 3, 4]) + usize::from(deadly));
        let strategy = setup.strategy.clone().unwrap_or_else(|| r.pick(STRATEGIES).into());
        let networks = networks(r, setup);
        let packets = if setup.faults.packets { Packets::Mended(rates(r)) } else { Packets::Well };
        let settings = Settings {
            eager_bytes: r.pick(&[64, 1000, 4096, 16 << 10]),
            piece_bytes: r.pick(&[512, 4096, 64 << 10]),
            unexpected_bytes: r.pick(&[0, 4 << 10, 64 << 10, 64 << 20]),
        };
        let actions = vec![Vec::new(); ranks];
        let (death, cuts, observed) = (None, Vec::new(), seed.is_multiple_of(OBSERVED));
        let mut program =
            Self { seed, settings, networks, strategy, packets, actions, death, cuts, observed };
        let most = if r.chance(20) { 120 } else { 40 };
        let messages = 1 + r.below(most);
        // In the packets of a bad rail a huge message would take too long.
        let huge = r.chance(3) && !setup.faults.packets;
        let mut lens = vec![Vec::new(); ranks];
        for n in 0..messages {
            let from = r.below(ranks);
            let to = if r.chance(10) { from } else { r.below(ranks) };
            let len = if huge && n < 2 { 8 << 20 } else { program.size(r) };
            lens[to].push(len);
            program.actions[from].push(send(r, to, len));
        }
        for (rank, lens) in lens.iter().enumerate() {
            program.receives(r, rank, lens);
        }
        if deadly {
            program.death = Some((Rank(r.below(ranks) as u32), r.below(messages * 12), r.below(60)));
        }
        if setup.faults.losses {
            program.cuts = (0..1 + r.below(4)).map(|_| cut(r, ranks, program.networks.len())).collect();
        }
        program
    }

    /// Returns a length, weighted towards small ones and those at which protocols change.
    fn size(&self, r: &mut Random) -> usize {
        let most = self.networks.iter().map(|model| model.payload / 4).min().unwrap_or(0);
        let eager = self.settings.eager_bytes.min(most);
        let piece = self.settings.piece_bytes.min(most);
        match r.below(20) {
            0..6 => r.pick(&[0, 1, 7, 8, 47, 48, 49]),
            6..9 => r.below(256),
            9..12 => r.pick(&[eager - 1, eager, eager + 1]),
            12..15 => r.pick(&[2 * piece - 1, 2 * piece, 2 * piece + 1, 5 * piece]),
            15..17 => (16 << 10) * r.below(5) + r.pick(&[0, 1, 4095]),
            17..19 => r.below(64 << 10),
            _ => r.below(600 << 10),
        }
    }

    /// Adds about as many receives as messages, in between the rank's own sends.
    fn receives(&mut self, r: &mut Random, rank: usize, lens: &[usize]) {
        let ranks = self.actions.len();
        let most = lens.iter().copied().max().unwrap_or(0);
        for &len in lens {
            let room = if r.chance(15) { r.below(most + 1) } else { r.pick(&[len, most, most]) };
            let (flow, want, memory) = (flow(r), want(r, ranks), memory(r));
            let mut new = match r.below(20) {
                0 => vec![],
                1..3 => {
                    vec![Action::MatchedProbe { flow, want }, Action::ReceiveMatched { room: most, memory }]
                }
                _ => vec![Action::Receive { flow, want, room, memory, short: r.chance(20) }],
            };
            if r.chance(15) {
                new.push(Action::Probe { flow, want });
            }
            if r.chance(12) {
                new.push(Action::Cancel { which: r.below(1000) });
            }
            let mine = &mut self.actions[rank];
            let mut at = r.below(mine.len() + 1);
            for action in new {
                mine.insert(at, action);
                at += 1 + r.below(mine.len() - at);
            }
        }
    }

    /// Returns programs that do less: without a stretch of a rank's actions, or with fewer bytes.
    pub fn smaller(&self) -> Vec<Self> {
        let mut smaller = Vec::new();
        for rank in 0..self.actions.len() {
            let n = self.actions[rank].len();
            let mut size = n;
            while size > 0 {
                for start in (0..n).step_by(size) {
                    let mut less = self.clone();
                    less.actions[rank].drain(start..(start + size).min(n));
                    smaller.push(less);
                }
                size /= 2;
            }
        }
        smaller
    }
}

/// Returns the networks of the setup, or random ones, with as much room on their links as the seed says.
fn networks(r: &mut Random, setup: &Setup) -> Vec<Model> {
    let several = setup.networks.len() > 1 || setup.networks.is_empty() && r.chance(30);
    let mut networks = setup.networks.clone();
    while networks.is_empty() || setup.networks.is_empty() && several && networks.len() < 2 {
        networks.push(Model {
            bytes_per_ms: r.pick(&[100_000, 10_000_000, 50_000_000]),
            latency_ns: r.pick(&[1000, 1000, 20_000]),
            recoverable: r.chance(30),
            busy: r.chance(30),
            topology: topology(r),
            ..Model::default()
        });
    }
    let payload = r.pick(&[1 << 10, 16 << 10, 16 << 10, 256 << 10]);
    for model in &mut networks {
        // A packet sent over one network must fit on another.
        model.payload = payload;
        model.cells = r.pick(&[2, 4, 8, 64]);
        model.best_packet = model.best_packet.min(model.payload / 4);
        model.jitter_ns = r.pick(&[0, 500, 5000]);
        model.region_misses = r.below(4) as u32;
        model.fetched_percent = r.pick(&[0, 60]);
        model.recoverable |= several || setup.faults.losses;
        model.verbs = r.chance(40);
        if model.recoverable || model.verbs && r.chance(70) {
            model.maps_regions = false;
        }
        model.distance = r.pick(&[Distance::Host, Distance::Network]);
        model.shows_bulk = r.chance(40);
    }
    networks
}

fn topology(r: &mut Random) -> Topology {
    match r.below(4) {
        0 | 1 => Topology::Direct,
        2 => Topology::Crossbar,
        _ => Topology::Wormhole(Wormhole {
            ports: 5,
            hosts: 1,
            flit_bytes: 64,
            buffer_flits: 1 + r.below(4) as u32,
            router_ns: 150,
            credit_ns: 50,
            bytes_per_ms: r.pick(&[1_000_000, 10_000_000]),
        }),
    }
}

fn rates(r: &mut Random) -> Rates {
    Rates {
        drop: r.below(25),
        double: r.below(25),
        hold: r.below(40),
        window: 1 + r.below(8),
        corrupt: r.below(25),
        kill: 0,
    }
}

/// Returns the loss of some connection, which at least one of its ends notices by itself.
fn cut(r: &mut Random, ranks: usize, networks: usize) -> Cut {
    let one = r.below(ranks);
    let other = (one + 1 + r.below(ranks - 1)) % ranks;
    let when = match r.below(3) {
        0 => When::At(r.up_to(300_000)),
        1 => When::Packets(1 + r.up_to(60)),
        _ => When::Bytes(1 + r.up_to(50_000)),
    };
    let second = (!r.chance(40)).then(|| r.up_to(30_000));
    Cut {
        network: r.below(networks) as u8,
        ends: [one, other].map(|rank| Rank(rank as u32)),
        when,
        notices_ns: [Some(r.up_to(30_000)), second],
    }
}

fn send(r: &mut Random, to: usize, len: usize) -> Action {
    let mode = r.pick(&[Mode::Standard, Mode::Standard, Mode::Expected, Mode::Synchronous, Mode::Ready]);
    let short = r.chance(30);
    Action::Send { to: Rank(to as u32), flow: flow(r), tag: tag(r), mode, len, memory: memory(r), short }
}

fn flow(r: &mut Random) -> FlowId {
    FlowId(r.below(FLOWS) as u32)
}

fn tag(r: &mut Random) -> Tag {
    Tag(r.below(TAGS) as u32)
}

fn want(r: &mut Random, ranks: usize) -> Want {
    let source = (!r.chance(35)).then(|| Rank(r.below(ranks) as u32));
    let tag = (!r.chance(35)).then(|| tag(r));
    Want { source, tag }
}

fn memory(r: &mut Random) -> Memory {
    match r.below(10) {
        0..4 => Memory::Plain,
        4..6 => Memory::List(1 + r.below(4)),
        _ => Memory::Region,
    }
}
