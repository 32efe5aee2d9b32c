//! A bad rank, the attacked one, and an honest one that communicates with both.
//!
//! Owns the mapping of bytes of an input to packets, calls and rounds, and the checks afterwards.

mod batch;
mod remote;

use std::collections::HashMap;
use std::sync::Arc;

use canele_mem::buffer::Owned;
use canele_proto::matching::Want;
use canele_proto::peer::PeerEnd;
use canele_proto::request::{Buffer, Cancel, Failure, Mode, Outcome};
use canele_proto::rma::RmaOrigin;
use canele_proto::{Envelope, Proto, Settings};
use canele_rail::Region;
use canele_rail::{Class, Distance, Header, Rail, Recoverable};
use canele_sim::world::{Model, SimRail, World};
use canele_sys::ids::{FlowId, Rank, RequestId, Tag};

use super::rma::Rma;

const ATTACKED: Rank = Rank(0);
const HONEST: Rank = Rank(1);
const BAD: Rank = Rank(2);
/// The region of the attacked rank, of which its buffers take the middle.
const REGION: usize = 96 << 10;
const MIDDLE: usize = 32 << 10;
const UNTOUCHED: u8 = 0xee;

/// Accepts the connections that peers have opened. A connection that may be lost has both directions from the
/// start.
fn accept(proto: &mut Proto, rail: &mut SimRail) {
    rail.accept();
    for link in rail.incoming().to_vec() {
        if rail.caps(link).needs_numbers() && proto.links_to(link.peer()).next().is_none() {
            rail.open_link(0, link.peer());
            proto.link_opened(rail, link.peer(), link);
        }
    }
}

pub struct Bytes<'a>(std::slice::Iter<'a, u8>);

impl Bytes<'_> {
    pub fn next(&mut self) -> Option<usize> {
        self.0.next().map(|byte| *byte as usize)
    }
}

enum Home {
    Owned(Owned<u8>),
    Region,
}

/// The network that joins the ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Net {
    /// One permanent link, regions: as shared memory.
    Memory,
    /// Links that may be lost, messages with numbers, busy after a packet: as sockets.
    Sockets,
}

/// The kind of packet that carries others.
const BATCH: usize = 12;

/// The modulus of the byte that names a kind: every kind there is, and 0, which is none.
const KINDS: usize = 18;

/// The most bytes that the ranks may have to keep.
const UNEXPECTED_BYTES: u64 = 64 << 10;

/// One run.
pub struct Attack {
    world: World,
    proto: Proto,
    rail: SimRail,
    honest: (Proto, SimRail),
    bad: SimRail,
    regions: [Arc<Region>; 2],
    pending: Vec<(RequestId, Home)>,
    /// Words that were in packets to the bad rank: ids and places that are real.
    seen: Vec<u64>,
    /// The number of the bad rank's next message on each flow, which it mostly respects.
    numbers: HashMap<u32, u32>,
    /// True once the bad rank sent an invalid packet and was cut off.
    blamed: bool,
    rma: Rma,
    /// The calls of the honest rank to the attacked one.
    honest_origin: RmaOrigin,
    /// True while the honest rank makes no pass, so that its operations stay under way.
    honest_sleeps: bool,
}

/// Messages between the honest ranks under way: of the attacked one (send, receive) and of the other.
struct Exchange {
    good: Vec<u8>,
    ids: [RequestId; 4],
    buffers: [Owned<u8>; 4],
}

