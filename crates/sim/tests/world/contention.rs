//! Contention: ranks share the ports of a crossbar, and the channels of routers.

use canele_rail::{Class, Header, Rail};
use canele_sim::world::{Model, Random, SimRail, Topology, World, Wormhole};
use canele_sys::ids::{LinkId, Rank};

/// The bytes of a packet without payload.
const HEADER: u64 = 16;

/// Returns a crossbar with 1 byte a nanosecond and a latency of 100 ns.
fn crossbar() -> Model {
    let topology = Topology::Crossbar;
    Model { latency_ns: 100, overhead_ns: 0, bytes_per_ms: 1_000_000, topology, ..Model::default() }
}

/// Returns routers with flits of 32 bytes and 32 ns, and 10 ns in each router.
fn routers(ports: usize, hosts: usize, buffer_flits: u32) -> Model {
    let wormhole = Wormhole {
        ports,
        hosts,
        flit_bytes: 32,
        buffer_flits,
        router_ns: 10,
        credit_ns: 5,
        bytes_per_ms: 1_000_000,
    };
    Model { topology: Topology::Wormhole(wormhole), ..crossbar() }
}

/// All ranks with links to all.
struct All {
    world: World,
    rails: Vec<SimRail>,
}

impl All {
    fn new(ranks: u32, model: Model) -> Self {
        let world = World::new(ranks as usize, &[model], 1);
        let mut rails: Vec<_> = (0..ranks).map(|r| world.rail(Rank(r))).collect();
        for a in 0..ranks {
            for b in (0..ranks).filter(|b| *b != a) {
                rails[a as usize].open_link(0, Rank(b));
            }
        }
        rails.iter_mut().for_each(SimRail::accept);
        Self { world, rails }
    }

    /// Sends a packet of so many bytes, header included; returns true if there was room.
    fn send(&mut self, from: u32, to: u32, bytes: u64) -> bool {
        let rail = &mut self.rails[from as usize];
        let link = LinkId::new(0, Rank(to));
        let room = rail.claim(link, (bytes - HEADER) as usize, Class::Message).is_ok();
        if room {
            rail.commit(link, Header::default());
        }
        room
    }

    /// Lets the next event happen and takes the packets that have come: sender, receiver and time of each.
    fn next(&mut self) -> Option<Vec<(u32, u32, u64)>> {
        let at = self.world.advance()?;
        assert_eq!(self.world.check(), Ok(()));
        let rail = &mut self.rails[at.0 as usize];
        let mut came = vec![];
        for link in rail.incoming().to_vec() {
            while rail.poll(link).unwrap().is_some() {
                rail.release(link);
                came.push((link.peer().0, at.0, self.world.now_ns()));
            }
        }
        Some(came)
    }

    fn all(&mut self) -> Vec<(u32, u32, u64)> {
        let mut came = vec![];
        while let Some(some) = self.next() {
            came.extend(some);
        }
        came
    }
}

#[test]
fn two_senders_share_the_port_of_one_receiver() {
    for model in [crossbar(), routers(8, 4, 8)] {
        let mut all = All::new(4, model);
        let (idle, port) = (model.idle_ns(1600 - HEADER), 1600);
        assert!(all.send(0, 2, 1600) && all.send(1, 2, 1600) && all.send(3, 1, 1600));
        let mut came = all.all();
        came.sort_by_key(|(_, to, at)| (*to, *at));
        assert_eq!(came[0], (3, 1, idle), "no other rank wants that port");
        assert_eq!(came[1].2, idle);
        let gap = came[2].2 - came[1].2;
        assert!((port..port + 20).contains(&gap), "the second follows at once: {gap}");
    }
}

#[test]
fn one_sender_shares_its_port_among_receivers() {
    let mut all = All::new(4, crossbar());
    (1..4).for_each(|to| assert!(all.send(0, to, 1000)));
    let times: Vec<_> = all.all().into_iter().map(|(.., at)| at).collect();
    assert_eq!(times, [1100, 2100, 3100]);
}

#[test]
fn ranks_of_one_host_share_its_ports_and_work_at_the_same_time() {
    let model = Model { ranks_per_port: 2, overhead_ns: 300, ..crossbar() };
    let mut all = All::new(4, model);
    // Both work for their packet first; the second one waits for the port out.
    assert!(all.send(0, 2, 1000) && all.send(1, 3, 1000));
    let times: Vec<_> = all.all().into_iter().map(|(.., at)| at).collect();
    assert_eq!(times, [1400, 2400]);
    // Later packets of a rank leave the port to another rank while it works for them.
    let mut all = All::new(4, model);
    assert!(all.send(0, 2, 100) && all.send(0, 3, 100) && all.send(1, 3, 100));
    let times = all.all();
    assert_eq!(times, [(0, 2, 500), (1, 3, 600), (0, 3, 900)]);
    // Both hosts have their own ports.
    let mut all = All::new(4, model);
    assert!(all.send(0, 2, 1000) && all.send(3, 1, 1000));
    let times: Vec<_> = all.all().into_iter().map(|(.., at)| at).collect();
    assert_eq!(times, [1400, 1400]);
}

