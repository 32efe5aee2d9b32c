//! Exposures over a network with verbs: puts and gets are verbs, and locks, signals and flushes are kept as
//! for requests.

use std::sync::Arc;

use canele_mem::buffer::{MemoryAddress, OutBuffer};
use canele_mem::layout::Layout;
use canele_proto::rma::{ElementAccess, ElementAction, ExposureKey, RmaLockKind, WindowAction};
use canele_rail::{FetchOp, Rma};
use canele_sim::world::{Cut, When};

use super::wrong::idle_over;
use super::*;

mod words;

const OWNER: usize = 1;
const LEN: usize = 4096;

/// Makes some ranks with links to the owner, over a network with verbs. A put of [`LEN`] bytes takes longer
/// there than a request.
fn play(ranks: usize) -> Play {
    play_over(Model { recoverable: true, ..Model::default() }, ranks)
}

/// Makes such ranks over links of this model.
fn play_over(model: Model, ranks: usize) -> Play {
    let mut play = idle_over(Model { verbs: true, bytes_per_ms: 100_000, ..model }, ranks);
    for me in (0..ranks).filter(|me| *me != OWNER) {
        submit(&mut play, me, RmaRequest::Fence, None, CallEnding::Counted);
    }
    play.settle();
    play
}

/// Exposes zeros at the owner.
fn expose(play: &mut Play) -> (Exposed, ExposureKey) {
    let memory = Exposed::of(vec![0; LEN]);
    let key = play.expose(OWNER, memory.clone());
    (memory, key)
}

fn submit(
    play: &mut Play,
    me: usize,
    rma_request: RmaRequest,
    data: Option<&Exposed>,
    ending: CallEnding,
) -> Key {
    let data = data.and_then(|data| data.out_buffer(0, data.len()));
    let (proto, rail) = play.net.both(Rank(me as u32));
    let call = NewCall { data, ending, ..NewCall::new(Rank(OWNER as u32), rma_request) };
    play.origins[me].submit(proto, rail, call)
}

/// Puts bytes of one value; a flush reports their end.
fn put(play: &mut Play, me: usize, place: MemoryAddress, value: u8, len: usize) {
    let rma_request = RmaRequest::Put { place, len: len as u64, report: PutReport::Flush };
    submit(play, me, rma_request, Some(&Exposed::of(vec![value; len])), CallEnding::Counted);
}

fn flush(play: &mut Play, me: usize, key: ExposureKey) -> Key {
    submit(play, me, RmaRequest::Flush { window: key }, None, CallEnding::Taken)
}

fn act(play: &mut Play, me: usize, key: ExposureKey, action: WindowAction) -> Key {
    let ending = if action == WindowAction::Unlock { CallEnding::Taken } else { CallEnding::Counted };
    submit(play, me, RmaRequest::Window { window: key, action }, None, ending)
}

fn result(play: &mut Play, me: usize, key: Key) -> Result<u64, RmaFailure> {
    play.origins[me].take(key).expect("it has ended").result
}

fn at(key: ExposureKey, offset: usize) -> MemoryAddress {
    MemoryAddress { key: key.into(), offset: offset as u64 }
}

/// Returns the number of messages that the owner has received.
fn received(play: &Play) -> u64 {
    play.net.protos[OWNER].traffic.received.iter().map(|moved| moved.messages).sum()
}

fn bytes(memory: &Exposed, offset: usize, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    assert!(memory.load(offset, &mut bytes));
    bytes
}

/// Lets each rank pass once, and time go on.
fn step(play: &mut Play) {
    for rank in 0..play.ranks() {
        play.pass(rank);
    }
    play.net.advance();
}

fn outside() -> Result<u64, Refusal> {
    Err(Refusal::Outside(LEN as u64))
}

/// Returns the refusal without the memory's name.
fn refusal(result: Result<u64, RmaFailure>) -> Result<u64, Refusal> {
    result.map_err(|failure| match failure {
        RmaFailure::Refused(_, refusal) => refusal,
        RmaFailure::Failed(failure) => panic!("{failure:?}"),
    })
}

