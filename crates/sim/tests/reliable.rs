//! A simulated rail with faults, made reliable, passes the suite. It gives up in time and keeps order from
//! any seed.

use std::cell::Cell;

use canele_rail::conformance::Harness;
use canele_rail::{Armed, Bulk, Class, FastPath, Header, Rail, Recoverable};
use canele_sim::fault::{Fault, Rates};
use canele_sim::reliable::{Reliable, ReliableSettings};
use canele_sim::world::{Model, Random, SimRail, World};
use canele_sys::ids::{LinkId, Rank};

type Mended = Reliable<Fault<SimRail>>;

const AGAIN_NS: u64 = 20_000;

struct Bad {
    world: World,
    rails: Vec<Mended>,
    dead: Vec<Rank>,
}

impl Bad {
    fn with(ranks: usize, rates: Rates, give_up_ns: u64, seed: u64) -> Self {
        let model = Model { cells: 16, payload: 4096, jitter_ns: 5000, ..Model::default() };
        let world = World::new(ranks, &[model], seed);
        let settings = ReliableSettings { cells: 16, again_ns: AGAIN_NS, give_up_ns };
        let rail = |rank| {
            let fault = Fault::new(world.rail(Rank(rank)), rates, seed << 8 | u64::from(rank));
            Reliable::new(fault, settings)
        };
        Self { rails: (0..ranks as u32).map(rail).collect(), world, dead: vec![] }
    }

    /// Opens the link at both ends, because answers go the other way.
    fn open(&mut self, one: usize, other: usize) {
        for (from, to) in [(one, other), (other, one)] {
            let rail = &mut self.rails[from];
            let link = rail.below().below().open_link(0, Rank(to as u32));
            rail.below().opened(link);
            rail.opened(link);
            self.rails[to].below().below().accept();
        }
    }

    /// Moves time a little on; all ranks look and send.
    fn round(&mut self) {
        let now_ns = self.world.now_ns() + 2000;
        self.world.advance_to(now_ns);
        for rail in &mut self.rails {
            rail.begin_pass();
            rail.advance_to(now_ns);
            for link in rail.incoming().to_vec() {
                rail.poll(link).expect("corrupt frames are dropped");
            }
            rail.flush();
        }
    }
}

/// The worst rates at which rails work at all.
const BAD: Rates = Rates { drop: 10, double: 10, hold: 20, window: 5, corrupt: 10, kill: 0 };

impl Harness for Bad {
    type Rail = Mended;
    const WRAPPED: u64 = 2000;

    fn new(ranks: usize) -> Self {
        Self::with(ranks, BAD, u64::MAX, SEED.get())
    }

    fn rail(&mut self, rank: usize) -> &mut Mended {
        &mut self.rails[rank]
    }

    fn connect(&mut self, from: usize, to: usize) {
        self.open(from, to);
    }

    fn deliver(&mut self) {
        for _ in 0..10_000 {
            self.round();
            let live = (0..).map(Rank).zip(&self.rails).filter(|(rank, _)| !self.dead.contains(rank));
            let left = live.map(|(_, rail)| (rail.unreleased(), rail.waiting()));
            let (unreleased, waiting) = left.fold((0, 0), |sum, rail| (sum.0 + rail.0, sum.1 + rail.1));
            if unreleased == waiting {
                return;
            }
        }
        panic!("it never arrives");
    }

    fn kill(&mut self, rank: usize) {
        self.world.kill(Rank(rank as u32));
        self.dead.push(Rank(rank as u32));
    }
}

canele_rail::conformance!(Bad, without regions);

thread_local! {
    static SEED: Cell<u64> = const { Cell::new(42) };
}

#[test]
fn the_suite_passes_with_other_seeds() {
    use canele_rail::conformance::*;
    for seed in 0..25 {
        SEED.set(seed);
        order_is_kept::<Bad>();
        directions_are_independent::<Bad>();
        many_peers::<Bad>();
        a_packet_stays_until_released::<Bad>();
        busy_when_full_and_well_afterwards::<Bad>();
        bulk_room_comes_back::<Bad>();
        streams_leave_half_to_messages::<Bad>();
        arm_sees_room_once::<Bad>();
    }
}

fn content(number: u32) -> Vec<u8> {
    (0..number as usize * 37 % 700).map(|i| (number as usize + i) as u8).collect()
}

/// Sends the next number; returns true if there was room.
fn send(rail: &mut Mended, link: LinkId, number: u32) -> bool {
    rail.begin_pass();
    let bulk = content(number);
    let Ok(slot) = rail.claim(link, bulk.len(), Class::Message) else { return false };
    slot.inline.write(0, &number.to_le_bytes());
    slot.bulk.write(0, &bulk);
    rail.commit(link, Header { tag: number, inline_len: 4, ..Header::default() });
    true
}

/// Receives the next number and checks it.
fn receive(rail: &mut Mended, link: LinkId) -> Option<u32> {
    let packet = rail.poll(link).unwrap()?;
    let (mut inline, mut bulk) = ([0; 4], vec![0; packet.bulk.len()]);
    packet.inline.read(0, &mut inline);
    packet.bulk.read(0, &mut bulk);
    let number = packet.header.tag;
    assert_eq!((u32::from_le_bytes(inline), bulk), (number, content(number)));
    rail.release(link);
    Some(number)
}

const LINKS: [LinkId; 2] = [LinkId::new(0, Rank(1)), LinkId::new(0, Rank(0))];

