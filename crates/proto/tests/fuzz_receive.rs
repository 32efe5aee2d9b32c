//! Packets that no honest rank sends, into the receive path: never a panic, never a byte outside of a buffer, and
//! nothing lost between honest ranks.
//!
//! An input is a list of bytes that says what the bad rank sends and what the attacked rank asks for meanwhile. The
//! files in `tests/corpus/receive` are inputs, and so are their mutations, drawn from a seed. `PROTO_SEED=n` runs one
//! seed, `PROTO_SEEDS=n` as many. A failing input is written to the folder for temporary files, and its name told; as
//! a file of the corpus it is run first.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use canele_proto::matching::Want;
use canele_proto::peer::Gone;
use canele_proto::request::{Buffer, Failure, Mode, Outcome};
use canele_proto::{Proto, Settings};
use canele_rail::shm::Region;
use canele_rail::sim::{Model, Random, SimRail, World};
use canele_rail::{Class, Header, Rail};
use canele_sys::buffer::Owned;
use canele_sys::ids::{FlowId, Rank, RequestId, Tag};

const ATTACKED: Rank = Rank(0);
const HONEST: Rank = Rank(1);
const BAD: Rank = Rank(2);
/// The region of the attacked rank, of which its buffers take the middle.
const REGION: usize = 96 << 10;
const MIDDLE: usize = 32 << 10;
const UNTOUCHED: u8 = 0xee;

struct Bytes<'a>(std::slice::Iter<'a, u8>);

impl Bytes<'_> {
    fn next(&mut self) -> Option<usize> {
        self.0.next().map(|byte| *byte as usize)
    }
}

enum Home {
    Owned(Owned<u8>),
    Region,
}

struct Attack {
    world: World,
    proto: Proto,
    rail: SimRail,
    honest: (Proto, SimRail),
    bad: SimRail,
    regions: [Arc<Region>; 2],
    pending: Vec<(RequestId, Home)>,
    /// Words that were in packets to the bad rank: ids and places that are real.
    seen: Vec<u64>,
    /// The honest rank looks at nothing for now, so that what it takes part in stays under way.
    honest_sleeps: bool,
}

/// Messages between the honest ranks under way: of the attacked one (send, receive) and of the other.
struct Exchange {
    good: Vec<u8>,
    ids: [RequestId; 4],
    buffers: [Owned<u8>; 4],
}

impl Attack {
    fn new() -> Self {
        let model = Model { cells: 16, payload: 16 << 10, region_misses: 1, ..Model::default() };
        let settings = Settings { eager_bytes: 2048, piece_bytes: 4096, unexpected_bytes: 64 << 10 };
        let world = World::new(3, &[model], 1);
        let [mut rail, mut honest, mut bad] = [ATTACKED, HONEST, BAD].map(|rank| world.rail(rank));
        let protos = [ATTACKED, HONEST].map(|rank| Proto::new(rank, 3, settings));
        let [proto, honest_proto] = protos;
        let regions = [&mut rail, &mut bad].map(|rail| rail.create_region(REGION).expect("memory"));
        regions[0].window(0, REGION).expect("all of it").write(0, &[UNTOUCHED; REGION]);
        bad.open_link(0, ATTACKED);
        honest.open_link(0, ATTACKED);
        let seen = vec![u64::from(regions[1].id().generation) << 32 | u64::from(regions[1].id().index)];
        let honest = (honest_proto, honest);
        Self { world, proto, rail, honest, bad, regions, pending: Vec::new(), seen, honest_sleeps: false }
    }

