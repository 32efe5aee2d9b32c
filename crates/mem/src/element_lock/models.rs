//! Models of the element lock: a long run of plain reads and writes loses no change of a single element, and none of it is lost.

use loom::model::Builder;
use loom::sync::Arc;
use loom::thread;

use super::*;

const PART: u32 = 3;
const DEAD: Rank = Rank(9);

struct Memory {
    word: AtomicU64,
    announcements: Vec<AtomicU64>,
    element: AtomicU64,
}

impl Memory {
    fn new(announcements: usize, word: u64) -> Arc<Self> {
        Arc::new(Self {
            word: AtomicU64::new(word),
            announcements: (0..announcements).map(|_| AtomicU64::new(0)).collect(),
            element: AtomicU64::new(0),
        })
    }

    fn lock(&self, me: u32) -> ElementLock<'_> {
        ElementLock::new(&self.word, PART, Rank(me))
    }

    /// Adds by an atomic operation, if one of so many attempts succeeds; says how much. A model has no loops that wait for others.
    fn add_one(&self, me: u32, slot: usize, is_first: bool, attempts: usize) -> u64 {
        let lock = self.lock(me);
        let slot = &self.announcements[slot];
        for _ in 0..attempts {
            let entered = if is_first { lock.enter(slot) } else { lock.enter_shared([slot]) };
            if let Some(_entered) = entered {
                self.element.fetch_add(1, Ordering::Relaxed);
                return 1;
            }
            lock.end_long_mode(&|rank| rank == DEAD);
        }
        0
    }

    /// Adds as a plain loop does, if no other rank is there; says how much.
    fn add_long(&self, me: u32) -> u64 {
        let waiting = ElementWait { is_gone: &|rank| rank == DEAD, relax: None };
        let Some(_held) = self.lock(me).try_hold_long(&self.announcements, &waiting) else { return 0 };
        let seen = self.element.load(Ordering::Relaxed);
        self.element.store(seen + 10, Ordering::Relaxed);
        10
    }

    fn check(&self, added: u64) {
        assert_eq!(self.element.load(Ordering::Relaxed), added);
    }
}

fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

#[test]
fn loom_a_long_run_and_single_elements_lose_nothing() {
    check(|| {
        let memory = Memory::new(1, 0);
        let single = {
            let memory = memory.clone();
            thread::spawn(move || memory.add_one(0, 0, true, 2) + memory.add_one(0, 0, true, 1))
        };
        let long = memory.add_long(1) + memory.add_long(1);
        memory.check(long + single.join().unwrap());
    });
}

#[test]
fn loom_two_long_runs_and_a_single_element_lose_nothing() {
    check(|| {
        let memory = Memory::new(1, 0);
        let threads = [1, 2].map(|me| {
            let memory = memory.clone();
            thread::spawn(move || if me == 1 { memory.add_one(1, 0, false, 2) } else { memory.add_long(me) })
        });
        let added = memory.add_long(0);
        let others: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        memory.check(added + others);
    });
}

#[test]
fn loom_the_word_of_a_dead_holder_is_taken_over_and_announcements_are_waited_for() {
    check(|| {
        // It died before its barrier, and another time amid a single element.
        let memory = Memory::new(2, LONG | (u64::from(DEAD.0) + 1));
        memory.announcements[1].store((u64::from(PART) + 1) | (u64::from(DEAD.0) << 32), Ordering::Relaxed);
        let single = {
            let memory = memory.clone();
            thread::spawn(move || memory.add_one(0, 0, true, 2))
        };
        let long = memory.add_long(1);
        memory.check(long + single.join().unwrap());
    });
}
