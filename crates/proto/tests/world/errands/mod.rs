//! Errands: ranks that cannot map each other's memory put, get and count there, over networks whose links may be lost, and one of
//! them may die. What each rank has put is where it belongs, in order; notices come when their data is there.

mod here;
mod wrong;

use std::collections::VecDeque;

use canele_proto::errand::{ANSWER, ANSWERS, Answer, DATA, Desk, ERRANDS, Errand, Form, Late, Refusal};
use canele_proto::matching::Want;
use canele_proto::request::{Buffer, Failure, Mode, Outcome};
use canele_proto::{Holding, Proto, Settings};
use canele_rail::sim::{Model, Random};
use canele_sim::campaign::{Net, Packets};
use canele_sys::buffer::{Owned, Place};
use canele_sys::ids::{Rank, RegionId, RequestId, Tag};

use here::{Deposit, Here, setup};

/// What each rank writes of another's region, and nobody else; behind a word that all count in.
const AREA: usize = 60_000;
const OPERATIONS: usize = 40;

/// The number of a notice, where its data lies in the area of its origin, and the data, unless it was written over.
type Announced = (u64, usize, Vec<u8>);

/// An errand under way.
struct Run {
    to: Rank,
    ticket: u32,
    errand: Errand,
    sends: Vec<(RequestId, Owned<u8>)>,
    answer: Option<(RequestId, Owned<u8>)>,
    /// Large data read, once it may come.
    data: Option<(RequestId, Owned<u8>)>,
    /// What is to come of it.
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
    desks: Vec<Desk>,
    asked: Vec<Vec<(Rank, [u64; 3])>>,
    deposits: Vec<Vec<Deposit>>,
    runs: Vec<Vec<Run>>,
    /// What each rank has put at another: [origin][owner].
    areas: Vec<Vec<Vec<u8>>>,
    /// The notices to come, in order: [origin][owner]; where their data lies, unless it was written over.
    notices: Vec<Vec<VecDeque<Announced>>>,
    /// What was counted at each rank.
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
            desks: (0..ranks).map(|_| Desk::default()).collect(),
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

    fn is_dead(&self, rank: usize) -> bool {
        self.dead == Some(Rank(rank as u32))
    }

    /// An errand leaves, its data with it or apart.
    fn start(&mut self, me: usize, to: Rank, errand: Errand, data: &[u8], expected: Expected) {
        let ticket = self.desks[me].take_ticket();
        let (proto, rail) = self.net.both(Rank(me as u32));
        let form = proto.form(&errand);
        let mut answer = None;
        if errand.is_answered() {
            let with = match errand {
                Errand::Get { len, .. } if form == Form::Whole => len as usize,
                _ => 0,
            };
            let mut owned = Owned::new(vec![0; ANSWER + with]);
            let want = Want { source: Some(to), tag: Some(Tag(ticket)) };
            answer = Some((proto.submit_recv(ANSWERS, want, owned.lend_in()), owned));
        }
        let (head, len) = errand.head(form);
        let mut message = head[..len].to_vec();
        let mut parts = Vec::new();
        if form == Form::Whole {
            message.extend(data);
        } else if !matches!(errand, Errand::Get { .. }) {
            parts.push((DATA, Tag(ticket), data.to_vec()));
        }
        parts.insert(0, (ERRANDS, errand.tag(form, ticket), message));
        let sends = parts.into_iter().map(|(flow, tag, bytes)| {
            let mut owned = Owned::new(bytes);
            (proto.submit_send(rail, to, flow, tag, Mode::Standard, owned.lend_out()), owned)
        });
        let sends = sends.collect();
        self.runs[me].push(Run { to, ticket, errand, sends, answer, data: None, expected });
    }

