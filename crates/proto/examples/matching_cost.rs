//! The cost of matching in instructions, exact and repeatable, measured by callgrind.
//!
//! ```sh
//! cargo build --release -p canele-proto --example matching_cost
//! for rounds in 1000 2000; do
//!     valgrind --tool=callgrind --callgrind-out-file=/dev/null \
//!         target/release/examples/matching_cost exact $rounds
//! done
//! ```
//!
//! Each prints "Collected : n"; the difference of the two, divided by 1000, is the cost of one round.
//! `nothing` gives the cost of the loop itself (to subtract); the other workloads are listed in `main`.

use std::hint::black_box;

use canele_proto::matching::{Matcher, Want};
use canele_sys::ids::{Rank, RequestId, Tag};

const REQUEST: RequestId = RequestId { index: 1, generation: 0 };

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, workload, rounds] = &arguments[..] else {
        panic!("usage: matching_cost WORKLOAD ROUNDS");
    };
    let rounds: u32 = rounds.parse().expect("ROUNDS is a number");
    let round = match workload.as_str() {
        "nothing" => nothing,
        "exact" => posted_exact,
        "neighbours" => posted_by_neighbours,
        "any-source" => posted_any_source,
        "unexpected" => unexpected_exact,
        "unexpected-anything" => unexpected_anything,
        other => panic!("no workload {other}: see main"),
    };
    let mut matcher = Matcher::new();
    for number in 0..rounds {
        round(black_box(&mut matcher), black_box(number));
    }
    assert!(matcher.is_quiet());
}

fn exact(source: u32, tag: u32) -> Want {
    black_box(Want { source: Some(Rank(source)), tag: Some(Tag(tag)) })
}

#[inline(never)]
fn nothing(_matcher: &mut Matcher, number: u32) {
    black_box((exact(3, 7), Rank(number), Tag(7)));
}

/// Posts a receive, then its message arrives.
#[inline(never)]
fn posted_exact(matcher: &mut Matcher, _number: u32) {
    matcher.post(exact(3, 7), REQUEST);
    black_box(matcher.arrive(black_box(Rank(3)), black_box(Tag(7))));
}

/// Posts four receives from four ranks, whose messages arrive in another order.
#[inline(never)]
fn posted_by_neighbours(matcher: &mut Matcher, number: u32) {
    for source in 0..4 {
        matcher.post(exact(source, 7), REQUEST);
    }
    for source in 0..4 {
        black_box(matcher.arrive(black_box(Rank(source ^ number & 3)), black_box(Tag(7))));
    }
}

/// Posts a receive from any source, then its message arrives.
#[inline(never)]
fn posted_any_source(matcher: &mut Matcher, _number: u32) {
    matcher.post(black_box(Want { source: None, tag: Some(Tag(7)) }), REQUEST);
    black_box(matcher.arrive(black_box(Rank(3)), black_box(Tag(7))));
}

/// Lets a message arrive first; its receive comes later.
#[inline(never)]
fn unexpected_exact(matcher: &mut Matcher, number: u32) {
    matcher.store(black_box(Rank(3)), black_box(Tag(7)), number);
    black_box(matcher.take(exact(3, 7)));
}

/// Lets a message arrive first; a receive of any message comes later.
#[inline(never)]
fn unexpected_anything(matcher: &mut Matcher, number: u32) {
    matcher.store(black_box(Rank(3)), black_box(Tag(7)), number);
    black_box(matcher.take(black_box(Want { source: None, tag: None })));
}
