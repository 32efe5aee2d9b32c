//! Random collectives of random teams, several under way at a time, on a simulated network. Ranks have
//! processors of their own or share some, have shared buffers or not, and are on one host or on several.

mod deaths;
mod model;
mod reference;
mod spec;

use canele_collective::{
    Algorithm, Buffers, CollectiveBuffer, CollectiveCosts, CollectiveRequest, CollectiveSpec, HostLevels,
    Hosts, Reduction, Schedule, Seat, Team,
};
use canele_mem::buffer::Divided;
use canele_profile::HostProfile;
use canele_sim::world::Random;
use canele_sys::ids::{FlowId, Rank, Tag};

use crate::model::Crowd;
use crate::reference::{kernel, memory};
use crate::spec::Case;

/// Returns some of the ranks, in any order.
fn members(random: &mut Random, ranks: usize) -> Vec<Rank> {
    let mut all: Vec<Rank> = (0..ranks as u32).map(Rank).collect();
    for n in (1..ranks).rev() {
        all.swap(n, random.below(n + 1));
    }
    all.truncate(1 + random.below(ranks));
    all
}

/// Makes the team as a member sees it: its own group first.
pub fn team(case: &Case, members: &[Rank], me: usize) -> Team {
    if !case.is_between() {
        return Team::new(me, members.into());
    }
    let (own, others) = (case.own(me), case.others(me));
    let list: Vec<Rank> = members[own.clone()].iter().chain(&members[others]).copied().collect();
    Team::between(me - own.start, list.into(), own.len())
}

fn own(bytes: &[u8]) -> CollectiveBuffer {
    CollectiveBuffer::Own(Box::new(Divided::from(bytes)))
}

/// The conditions of the choice of algorithms, equal on all members.
struct Conditions {
    host: HostProfile,
    oversubscribed: bool,
    shared_buffers: bool,
    forced: Option<Algorithm>,
    /// The hosts of the members, if they are several.
    hosts: Option<Hosts>,
}

impl Conditions {
    fn draw(random: &mut Random, members: usize) -> Self {
        let oversubscribed = random.chance(60);
        let forced = random.chance(50).then(|| random.pick(&Algorithm::ALL));
        let hosts = if random.chance(40) { hosts(random, members) } else { None };
        let host = random.pick(&[HostProfile::SHARED_CACHES, HostProfile::OWN_CACHES]);
        let shared_buffers = hosts.is_none() && random.chance(70);
        Self { host, oversubscribed, shared_buffers, forced, hosts }
    }

    /// Returns the seat of a member of one group.
    fn seat(&self, me: usize, ranks: usize) -> Seat {
        let on_a_host = CollectiveCosts::of(&self.host, 2);
        let levels = self.hosts.as_ref().map(|hosts| HostLevels::new(hosts, on_a_host));
        Seat {
            me,
            ranks,
            local: ranks,
            oversubscribed: self.oversubscribed,
            shared_buffers: self.shared_buffers,
            costs: if levels.is_some() { CollectiveCosts::default() } else { on_a_host },
            levels,
            forced: self.forced,
        }
    }
}

/// Draws up to four hosts of any sizes, in blocks or mixed.
fn hosts(random: &mut Random, members: usize) -> Option<Hosts> {
    let most = 1 + random.below(4);
    let mut numbers: Vec<u32> = (0..members).map(|_| random.below(most) as u32).collect();
    if random.chance(60) {
        numbers.sort_unstable();
    }
    Hosts::new(numbers)
}

/// The expected result of a part.
struct Expected {
    case: Case,
    me: usize,
    bytes: Vec<u8>,
}

/// Adds the parts of all members; returns true if they take two levels, and true if they take slices.
fn begin(
    crowd: &mut Crowd,
    (flow, call): (u32, u32),
    (case, conditions): (&Case, &Conditions),
    members: &[Rank],
    parts: &mut [Vec<CollectiveRequest>],
    expected: &mut [Vec<Expected>],
) -> [bool; 2] {
    let (mut has_levels, mut has_slices) = (false, false);
    for (me, rank) in members.iter().enumerate() {
        let asked = case.call(me);
        let memory = memory(case, me, &asked);
        let spec =
            asked.shape.map_or_else(|| CollectiveSpec::from(case.uneven(me, &asked)), CollectiveSpec::from);
        let buffers = Buffers { input: own(&memory.input), output: own(&memory.output) };
        let (team, reduction) = (team(case, members, me), Some(Reduction::from(kernel(case))));
        let seat = team.seat(conditions.seat(me, members.len()));
        let hosts = conditions.hosts.as_ref();
        let chosen = asked.shape.filter(|_| !case.is_between()).map(|shape| seat.choose(shape));
        has_levels |= matches!(chosen, Some(Algorithm::Leaders | Algorithm::Lanes));
        has_slices |= chosen == Some(Algorithm::Slices);
        let schedule = Schedule::make(seat, (Some(&team), hosts), &spec).expect("a call that can be");
        let shared_buffer =
            schedule.shared_buffer.map(|shared_buffer| crowd.shared_buffer(*rank, shared_buffer.bytes));
        let mut part = CollectiveRequest::of(schedule.into(), (FlowId(flow), Tag(call)), reduction, buffers);
        if let Some(shared_buffer) = shared_buffer {
            part = part.publish_in(shared_buffer);
        }
        parts[rank.0 as usize].push(part);
        expected[rank.0 as usize].push(Expected { case: case.clone(), me, bytes: memory.expected });
    }
    [has_levels, has_slices]
}

/// Plays a seed; returns the number of shared buffers, and of calls of even blocks with two levels and with
/// slices.
fn play(seed: u64) -> [usize; 3] {
    let (mut on_levels, mut in_slices) = (0, 0);
    let mut random = Random(seed);
    let ranks = 1 + random.below(10);
    let mut crowd = Crowd::new(ranks, seed);
    for turn in 0..6 {
        let mut parts: Vec<Vec<CollectiveRequest>> = (0..ranks).map(|_| Vec::new()).collect();
        let mut expected: Vec<Vec<Expected>> = (0..ranks).map(|_| Vec::new()).collect();
        for flow in 0..1 + random.below(3) as u32 {
            let members = members(&mut random, ranks);
            for call in 0..1 + random.below(3) as u32 {
                let case = Case::draw(&mut random, members.len());
                let conditions = Conditions::draw(&mut random, members.len());
                let [has_levels, has_slices] = begin(
                    &mut crowd,
                    (flow, turn * 10 + call),
                    (&case, &conditions),
                    &members,
                    &mut parts,
                    &mut expected,
                );
                on_levels += usize::from(has_levels);
                in_slices += usize::from(has_slices);
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
    [crowd.shared_buffers, on_levels, in_slices]
}

#[test]
fn random_collectives_of_random_teams_do_what_they_mean() {
    let mut counts = [0; 3];
    for counted in (0..800).map(play) {
        counts.iter_mut().zip(counted).for_each(|(all, more)| *all += more);
    }
    let [shared_buffers, on_levels, in_slices] = counts;
    assert!(in_slices > 50, "slices are tried too, not {in_slices}");
    assert!(shared_buffers > 500, "shared buffers are tried too, not {shared_buffers}");
    assert!(on_levels > 500, "two levels are tried too, not {on_levels}");
}
