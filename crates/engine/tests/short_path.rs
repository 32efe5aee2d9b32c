//! Costs that a short or eager message must not have: an allocation, or a system call.

use canele_engine::{Engine, Envelope, FlowId, Mode, Rank, ShortAddress, ShortSent, Started, Tag, Want};
use canele_sys::counters::Counter;
use canele_sys::tunables::Tunables;
use canele_testing::LocalRank;

const MESSAGES: u64 = 1000;

fn exchange(from: &Engine, to: &Engine, bytes: &[u8], want: Want, into: &mut [u8]) {
    from.send(to.rank(), FlowId(0), Tag(1), Mode::Standard, bytes, None).unwrap();
    let status = to.recv(FlowId(0), want, into, None).unwrap();
    assert_eq!((status.source, status.bytes), (from.rank(), bytes.len()));
}

/// Returns the allocations and system calls of `MESSAGES` messages of `bytes` bytes, after as many to warm
/// up.
fn cost(bytes: usize) -> (u64, u64) {
    cost_of(bytes, Want { source: Some(Rank(0)), tag: Some(Tag(1)) })
}

/// Returns these costs with receives of this `want`.
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

const WANT: Want = Want { source: Some(Rank(0)), tag: Some(Tag(1)) };

/// Makes two ranks, and the address of the second one for the first one, whose link is open.
fn with_an_open_link() -> (Vec<LocalRank>, ShortAddress) {
    let engines = canele_testing::start(2, &Tunables::default()).unwrap();
    for engine in &engines {
        engine.iprobe(FlowId(0), WANT).unwrap();
    }
    exchange(&engines[0], &engines[1], &[0; 8], WANT, &mut [0; 8]);
    let address = ShortAddress { peer: engines[0].peer_index(Rank(1)).unwrap(), flow: FlowId(0) };
    (engines, address)
}

/// Messages on the short path fill the ring; the next ones join the backlog without another try of a cell,
/// and keep the order.
#[test]
fn what_a_cell_has_refused_goes_on_behind_it() {
    let (engines, address) = with_an_open_link();
    let [from, to] = &engines[..] else { unreachable!("two were started") };
    let sent_of = |n: u64| from.try_send_short(&address, Tag(1), &n.to_ne_bytes());
    let refused = (0..).find(|n| sent_of(*n) != Some(ShortSent::Done)).unwrap();
    assert!(refused > 10 && sent_of(refused) == Some(ShortSent::Left), "the ring takes {refused} messages");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(sent_of(refused), None, "this thread has no bias, so no cell is tried");
            from.send_refused(Rank(1), FlowId(0), Tag(1), &refused.to_ne_bytes()).unwrap();
            let post = || from.post_refused(Envelope::new(Rank(1), FlowId(0), Tag(1)), &[9; 8]).unwrap();
            while !matches!(post(), Started::Done) {
                from.poll().unwrap(); // Room or credit comes back.
            }
        });
        for expected in (0..=refused).map(u64::to_ne_bytes).chain([[9; 8]]) {
            let mut bytes = [0; 8];
            to.recv(FlowId(0), WANT, &mut bytes, None).unwrap();
            assert_eq!(bytes, expected);
        }
    });
}

/// Longer messages on the short path fill the ring; none is sent twice or lost, and they keep their order
/// among short ones.
#[test]
fn longer_messages_of_the_short_path_keep_their_order() {
    let (engines, address) = with_an_open_link();
    let [from, to] = &engines[..] else { unreachable!("two were started") };
    let message = |n: usize| vec![n as u8; [49, 64, 100, 128, 257, 3000][n % 6]];
    assert!(!from.send_next(&address, Tag(1), &[1; 48]), "it fits into a cell");
    assert!(!from.send_next(&address, Tag(1), &vec![1; 1 << 20]), "it does not go in one packet");
    let refused = (0..).find(|n| !from.send_next(&address, Tag(1), &message(*n))).unwrap();
    assert!(refused > 10, "the ring takes {refused} messages");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert!(!from.send_next(&address, Tag(1), &message(refused)), "this thread has no bias");
            from.send_refused(Rank(1), FlowId(0), Tag(1), &message(refused)).unwrap();
        });
        let mut bytes = [0; 3000];
        assert_eq!(to.receive_next(Rank(0), FlowId(0), Tag(2), &mut bytes), None, "another tag is next");
        assert_eq!(to.receive_next(Rank(0), FlowId(0), Tag(1), &mut bytes[..48]), None, "it does not fit");
        for n in 0..=refused {
            let expected = message(n);
            let taken = match to.receive_next(Rank(0), FlowId(0), Tag(1), &mut bytes) {
                Some(taken) => taken,
                None => to.recv(FlowId(0), WANT, &mut bytes, None).unwrap().bytes,
            };
            assert!(bytes[..taken] == expected, "message {n}");
        }
    });
}