#[test]
fn stages_fill_once_and_a_small_packet_does_not_overtake_a_large_one() {
    let model = Model { stages: 4, stage_bytes: 500, ..crossbar() };
    let mut all = All::new(2, model);
    assert!(all.send(0, 1, 2000) && all.send(0, 1, 16));
    let times: Vec<_> = all.all().into_iter().map(|(.., at)| at).collect();
    assert_eq!(times, [100 + 3 * 500 + 2000, 100 + 3 * 500 + 2000 + 16]);
}

#[test]
fn a_worm_that_waits_holds_its_channels() {
    // Rank 2's packet fills the path to rank 3. That of rank 0 waits for it inside the network and holds up
    // the next packet of rank 0, though rank 1 is idle.
    let mut all = All::new(4, routers(8, 4, 4));
    assert!(all.send(2, 3, 32 * 100) && all.send(0, 3, 32 * 50) && all.send(0, 1, 32));
    let came = all.all();
    let at = |from, to| came.iter().find(|(f, t, _)| (*f, *t) == (from, to)).expect("it came").2;
    let first = 10 + 32 * 100 + 100;
    assert_eq!(at(2, 3), first);
    assert_eq!(at(0, 3), first + 32 * 50);
    assert!(at(0, 1) > first + 32 * 44, "held up at the head of the line: {}", at(0, 1));
    // In this order nothing is held up: the buffer takes all of a packet that is as short as it.
    let mut all = All::new(4, routers(8, 4, 4));
    assert!(all.send(2, 3, 32 * 100) && all.send(0, 1, 32));
    assert!(all.all().contains(&(0, 1, 10 + 32 + 100)));
}

#[test]
fn a_buffer_too_small_for_the_round_trip_of_a_credit_costs_bandwidth() {
    let time = |buffer_flits| {
        let Topology::Wormhole(wormhole) = routers(8, 4, buffer_flits).topology else { unreachable!() };
        let topology = Topology::Wormhole(Wormhole { router_ns: 100, credit_ns: 20, ..wormhole });
        let mut all = All::new(2, Model { topology, ..crossbar() });
        assert!(all.send(0, 1, 32 * 1000));
        all.all()[0].2
    };
    // A flit may leave when the one that is `buffer_flits` before it has left the buffer and the credit is
    // back.
    let full = 100 + 32 * 1000 + 100;
    assert_eq!([time(8), time(4)], [full; 2]);
    assert_eq!(time(1), full + 999 * (120 - 32));
    assert_eq!(time(2), full + 499 * (120 - 64));
}

#[test]
fn senders_to_one_receiver_get_equal_shares() {
    for model in [crossbar(), routers(8, 4, 8), routers(8, 2, 8)] {
        let mut all = All::new(8, model);
        let mut got = [0_u64; 8];
        for _ in 0..200_000 {
            (1..8).for_each(|from| while all.send(from, 0, 1040) {});
            for (from, ..) in all.next().expect("always something") {
                got[from as usize] += 1;
            }
            if got.iter().sum::<u64>() > 4000 {
                break;
            }
        }
        let (least, most) = (got[1..].iter().min().unwrap(), got[1..].iter().max().unwrap());
        assert!(got.iter().sum::<u64>() > 4000);
        if all.world.ranks() <= 8 && !matches!(model.topology, Topology::Wormhole(w) if w.hosts == 2) {
            assert!(most - least <= most / 20 + 2, "{got:?}");
        } else {
            assert!(*least > 0, "no rank starves: {got:?}");
        }
    }
}

#[test]
fn nothing_is_lost_and_nothing_stands_still_in_grids_under_random_load() {
    for (seed, ranks) in (0..30).flat_map(|seed| [(seed, 3), (seed, 9), (seed, 26)]) {
        let mut random = Random(seed);
        let (hosts, flits) = (random.pick(&[1, 2, 4]), random.pick(&[1, 2, 8]));
        let mut all = All::new(ranks, routers(8.max(hosts + 4), hosts, flits));
        let (mut sent, mut came) = (0, 0);
        for _ in 0..2000 {
            let (from, to) = (random.below(ranks as usize) as u32, random.below(ranks as usize) as u32);
            let most = if random.chance(10) { 5000 } else { 60 };
            let bytes = HEADER + random.up_to(most);
            sent += usize::from(from != to && all.send(from, to, bytes));
            if random.chance(60) {
                came += all.next().map_or(0, |some| some.len());
            }
        }
        came += all.all().len();
        assert_eq!(came, sent, "seed {seed}, {ranks} ranks");
    }
}
