use std::cell::Cell;

use super::*;

const ME: Rank = Rank(2);
const PART: u32 = 5;

fn never(_: Rank) -> bool {
    false
}

const NO_WAIT: ElementWait<'static> = ElementWait { is_gone: &never, relax: None };

#[test]
fn runs_that_follow_each_other_stay_in_long_mode_until_a_single_element_ends_it() {
    let (word, slot) = (AtomicU64::new(0), AtomicU64::new(0));
    let lock = ElementLock::new(&word, PART, ME);
    drop(lock.enter(&slot).expect("short mode"));
    assert!(!lock.is_in_long_mode() && slot.load(Ordering::Relaxed) == 0);
    let held = lock.try_hold_long([&slot], &NO_WAIT).expect("free");
    assert!(lock.enter(&slot).is_none() && lock.enter_shared([&slot]).is_none(), "amid a run");
    assert!(lock.try_hold(&never).is_none() && !lock.end_long_mode(&never));
    drop(held);
    assert!(lock.is_in_long_mode() && lock.enter(&slot).is_none());
    drop(lock.try_hold(&never).expect("free"));
    assert!(lock.is_in_long_mode(), "who only holds it keeps the mode");
    assert!(lock.end_long_mode(&never) && lock.enter(&slot).is_some());
}

#[test]
fn an_announcement_of_the_part_is_waited_for_and_no_other() {
    let (word, slots) = (AtomicU64::new(0), [0; 3].map(AtomicU64::new));
    let lock = ElementLock::new(&word, PART, ME);
    let other_word = AtomicU64::new(0);
    let other = ElementLock::new(&other_word, PART + 1, Rank(7));
    let _elsewhere = other.enter(&slots[0]).expect("short mode");
    drop(lock.try_hold_long(&slots, &NO_WAIT).expect("no other rank is here"));
    assert!(lock.end_long_mode(&never));
    let here = ElementLock::new(&word, PART, Rank(7));
    let entered = here.enter_shared(&slots[..2]).expect("the second is free");
    assert!(lock.try_hold_long(&slots, &NO_WAIT).is_none());
    assert_eq!(word.load(Ordering::Relaxed), 0, "given back");
    let gone = |rank| rank == Rank(7);
    assert!(lock.try_hold_long(&slots, &ElementWait { is_gone: &gone, relax: None }).is_some());
    assert!(lock.end_long_mode(&never));
    let entered = Cell::new(Some(entered));
    let relax = || drop(entered.take());
    assert!(lock.try_hold_long(&slots, &ElementWait { is_gone: &never, relax: Some(&relax) }).is_some());
    assert!(entered.take().is_none(), "it was waited for");
}

#[test]
fn a_dead_holder_keeps_no_rank_out() {
    let gone = |rank| rank == Rank(7);
    for word in [8, LONG | 8] {
        let (word, slot) = (AtomicU64::new(word), AtomicU64::new(0));
        let lock = ElementLock::new(&word, PART, ME);
        assert!(lock.try_hold(&never).is_none() && lock.try_hold(&gone).is_some());
        assert_eq!(word.load(Ordering::Relaxed), 0);
        word.store(LONG | 8, Ordering::Relaxed);
        assert!(!lock.end_long_mode(&never) && lock.end_long_mode(&gone));
        assert!(lock.enter(&slot).is_some());
    }
}

#[test]
fn threads_that_change_single_elements_and_runs_lose_nothing() {
    const ROUNDS: u64 = 3000;
    let (word, element) = (AtomicU64::new(0), AtomicU64::new(0));
    let slots: Vec<AtomicU64> = (0..4).map(|_| AtomicU64::new(0)).collect();
    let relax = std::thread::yield_now;
    std::thread::scope(|threads| {
        for me in 0..4u32 {
            let (word, element, slots) = (&word, &element, &slots);
            threads.spawn(move || {
                let lock = ElementLock::new(word, PART, Rank(me));
                for round in 0..ROUNDS {
                    let is_long = me == 0 || me == 1 && round % 16 == 0;
                    loop {
                        let waiting = ElementWait { is_gone: &never, relax: Some(&relax) };
                        if is_long && let Some(_held) = lock.try_hold_long(slots, &waiting) {
                            element.store(element.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                            break;
                        }
                        let slot = &slots[me as usize];
                        let enter = || if me < 2 { lock.enter(slot) } else { lock.enter_shared(&slots[2..]) };
                        if !is_long && let Some(_entered) = enter() {
                            element.fetch_add(1, Ordering::Relaxed);
                            break;
                        }
                        if !is_long {
                            lock.end_long_mode(&never);
                        }
                        std::thread::yield_now();
                    }
                }
            });
        }
    });
    assert_eq!(element.load(Ordering::Relaxed), 4 * ROUNDS);
}