#[test]
fn puts_and_gets_are_verbs_and_a_flush_asks_no_owner() {
    let mut play = play(2);
    let (memory, key) = expose(&mut play);
    let before = received(&play);
    put(&mut play, 0, at(key, 8), 7, LEN - 8);
    let flushed = flush(&mut play, 0, key);
    assert!(!play.origins[0].has_ended(flushed));
    while !play.origins[0].has_ended(flushed) {
        step(&mut play);
    }
    assert_eq!(bytes(&memory, 0, LEN), [vec![0; 8], vec![7; LEN - 8]].concat());
    assert_eq!(result(&mut play, 0, flushed), Ok(0));
    let into = Exposed::of(vec![0; LEN]);
    let (proto, rail) = play.net.both(Rank(0));
    let get = RmaRequest::Get { place: at(key, 0), len: LEN as u64 };
    let call = NewCall { into: into.in_buffer(0, LEN), ..NewCall::new(Rank(OWNER as u32), get) };
    let got = play.origins[0].submit(proto, rail, call);
    play.settle();
    assert_eq!(result(&mut play, 0, got), Ok(0));
    assert_eq!(bytes(&into, 0, LEN), bytes(&memory, 0, LEN));
    assert_eq!(received(&play), before);
}

#[test]
fn a_put_that_the_network_refuses_is_done_by_request_and_its_flush_waits() {
    let mut play = play(2);
    let (memory, key) = expose(&mut play);
    play.net.rails[OWNER].deregister(MemoryAddress::start(key));
    put(&mut play, 0, at(key, 0), 7, LEN);
    let flushed = flush(&mut play, 0, key);
    while !play.origins[0].has_ended(flushed) {
        step(&mut play);
    }
    assert_eq!(bytes(&memory, 0, LEN), vec![7; LEN]);
    assert_eq!(result(&mut play, 0, flushed), Ok(0));
}

#[test]
fn a_put_and_a_get_whose_verbs_are_lost_with_their_link_are_done_by_request() {
    let mut play = play(2);
    let (memory, key) = expose(&mut play);
    let before = received(&play);
    put(&mut play, 0, at(key, 0), 7, LEN / 2);
    let into = Exposed::of(vec![1; LEN / 2]);
    let (proto, rail) = play.net.both(Rank(0));
    let get = RmaRequest::Get { place: at(key, LEN / 2), len: LEN as u64 / 2 };
    let call = NewCall { into: into.in_buffer(0, LEN / 2), ..NewCall::new(Rank(OWNER as u32), get) };
    let got = play.origins[0].submit(proto, rail, call);
    let flushed = flush(&mut play, 0, key);
    assert_eq!(play.net.protos[0].holding().verbs, 2);
    let (when, ends) = (When::At(play.net.world.now_ns()), [Rank(0), Rank(OWNER as u32)]);
    play.net.cut(&[Cut { network: 0, ends, when, notices_ns: [Some(0); 2] }]);
    play.settle();
    assert!([flushed, got].map(|call| result(&mut play, 0, call).is_ok()) == [true; 2]);
    assert_eq!(bytes(&memory, 0, LEN), [vec![7; LEN / 2], vec![0; LEN / 2]].concat());
    assert_eq!(bytes(&into, 0, LEN / 2), vec![0; LEN / 2]);
    assert!(received(&play) > before, "both were lost");
    assert_eq!(play.net.protos[0].holding(), Holding::default());
    assert_eq!(play.origins[0].under_way(), 0);
}

#[test]
fn what_the_owner_refuses_is_told_by_the_next_flush_and_by_no_other() {
    let mut play = play(2);
    let (_, key) = expose(&mut play);
    put(&mut play, 0, at(key, 0), 7, LEN);
    let before = flush(&mut play, 0, key);
    // It is shorter than the put that the flush before it waits for.
    let place = at(key, LEN - 7);
    let bad = RmaRequest::Put { place, len: 8, report: PutReport::Flush };
    let bad = submit(&mut play, 0, bad, Some(&Exposed::of(vec![1; 8])), CallEnding::Taken);
    let behind = flush(&mut play, 0, key);
    let after = flush(&mut play, 0, key);
    play.settle();
    let results = [before, bad, behind, after].map(|call| refusal(result(&mut play, 0, call)));
    assert_eq!(results, [Ok(0), Ok(0), outside(), Ok(0)]);
}

