//! What a short or eager message must not cost: an allocation, or a system call.

use canele_engine::{Engine, FlowId, Mode, Rank, Tag, Want};
use canele_sys::counters::Counter;
use canele_sys::tunables::Tunables;

const MESSAGES: u64 = 1000;

fn exchange(from: &Engine, to: &Engine, bytes: &[u8], want: Want, into: &mut [u8]) {
    from.send(to.rank(), FlowId(0), Tag(1), Mode::Standard, bytes, None).unwrap();
    let status = to.recv(FlowId(0), want, into, None).unwrap();
    assert_eq!((status.source, status.bytes), (from.rank(), bytes.len()));
}

/// Allocations and system calls of `MESSAGES` messages of `bytes` bytes, after as many to warm up.
fn cost(bytes: usize) -> (u64, u64) {
    cost_of(bytes, Want { source: Some(Rank(0)), tag: Some(Tag(1)) })
}

/// The same with receives of what `want` says.
fn cost_of(bytes: usize, want: Want) -> (u64, u64) {
    let engines = canele_testing::start(2, &Tunables::default()).unwrap();
    let (message, mut into) = (vec![7; bytes], vec![0; bytes]);
    // The receiver gives credit back in a pass, which it does not make while it finds every message at once.
    let pass = || {
        for engine in engines.iter().rev() {
            engine.iprobe(FlowId(0), Want { source: None, tag: None }).unwrap();
        }
    };
    pass();
    let calls = || -> u64 { engines.iter().map(|e| e.counters().unwrap()[Counter::SystemCalls]).sum() };
    let mut run = || {
        for n in 0..MESSAGES {
            exchange(&engines[0], &engines[1], &message, want, &mut into);
            if n % 100 == 99 {
                pass();
            }
        }
    };
    run();
    let before = calls();
    let allocated = allocation_counter::measure(run).count_total;
    (allocated, calls() - before)
}

#[test]
fn short_messages_allocate_nothing_and_call_no_system() {
    assert_eq!(cost(8), (0, 0));
    assert_eq!(cost(48), (0, 0));
}

#[test]
fn receives_from_any_source_or_with_any_tag_allocate_nothing_and_call_no_system() {
    for (source, tag) in [(None, Some(Tag(1))), (Some(Rank(0)), None), (None, None)] {
        assert_eq!(cost_of(8, Want { source, tag }), (0, 0), "from {source:?} with {tag:?}");
    }
}

#[test]
fn eager_messages_allocate_nothing_and_call_no_system() {
    assert_eq!(cost(49), (0, 0));
    assert_eq!(cost(16 << 10), (0, 0));
}

#[test]
fn an_allocation_would_be_counted() {
    let counted = allocation_counter::measure(|| drop(std::hint::black_box(vec![1u8; 100])));
    assert_eq!(counted.count_total, 1);
}