    /// A random operation of a rank.
    fn act(&mut self, me: usize) {
        self.left[me] -= 1;
        let ranks = self.ranks();
        let at = (me + 1 + self.random.below(ranks - 1)) % ranks;
        let (to, region) = (Rank(at as u32), self.net.regions[at].id());
        let r = &mut self.random;
        let len = r.pick(&[0, 1, 8, 24, 25, 48, 900, 1000, 4072, 4096, 9000, 40_000]);
        let from = r.below(AREA - len);
        let place = Place { region, offset: (8 + me * AREA + from) as u64 };
        match r.below(20) {
            0..9 => {
                let data: Vec<u8> = (0..len).map(|_| r.next_u64() as u8).collect();
                self.areas[me][at][from..from + len].copy_from_slice(&data);
                let notice = self.random.chance(60).then(|| {
                    self.next_notice += 1;
                    self.next_notice
                });
                // What lies below is not to be looked at any more when its notice comes.
                for (_, old, bytes) in &mut self.notices[me][at] {
                    if *old < from + len && from < *old + bytes.len() {
                        bytes.clear();
                    }
                }
                // Large data that is being read may be read before or after this.
                for run in &mut self.runs[me] {
                    let apart = self.net.protos[me].form(&run.errand) == Form::Apart;
                    if run.to == to && apart && matches!(run.expected, Expected::Bytes(_)) {
                        run.expected = Expected::Nothing;
                    }
                }
                let expected = if notice.is_some() { Expected::Nothing } else { Expected::Value(0) };
                notice.into_iter().for_each(|n| self.notices[me][at].push_back((n, from, data.clone())));
                self.start(me, to, Errand::Put { place, len: len as u64, notice }, &data, expected);
            }
            9..12 => {
                let expected = Expected::Bytes(self.areas[me][at][from..from + len].to_vec());
                self.start(me, to, Errand::Get { place, len: len as u64 }, &[], expected);
            }
            12..14 => {
                let place = Place { region, offset: 0 };
                self.start(me, to, Errand::Add { place, n: 1 }, &[], Expected::Count);
            }
            14 => {
                // Nothing is replaced, for nobody counts so far.
                let place = Place { region, offset: 0 };
                let errand = Errand::Swap { place, expected: u64::MAX, new: 0 };
                self.start(me, to, errand, &[], Expected::Nothing);
            }
            15 => self.start(me, to, Errand::Ask([7, me as u64, 1]), &[], Expected::Value(7 + me as u64)),
            16 => {
                let data: Vec<u8> = (0..len).map(|n| (n + me) as u8).collect();
                let of = [me as u64, self.left[me] as u64];
                self.sent_deposits[at].push((Rank(me as u32), of, Some(data.clone())));
                self.start(me, to, Errand::Deposit { of, len: len as u64 }, &data, Expected::Nothing);
            }
            17 => self.start(me, to, Errand::Fence, &[], Expected::Value(0)),
            _ => self.act_badly(me, to, place, len),
        }
    }

    /// What cannot be: refused, and nothing else is harmed.
    fn act_badly(&mut self, me: usize, to: Rank, place: Place, len: usize) {
        let bytes = self.net.regions[to.0 as usize].len() as u64;
        let stale = RegionId { generation: place.region.generation + 1, ..place.region };
        let (place, refusal) = match self.random.below(3) {
            0 => (Place { region: stale, ..place }, Refusal::NoRegion),
            1 => (Place { offset: u64::MAX - 3, ..place }, Refusal::Outside(bytes)),
            _ => (Place { offset: bytes, ..place }, Refusal::Outside(bytes)),
        };
        let (len, data, refused) = (len.max(1) as u64, vec![9; len.max(1)], Expected::Refused(refusal));
        match self.random.below(4) {
            0 => self.start(me, to, Errand::Put { place, len, notice: None }, &data, refused),
            1 => self.start(me, to, Errand::Get { place, len }, &[], refused),
            2 => self.start(me, to, Errand::Add { place, n: 1 }, &[], refused),
            _ => {
                self.start(me, to, Errand::Fence, &[], Expected::Value(0));
                let notice = Some(u64::MAX);
                self.start(me, to, Errand::Put { place, len, notice }, &data, Expected::Nothing);
                self.start(me, to, Errand::Fence, &[], refused);
            }
        }
    }