    fn round(&mut self) {
        let ranks = [(&mut self.proto, &mut self.rail), (&mut self.honest.0, &mut self.honest.1)];
        for (proto, rail) in ranks.into_iter().take(2 - usize::from(self.honest_sleeps)) {
            rail.accept();
            proto.pass(rail);
            while let Some(peer) = proto.take_wanted() {
                let link = rail.open_link(0, peer);
                proto.link_opened(rail, peer, link);
            }
        }
        while let Some((peer, _)) = self.proto.take_fault() {
            assert_eq!(peer, BAD, "only the bad rank is cut off");
        }
        assert!(self.honest.0.take_fault().is_none(), "the honest rank has nothing to do with it");
        let holding = self.proto.holding();
        // A grant for the bad rank, and what the honest one sends.
        assert!(holding.unexpected_bytes <= self.proto.grant() + 1200, "{holding:?}");
        self.world.advance();
        self.bad_receives();
    }

    fn bad_receives(&mut self) {
        self.bad.accept();
        for link in self.bad.incoming().to_vec() {
            while let Ok(Some(packet)) = self.bad.poll(link) {
                for i in 0..packet.inline.len() / 8 {
                    let mut word = [0; 8];
                    packet.inline.read(8 * i, &mut word);
                    self.seen.push(u64::from_le_bytes(word));
                }
                self.bad.release(link);
            }
        }
    }

    fn word(&self, byte: usize) -> u64 {
        const ODD: [u64; 12] = [
            0,
            1,
            2,
            255,
            4096,
            (MIDDLE as u64) - 1,
            1 << 31,
            1 << 32,
            1 << 63,
            u64::MAX,
            u64::MAX - 7,
            u64::MAX >> 1,
        ];
        match byte {
            0..160 => self.seen[(self.seen.len() - 1).saturating_sub(byte)],
            160..200 => (byte as u64 - 160) * 1024,
            200..216 => 2 | (byte as u64 - 200) << 8 | (byte as u64 - 199) << 32,
            _ => ODD[byte % ODD.len()],
        }
    }

    /// One packet of the bad rank.
    fn send(&mut self, input: &mut Bytes<'_>) -> Option<()> {
        let [kind, flow, tag, len, bulk] = [(); 5].map(|()| input.next().unwrap_or_default());
        let bulk = [0, 0, 1, 64, 700, 2048, 4096][bulk % 7];
        let most = if bulk == 0 { 48 } else { 40 };
        let words: Vec<u64> = (0..6).map_while(|_| input.next()).map(|byte| self.word(byte)).collect();
        let link = self.bad.link(ATTACKED)?;
        let slot = self.bad.claim(link, bulk, Class::Control).ok()?;
        for (i, word) in words.iter().enumerate().take(most / 8) {
            slot.inline.write(8 * i, &word.to_le_bytes());
        }
        slot.bulk.write(0, &vec![0xbb; bulk]);
        let flow = if flow < 200 { flow as u32 % 2 } else { (flow as u32) << (flow % 27) };
        let inline_len = if len < 128 { most } else { (len - 128) % (most + 1) } as u8;
        let tag = if tag < 250 { tag as u32 % 30 } else { u32::MAX };
        self.bad.commit(link, Header { kind: kind as u8 % 13, inline_len, flow, tag, sequence: 0 });
        Some(())
    }

    /// One thing the attacked rank asks for.
    fn ask(&mut self, input: &mut Bytes<'_>) -> Option<()> {
        let [what, tag, size, memory] = [(); 4].map(|()| input.next().unwrap_or_default());
        let len = [0, 8, 48, 2048, 9000, 20_000, MIDDLE][size % 7];
        let source = [Some(BAD), Some(BAD), None][tag % 3];
        let want = Want { source, tag: (tag < 128).then_some(Tag(tag as u32 % 3)) };
        let flow = FlowId(tag as u32 / 3 % 2);
        let region = memory % 2 == 0;
        if what % 2 == 0 {
            let (home, buffer) = if region {
                (Home::Region, self.regions[0].in_buffer(MIDDLE, len)?)
            } else {
                let mut owned = Owned::new(vec![UNTOUCHED; len]);
                let token = owned.lend_in();
                (Home::Owned(owned), token)
            };
            self.pending.push((self.proto.submit_recv(flow, want, buffer), home));
        } else {
            let (home, buffer) = if region {
                (Home::Region, self.regions[0].out_buffer(MIDDLE, len)?)
            } else {
                let mut owned = Owned::new(vec![1; len]);
                let token = owned.lend_out();
                (Home::Owned(owned), token)
            };
            let mode = [Mode::Standard, Mode::Synchronous][what / 2 % 2];
            let id = self.proto.submit_send(&mut self.rail, BAD, flow, Tag(tag as u32), mode, buffer);
            self.pending.push((id, home));
        }
        Some(())
    }

