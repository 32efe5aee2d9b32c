//! RMA requests: ranks that cannot map each other's memory put, get and count there. The links of their
//! networks may be lost, and one of the ranks may die. Each put is in its place, in order; notices come after
//! their data.

mod exposures;
mod here;
mod locks;
mod programs;
mod routes;
mod wrong;

use std::collections::VecDeque;

use canele_mem::buffer::Owned;
use canele_mem::exposed::Exposed;
use canele_proto::request::{Buffer, Failure};
use canele_proto::rma::{
    CallEnding, DATA, ExposureKey, Form, LateAnswer, MemoryAddress, NewCall, PutReport, REQUESTS, Refusal,
    RmaFailure, RmaOrigin, RmaOutcome, RmaRequest, RmaTarget,
};
use canele_proto::slab::Key;
use canele_proto::{Envelope, Holding, Proto, Settings};
use canele_sim::campaign::{Net, Packets};
use canele_sim::world::{Model, Random};
use canele_sys::ids::{Rank, RegionId, RequestId, Tag};

use here::{Deposit, Here, setup};

/// The part of another's region that one rank alone writes, behind a word that all count in.
const AREA: usize = 60_000;
const OPERATIONS: usize = 40;

/// The number of a notice, the offset of its data in the area of its origin, and the data, unless it was
/// written over.
type Announced = (u64, usize, Vec<u8>);

/// An RMA request under way.
struct Run {
    to: Rank,
    key: Key,
    rma_request: RmaRequest,
    data: Owned<u8>,
    into: Owned<u8>,
    /// The expected result.
    expected: Expected,
}

#[derive(Clone, Debug, PartialEq)]
enum Expected {
    Value(u64),
    /// Any value: counted.
    Count,
    Bytes(Vec<u8>),
    Refused(Refusal),
    Nothing,
}

struct Play {
    net: Net,
    random: Random,
    targets: Vec<RmaTarget>,
    origins: Vec<RmaOrigin>,
    /// Messages that no call sent, with their senders.
    sent: Vec<(usize, RequestId, Owned<u8>)>,
    asked: Vec<Vec<(Rank, [u64; 3])>>,
    deposits: Vec<Vec<Deposit>>,
    runs: Vec<Vec<Run>>,
    /// The data that each rank has put at another: [origin][owner].
    areas: Vec<Vec<Vec<u8>>>,
    /// The notices to come, in order: [origin][owner].
    notices: Vec<Vec<VecDeque<Announced>>>,
    /// The count at each rank.
    counts: Vec<Vec<u64>>,
    sent_deposits: Vec<Vec<Deposit>>,
    left: Vec<usize>,
    next_notice: u64,
    dead: Option<Rank>,
}

impl Play {
    fn new(seed: u64, cuts: bool) -> Self {
        let (net, random, ranks) = setup(seed, cuts);
        Self {
            net,
            random,
            targets: (0..ranks).map(|_| RmaTarget::default()).collect(),
            origins: (0..ranks).map(|_| RmaOrigin::default()).collect(),
            sent: Vec::new(),
            asked: (0..ranks).map(|_| Vec::new()).collect(),
            deposits: (0..ranks).map(|_| Vec::new()).collect(),
            runs: (0..ranks).map(|_| Vec::new()).collect(),
            areas: vec![vec![vec![0; AREA]; ranks]; ranks],
            notices: vec![vec![VecDeque::new(); ranks]; ranks],
            counts: vec![Vec::new(); ranks],
            sent_deposits: vec![Vec::new(); ranks],
            left: vec![OPERATIONS; ranks],
            next_notice: 0,
            dead: None,
        }
    }

    fn ranks(&self) -> usize {
        self.left.len()
    }

    fn expose(&mut self, owner: usize, memory: Exposed) -> ExposureKey {
        self.targets[owner].expose(&mut self.net.rails[owner], memory)
    }

    fn unexpose(&mut self, owner: usize, key: ExposureKey) {
        self.targets[owner].unexpose(&mut self.net.rails[owner], key);
    }

    fn is_dead(&self, rank: usize) -> bool {
        self.dead == Some(Rank(rank as u32))
    }

    /// Submits an RMA request, its data with it or apart.
    fn start(&mut self, me: usize, to: Rank, rma_request: RmaRequest, data: &[u8], expected: Expected) {
        let (proto, rail) = self.net.both(Rank(me as u32));
        let len = match rma_request {
            RmaRequest::Get { len, .. } => len.min(AREA as u64) as usize,
            _ => 0,
        };
        let (mut data, mut into) = (Owned::new(data.to_vec()), Owned::new(vec![0; len]));
        let call = NewCall {
            data: Some(data.lend_out()),
            into: Some(into.lend_in()),
            ..NewCall::new(to, rma_request)
        };
        let key = self.origins[me].submit(proto, rail, call);
        self.runs[me].push(Run { to, key, rma_request, data, into, expected });
    }

