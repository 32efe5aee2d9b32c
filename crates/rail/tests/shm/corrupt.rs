//! A peer that writes anything anywhere it can: packets may be refused or wrong, and nothing worse.
//!
//! A peer maps this rank's whole inbox, and this rank reads the cursors in the peer's. Both are scribbled on here.

use std::time::Duration;

use canele_rail::shm::Shm;
use canele_rail::shm::layout::{self, InboxLayout};
use canele_rail::{Armed, Class, Header, OneSided, Packet, Rail};
use canele_sys::atomic::Ordering;
use canele_sys::ids::{LinkId, Rank};
use canele_sys::segment::Segment;

use super::{Local, connected};
use canele_rail::conformance::Harness;

/// Numbers from a seed (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// Returns a small number, one close to `old`, or a random one.
    fn value(&mut self, old: u64) -> u64 {
        match self.below(6) {
            0 => 0,
            1 => u64::MAX,
            2 => old.wrapping_add(self.next() % 5).wrapping_sub(2),
            3 => old ^ 1 << self.below(64),
            4 => self.next() >> self.below(64),
            _ => self.next(),
        }
    }
}

/// An inbox as a second process maps it.
struct Scribbler {
    segment: Segment,
    layout: InboxLayout,
}

impl Scribbler {
    fn new(owner: &Shm) -> Self {
        let segment = Segment::map(owner.inbox_fd().try_clone_to_owned().unwrap()).unwrap();
        let layout = InboxLayout::read(&segment, segment.len(), None).unwrap();
        Self { segment, layout }
    }

    fn write(&self, offset: usize, random: &mut Random) {
        let word = self.segment.atomic_u64(offset / 8 * 8);
        let old = word.load(Ordering::Relaxed);
        word.store(random.value(old), Ordering::Relaxed);
    }

    /// Overwrites one word: of the header beyond the description, of the slice, of a cell, or of the payload.
    fn scribble(&self, sender: usize, random: &mut Random) {
        let (start, slice) = (self.layout.slice_start(sender), self.layout.slice());
        let offset = match random.below(10) {
            0 => layout::SLEEP + random.below(4096 - layout::SLEEP),
            1 => random.below(layout::SLEEP),
            2 => start + slice.cursors + random.below(slice.cells - slice.cursors),
            3 => start + slice.payload + random.below(self.layout.payload),
            4 => start + slice.cells + 64 * random.below(self.layout.cells) + random.below(64),
            // Prefers the few cells that are read next, and their most important words.
            5 | 6 => start + slice.cells + 64 * random.below(4),
            7 => start + slice.cells + 64 * random.below(4) + 56,
            _ => start + slice.cursors + 8 * random.below(2),
        };
        self.write(offset, random);
    }
}

fn read_all(packet: &Packet<'_>, max_bulk: usize) {
    let mut bytes = [0; 48];
    packet.inline.read(0, &mut bytes[..packet.header.inline_len as usize]);
    assert!(packet.bulk.len() <= max_bulk);
    let mut bulk = vec![0; packet.bulk.len()];
    packet.bulk.read(0, &mut bulk);
}