impl Attack {
    /// Makes three ranks that have sent nothing yet.
    pub fn new(net: Net) -> Self {
        let sockets = net == Net::Sockets;
        let distance = if sockets { Distance::Network } else { Distance::Host };
        let model = Model { cells: 16, payload: 16 << 10, region_misses: 1, ..Model::default() };
        let model = Model { recoverable: sockets, distance, busy: sockets, maps_regions: !sockets, ..model };
        let settings = Settings { eager_bytes: 2048, piece_bytes: 4096, unexpected_bytes: UNEXPECTED_BYTES };
        let world = World::new(3, &[model], 1);
        let [mut rail, mut honest, mut bad] = [ATTACKED, HONEST, BAD].map(|rank| world.rail(rank));
        let protos = [ATTACKED, HONEST].map(|rank| Proto::new(rank, 3, settings));
        let [proto, honest_proto] = protos;
        let regions = [&mut rail, &mut bad].map(|rail| rail.create_region(REGION).expect("memory"));
        regions[0].window(0, REGION).expect("all of it").write(0, &[UNTOUCHED; REGION]);
        bad.open_link(0, ATTACKED);
        honest.open_link(0, ATTACKED);
        let region = rail.create_region(4096).expect("memory");
        let rma = Rma::new(&mut rail, region);
        let seen = vec![u64::from(regions[1].id().generation) << 32 | u64::from(regions[1].id().index)];
        let honest = (honest_proto, honest);
        Self {
            world,
            proto,
            rail,
            honest,
            bad,
            regions,
            pending: Vec::new(),
            seen,
            numbers: HashMap::new(),
            blamed: false,
            rma,
            honest_origin: RmaOrigin::default(),
            honest_sleeps: false,
        }
    }

    fn round(&mut self) {
        let ranks = [(&mut self.proto, &mut self.rail), (&mut self.honest.0, &mut self.honest.1)];
        for (proto, rail) in ranks.into_iter().take(2 - usize::from(self.honest_sleeps)) {
            accept(proto, rail);
            proto.pass(rail);
            while let Some(peer) = proto.take_wanted().or_else(|| Some(proto.take_lost_link()?.peer())) {
                let link = rail.open_link(0, peer);
                proto.link_opened(rail, peer, link);
            }
        }
        self.rma.go_on(&mut self.proto, &mut self.rail);
        self.honest_origin.go_on(&mut self.honest.0, &mut self.honest.1);
        while let Some((peer, _)) = self.proto.take_fault() {
            assert_eq!(peer, BAD, "only the bad rank is cut off");
            self.blamed = true;
        }
        assert!(self.honest.0.take_fault().is_none(), "the honest rank has nothing to do with it");
        let holding = self.proto.holding();
        assert!(holding.unexpected_bytes <= self.proto.credit_given(), "{holding:?}");
        assert!(self.proto.credit_given() <= UNEXPECTED_BYTES, "{}", self.proto.credit_given());
        self.world.advance();
        self.bad_receives();
    }