#[test]
fn a_flush_asks_for_a_request_that_has_not_left_when_it_is_submitted() {
    let mut play = play(2);
    let (memory, key) = expose(&mut play);
    put(&mut play, 0, at(key, 0), 7, LEN);
    // It waits for the verb before it.
    let (layout, action) = (Layout::block(8).repeated(2, 16).expect("two words"), ElementAction::Put);
    let access = ElementAccess { action, place: at(key, 0), operation: (0, 0), len: 16, elements: None };
    let (proto, rail) = play.net.both(Rank(0));
    let call = NewCall {
        elements: Some((Arc::new(layout), 1)),
        element_bytes: 8,
        data: Exposed::of(vec![9; 16]).out_buffer(0, 16),
        ending: CallEnding::Counted,
        ..NewCall::new(Rank(OWNER as u32), RmaRequest::Access(access))
    };
    play.origins[0].submit(proto, rail, call);
    let flushed = flush(&mut play, 0, key);
    while !play.origins[0].has_ended(flushed) {
        step(&mut play);
    }
    assert_eq!(bytes(&memory, 0, 25), [[9; 8].as_slice(), &[7; 8], &[9; 8], &[7]].concat());
    assert_eq!(result(&mut play, 0, flushed), Ok(0));
}

#[test]
fn a_flush_tells_of_no_access_behind_it() {
    let mut play = play(2);
    let (_, key) = expose(&mut play);
    put(&mut play, 0, at(key, 0), 7, LEN);
    let before = flush(&mut play, 0, key);
    // Memory of a device is refused at once, while the flush waits for the verb.
    let rma_request = RmaRequest::Put { place: at(key, 0), len: 8, report: PutReport::Flush };
    let data = Some(OutBuffer::of_made_up_device(3, 8));
    let (proto, rail) = play.net.both(Rank(0));
    let call = NewCall { data, ..NewCall::new(Rank(OWNER as u32), rma_request) };
    let bad = play.origins[0].submit(proto, rail, call);
    let after = flush(&mut play, 0, key);
    play.settle();
    assert_eq!(result(&mut play, 0, before), Ok(0));
    for call in [bad, after] {
        let why = result(&mut play, 0, call);
        assert!(matches!(why, Err(RmaFailure::Failed(Failure::Memory { .. }))), "{why:?}");
    }
}

#[test]
fn attached_memory_is_reached_by_verbs_until_it_is_detached() {
    let mut play = play(2);
    let key = play.targets[OWNER].expose_dynamic();
    let all = Exposed::of(vec![0; LEN]);
    let [first, second] = [0, LEN / 2].map(|offset| all.part(offset, LEN / 2).expect("inside"));
    for part in [&first, &second] {
        play.targets[OWNER].attach(&mut play.net.rails[OWNER], key, part.clone()).expect("no overlap");
    }
    let before = received(&play);
    for part in [&first, &second] {
        put(&mut play, 0, at(key, part.address() + 1), 7, 100);
    }
    play.settle();
    assert_eq!(received(&play), before);
    assert_eq!(
        [&first, &second].map(|part| bytes(part, 0, 102)),
        [[vec![0], vec![7; 100], vec![0]].concat(), [vec![0], vec![7; 100], vec![0]].concat()]
    );
    // Over the border of both.
    put(&mut play, 0, at(key, second.address() - 1), 9, 2);
    let flushed = flush(&mut play, 0, key);
    play.settle();
    assert_eq!(result(&mut play, 0, flushed), Ok(0));
    assert!(received(&play) > before);
    assert_eq!(bytes(&all, LEN / 2 - 1, 2), [9, 9]);
    play.targets[OWNER].detach(&mut play.net.rails[OWNER], key, first.address()).expect("it is attached");
    put(&mut play, 0, at(key, first.address()), 5, 8);
    let flushed = flush(&mut play, 0, key);
    play.settle();
    assert_eq!(refusal(result(&mut play, 0, flushed)), Err(Refusal::Outside(LEN as u64 / 2)));
    assert_eq!(bytes(&first, 0, 1), [0]);
    play.unexpose(OWNER, key);
    put(&mut play, 0, at(key, second.address()), 5, 8);
    let flushed = flush(&mut play, 0, key);
    play.settle();
    assert_eq!(refusal(result(&mut play, 0, flushed)), Err(Refusal::NoRegion));
    assert_eq!(bytes(&second, 0, 1), [9]);
}