/// Makes one pass over a link, whatever the packets contain. Returns true if the link is corrupt.
fn work(rail: &mut Shm, link: LinkId, random: &mut Random) -> bool {
    let max_bulk = rail.caps(LinkId::new(0, Rank(0))).max_bulk;
    match random.below(8) {
        0..=2 => {
            let (class, bulk) = match random.below(3) {
                0 => (Class::Control, 0),
                1 => (Class::Message, random.below(max_bulk + 1)),
                _ => (Class::Stream, random.below(max_bulk + 1)),
            };
            if let Ok(slot) = rail.claim(link, bulk, class) {
                slot.bulk.write(0, &vec![0xa5; bulk]);
                rail.commit(link, Header { inline_len: random.below(41) as u8, ..Header::default() });
            }
        }
        3..=5 => match rail.poll(link) {
            Err(corrupt) => {
                assert!(corrupt.0.contains("rank"), "{corrupt}");
                return true;
            }
            Ok(None) => {}
            Ok(Some(packet)) => {
                read_all(&packet, max_bulk);
                rail.release(link);
            }
        },
        6 => {
            rail.accept();
            rail.take_notification();
            if let Armed::Ready = rail.arm() {
                rail.sleep(Some(Duration::ZERO));
            }
        }
        _ => {
            for mine in [true, false] {
                if let Some(chunk_counter) = rail.chunk_counter(link, mine, random.below(8)) {
                    let generation = canele_mem::chunk_counter::Generation(random.below(3) as u32);
                    let pieces =
                        [chunk_counter.take_front(generation, 5), chunk_counter.take_back(generation, 5)];
                    assert!(pieces.iter().flatten().all(|piece| *piece < 5), "{pieces:?}");
                    chunk_counter.finish_piece();
                    chunk_counter.progress(generation, 5);
                }
            }
        }
    }
    false
}

#[test]
fn scribbles_are_refused_or_harmless() {
    let mut corrupt = 0;
    for seed in 1..=400 {
        let mut random = Random(seed);
        let [(mut a, to_b), (mut b, to_a)] = connected();
        let inboxes = [(Scribbler::new(&a), 1), (Scribbler::new(&b), 0)];
        // Some links have gone round the ring before.
        let quiet = random.below(300);
        for step in 0..1500 {
            if step > quiet && random.below(20) == 0 {
                let (inbox, sender) = &inboxes[random.below(2)];
                inbox.scribble(*sender, &mut random);
            }
            // A corrupt link stays connected here; the engine would close it, but the driver must survive it.
            corrupt += u32::from(work(&mut a, to_b, &mut random));
            corrupt += u32::from(work(&mut b, to_a, &mut random));
        }
    }
    assert!(corrupt > 1000, "only {corrupt} corruptions were noticed: the scribbler is too tame");
}

/// A receiver that lies about consumed packets does not make the sender write outside its own slice.
#[test]
fn a_lying_receiver_does_not_lead_writes_astray() {
    let mut local = Local::open(3);
    local.connect(1, 0);
    let inbox = Scribbler::new(local.rail(0));
    let (start, slice) = (inbox.layout.slice_start(1), inbox.layout.slice());
    let mut random = Random(99);
    for _ in 0..20_000 {
        inbox.write(start + slice.cursors + 8 * random.below(2), &mut random);
        let bulk = random.below(inbox.layout.max_bulk() + 1);
        if let Ok(slot) = local.rail(1).claim(LinkId::new(0, Rank(0)), bulk, Class::Message) {
            slot.inline.write(0, &[0xff; 40]);
            slot.bulk.write(0, &vec![0xff; bulk]);
            local.rail(1).commit(LinkId::new(0, Rank(0)), Header { inline_len: 40, ..Header::default() });
        }
    }
    let untouched = |from: usize, to: usize| {
        (from..to).step_by(8).all(|at| inbox.segment.atomic_u64(at).load(Ordering::Relaxed) == 0)
    };
    assert!(untouched(layout::COUNTERS, start));
    assert!(untouched(start + slice.wants + 8, start + slice.cells));
    assert!(untouched(inbox.layout.slice_start(2), inbox.layout.bytes()));
}

/// Flips every bit of a header that describes an inbox: each is refused or has no meaning.
#[test]
fn a_wrong_description_is_refused() {
    for offset in (0..24).step_by(4) {
        for bit in 0..32 {
            let mut local = Local::open(2);
            let inbox = Scribbler::new(local.rail(1));
            inbox.segment.atomic_u32(offset).fetch_xor(1 << bit, Ordering::Relaxed);
            let fd = local.rail(1).inbox_fd().try_clone_to_owned().unwrap();
            let error = local.rail(0).introduce(canele_sys::ids::Rank(1), fd, None);
            assert!(error.is_err(), "bit {bit} of the word at {offset}");
        }
    }
}
