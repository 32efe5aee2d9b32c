//! A connection is lost without its messages: the two ends settle them over a second network.

use std::collections::BTreeSet;

use canele_rail::{
    Armed, Bulk, Class, Distance, FastPath, Header, Rail, Recoverable, Unacked, UnackedPacket,
};
use canele_sim::world::{Cut, Model, Random, SimRail, When, World};
use canele_sys::ids::{LinkId, Rank};

/// The network that is cut, and the one that stays.
const CUT: u8 = 0;
const STAYS: u8 = 1;
const DATA: u8 = 1;
const SETTLE: u8 = 2;

fn worlds(seed: u64) -> (World, [SimRail; 2]) {
    let mut random = Random(seed);
    let model = Model {
        cells: random.pick(&[4, 16, 64]),
        payload: random.pick(&[1024, 16 << 10]),
        jitter_ns: random.pick(&[0, 3000]),
        bytes_per_ms: random.pick(&[100_000, 1_000_000, 10_000_000]),
        recoverable: true,
        distance: Distance::Network,
        maps_regions: false,
        busy: random.chance(50),
        ..Model::default()
    };
    let world = World::new(2, &[model, Model { cells: 64, payload: 64 << 10, ..model }], seed);
    let rails = [0, 1].map(|r| world.rail(Rank(r)));
    (world, rails)
}

fn open(rails: &mut [SimRail; 2], network: u8) {
    for me in 0..2 {
        rails[me].open_link(network, Rank(1 - me as u32));
        rails[1 - me].accept();
    }
}

fn content(number: u64, len: usize) -> Vec<u8> {
    (0..len).map(|i| (number as usize * 31 + i) as u8).collect()
}

/// One end: it sends numbered packets, keeps those that came, and settles those that it lost.
struct End {
    me: usize,
    sent: u64,
    got: Vec<u64>,
    /// The packets left of lost links, while the other end has not said how far it came.
    unacked: Vec<Unacked>,
    /// The generations, and packets expected, that the other end reports of links that are not lost here yet.
    told: Vec<(u32, u32)>,
    again: Vec<UnackedPacket>,
    settling: Vec<(u32, u32)>,
    settled: BTreeSet<u32>,
}

impl End {
    fn new(me: usize) -> Self {
        Self {
            me,
            sent: 0,
            got: vec![],
            unacked: vec![],
            told: vec![],
            again: vec![],
            settling: vec![],
            settled: BTreeSet::new(),
        }
    }

    fn link(&self, network: u8) -> LinkId {
        LinkId::new(network, Rank(1 - self.me as u32))
    }

    fn pass(&mut self, rail: &mut SimRail, random: &mut Random, most: u64) {
        rail.accept();
        rail.begin_pass();
        for network in [CUT, STAYS] {
            self.receive(rail, network);
        }
        while let Some(lost) = rail.take_lost() {
            assert_eq!(lost.link, self.link(CUT));
            self.close_link(rail);
        }
        // An end that hears of a generation that still seems well here closes it too.
        if let Some(place) = self.told.iter().position(|(g, _)| !self.settled.contains(g) && !self.has(*g)) {
            let generation = self.told[place].0;
            self.close_link(rail);
            assert!(self.has(generation), "the other end had generation {generation}");
        }
        self.reconcile();
        self.send(rail, random, most);
    }

    fn has(&self, generation: u32) -> bool {
        self.unacked.iter().any(|r| r.generation == generation)
    }

    fn close_link(&mut self, rail: &mut SimRail) {
        self.receive(rail, CUT);
        let link = self.link(CUT);
        let unacked = rail.close_link(link).expect("a link that was open");
        self.settling.push((unacked.generation, unacked.expected));
        self.unacked.push(unacked);
        assert_eq!(rail.open_link(CUT, link.peer()), link, "the next generation");
    }

    fn receive(&mut self, rail: &mut SimRail, network: u8) {
        let link = self.link(network);
        while let Some(packet) = rail.poll(link).unwrap() {
            let header = packet.header;
            if header.kind == SETTLE {
                self.told.push((header.flow, header.tag));
            } else {
                let number = u64::from(header.sequence);
                let mut bulk = vec![0; packet.bulk.len()];
                packet.bulk.read(0, &mut bulk);
                assert_eq!(bulk, content(number, header.tag as usize));
                self.got.push(number);
            }
            rail.release(link);
        }
    }