#[test]
fn an_exposure_that_has_ended_is_reached_by_no_verb() {
    let mut play = play(2);
    let (memory, key) = expose(&mut play);
    play.unexpose(OWNER, key);
    put(&mut play, 0, at(key, 0), 5, 8);
    let flushed = flush(&mut play, 0, key);
    play.settle();
    assert_eq!(refusal(result(&mut play, 0, flushed)), Err(Refusal::NoRegion));
    assert_eq!(bytes(&memory, 0, 8), [0; 8]);
}

#[test]
fn no_verb_passes_a_lock_that_was_asked_for() {
    let mut play = play(3);
    let ((memory, key), (_, other)) = (expose(&mut play), expose(&mut play));
    act(&mut play, 2, key, WindowAction::Lock(RmaLockKind::Exclusive));
    play.settle();
    act(&mut play, 0, key, WindowAction::Lock(RmaLockKind::Exclusive));
    // The owner's answer confirms all requests but those that wait for the lock.
    submit(&mut play, 0, RmaRequest::Fence, None, CallEnding::Counted);
    flush(&mut play, 0, other);
    play.settle();
    put(&mut play, 0, at(key, 0), 7, 8);
    let unlocked = act(&mut play, 0, key, WindowAction::Unlock);
    play.settle();
    assert_eq!(bytes(&memory, 0, 8), [0; 8], "another rank has the lock");
    act(&mut play, 2, key, WindowAction::Unlock);
    play.settle();
    assert_eq!(bytes(&memory, 0, 8), [7; 8]);
    assert_eq!(result(&mut play, 0, unlocked), Ok(0));
    // The unlock confirmed its requests.
    let before = received(&play);
    put(&mut play, 0, at(key, 0), 8, 8);
    play.settle();
    assert_eq!((bytes(&memory, 0, 8), received(&play)), (vec![8; 8], before));
}

#[test]
fn a_lock_is_given_back_and_a_signal_counted_once_verbs_are_done() {
    let mut play = play(3);
    let (memory, key) = expose(&mut play);
    act(&mut play, 0, key, WindowAction::Lock(RmaLockKind::Exclusive));
    flush(&mut play, 0, key);
    play.settle();
    let before = received(&play);
    put(&mut play, 0, at(key, 0), 7, LEN);
    act(&mut play, 0, key, WindowAction::Unlock);
    act(&mut play, 2, key, WindowAction::Lock(RmaLockKind::Exclusive));
    let granted = flush(&mut play, 2, key);
    while !play.origins[2].has_ended(granted) {
        step(&mut play);
    }
    assert_eq!(bytes(&memory, 0, LEN), vec![7; LEN]);
    act(&mut play, 2, key, WindowAction::Unlock);
    play.settle();
    put(&mut play, 0, at(key, 0), 8, LEN);
    act(&mut play, 0, key, WindowAction::Signal(1));
    while play.targets[OWNER].exposures.signals(key, Rank(0), 1) == 0 {
        step(&mut play);
    }
    assert_eq!(bytes(&memory, 0, LEN), vec![8; LEN]);
    // Two unlocks, a lock, a flush, a signal.
    assert_eq!(received(&play) - before, 5);
}