#[test]
fn everything_comes_once_and_in_order_from_any_seed() {
    const MOST: u32 = 100;
    for seed in 0..300 {
        let mut random = Random(seed);
        let rates = Rates {
            drop: random.below(40),
            double: random.below(40),
            hold: random.below(60),
            window: 1 + random.below(12),
            corrupt: random.below(40),
            kill: 0,
        };
        let mut bad = Bad::with(2, rates, u64::MAX, seed);
        bad.open(0, 1);
        let (mut sent, mut got) = ([0; 2], [0; 2]);
        for _ in 0..100_000 {
            for me in 0..2 {
                while sent[me] < MOST && random.chance(70) && send(&mut bad.rails[me], LINKS[me], sent[me]) {
                    sent[me] += 1;
                }
                while let Some(number) = receive(&mut bad.rails[me], LINKS[me]) {
                    assert_eq!(number, got[me], "seed {seed}");
                    got[me] += 1;
                }
            }
            bad.round();
            if got == [MOST; 2] {
                break;
            }
        }
        assert_eq!(got, [MOST; 2], "seed {seed}: {rates:?}");
        bad.deliver();
        for rail in &mut bad.rails {
            rail.arm(); // Room may have come, which is news once.
        }
        assert!(bad.rails.iter_mut().all(|rail| matches!(rail.arm(), Armed::Ready)), "seed {seed}");
    }
}

#[test]
fn a_link_whose_peer_takes_nothing_is_lost_with_what_was_sent() {
    let mut bad = Bad::with(2, Rates { drop: 100, ..BAD }, 1_000_000, 1);
    bad.open(0, 1);
    bad.world.advance_to(5_000_000);
    (0..2).for_each(|me| bad.rails[me].advance_to(5_000_000));
    assert!(send(&mut bad.rails[0], LINKS[0], 0) && send(&mut bad.rails[0], LINKS[0], 1));
    for _ in 0..400 {
        bad.round();
    }
    assert!(bad.rails[0].take_lost().is_none(), "the timeout counts from the first packet");
    for _ in 0..200 {
        bad.round();
    }
    assert_eq!(bad.rails[0].take_lost().map(|lost| lost.link), Some(LINKS[0]));
    assert!(bad.rails[0].take_lost().is_none(), "told once");
    assert!(bad.rails[1].take_lost().is_none(), "who waits for nothing does not give up");
    assert!(bad.rails[0].claim(LINKS[0], 0, Class::Control).is_err());
    let mut ours = bad.rails[0].close_link(LINKS[0]).unwrap();
    let theirs = bad.rails[1].close_link(LINKS[1]).unwrap();
    ours.reconcile(theirs.expected).unwrap();
    let bulks: Vec<_> = ours
        .kept
        .iter()
        .map(|kept| match &kept.bulk {
            Bulk::Copied(bulk) => (kept.header.tag, bulk.to_vec()),
            Bulk::Lent(_) => panic!("nothing was lent"),
        })
        .collect();
    assert_eq!(bulks, [(0, content(0)), (1, content(1))]);
}

#[test]
fn a_link_is_killed_with_its_packet_of_that_number() {
    let world = World::new(2, &[Model::default()], 1);
    let rates = Rates { kill: 1, window: 1, ..Rates::default() };
    let mut rail = Fault::new(world.rail(Rank(0)), rates, 7);
    let link = rail.below().open_link(0, Rank(1));
    rail.opened(link);
    assert!(rail.take_lost().is_none());
    rail.post(link, Header::default(), &[]).unwrap();
    assert!(rail.claim(link, 0, Class::Message).is_err());
    assert_eq!(world.next_event_ns(), None, "it never left");
    assert_eq!(rail.take_lost().map(|lost| lost.link), Some(link));
    assert!(rail.take_lost().is_none());
    assert!(rail.close_link(link).is_some());
}

#[test]
fn every_fault_is_seen_without_the_mending() {
    let faults = |rates: Rates| {
        let world = World::new(2, &[Model::default()], 1);
        let mut rail = Fault::new(world.rail(Rank(0)), Rates { window: 4, ..rates }, 3);
        let mut other = world.rail(Rank(1));
        let link = rail.below().open_link(0, Rank(1));
        rail.opened(link);
        other.accept();
        let mut got = vec![];
        for number in 0..200_u32 {
            rail.begin_pass();
            let slot = rail.claim(link, 8, Class::Message).expect("room");
            slot.bulk.write(0, &[1; 8]);
            rail.commit(link, Header { tag: number, ..Header::default() });
            while world.advance().is_some() {}
            while let Some(packet) = other.poll(LINKS[1]).unwrap() {
                let mut bulk = [0; 8];
                packet.bulk.read(0, &mut bulk);
                got.push((packet.header, bulk));
                other.release(LINKS[1]);
            }
        }
        got
    };
    let tags = |rates| faults(rates).iter().map(|(header, _)| header.tag).collect::<Vec<_>>();
    assert_eq!(tags(Rates::default()), (0..200).collect::<Vec<_>>());
    assert!((120..180).contains(&tags(Rates { drop: 25, ..Rates::default() }).len()));
    assert!((220..280).contains(&tags(Rates { double: 25, ..Rates::default() }).len()));
    assert!(!tags(Rates { hold: 25, ..Rates::default() }).is_sorted());
    let corrupt = faults(Rates { corrupt: 25, ..Rates::default() });
    let right = |(n, (header, bulk)): (u32, &(Header, [u8; 8]))| {
        *header == Header { tag: n, ..Header::default() } && *bulk == [1; 8]
    };
    assert!((120..190).contains(&(0..).zip(&corrupt).filter(|got| right(*got)).count()));
}