    fn reconcile(&mut self) {
        let mut told = std::mem::take(&mut self.told);
        told.retain(|(generation, expected)| {
            let Some(place) = self.unacked.iter().position(|r| r.generation == *generation) else {
                return true;
            };
            let mut unacked = self.unacked.remove(place);
            unacked.reconcile(*expected).expect("a number that can be");
            assert!(self.settled.insert(*generation), "settled once");
            assert!(
                unacked.kept.iter().all(|kept| kept.header.kind == DATA),
                "settled where nothing is lost"
            );
            self.again.extend(unacked.kept);
            false
        });
        self.told = told;
    }

    fn send(&mut self, rail: &mut SimRail, random: &mut Random, most: u64) {
        let stays = self.link(STAYS);
        self.settling.retain(|(generation, expected)| {
            let header = Header { kind: SETTLE, flow: *generation, tag: *expected, ..Header::default() };
            put(rail, stays, header, &[], &[]).is_err()
        });
        self.again.retain(|kept| {
            let Bulk::Copied(bulk) = &kept.bulk else { panic!("nothing was lent") };
            put(rail, stays, kept.header, &kept.beside, bulk).is_err()
        });
        for _ in 0..random.below(4) {
            if self.sent < most {
                let len = random.below(200);
                let header =
                    Header { kind: DATA, sequence: self.sent as u32, tag: len as u32, ..Header::default() };
                let bulk = content(self.sent, len);
                self.sent += u64::from(put(rail, self.link(CUT), header, &[], &bulk).is_ok());
            }
        }
    }
}

fn put(
    rail: &mut SimRail,
    link: LinkId,
    header: Header,
    beside: &[u8],
    bulk: &[u8],
) -> Result<(), canele_rail::Busy> {
    let slot = rail.claim(link, bulk.len(), Class::Message)?;
    slot.inline.write(0, beside);
    slot.bulk.write(0, bulk);
    rail.commit(link, header);
    Ok(())
}

/// Lets both ends send and receive while the connection is cut at random moments.
fn play(seed: u64) {
    const MOST: u64 = 60;
    let (world, mut rails) = worlds(seed);
    let mut random = Random(!seed);
    open(&mut rails, CUT);
    open(&mut rails, STAYS);
    let mut ends = [End::new(0), End::new(1)];
    for cut in 0..1 + random.below(3) as u64 {
        let when = match random.below(3) {
            0 => When::At(random.up_to(60_000) * (cut + 1)),
            1 => When::Packets(1 + random.up_to(40) * (cut + 1)),
            _ => When::Bytes(1 + random.up_to(5000) * (cut + 1)),
        };
        let notice = |random: &mut Random| (!random.chance(30)).then(|| random.up_to(20_000));
        let both = [notice(&mut random), notice(&mut random)];
        // One of the ranks has to notice the cut.
        let notices_ns = if both == [None, None] { [Some(3000), None] } else { both };
        world.cut(Cut { network: CUT, ends: [Rank(0), Rank(1)], when, notices_ns });
    }
    let all: Vec<u64> = (0..MOST).collect();
    for _ in 0..20_000 {
        let me = random.below(2);
        ends[me].pass(&mut rails[me], &mut random, MOST);
        if random.chance(40) {
            world.advance();
        }
        if ends
            .iter()
            .all(|end| end.got.len() as u64 >= MOST && end.settling.is_empty() && end.unacked.is_empty())
        {
            break;
        }
    }
    while world.advance().is_some() {
        (0..2).for_each(|me| ends[me].pass(&mut rails[me], &mut random, MOST));
    }
    for end in &mut ends {
        end.got.sort_unstable();
        assert_eq!(end.got, all, "seed {seed}: each packet once at rank {}", end.me);
        assert!(end.unacked.is_empty() && end.told.is_empty(), "seed {seed}: all is settled");
    }
}

#[test]
fn what_a_lost_link_carried_is_settled_over_a_second_network_exactly_once() {
    (0..1000).for_each(play);
}

fn connected() -> (World, [SimRail; 2], [LinkId; 2]) {
    let (world, mut rails) = worlds(3);
    open(&mut rails, CUT);
    (world, rails, [LinkId::new(CUT, Rank(1)), LinkId::new(CUT, Rank(0))])
}