    fn bad_receives(&mut self) {
        self.bad.begin_pass();
        while let Some(lost) = self.bad.take_lost() {
            drop(self.bad.close_link(lost.link));
        }
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

    fn words(&self, input: &mut Bytes<'_>) -> Vec<u64> {
        (0..6).map_while(|_| input.next()).map(|byte| self.word(byte)).collect()
    }

    /// Makes a header from these bytes; the caller sets its length.
    fn header(&mut self, [kind, flow, tag]: [usize; 3]) -> Header {
        let flow = match flow {
            0..200 => flow as u32 % 2,
            200..255 => (flow as u32) << (flow % 27),
            _ => u32::MAX,
        };
        let kind = kind % KINDS;
        let of_flow = matches!(kind, 0..4 | 13 | 15);
        let next = self.numbers.entry(if of_flow { flow } else { u32::MAX }).or_default();
        let sequence = match tag {
            240..248 => next.wrapping_add(tag as u32).wrapping_sub(242),
            _ => std::mem::replace(next, next.wrapping_add(1)),
        };
        let sequence = if matches!(kind, 1..=3 | 8 | 9 | 13 | 15) { sequence } else { 0 };
        let tag = if tag < 250 { tag as u32 % 30 } else { u32::MAX };
        Header { kind: kind as u8, inline_len: 0, flow, tag, sequence }
    }

    /// Sends one packet of the bad rank.
    fn send(&mut self, input: &mut Bytes<'_>) -> Option<()> {
        let [kind, flow, tag, len, bulk] = [(); 5].map(|()| input.next().unwrap_or_default());
        let batch = if kind % KINDS == BATCH { self.batch(input, bulk % 7 == 2) } else { Vec::new() };
        let bulk = if batch.is_empty() { [0, 0, 1, 64, 700, 2048, 4096][bulk % 7] } else { batch.len() };
        let most = if bulk == 0 { 48 } else { 40 };
        let words = self.words(input);
        let header = self.header([kind, flow, tag]);
        self.bad.begin_pass();
        let link = self.bad.link(ATTACKED).unwrap_or_else(|| self.bad.open_link(0, ATTACKED));
        let slot = self.bad.claim(link, bulk, Class::Control).ok()?;
        for (i, word) in words.iter().enumerate().take(most / 8) {
            slot.inline.write(8 * i, &word.to_le_bytes());
        }
        slot.bulk.write(0, if batch.is_empty() { &[0xbb; 4096][..bulk] } else { &batch });
        let inline_len = if len < 128 { most } else { (len - 128) % (most + 1) } as u8;
        self.bad.commit(link, Header { inline_len, ..header });
        Some(())
    }

    /// Makes one call of the attacked rank.
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
            let id = self.proto.submit_send(
                &mut self.rail,
                Envelope { mode, ..Envelope::new(BAD, flow, Tag(tag as u32)) },
                buffer,
            );
            self.pending.push((id, home));
        }
        Some(())
    }

    /// Plays the input, then checks that the honest ranks are unharmed. Returns true if the bad one was found
    /// out.
    pub fn run(&mut self, input: &[u8]) -> bool {
        let mut input = Bytes(input.iter());
        let under_way = self.exchange(20_000, true);
        assert!(under_way.ids[..2].iter().all(|id| !self.proto.is_done(*id)), "it is to be attacked");
        while let Some(byte) = input.next() {
            match byte {
                0..120 => drop(self.send(&mut input)),
                120..180 => drop(self.ask(&mut input)),
                190..215 => drop(self.send_rma(&mut input)),
                215..220 => self.ask_rma(&mut input),
                180..190 if !self.pending.is_empty() => {
                    let (id, _) = self.pending[byte % self.pending.len()];
                    let _ = self.proto.cancel(id);
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
        if let Some(link) = self.rail.incoming().iter().copied().find(|l| l.peer() == BAD) {
            self.rail.disconnect(link);
        }
        self.proto.handle_gone(BAD, PeerEnd::Failed);
        (0..100).for_each(|_| self.round());
        self.honest_access();
        self.everything_ends();
        self.blamed
    }

    /// Lets the honest ranks send each other a message, on a flow that the bad rank does not use. With
    /// `stuck`, the attacked rank has begun to receive and has announced its message when the other falls
    /// asleep.
    fn exchange(&mut self, len: usize, stuck: bool) -> Exchange {
        let good: Vec<u8> = (0..len).map(|i| i as u8 ^ 0x5a).collect();
        let want = |source| Want { source: Some(source), tag: None };
        let mut buffers = [good.clone(), vec![0; len], good.clone(), vec![0; len]].map(Owned::new);
        let [out, into, honest_out, honest_into] = &mut buffers;
        let (flow, tag, mode) = (FlowId(9), Tag(1), Mode::Standard);
        let receive = self.proto.submit_recv(flow, want(HONEST), into.lend_in());
        let (proto, rail) = &mut self.honest;
        let honest_send = proto.submit_send(
            rail,
            Envelope { mode, ..Envelope::new(ATTACKED, flow, tag) },
            honest_out.lend_out(),
        );
        let honest_receive = proto.submit_recv(flow, want(ATTACKED), honest_into.lend_in());
        if stuck {
            (0..5).for_each(|_| self.round());
            self.honest_sleeps = true;
        }
        let send = self.proto.submit_send(
            &mut self.rail,
            Envelope { mode, ..Envelope::new(HONEST, flow, tag) },
            out.lend_out(),
        );
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
        self.rma.everything_ends();
        for (id, home) in std::mem::take(&mut self.pending) {
            // Only a receive from any source may still wait, after it was informed.
            if !self.proto.is_done(id) {
                assert_eq!(self.proto.explain(id), Some(("a receive waits for its message", None)));
                assert_eq!(self.proto.cancel(id), Cancel::Done);
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
        // A put may write anywhere in a region, as regions allow; `seen` gave it its data.
        let puts = std::iter::from_fn(|| self.proto.take_notice()).count() * 24;
        assert!(outside.filter(|b| **b != UNTOUCHED).count() <= puts, "written outside of every buffer");
        assert_eq!(self.proto.holding().requests, 0);
    }
}
