//! Packets that no honest rank sends, into the receive path. It never panics, writes no byte outside of a
//! buffer, and loses nothing between honest ranks.
//!
//! An input is a list of bytes from which the packets of the bad rank and the calls of the attacked rank
//! follow. The files in `tests/corpus/receive` are inputs, and so are their mutations, drawn from a seed;
//! each is tried on every kind of network. `PROTO_SEED=n` runs one seed, `PROTO_SEEDS=n` as many. A failing
//! input is written to the folder for temporary files, and its name is reported; a file of the corpus is run
//! first.

mod attack;
mod rma;

use std::panic::{AssertUnwindSafe, catch_unwind};

use attack::{Attack, Net};
use canele_sim::world::Random;

const NETS: [Net; 2] = [Net::Memory, Net::Sockets];

/// Returns true for each kind of network on which the bad rank was found out.
fn attempt(input: &[u8]) -> Result<[bool; 2], String> {
    let mut blamed = [false; 2];
    for (net, blamed) in NETS.into_iter().zip(&mut blamed) {
        let run = catch_unwind(AssertUnwindSafe(|| Attack::new(net).run(input)));
        *blamed = run.map_err(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            format!("{net:?}: {}", text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic"))
        })?;
    }
    Ok(blamed)
}

fn corpus() -> Vec<(String, Vec<u8>)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/receive");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the corpus lies beside the test")
        .map(|entry| entry.expect("a readable folder").path())
        .map(|path| (path.display().to_string(), std::fs::read(&path).expect("a readable file")))
        .collect();
    files.sort();
    files
}

/// Changes, repeats or removes some bytes of a file of the corpus, or mixes it with another; or returns
/// random bytes.
fn mutated(random: &mut Random, corpus: &[(String, Vec<u8>)]) -> Vec<u8> {
    if random.chance(20) {
        return (0..random.below(600)).map(|_| random.next_u64() as u8).collect();
    }
    let mut input = corpus[random.below(corpus.len())].1.clone();
    for _ in 0..1 + random.below(12) {
        let at = random.below(input.len());
        let n = random.below(input.len() - at).min(40);
        match random.pick(&[0, 0, 2, 3, 4]) {
            0 if !input.is_empty() => input[at] = random.next_u64() as u8,
            2 => drop(input.drain(at..at + n)),
            3 => {
                let part = input[at..at + n].to_vec();
                input.splice(at..at, part);
            }
            _ => {
                let other = &corpus[random.below(corpus.len())].1;
                let from = random.below(other.len());
                input.splice(at..at, other[from..].iter().copied().take(40));
            }
        }
    }
    input.truncate(2000);
    input
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number: {text}")))
}

#[test]
fn impossible_packets_harm_no_rank_but_their_sender() {
    let corpus = corpus();
    assert!(!corpus.is_empty());
    let only = number("PROTO_SEED");
    if only.is_none() {
        for (name, input) in &corpus {
            attempt(input).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
    let seeds = only.map_or(0..number("PROTO_SEEDS").unwrap_or(2000), |seed| seed..seed + 1);
    for seed in seeds {
        let input = mutated(&mut Random(seed), &corpus);
        if let Err(error) = attempt(&input) {
            let file = std::env::temp_dir().join(format!("canele-fuzz-receive-{seed}"));
            let kept = std::fs::write(&file, &input).map(|()| file.display().to_string());
            panic!(
                "seed {seed}: {error}\nreplay: PROTO_SEED={seed} cargo test -p canele-proto --test fuzz_receive\n\
                 input: {kept:?}"
            );
        }
    }
}

#[test]
fn what_cannot_be_is_found_out_and_what_can_be_is_taken() {
    let corpus = corpus();
    for (name, blamed) in [
        ("messages", [false, false]),
        ("unknown-kind", [true, true]),
        ("unknown-flow", [true, true]),
        ("batch-messages", [false, false]),
        ("batch-answers", [false, false]),
        ("fenced-unasked", [true, true]),
        ("batch-cut", [true, true]),
        ("batch-in-batch", [true, true]),
        ("batch-too-long-inline", [true, true]),
        ("batch-longer-than-it-is", [true, true]),
        // Without numbers no packet is early, and there is no flow of puts.
        ("numbers-early", [false, false]),
        ("numbers-twice", [false, true]),
        ("numbers-twice-early", [false, true]),
        ("puts-early", [false, false]),
        ("flow-of-puts", [true, true]),
        // If messages carry numbers, none is a multi-fragment eager message.
        ("eager-multi", [false, true]),
        ("eager-multi-unexpected", [false, true]),
        ("eager-multi-gap", [true, true]),
        ("pull-stranger", [false, false]),
        ("pull-empty", [true, true]),
        ("pulled-unasked", [true, true]),
        ("pulled", [false, false]),
        ("pulled-too-short", [true, true]),
        ("link-closed-current", [false, false]),
        ("link-closed-never", [false, false]),
        ("link-closed-wild-expected", [false, true]),
        ("link-closed-again", [false, false]),
    ] {
        let (path, input) = corpus
            .iter()
            .find(|(path, _)| path.ends_with(&format!("/{name}")))
            .expect("a file of the corpus");
        assert_eq!(attempt(input), Ok(blamed), "{path}");
    }
}
