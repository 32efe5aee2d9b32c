//! Ranks of the real protocol code in one thread, on virtual time, from one seed, held against a reference of matching.
//!
//! `PROTO_SEED=n` runs one seed; `PROTO_SEEDS=n` runs as many, instead of the few hundred of an ordinary run.

mod direct;
mod flood;
mod memory;
mod model;
mod net;
mod play;
mod program;
mod random;
mod seeds;
mod watch;

#[test]
fn random_programs_get_what_the_reference_says() {
    seeds::check("random_programs_get_what_the_reference_says", false, 300);
}

#[test]
fn survivors_lose_nothing_when_a_rank_dies() {
    seeds::check("survivors_lose_nothing_when_a_rank_dies", true, 300);
}