    fn pass(&mut self, rank: usize) -> bool {
        let who = Rank(rank as u32);
        let mut any = self.net.pass(who, 3).expect("no fault");
        let (proto, rail) = (&mut self.net.protos[rank], &mut self.net.rails[rank]);
        let (asked, deposits) = (&mut self.asked[rank], &mut self.deposits[rank]);
        let region = &self.net.regions[rank];
        any |= self.desks[rank].serve(proto, &mut Here { rail, region, asked, deposits });
        while let Some(notice) = self.net.protos[rank].take_notice() {
            self.on_notice(rank, notice.from.0 as usize, notice.id);
        }
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

    /// Looks after an errand; says whether it has ended.
    fn go_on(&mut self, me: usize, at: usize) -> bool {
        let proto = &mut self.net.protos[me];
        let run = &mut self.runs[me][at];
        let may_fail = self.dead == Some(run.to);
        let left = run.sends.extract_if(.., |(request, _)| proto.is_done(*request)).collect::<Vec<_>>();
        for (request, mut owned) in left {
            let Outcome { result, buffer } = proto.take(request).expect("it is done");
            let Buffer::Out(buffer) = buffer else { panic!("a send gives its buffer back") };
            owned.take_back_out(buffer);
            check(result.is_ok(), result.err(), run.to, may_fail);
        }
        if let Some((request, owned)) = run.answer.as_mut()
            && let Some(Outcome { result, buffer }) = proto.take(*request)
        {
            let Buffer::In(buffer) = buffer else { panic!("a receive gives its buffer back") };
            owned.take_back_in(buffer);
            let (_, owned) = run.answer.take().expect("it was there");
            let bytes = owned.into_items();
            check(result.is_ok(), result.clone().err(), run.to, may_fail);
            if let Ok(status) = result {
                let answer = Answer::read(bytes[..ANSWER].try_into().unwrap()).result;
                let apart = proto.form(&run.errand) == Form::Apart;
                if let (Errand::Get { len, .. }, Ok(_), true) = (run.errand, answer, apart) {
                    let mut owned = Owned::new(vec![0; len as usize]);
                    let want = Want { source: Some(run.to), tag: Some(Tag(run.ticket)) };
                    run.data = Some((proto.submit_recv(ANSWERS, want, owned.lend_in()), owned));
                }
                match (&run.expected, answer) {
                    (Expected::Value(value), Ok(answer)) => assert_eq!(*value, answer),
                    (Expected::Count, Ok(count)) => self.counts[run.to.0 as usize].push(count),
                    (Expected::Bytes(expected), Ok(_)) if !apart => {
                        assert!(bytes[ANSWER..status.bytes] == expected[..], "{} bytes read", expected.len());
                    }
                    (Expected::Bytes(_), Ok(_)) => {}
                    (Expected::Refused(refusal), Err((_, answer))) => assert_eq!(*refusal, answer),
                    (Expected::Nothing, Ok(_)) => {}
                    (expected, answer) => panic!("{:?}: {answer:?} instead of {expected:?}", run.errand),
                }
            }
        }
        if let Some((request, owned)) = run.data.as_mut()
            && let Some(Outcome { result, buffer }) = proto.take(*request)
        {
            let Buffer::In(buffer) = buffer else { panic!("a receive gives its buffer back") };
            owned.take_back_in(buffer);
            let (_, owned) = run.data.take().expect("it was there");
            check(result.is_ok(), result.clone().err(), run.to, may_fail);
            if let (true, Expected::Bytes(expected)) = (result.is_ok(), &run.expected) {
                assert!(owned.into_items() == *expected, "large data read");
            }
        }
        let ended = run.sends.is_empty() && run.answer.is_none() && run.data.is_none();
        if ended && may_fail {
            proto.forget_answer(run.to, run.ticket);
        }
        ended
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

    /// Until nothing happens any more.
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
            let open: Vec<_> = self.runs[rank].iter().map(|run| (run.to, run.errand)).collect();
            assert!(open.is_empty(), "rank {rank} waits for {open:?}");
            assert_eq!(self.desks[rank].under_way(), 0, "rank {rank}");
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

fn run(seed: u64, cuts: bool, death: bool) {
    let mut play = Play::new(seed, cuts);
    let doomed = Rank(play.random.below(play.ranks()) as u32);
    let moment = play.random.below(2000);
    for step in 0..1_000_000 {
        if death && step == moment {
            play.dead = Some(doomed);
            play.net.world.kill(doomed);
            play.runs[doomed.0 as usize].clear();
            for rank in (0..play.ranks() as u32).map(Rank).filter(|rank| *rank != doomed).collect::<Vec<_>>()
            {
                play.net.tell(rank, doomed);
            }
        }
        play.step();
        let done = (0..play.ranks()).all(|rank| play.is_dead(rank) || play.left[rank] == 0);
        if done && (!death || step > moment) {
            break;
        }
    }
    play.check_the_end();
}

#[test]
fn errands_are_done_once_and_in_order() {
    super::seeds().for_each(|seed| run(seed, false, false));
}

#[test]
fn errands_are_done_once_and_in_order_though_links_are_lost() {
    super::seeds().for_each(|seed| run(seed, true, false));
}

#[test]
fn errands_at_a_rank_that_dies_fail_and_name_it() {
    super::seeds().for_each(|seed| run(seed, false, true));
}

#[test]
fn an_answer_that_nobody_waits_for_is_undone() {
    let settings = Settings { eager_bytes: 1000, piece_bytes: 512, unexpected_bytes: 1 << 20 };
    let model = Model { numbered: true, one_sided: false, ..Model::default() };
    let net = Net::new(settings, &[model], "aggregate", Packets::Well, 1, &[8, 8]);
    let mut play = Play { net, ..Play::new(1, false) };
    play.left.truncate(2);
    play.runs.truncate(2);
    for (question, late) in
        [([1, 1, 0], Late::Undo([9, 0, 0])), ([0, 0, 0], Late::Undo([8, 0, 0])), ([2, 0, 0], Late::Ignore)]
    {
        let ticket = play.desks[0].take_ticket();
        let errand = Errand::Ask(question);
        let (head, len) = errand.head(Form::Whole);
        let (proto, rail) = play.net.both(Rank(0));
        let mut owned = Owned::new(head[..len].to_vec());
        let tag = errand.tag(Form::Whole, ticket);
        let request = proto.submit_send(rail, Rank(1), ERRANDS, tag, Mode::Standard, owned.lend_out());
        play.desks[0].leave(proto, Rank(1), ticket, late);
        play.settle();
        let outcome = play.net.protos[0].take(request).expect("it has left");
        let Buffer::Out(buffer) = outcome.buffer else { panic!("a send gives its buffer back") };
        owned.take_back_out(buffer);
    }
    let asked: Vec<_> = play.asked[1].iter().map(|(_, question)| question[0]).collect();
    assert_eq!(asked, [1, 9, 0, 2], "only what gave a value was undone");
    assert_eq!(play.net.protos.iter().map(Proto::holding).collect::<Vec<_>>(), [Holding::default(); 2]);
}
