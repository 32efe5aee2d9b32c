//! A simulated network: many ranks in one thread, on virtual time, from one seed.
//!
//! Owns the clock, the links and what is under way on them. Every packet takes a time computed from the [`Model`]; room
//! that a receiver gives back reaches the sender one latency later. Links are ordered and reliable. The same seed and
//! the same calls give the same world. It never reads a clock, sleeps, or moves time by itself: whoever drives the
//! ranks calls [`World::advance`] (or a rank's `sleep`) when none of them has anything left to do.
//!
//! ```text
//!   SimRail of rank 0 ─▶ Way 0→1: cells under way, payload ring ─▶ SimRail of rank 1
//!                    ◀─ room, one latency later ◀─
//! ```

mod rail;
mod way;

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;
use std::sync::Arc;

use canele_sys::ids::{Rank, RegionId};

pub use rail::SimRail;
use way::Way;

use crate::shm::Region;

/// What every link of a world is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Model {
    /// From the moment a packet has left until it arrives.
    pub latency_ns: u64,
    /// How fast a packet leaves; at least 1.
    pub bytes_per_us: u64,
    /// What every packet costs besides its bytes.
    pub overhead_ns: u64,
    /// At most so much is added to a packet's latency, drawn from the seed. Packets of a link do not overtake.
    pub jitter_ns: u64,
    /// Packets under way on a link; an eighth is reserved for control.
    pub cells: usize,
    /// Bytes of bulk under way on a link, a power of two from 256 on; a packet takes at most a quarter.
    pub payload: usize,
    /// At most so often a peer's region is `Wanted` before it is there, drawn from the seed.
    pub region_misses: u32,
}

impl Default for Model {
    /// A small fast cluster: 1 µs, 10 GB/s.
    fn default() -> Self {
        Self {
            latency_ns: 1000,
            bytes_per_us: 10_000,
            overhead_ns: 50,
            jitter_ns: 0,
            cells: 256,
            payload: 256 * 1024,
            region_misses: 2,
        }
    }
}

/// Ranks, links and a clock. Cheap to clone; all clones are the same world.
#[derive(Clone)]
pub struct World(Rc<RefCell<State>>);

struct State {
    model: Model,
    now_ns: u64,
    random: Random,
    ranks: Vec<RankState>,
    ways: BTreeMap<(Rank, Rank), Rc<Way>>,
    regions: BTreeMap<(Rank, RegionId), Arc<Region>>,
    /// When, in which order it was put here, and for whom.
    events: BinaryHeap<Reverse<(u64, u64, Rank)>>,
    events_put: u64,
}

#[derive(Clone, Default)]
struct RankState {
    dead: bool,
    /// Who has opened a link to this rank that it has not accepted yet.
    arrived: Vec<Rank>,
}

impl World {
    /// A world of `ranks` ranks at time 0.
    pub fn new(ranks: usize, model: Model, seed: u64) -> Self {
        assert!(model.bytes_per_us > 0 && model.cells > 0, "a link must be able to carry something");
        assert!(
            model.payload.is_power_of_two() && model.payload >= 256,
            "payload is a power of two from 256 on"
        );
        Self(Rc::new(RefCell::new(State {
            model,
            now_ns: 0,
            random: Random(seed),
            ranks: vec![RankState::default(); ranks],
            ways: BTreeMap::new(),
            regions: BTreeMap::new(),
            events: BinaryHeap::new(),
            events_put: 0,
        })))
    }

    /// How many ranks.
    pub fn ranks(&self) -> usize {
        self.0.borrow().ranks.len()
    }

    /// The rail of one rank. Ask once for each.
    pub fn rail(&self, rank: Rank) -> SimRail {
        assert!((rank.0 as usize) < self.ranks(), "{rank} in a world of {} ranks", self.ranks());
        SimRail::new(self.0.clone(), rank)
    }

    /// The time.
    pub fn now_ns(&self) -> u64 {
        self.0.borrow().now_ns
    }

    /// When something will next arrive somewhere.
    pub fn next_event_ns(&self) -> Option<u64> {
        self.0.borrow().events.peek().map(|Reverse((at, ..))| *at)
    }

    /// Moves time to the next arrival of a packet or of room, and says at whom; `None` when nothing is under way.
    pub fn advance(&self) -> Option<Rank> {
        let mut state = self.0.borrow_mut();
        let Reverse((at, _, rank)) = state.events.pop()?;
        state.now_ns = state.now_ns.max(at);
        Some(rank)
    }

    /// Moves time to `time_ns`, never back; what was due until then has arrived.
    pub fn advance_to(&self, time_ns: u64) {
        self.0.borrow_mut().advance_to(time_ns);
    }

    /// Ends a rank: what it sends from now on, or has under way, never arrives. What has arrived can be read.
    pub fn kill(&self, rank: Rank) {
        let mut state = self.0.borrow_mut();
        state.ranks[rank.0 as usize].dead = true;
        state.regions.retain(|(owner, _), _| *owner != rank);
        for (_, way) in state.ways.iter().filter(|((from, _), _)| *from == rank) {
            way.cut(state.now_ns);
        }
    }

    /// Whether it was killed.
    pub fn is_dead(&self, rank: Rank) -> bool {
        self.0.borrow().ranks[rank.0 as usize].dead
    }
}

impl State {
    fn advance_to(&mut self, time_ns: u64) {
        self.now_ns = self.now_ns.max(time_ns);
        while self.events.peek().is_some_and(|Reverse((at, ..))| *at <= self.now_ns) {
            self.events.pop();
        }
    }

    fn put_event(&mut self, at_ns: u64, rank: Rank) {
        self.events.push(Reverse((at_ns, self.events_put, rank)));
        self.events_put += 1;
    }

    fn is_dead(&self, rank: Rank) -> bool {
        self.ranks[rank.0 as usize].dead
    }
}

/// Numbers from a seed (SplitMix64: Steele, Lea, Flood, OOPSLA 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number from 0 to `most`.
    fn up_to(&mut self, most: u64) -> u64 {
        let number = self.next();
        most.checked_add(1).map_or(number, |n| number % n)
    }
}
