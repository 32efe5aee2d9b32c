//! Deferred receives beside a reference: their messages follow from the order of receives and messages alone,
//! for any calls between.

use std::collections::VecDeque;

use canele_engine::{
    Deferral, DeferredEnd, DeferredHandles, DeferredRecv, DeferredSource, Engine, FlowId, Mode, Rank, Tag,
    Want,
};
use canele_mem::buffer::RawBlock;
use canele_sys::tunables::Tunables;
use canele_testing::LocalRank;

const SEEDS: u64 = 300;
const STEPS: usize = 240;
const FLOW: FlowId = FlowId(0);
/// The longest short message, and the longest of all.
const SHORT_BYTES: usize = 48;
const MOST_BYTES: usize = 400;
const ANY: Want = Want { source: None, tag: None };

/// A receive that was started: its name, its tag, and the length of its message.
struct Started {
    name: u32,
    tag: u32,
    expected: Option<usize>,
    has_ended: bool,
}

/// The two ranks, and the state of the reference. Messages differ in their lengths.
struct World {
    engines: Vec<LocalRank>,
    source: DeferredSource,
    random: u64,
    sent: usize,
    /// The longest message.
    most: usize,
    /// The number of deferred receives that ended at once.
    at_once: usize,
    /// Messages for which there is no receive yet.
    unexpected: VecDeque<(u32, usize)>,
    started: VecDeque<Started>,
}

struct Receives;

impl DeferredHandles for Receives {
    type Handle = Started;

    fn is_of(handle: &Started, name: u32) -> bool {
        handle.name == name
    }

    fn end(handle: &mut Started) {
        handle.has_ended = true;
    }
}

impl World {
    fn new(seed: u64) -> Self {
        let engines = canele_testing::start(2, &Tunables::default()).expect("two ranks");
        // A message opens the link.
        for engine in &engines {
            engine.iprobe(FLOW, ANY).unwrap();
        }
        engines[0].send(Rank(1), FLOW, Tag(0), Mode::Standard, &[0], None).unwrap();
        engines[1].recv(FLOW, ANY, &mut [0], None).unwrap();
        let source = DeferredSource::new(Rank(0), FLOW, 0);
        let random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        Self {
            engines,
            source,
            random,
            sent: 0,
            most: if seed.is_multiple_of(2) { SHORT_BYTES } else { MOST_BYTES },
            at_once: 0,
            unexpected: VecDeque::new(),
            started: VecDeque::new(),
        }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % below
    }

    /// Returns mostly the same tag, so that messages often come in the order of the receives.
    fn draw_tag(&mut self) -> u32 {
        self.draw(12).saturating_sub(9) as u32
    }

    fn receiver(&self) -> &Engine {
        &self.engines[1]
    }

    fn send(&mut self) {
        let (tag, len) = (self.draw_tag(), 1 + self.sent % self.most);
        self.sent += 1;
        if self.sent.is_multiple_of(16) {
            // This makes room.
            self.receiver().poll().unwrap();
        }
        self.engines[0].send(Rank(1), FLOW, Tag(tag), Mode::Standard, &vec![9; len], None).unwrap();
        let taker = self.started.iter_mut().find(|one| one.tag == tag && one.expected.is_none());
        match taker {
            Some(taker) => taker.expected = Some(len),
            None => self.unexpected.push_back((tag, len)),
        }
    }

    /// Takes the first message with this tag that no receive has.
    fn take_unexpected(&mut self, tag: u32) -> Option<usize> {
        let at = self.unexpected.iter().position(|(of, _)| *of == tag)?;
        self.unexpected.remove(at).map(|(_, len)| len)
    }

    fn defer(&mut self, has_bias: bool) {
        let tag = self.draw_tag();
        self.source = DeferredSource::new(Rank(0), FLOW, tag);
        let most = self.most;
        let block = || RawBlock::of(vec![0; most].leak());
        let engine = self.receiver();
        let at_once = if has_bias { engine.defer_recv(&self.source, Tag(tag), block()) } else { None };
        let deferral =
            at_once.map_or_else(|| engine.defer_otherwise(&self.source, Tag(tag), block()), Deferral::Done);
        if let Deferral::Done(name) = deferral {
            let expected = self.take_unexpected(tag);
            self.started.push_back(Started { name, tag, expected, has_ended: false });
        }
    }

