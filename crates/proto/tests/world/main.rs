//! Ranks of the real protocol code in one thread, on virtual time, from one seed, compared with a reference
//! of matching.
//!
//! `PROTO_SEED=n` runs one seed; `PROTO_SEEDS=n` runs as many, instead of the few hundred of an ordinary run.
//! Longer ones, and other networks: `canele sim campaign`.

mod any_source;
mod credit;
mod device_memory;
mod direct;
mod early;
mod flood;
mod rails;
mod rma;
mod unequal;
mod verbs;

use canele_sim::campaign::{Faults, Setup, run};

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number: {text}")))
}

/// Returns the seed of the environment, or a few hundred.
fn seeds() -> std::ops::Range<u64> {
    match from_environment("PROTO_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..from_environment("PROTO_SEEDS").unwrap_or(300),
    }
}

/// Runs the seeds.
fn check(test: &str, faults: Faults) {
    let setup = Setup { faults, ..Setup::default() };
    for seed in seeds() {
        if let Err(failure) = run(seed, &setup) {
            let replay = format!("PROTO_SEED={seed} cargo test -p canele-proto --test world {test}");
            panic!("replay: {replay}\n{failure}");
        }
    }
}

#[test]
fn random_programs_get_what_the_reference_says() {
    check("random_programs_get_what_the_reference_says", Faults::default());
}

#[test]
fn survivors_lose_nothing_when_a_rank_dies() {
    check("survivors_lose_nothing_when_a_rank_dies", Faults { deaths: true, ..Faults::default() });
}

#[test]
fn lost_links_lose_no_message() {
    check("lost_links_lose_no_message", Faults { losses: true, ..Faults::default() });
}

#[test]
fn survivors_lose_nothing_when_a_rank_dies_and_links_are_lost() {
    check(
        "survivors_lose_nothing_when_a_rank_dies_and_links_are_lost",
        Faults { deaths: true, losses: true, ..Faults::default() },
    );
}
