//! Locks requested without waiting: later requests need no answer, wait at the owner for the grant, and are
//! dropped if their origin dies.

use canele_mem::exposed::Exposed;
use canele_proto::rma::{ExposureKey, PutReport, RmaLockKind, WindowAction};

use super::wrong::idle;
use super::*;

const OWNER: usize = 1;

/// Exposes a word at the owner.
fn expose(play: &mut Play) -> (Exposed, ExposureKey) {
    let memory = Exposed::of(vec![0; 8]);
    let key = play.expose(OWNER, memory.clone());
    (memory, key)
}

fn submit(play: &mut Play, me: usize, rma_request: RmaRequest, data: Option<&Exposed>) -> Key {
    let data = data.and_then(|data| data.out_buffer(0, 8));
    let ending = if rma_request.is_answered() { CallEnding::Taken } else { CallEnding::Counted };
    let (proto, rail) = play.net.both(Rank(me as u32));
    let call = NewCall { data, ending, ..NewCall::new(Rank(OWNER as u32), rma_request) };
    play.origins[me].submit(proto, rail, call)
}

fn act(play: &mut Play, me: usize, key: ExposureKey, action: WindowAction) -> Key {
    submit(play, me, RmaRequest::Window { window: key, action }, None)
}

fn put(play: &mut Play, me: usize, key: ExposureKey, data: &Exposed) {
    let place = MemoryAddress { key: key.into(), offset: 0 };
    submit(play, me, RmaRequest::Put { place, len: 8, report: PutReport::Flush }, Some(data));
}

/// Locks, puts and unlocks, and never waits.
fn section(play: &mut Play, me: usize, key: ExposureKey, data: &Exposed) -> Key {
    act(play, me, key, WindowAction::Lock(RmaLockKind::Exclusive));
    put(play, me, key, data);
    act(play, me, key, WindowAction::Unlock)
}

fn word(memory: &Exposed) -> [u8; 8] {
    let mut bytes = [0; 8];
    memory.load(0, &mut bytes);
    bytes
}

#[test]
fn a_lock_a_put_and_an_unlock_need_one_answer() {
    let mut play = idle(2);
    let (memory, key) = expose(&mut play);
    // This opens the link.
    act(&mut play, 0, key, WindowAction::Signal(1));
    play.settle();
    let unlock = section(&mut play, 0, key, &Exposed::of(vec![7; 8]));
    for _ in 0..100 {
        play.net.advance();
        play.net.open_links(true);
        play.pass(OWNER);
    }
    assert_eq!(word(&memory), [7; 8], "the origin has heard nothing so far");
    assert!(play.targets[OWNER].exposures.is_unlocked());
    play.settle();
    assert!(play.origins[0].take(unlock).is_some_and(|outcome| outcome.result == Ok(0)));
}

#[test]
fn what_is_behind_a_lock_waits_for_its_grant_and_nothing_else_does() {
    let mut play = idle(3);
    let ((memory, key), (other, other_key)) = (expose(&mut play), expose(&mut play));
    act(&mut play, 2, key, WindowAction::Lock(RmaLockKind::Shared));
    play.settle();
    let data = Exposed::of(vec![7; 8]);
    let unlock = section(&mut play, 0, key, &data);
    put(&mut play, 0, other_key, &data);
    act(&mut play, 0, key, WindowAction::Signal(1));
    play.settle();
    assert_eq!((word(&memory), word(&other)), ([0; 8], [7; 8]));
    assert_eq!(play.targets[OWNER].exposures.signals(key, Rank(0), 1), 1);
    assert!(!play.origins[0].has_ended(unlock));
    let given_back = act(&mut play, 2, key, WindowAction::Unlock);
    play.settle();
    assert_eq!(word(&memory), [7; 8]);
    for (rank, key) in [(0, unlock), (2, given_back)] {
        assert!(play.origins[rank].take(key).is_some_and(|outcome| outcome.result == Ok(0)), "{rank}");
    }
    assert!(play.targets[OWNER].exposures.is_unlocked());
    assert_eq!(play.targets[OWNER].under_way(), 0);
}

#[test]
fn what_is_behind_a_lock_that_its_origin_does_not_live_to_have_is_not_done() {
    let mut play = idle(3);
    let (memory, key) = expose(&mut play);
    act(&mut play, 2, key, WindowAction::Lock(RmaLockKind::Exclusive));
    play.settle();
    section(&mut play, 0, key, &Exposed::of(vec![7; 8]));
    play.settle();
    assert!(play.targets[OWNER].under_way() > 0);
    // The rank that waits first, then the rank that has the lock.
    for dead in [Rank(0), Rank(2)] {
        play.dead = Some(dead);
        play.net.world.kill(dead);
        play.net.tell(Rank(OWNER as u32), dead);
        for _ in 0..1000 {
            play.net.advance();
            play.pass(OWNER);
        }
    }
    assert_eq!(word(&memory), [0; 8]);
    assert_eq!(play.targets[OWNER].under_way(), 0);
    assert!(play.targets[OWNER].exposures.is_unlocked());
}

#[test]
fn a_lock_of_what_is_not_exposed_is_refused_when_it_is_given_back() {
    let mut play = idle(2);
    let (_, key) = expose(&mut play);
    play.unexpose(OWNER, key);
    let unlock = section(&mut play, 0, key, &Exposed::of(vec![7; 8]));
    play.settle();
    let result = play.origins[0].take(unlock).map(|outcome| outcome.result);
    assert_eq!(result, Some(Err(RmaFailure::Refused(Some(key.into()), Refusal::NoRegion))));
}