    fn end_at_once(&mut self, soon: bool) {
        let mut got = Vec::new();
        let mut told = |at: usize, ended: &DeferredRecv, bytes: usize| got.push((at, ended.word(), bytes));
        let is_told = self.draw(2) == 0;
        let told: Option<DeferredEnd<'_, '_>> = if is_told { Some(&mut told) } else { None };
        let started = self.started.make_contiguous();
        let ended = match soon {
            true => self.engines[1].end_deferred_soon::<Receives>(started, told),
            false => self.engines[1].end_deferred::<Receives>(started, told),
        };
        let expected = |at: usize, one: &Started| (at, one.tag, one.expected.expect("it was sent"));
        assert!(started.iter().enumerate().all(|(at, one)| one.has_ended == (at < ended)));
        let all: Vec<_> = (0..ended).map(|at| expected(at, &started[at])).collect();
        assert_eq!(got, if is_told { all } else { vec![] });
        self.started.drain(..ended);
        self.at_once += ended;
    }

    /// Receives a message, blocking, that is there and that no receive has.
    fn receive(&mut self) {
        let tag = self.unexpected[0].0;
        if let Some(expected) = self.take_unexpected(tag) {
            let want = Want { source: Some(Rank(0)), tag: Some(Tag(tag)) };
            let status = self.receiver().recv(FLOW, want, &mut [0; MOST_BYTES], None).unwrap();
            assert_eq!(status.bytes, expected);
        }
    }

    /// Takes the results of all, and waits for those whose messages were sent.
    fn wait_for_submitted(&mut self) {
        let names: Vec<u32> = self.started.iter().map(|one| one.name).collect();
        let mut pending = Vec::new();
        let each = |name, submitted: canele_engine::SubmittedRecv| {
            pending.push((name, submitted.started.expect("the job goes on")));
        };
        self.engines[1].take_submitted(&names, each).unwrap();
        assert_eq!(pending.len(), names.len(), "each is told once, and none was before");
        let mut ended = Vec::new();
        for (one, (name, pending)) in self.started.drain(..).zip(pending) {
            assert_eq!(one.name, name);
            match one.expected {
                Some(expected) => {
                    let end = self.engines[1].wait(pending, None).unwrap();
                    assert_eq!(end.result.unwrap().bytes, expected);
                }
                // It must not take messages for others.
                None => {
                    assert!(self.engines[1].cancel(pending).unwrap());
                    assert!(self.engines[1].wait(pending, None).unwrap().result.is_err());
                }
            }
            ended.push(name);
        }
        self.engines[1].make_room_to_defer(&mut ended);
    }

    fn step(&mut self, has_bias: bool) {
        match self.draw(40) {
            0..=14 if self.unexpected.len() > 2 => self.receive(),
            0..=14 => self.send(),
            15..=28 => self.defer(has_bias),
            29..=32 => self.end_at_once(true),
            33..=37 => self.end_at_once(false),
            38 => self.wait_for_submitted(),
            _ => drop(self.receiver().iprobe(FLOW, ANY).unwrap()),
        }
    }
}

#[test]
fn each_deferred_receive_gets_what_a_reference_says() {
    let mut at_once = 0;
    for seed in 0..SEEDS {
        let mut world = World::new(seed);
        (0..STEPS).for_each(|_| world.step(true));
        world.wait_for_submitted();
        at_once += world.at_once;
    }
    assert!(at_once > 2 * SEEDS as usize, "{at_once} ended while they were deferred");
}

#[test]
fn threads_without_bias_defer_in_turn() {
    let mut at_once = 0;
    for seed in 0..SEEDS / 4 {
        let mut world = World::new(seed);
        for _ in 0..STEPS / 60 {
            // A thread of its own, which ends the bias.
            let mut steps = || {
                world.receiver().iprobe(FLOW, ANY).unwrap();
                (0..60).for_each(|_| world.step(false));
            };
            std::thread::scope(|scope| scope.spawn(&mut steps).join()).expect("as the reference says");
        }
        world.wait_for_submitted();
        at_once += world.at_once;
    }
    assert!(at_once > SEEDS as usize / 2, "{at_once} ended while they were deferred");
}