    fn run(&mut self, input: &[u8]) {
        let mut input = Bytes(input.iter());
        let under_way = self.exchange(20_000, true);
        assert!(under_way.ids[..2].iter().all(|id| !self.proto.is_done(*id)), "it is to be attacked");
        while let Some(byte) = input.next() {
            match byte {
                0..120 => drop(self.send(&mut input)),
                120..180 => drop(self.ask(&mut input)),
                180..190 if !self.pending.is_empty() => {
                    let (id, _) = self.pending[byte % self.pending.len()];
                    self.proto.cancel(id);
                }
                _ => self.round(),
            }
        }
        (0..100).for_each(|_| self.round());
        self.honest_sleeps = false;
        self.arrives(under_way);
        for len in [8, 1000, 20_000] {
            let exchange = self.exchange(len, false);
            self.arrives(exchange);
        }
        self.rail.accept();
        if let Some(link) = self.rail.incoming().iter().copied().find(|l| self.rail.peer(*l) == BAD) {
            self.rail.disconnect(link);
        }
        self.proto.handle_gone(BAD, Gone::Failed);
        (0..100).for_each(|_| self.round());
        self.everything_ends();
    }

    /// Lets the honest ranks send each other a message, on a flow that the bad rank does not use. With `stuck`, the
    /// attacked rank has begun to receive, and has announced what it sends, when the other falls asleep.
    fn exchange(&mut self, len: usize, stuck: bool) -> Exchange {
        let good: Vec<u8> = (0..len).map(|i| i as u8 ^ 0x5a).collect();
        let want = |source| Want { source: Some(source), tag: None };
        let mut buffers = [good.clone(), vec![0; len], good.clone(), vec![0; len]].map(Owned::new);
        let [out, into, honest_out, honest_into] = &mut buffers;
        let (flow, tag, mode) = (FlowId(9), Tag(1), Mode::Standard);
        let receive = self.proto.submit_recv(flow, want(HONEST), into.lend_in());
        let (proto, rail) = &mut self.honest;
        let honest_send = proto.submit_send(rail, ATTACKED, flow, tag, mode, honest_out.lend_out());
        let honest_receive = proto.submit_recv(flow, want(ATTACKED), honest_into.lend_in());
        if stuck {
            (0..5).for_each(|_| self.round());
            self.honest_sleeps = true;
        }
        let send = self.proto.submit_send(&mut self.rail, HONEST, flow, tag, mode, out.lend_out());
        Exchange { good, ids: [send, receive, honest_send, honest_receive], buffers }
    }

    fn arrives(&mut self, exchange: Exchange) {
        (0..400).for_each(|_| self.round());
        let Exchange { good, ids, buffers } = exchange;
        for (which, (id, mut owned)) in ids.into_iter().zip(buffers).enumerate() {
            let proto = if which < 2 { &mut self.proto } else { &mut self.honest.0 };
            let outcome = proto.take(id).expect("honest ranks are not held up");
            assert_eq!(outcome.result.map(|s| s.bytes), Ok(good.len()));
            match outcome.buffer {
                Buffer::Out(token) => owned.take_back_out(token),
                Buffer::In(token) => owned.take_back_in(token),
                Buffer::None => panic!("a buffer comes back"),
            }
            assert_eq!(owned.bytes(), good);
        }
    }