    /// Makes a random operation of a rank.
    fn act(&mut self, me: usize) {
        self.left[me] -= 1;
        let ranks = self.ranks();
        let at = (me + 1 + self.random.below(ranks - 1)) % ranks;
        let (to, region) = (Rank(at as u32), self.net.regions[at].id());
        let r = &mut self.random;
        let len = r.pick(&[0, 1, 8, 24, 25, 48, 900, 1000, 4072, 4096, 9000, 40_000]);
        let from = r.below(AREA - len);
        let place = MemoryAddress { key: region.into(), offset: (8 + me * AREA + from) as u64 };
        match r.below(20) {
            0..9 => {
                let data: Vec<u8> = (0..len).map(|_| r.next_u64() as u8).collect();
                self.areas[me][at][from..from + len].copy_from_slice(&data);
                let notice = self.random.chance(60).then(|| {
                    self.next_notice += 1;
                    self.next_notice
                });
                // The data below is not checked any more when its notice comes.
                for (_, old, bytes) in &mut self.notices[me][at] {
                    if *old < from + len && from < *old + bytes.len() {
                        bytes.clear();
                    }
                }
                // Large data that is being read may be read before or after this.
                for run in &mut self.runs[me] {
                    let apart = self.net.protos[me].form(&run.rma_request) == Form::Apart;
                    if run.to == to && apart && matches!(run.expected, Expected::Bytes(_)) {
                        run.expected = Expected::Nothing;
                    }
                }
                let expected = Expected::Nothing;
                let report = notice.map_or(PutReport::Answer, PutReport::Notice);
                notice.into_iter().for_each(|n| self.notices[me][at].push_back((n, from, data.clone())));
                self.start(me, to, RmaRequest::Put { place, len: len as u64, report }, &data, expected);
            }
            9..12 => {
                let expected = Expected::Bytes(self.areas[me][at][from..from + len].to_vec());
                self.start(me, to, RmaRequest::Get { place, len: len as u64 }, &[], expected);
            }
            12..14 => {
                let place = MemoryAddress { key: region.into(), offset: 0 };
                self.start(me, to, RmaRequest::Add { place, n: 1 }, &[], Expected::Count);
            }
            14 => {
                // Nothing is replaced, for no rank counts so far.
                let place = MemoryAddress { key: region.into(), offset: 0 };
                let rma_request = RmaRequest::Swap { place, expected: u64::MAX, new: 0 };
                self.start(me, to, rma_request, &[], Expected::Nothing);
            }
            15 => self.start(me, to, RmaRequest::Ask([7, me as u64, 1]), &[], Expected::Value(7 + me as u64)),
            16 => {
                let data: Vec<u8> = (0..len).map(|n| (n + me) as u8).collect();
                let of = [me as u64, self.left[me] as u64];
                self.sent_deposits[at].push((Rank(me as u32), of, Some(data.clone())));
                self.start(me, to, RmaRequest::Deposit { of, len: len as u64 }, &data, Expected::Nothing);
            }
            17 => self.start(me, to, RmaRequest::Fence, &[], Expected::Value(0)),
            _ => self.act_badly(me, to, place, len),
        }
    }

    /// Submits an invalid request: it is refused, and nothing else is harmed.
    fn act_badly(&mut self, me: usize, to: Rank, place: MemoryAddress, len: usize) {
        let bytes = self.net.regions[to.0 as usize].len() as u64;
        let region = self.net.regions[to.0 as usize].id();
        let stale = RegionId { generation: region.generation + 1, ..region };
        let (place, refusal) = match self.random.below(3) {
            0 => (MemoryAddress { key: stale.into(), ..place }, Refusal::NoRegion),
            1 => (MemoryAddress { offset: u64::MAX - 3, ..place }, Refusal::Outside(bytes)),
            _ => (MemoryAddress { offset: bytes, ..place }, Refusal::Outside(bytes)),
        };
        let (len, data, refused) = (len.max(1) as u64, vec![9; len.max(1)], Expected::Refused(refusal));
        match self.random.below(4) {
            0 => {
                self.start(me, to, RmaRequest::Put { place, len, report: PutReport::Answer }, &data, refused)
            }
            1 => self.start(me, to, RmaRequest::Get { place, len }, &[], refused),
            2 => self.start(me, to, RmaRequest::Add { place, n: 1 }, &[], refused),
            _ => {
                self.start(me, to, RmaRequest::Fence, &[], Expected::Value(0));
                let report = PutReport::Notice(u64::MAX);
                self.start(me, to, RmaRequest::Put { place, len, report }, &data, Expected::Nothing);
                self.start(me, to, RmaRequest::Fence, &[], refused);
            }
        }
    }