#[test]
fn what_arrived_before_the_loss_can_be_read_and_what_was_under_way_is_kept() {
    let (world, mut rails, links) = connected();
    put(&mut rails[0], links[0], Header { tag: 1, ..Header::default() }, &[], &[1; 8]).unwrap();
    while world.advance().is_some() {}
    rails[0].begin_pass();
    put(&mut rails[0], links[0], Header { tag: 2, ..Header::default() }, &[], &[2; 8]).unwrap();
    let cut = Cut {
        network: CUT,
        ends: [Rank(0), Rank(1)],
        when: When::At(world.now_ns()),
        notices_ns: [Some(0), Some(500)],
    };
    world.cut(cut);
    while world.advance().is_some() {}
    assert!(matches!(rails[1].arm(), Armed::Work));
    assert_eq!(rails[1].poll(links[1]).unwrap().map(|p| p.header.tag), Some(1));
    rails[1].release(links[1]);
    assert!(rails[1].poll(links[1]).unwrap().is_none());
    assert_eq!(rails[0].take_lost().map(|lost| lost.link), Some(links[0]));
    assert!(rails[0].take_lost().is_none(), "told once");
    rails[0].begin_pass();
    assert!(rails[0].claim(links[0], 0, Class::Control).is_err(), "nothing more goes out");

    let mut ours = rails[0].close_link(links[0]).unwrap();
    let theirs = rails[1].close_link(links[1]).unwrap();
    assert_eq!((ours.generation, theirs.generation), (0, 0));
    assert_eq!(ours.kept.len(), 2, "no packet reported that the first was released");
    ours.reconcile(theirs.expected).unwrap();
    assert_eq!(ours.kept.iter().map(|kept| kept.header.tag).collect::<Vec<_>>(), [2]);
    assert!(rails[0].incoming().is_empty() && rails[0].close_link(links[0]).is_none());
}

#[test]
fn one_who_did_not_notice_hears_of_it_when_the_other_end_opens_the_next_connection() {
    let (world, mut rails, links) = connected();
    let ends = [Rank(0), Rank(1)];
    world.cut(Cut { network: CUT, ends, when: When::At(0), notices_ns: [Some(0), None] });
    while world.advance().is_some() {}
    assert!(rails[1].take_lost().is_none());
    put(&mut rails[1], links[1], Header::default(), &[], &[]).expect("it seems well");
    rails[0].take_lost().expect("noticed");
    rails[0].close_link(links[0]).unwrap();
    rails[0].open_link(CUT, Rank(1));
    assert!(matches!(rails[1].arm(), Armed::Work));
    rails[1].accept();
    assert_eq!(rails[1].take_lost().map(|lost| lost.link), Some(links[1]));
    assert!(matches!(rails[1].arm(), Armed::Ready), "told once");
    assert_eq!(rails[1].close_link(links[1]).unwrap().kept.len(), 1);
    rails[1].open_link(CUT, Rank(0));
    rails[0].accept();
    put(&mut rails[1], links[1], Header { tag: 7, ..Header::default() }, &[], &[]).unwrap();
    while world.advance().is_some() {}
    assert_eq!(rails[0].poll(links[0]).unwrap().map(|p| p.header.tag), Some(7));
    assert_eq!(rails.each_ref().map(|rail| rail.generation(links[0])), [1, 0], "of the link to rank 1");
    assert_eq!(rails[1].generation(links[1]), 1);
    assert_eq!(rails[0].close_link(links[0]).unwrap().generation, 1);
}

#[test]
fn a_direction_that_is_opened_after_the_link_was_closed_stays_closed() {
    let (world, mut rails) = worlds(3);
    let links = [LinkId::new(CUT, Rank(1)), LinkId::new(CUT, Rank(0))];
    rails[0].open_link(CUT, Rank(1));
    rails[1].open_link(CUT, Rank(0));
    put(&mut rails[1], links[1], Header::default(), &[], &[]).unwrap();
    while world.advance().is_some() {}
    // It has not accepted the direction on which something has come.
    assert_eq!(rails[0].close_link(links[0]).unwrap().generation, 0);
    rails[0].accept();
    assert!(rails[0].incoming().is_empty(), "it said that nothing had come");
    assert_eq!(rails[1].close_link(links[1]).unwrap().kept.len(), 1);
}

#[test]
fn one_whose_other_end_was_closed_notices_a_latency_later() {
    let (world, mut rails, links) = connected();
    rails[0].disconnect(links[0]);
    assert!(rails[1].take_lost().is_none());
    while world.advance().is_some() {}
    assert_eq!(world.now_ns(), Model::default().latency_ns);
    assert!(rails[1].take_lost().is_some());
}

#[test]
fn a_busy_link_takes_one_packet_a_pass() {
    let model = Model { busy: true, ..Model::default() };
    let world = World::new(3, &[model], 1);
    let mut rail = world.rail(Rank(0));
    let [one, two] = [1, 2].map(|peer| rail.open_link(0, Rank(peer)));
    rail.post(one, Header::default(), &[]).unwrap();
    assert!(rail.post(one, Header::default(), &[]).is_err());
    rail.post(two, Header::default(), &[]).expect("another link");
    rail.begin_pass();
    rail.post(one, Header::default(), &[]).unwrap();
}