    fn everything_ends(&mut self) {
        for (id, home) in std::mem::take(&mut self.pending) {
            // Only a receive from anybody may still hope, once it was told.
            if !self.proto.is_done(id) {
                assert_eq!(self.proto.explain(id), Some(("a receive waits for its message", None)));
                assert!(self.proto.cancel(id));
            }
            let Outcome { result, buffer } = self.proto.take(id).expect("it is done");
            if let Err(Failure::PeerFailed(who) | Failure::RegionLost(who)) = result {
                assert_eq!(who, BAD);
            }
            match (home, buffer) {
                (Home::Owned(mut owned), Buffer::Out(token)) => {
                    owned.take_back_out(token);
                    assert!(owned.bytes().iter().all(|b| *b == 1), "send memory is only read");
                }
                (Home::Owned(mut owned), Buffer::In(token)) => owned.take_back_in(token),
                (Home::Region, _) => {}
                (Home::Owned(_), Buffer::None) => panic!("a buffer comes back"),
            }
        }
        let mut all = vec![0; REGION];
        self.regions[0].window(0, REGION).expect("all of it").read(0, &mut all);
        let outside = all[..MIDDLE].iter().chain(&all[2 * MIDDLE..]);
        // A put may go anywhere in a region, which is what regions are for; its data is what `seen` gave it.
        let puts = std::iter::from_fn(|| self.proto.take_notice()).count() * 24;
        assert!(outside.filter(|b| **b != UNTOUCHED).count() <= puts, "written outside of every buffer");
        assert_eq!(self.proto.holding().requests, 0);
    }
}

fn attempt(input: &[u8]) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| Attack::new().run(input))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
    })
}

fn corpus() -> Vec<(String, Vec<u8>)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/receive");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the corpus lies beside the test")
        .map(|entry| entry.expect("a readable folder").path())
        .map(|path| (path.display().to_string(), std::fs::read(&path).expect("a readable file")))
        .collect();
    files.sort();
    files
}

/// A file of the corpus with some bytes changed, repeated, removed, or of another file; or nothing but chance.
fn mutated(random: &mut Random, corpus: &[(String, Vec<u8>)]) -> Vec<u8> {
    if random.chance(20) {
        return (0..random.below(600)).map(|_| random.next_u64() as u8).collect();
    }
    let mut input = corpus[random.below(corpus.len())].1.clone();
    for _ in 0..1 + random.below(12) {
        let at = random.below(input.len());
        let n = random.below(input.len() - at).min(40);
        match random.pick(&[0, 0, 2, 3, 4]) {
            0 if !input.is_empty() => input[at] = random.next_u64() as u8,
            2 => drop(input.drain(at..at + n)),
            3 => {
                let part = input[at..at + n].to_vec();
                input.splice(at..at, part);
            }
            _ => {
                let other = &corpus[random.below(corpus.len())].1;
                let from = random.below(other.len());
                input.splice(at..at, other[from..].iter().copied().take(40));
            }
        }
    }
    input.truncate(2000);
    input
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number: {text}")))
}

#[test]
fn impossible_packets_harm_nobody_but_their_sender() {
    let corpus = corpus();
    assert!(!corpus.is_empty());
    let only = number("PROTO_SEED");
    if only.is_none() {
        for (name, input) in &corpus {
            attempt(input).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
    let seeds = only.map_or(0..number("PROTO_SEEDS").unwrap_or(2000), |seed| seed..seed + 1);
    for seed in seeds {
        let input = mutated(&mut Random(seed), &corpus);
        if let Err(error) = attempt(&input) {
            let file = std::env::temp_dir().join(format!("canele-fuzz-receive-{seed}"));
            let kept = std::fs::write(&file, &input).map(|()| file.display().to_string());
            panic!(
                "seed {seed}: {error}\nreplay: PROTO_SEED={seed} cargo test -p canele-proto --test fuzz_receive\n\
                 input: {kept:?}"
            );
        }
    }
}
