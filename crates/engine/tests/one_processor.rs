//! Two ranks that the kernel has put on one processor: each gives it up at once when it waits, in every way
//! of waiting.

use canele_engine::{Engine, FlowId, Mode, Rank, Tag, Want};
use canele_sys::affinity::ProcessorSet;
use canele_sys::counters::Counter;
use canele_sys::topology;
use canele_sys::tunables::{Tunables, Wait};

const FLOW: FlowId = FlowId(0);
const TAG: Tag = Tag(1);
const TURNS: u64 = 500;

/// Passes a message to and fro on one processor; returns the number of sleeps.
fn exchange(engine: &Engine, processor: u32) -> u64 {
    ProcessorSet::new(&[processor]).bind_thread().expect("an allowed processor");
    let other = Rank(1 - engine.rank().0);
    let want = Want { source: Some(other), tag: Some(TAG) };
    let send = || engine.send(other, FLOW, TAG, Mode::Standard, &[7], None).expect("the peer lives");
    let receive = || engine.recv(FLOW, want, &mut [0], None).expect("the peer lives");
    for _ in 0..TURNS {
        if engine.rank() == Rank(0) {
            send();
            receive();
        } else {
            receive();
            send();
        }
    }
    engine.counters().expect("not forked")[Counter::Sleeps]
}

/// With back-off alone only the end of a time slice ends a wait: without the look at the peer's processor a
/// rank never sleeps.
#[test]
fn a_rank_sleeps_while_its_peer_needs_the_processor() {
    let processor = topology::allowed().expect("the kernel tells")[0];
    for wait in [Wait::Adaptive, Wait::Poll] {
        let tunables = Tunables { wait, spin_ns: 1_000_000_000, yields: 0, ..Tunables::default() };
        let engines = canele_testing::start(2, &tunables).expect("a job of two ranks");
        let slept: u64 = std::thread::scope(|scope| {
            let ranks: Vec<_> =
                engines.iter().map(|engine| scope.spawn(move || exchange(engine, processor))).collect();
            ranks.into_iter().map(|rank| rank.join().expect("no failure")).sum()
        });
        assert!(slept > TURNS / 2, "{wait:?}: {slept} sleeps in {TURNS} turns of two ranks");
    }
}
