//! Collectives of several hosts amid deaths, of single ranks and of whole hosts. Each other member gets the
//! right result or the report of a dead member, and none waits for ever.

use canele_collective::{Algorithm, CollectiveRequest, Error, Hosts, MemberLiveness};
use canele_profile::HostProfile;
use canele_proto::request::Failure;
use canele_sim::world::Random;
use canele_sys::ids::{FlowId, Rank};

use crate::model::{Crowd, Death, Deaths};
use crate::spec::Case;
use crate::{Conditions, begin, team};

/// The number of turns of the loop in which ranks die, and until the last rank was informed.
const TURNS: usize = 60;

/// The results of the parts of living members.
#[derive(Default)]
struct Counts {
    right: usize,
    told: usize,
}

fn play(seed: u64, counts: &mut Counts) {
    let mut random = Random(seed);
    let (hosts, each) = (2 + random.below(3), 1 + random.below(3));
    let ranks = (hosts * each).max(3);
    let places = Hosts::new((0..ranks).map(|rank| (rank / each) as u32));
    let members: Vec<Rank> = (0..ranks as u32).map(Rank).collect();
    let conditions = Conditions {
        host: HostProfile::OWN_CACHES,
        oversubscribed: random.chance(30),
        shared_buffers: false,
        forced: random.chance(70).then(|| random.pick(&[Algorithm::Leaders, Algorithm::Lanes])),
        hosts: places,
    };
    let mut crowd = Crowd::new(ranks, seed);
    let mut parts: Vec<Vec<CollectiveRequest>> = (0..ranks).map(|_| Vec::new()).collect();
    let (mut expected, mut liveness) = ((0..ranks).map(|_| Vec::new()).collect::<Vec<_>>(), Vec::new());
    let cases: Vec<Case> = (0..3).map(|_| Case::draw(&mut random, ranks)).collect();
    for (call, case) in cases.iter().enumerate() {
        begin(&mut crowd, (0, call as u32), (case, &conditions), &members, &mut parts, &mut expected);
    }
    for me in 0..ranks {
        let of = |case: &Case| Some(MemberLiveness::new(FlowId(0), Some(team(case, &members, me))));
        liveness.push(cases.iter().map(of).collect());
    }
    // One rank dies, or all of a host at once; each other one is informed some time later.
    let (first, count) = match random.chance(30) {
        true => (random.below(hosts) * each, each),
        false => (random.below(ranks), 1),
    };
    let dead: Vec<Rank> = members.iter().copied().skip(first.min(ranks - 1)).take(count).collect();
    let turn = random.below(TURNS / 2);
    let mut to_come: Vec<Death> = dead.iter().map(|rank| Death { turn, rank: *rank, told: None }).collect();
    for rank in members.iter().filter(|rank| !dead.contains(rank)) {
        let turn = turn + 1 + random.below(TURNS / 2);
        to_come.extend(dead.iter().map(|of| Death { turn, rank: *rank, told: Some(*of) }));
    }
    let ended = crowd.run_amid(&mut parts, &mut Deaths { to_come, members: liveness });
    for rank in members.iter().filter(|rank| !dead.contains(rank)).map(|rank| rank.0 as usize) {
        for ((part, ended), expected) in parts[rank].iter().zip(&ended[rank]).zip(&expected[rank]) {
            match ended.as_ref().expect("it has ended") {
                Ok(()) => {
                    counts.right += 1;
                    assert_eq!(
                        part.output(),
                        &expected.bytes[..],
                        "seed {seed}: rank {rank}, {:?}",
                        expected.case
                    );
                }
                Err(Error::Failed(Failure::PeerFailed(of))) if dead.contains(of) => counts.told += 1,
                Err(error) => panic!("seed {seed}: rank {rank} of {ranks}, {dead:?} died: {error}"),
            }
        }
    }
}

#[test]
fn members_on_several_hosts_are_told_of_deaths_or_have_what_they_should() {
    let mut counts = Counts::default();
    (0..1500).for_each(|seed| play(seed, &mut counts));
    assert!(counts.right > 1000 && counts.told > 1000, "{} right, {} told", counts.right, counts.told);
}
