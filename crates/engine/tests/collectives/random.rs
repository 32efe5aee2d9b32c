//! Random collectives of random teams, several under way at a time, on a simulated network.

use canele_engine::FlowId;
use canele_engine::collective::{Buffers, Form, Part, Place, Reduction, Team};
use canele_rail::sim::Random;
use canele_sys::buffer::Divided;
use canele_sys::ids::Rank;

use crate::form::Case;
use crate::model::Crowd;
use crate::reference::{kernel, memory};

/// Some of the ranks, in any order.
fn members(random: &mut Random, ranks: usize) -> Vec<Rank> {
    let mut all: Vec<Rank> = (0..ranks as u32).map(Rank).collect();
    for n in (1..ranks).rev() {
        all.swap(n, random.below(n + 1));
    }
    all.truncate(1 + random.below(ranks));
    all
}

/// The team as a member sees it: its own group first.
pub fn team(case: &Case, members: &[Rank], me: usize) -> Team {
    if !case.is_between() {
        return Team::new(me, members.into());
    }
    let (own, others) = (case.own(me), case.others(me));
    let list: Vec<Rank> = members[own.clone()].iter().chain(&members[others]).copied().collect();
    Team::between(me - own.start, list.into(), own.len())
}

fn own(bytes: &[u8]) -> Place {
    Place::Own(Box::new(Divided::from(bytes)))
}

/// What is expected of a part.
struct Expected {
    case: Case,
    me: usize,
    bytes: Vec<u8>,
}

/// Adds the parts of all members.
fn begin(
    crowd: &Crowd,
    (flow, call): (u32, u32),
    case: &Case,
    members: &[Rank],
    parts: &mut [Vec<Part>],
    expected: &mut [Vec<Expected>],
) {
    for (me, rank) in members.iter().enumerate() {
        let asked = case.call(me);
        let memory = memory(case, me, &asked);
        let form = asked.shape.map_or_else(|| Form::from(case.uneven(me, &asked)), Form::from);
        let buffers = Buffers { input: own(&memory.input), output: own(&memory.output) };
        let proto = &crowd.protos[rank.0 as usize];
        let (team, reduction) = (team(case, members, me), Some(Reduction::from(kernel(case))));
        let part = Part::new(proto, (FlowId(flow), call), Some(&team), form, reduction, buffers);
        parts[rank.0 as usize].push(part.expect("a call that can be"));
        expected[rank.0 as usize].push(Expected { case: case.clone(), me, bytes: memory.expected });
    }
}

fn play(seed: u64) {
    let mut random = Random(seed);
    let ranks = 1 + random.below(10);
    let mut crowd = Crowd::new(ranks, seed);
    for turn in 0..6 {
        let mut parts: Vec<Vec<Part>> = (0..ranks).map(|_| Vec::new()).collect();
        let mut expected: Vec<Vec<Expected>> = (0..ranks).map(|_| Vec::new()).collect();
        for flow in 0..1 + random.below(3) as u32 {
            let members = members(&mut random, ranks);
            for call in 0..1 + random.below(3) as u32 {
                let case = Case::draw(&mut random, members.len());
                begin(&crowd, (flow, turn * 10 + call), &case, &members, &mut parts, &mut expected);
            }
        }
        let errors = crowd.run(&mut parts);
        assert!(errors.iter().all(Option::is_none), "seed {seed}: {errors:?}");
        for (parts, expected) in parts.iter().zip(&expected) {
            for (part, Expected { case, me, bytes }) in parts.iter().zip(expected) {
                let at = part.output().iter().zip(bytes).position(|(a, b)| a != b);
                assert!(at.is_none(), "seed {seed}: byte {at:?} of member {me} is wrong in {case:?}");
            }
        }
    }
}

#[test]
fn random_collectives_of_random_teams_do_what_they_mean() {
    (0..400).for_each(play);
}
