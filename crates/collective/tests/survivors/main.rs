//! Agreements and revocations among ranks that die at any moment, from seeds. Messages take any time, and a
//! rank dies between any two of its messages. Each of the others learns of it at another time, after the last
//! message of the dead.

mod world;

use canele_collective::survivors::Name;
use canele_sys::ids::{FlowId, Rank};

use crate::world::{AGREEMENTS, FLOWS, World};

const SEEDS: u64 = 4000;

/// Checks that all living members have one decision: the words of the members that it does not count as gone.
fn check_agreements(world: &World, seed: u64) {
    let survivors = world.survivors();
    for name in world.names() {
        let decisions: Vec<_> = survivors.iter().map(|rank| world.decision(*rank, name)).collect();
        let first = decisions[0].unwrap_or_else(|| panic!("seed {seed}: {name:?} has not ended"));
        assert!(
            decisions.iter().all(|decision| *decision == Some(first)),
            "seed {seed}: {name:?} gave {decisions:?}"
        );
        let all: Vec<Rank> = (0..world.ranks() as u32).map(Rank).collect();
        let (failed, lived): (Vec<Rank>, Vec<Rank>) =
            all.iter().partition(|rank| first.failed.contains(rank));
        assert!(failed.iter().all(|rank| world.is_dead(*rank)), "seed {seed}: {failed:?} are not all dead");
        let words = lived.iter().map(|rank| World::word(*rank, name)).fold(u64::MAX, |all, word| all & word);
        assert_eq!(first.words, [words], "seed {seed}: {name:?} without {failed:?}");
        let acknowledged = |rank: &Rank| lived.iter().all(|of| world.acknowledged(*of, name).contains(rank));
        let expected: Vec<Rank> = all.iter().copied().filter(acknowledged).collect();
        assert_eq!(first.acknowledged, expected, "seed {seed}: {name:?}");
    }
}

#[test]
fn all_that_live_agree_and_know_what_is_revoked_under_any_deaths() {
    let (mut deaths, mut revoked, mut coordinators) = (0, 0, 0);
    for seed in 0..SEEDS {
        let mut world = World::new(seed);
        world.run();
        let survivors = world.survivors();
        deaths += world.ranks() - survivors.len();
        coordinators += usize::from(world.is_dead(Rank(0)));
        check_agreements(&world, seed);
        for flow in (0..FLOWS).map(|n| FlowId(10 + 2 * n)) {
            let know: Vec<bool> = survivors.iter().map(|rank| world.is_revoked(*rank, flow)).collect();
            assert!(
                know.iter().all(|known| *known == know[0]),
                "seed {seed}: {flow:?} is revoked for {know:?}"
            );
            assert!(
                know[0] || !world.was_revoked_by_a_survivor(flow),
                "seed {seed}: {flow:?} is not revoked"
            );
            revoked += usize::from(know[0]);
        }
        for rank in survivors {
            assert!(world.is_empty(rank), "seed {seed}: {rank} keeps agreements for ever");
        }
    }
    // The seeds are worth their time.
    let seeds = SEEDS as usize;
    assert!(deaths > seeds && coordinators > seeds / 4, "{deaths} deaths, {coordinators} of coordinators");
    assert!(revoked > seeds / 4, "{revoked} groups were revoked");
}

#[test]
fn a_coordinator_that_dies_while_it_says_that_all_have_the_decision_leaves_nothing_behind() {
    for ranks in 2..=6 {
        let all_done = (AGREEMENTS * FLOWS) as usize * (ranks - 1);
        for done in 0..all_done {
            for seed in 0..20 {
                let mut world = World::with_death_amid_done(ranks, done, seed);
                world.run();
                assert!(world.is_dead(Rank(0)), "{ranks} ranks, {done} messages, seed {seed}");
                check_agreements(&world, seed);
                let mut survivors = world.survivors().into_iter();
                assert!(
                    survivors.all(|rank| world.is_empty(rank)),
                    "{ranks} ranks, {done} messages, seed {seed}: an agreement is kept for ever"
                );
            }
        }
    }
}

#[test]
fn an_agreement_without_deaths_takes_four_messages_for_each_other_member() {
    let mut world = World::of(5, 0);
    world.run();
    let name = |number| Name { flow: FlowId(10), number };
    assert!((0..AGREEMENTS).all(|number| world.decision(Rank(3), name(number)).is_some()));
    assert_eq!(world.delivered(), (AGREEMENTS * FLOWS) as usize * 4 * 4);
}