    fn pass(&mut self, rank: usize) -> bool {
        let who = Rank(rank as u32);
        let mut any = self.net.pass(who, 3).expect("no fault");
        let (proto, rail) = (&mut self.net.protos[rank], &mut self.net.rails[rank]);
        let (asked, deposits) = (&mut self.asked[rank], &mut self.deposits[rank]);
        let region = &self.net.regions[rank];
        any |= self.targets[rank].serve(proto, &mut Here { rail, region, asked, deposits });
        any |= self.origins[rank].go_on(proto, &mut self.net.rails[rank]);
        while let Some(notice) = self.net.protos[rank].take_notice() {
            self.on_notice(rank, notice.from.0 as usize, notice.id);
        }
        let proto = &mut self.net.protos[rank];
        self.sent.retain_mut(|(from, request, owned)| {
            let Some(outcome) = (*from == rank).then(|| proto.take(*request)).flatten() else { return true };
            let Buffer::Out(buffer) = outcome.buffer else { panic!("a send gives its buffer back") };
            owned.take_back_out(buffer);
            false
        });
        for at in (0..self.runs[rank].len()).rev() {
            if self.go_on(rank, at) {
                any = true;
                let run = self.runs[rank].swap_remove(at);
                drop(run);
            }
        }
        any
    }

    fn on_notice(&mut self, owner: usize, origin: usize, id: u64) {
        let (next, from, data) = self.notices[origin][owner].pop_front().expect("a notice was sent");
        assert_eq!(id, next, "notices of one rank come in their order");
        let mut there = vec![0; data.len()];
        self.net.regions[owner].window(8 + origin * AREA + from, there.len()).unwrap().read(0, &mut there);
        assert!(there == data, "{} bytes at {from} are not there with their notice", data.len());
    }

    /// Checks an RMA request; returns true if it has ended.
    fn go_on(&mut self, me: usize, at: usize) -> bool {
        let run = &mut self.runs[me][at];
        let may_fail = self.dead == Some(run.to);
        let Some(RmaOutcome { result, data, into, .. }) = self.origins[me].take(run.key) else {
            return false;
        };
        // For large data the request keeps the memory under way, and nothing else.
        data.into_iter().for_each(|buffer| run.data.take_back_out(buffer));
        into.into_iter().for_each(|buffer| run.into.take_back_in(buffer));
        match (&run.expected, result) {
            (Expected::Value(value), Ok(answer)) => assert_eq!(*value, answer),
            (Expected::Count, Ok(count)) => self.counts[run.to.0 as usize].push(count),
            (Expected::Bytes(expected), Ok(_)) => {
                assert!(run.into.bytes() == expected, "{} bytes read", expected.len());
            }
            (Expected::Refused(refusal), Err(RmaFailure::Refused(_, answer))) => assert_eq!(*refusal, answer),
            (Expected::Nothing, Ok(_)) => {}
            (_, Err(RmaFailure::Failed(failure))) => check(false, Some(failure), run.to, may_fail),
            (expected, answer) => panic!("{:?}: {answer:?} instead of {expected:?}", run.rma_request),
        }
        true
    }

    fn step(&mut self) -> bool {
        let rank = self.random.below(self.ranks());
        if self.is_dead(rank) {
            return false;
        }
        match self.random.below(10) {
            0..6 => self.pass(rank),
            6..8 if self.left[rank] > 0 => {
                self.act(rank);
                true
            }
            _ => {
                self.net.advance();
                true
            }
        }
    }

    /// Passes until nothing happens any more.
    fn settle(&mut self) {
        for _ in 0..1_000_000 {
            let mut any = self.net.open_links(true);
            for rank in
                (0..self.ranks()).filter(|rank| self.dead != Some(Rank(*rank as u32))).collect::<Vec<_>>()
            {
                any |= self.pass(rank);
            }
            if !any && self.net.advance().is_none() {
                return;
            }
        }
        panic!("it never comes to rest");
    }

    fn check_the_end(&mut self) {
        self.settle();
        for rank in 0..self.ranks() {
            if self.is_dead(rank) {
                continue;
            }
            let open: Vec<_> = self.runs[rank].iter().map(|run| (run.to, run.rma_request)).collect();
            assert!(open.is_empty(), "rank {rank} waits for {open:?}");
            assert_eq!(self.targets[rank].under_way(), 0, "rank {rank}");
            assert_eq!(self.origins[rank].under_way(), 0, "rank {rank}");
            assert_eq!(self.net.protos[rank].holding(), Holding::default(), "rank {rank}");
            if self.dead.is_none() {
                self.check_memory(rank);
            }
        }
    }

    fn check_memory(&mut self, owner: usize) {
        for origin in (0..self.ranks()).filter(|origin| *origin != owner) {
            assert!(self.notices[origin][owner].is_empty(), "notices of {origin} for {owner}");
            let mut there = vec![0; AREA];
            self.net.regions[owner].window(8 + origin * AREA, AREA).unwrap().read(0, &mut there);
            assert!(there == self.areas[origin][owner], "what rank {origin} put at rank {owner}");
        }
        let counts = &mut self.counts[owner];
        counts.sort_unstable();
        assert!(counts.iter().copied().eq(0..counts.len() as u64), "counted once each: {counts:?}");
        let order = |list: &mut Vec<Deposit>| list.sort();
        order(&mut self.deposits[owner]);
        order(&mut self.sent_deposits[owner]);
        assert!(self.deposits[owner] == self.sent_deposits[owner], "deposits at rank {owner}");
    }
}

fn check(good: bool, failure: Option<Failure>, peer: Rank, may_fail: bool) {
    assert!(good || may_fail && failure == Some(Failure::PeerFailed(peer)), "{failure:?} of {peer}");
}
