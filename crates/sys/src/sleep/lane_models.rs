//! Models of words that threads of several lanes share: one thread sleeps on the words of two lanes, and two
//! threads on the word of one.

use loom::sync::{Arc, Mutex};
use loom::thread;

use super::*;
use crate::atomic::AtomicU64;

/// The words that a lane shares with its senders, and the state that its lock protects.
#[derive(Default)]
struct Lane {
    word: AtomicU32,
    published: AtomicU64,
    sleepers: Mutex<Sleepers>,
}

#[derive(Default)]
struct Sleepers {
    is_owner_asleep: bool,
    /// True once the wait of the lane's own thread is over.
    is_over: bool,
}

impl Lane {
    fn publish(&self, fencing: Fencing) -> bool {
        self.published.store(1, Ordering::Release);
        wake_if_asleep(&self.word, fencing, None)
    }

    fn has_packet(&self) -> bool {
        self.published.load(Ordering::Acquire) == 1
    }

    /// Announces a sleep, unless a packet has come; returns true if the thread may sleep.
    fn arm(&self) -> bool {
        announce(&self.word, WakeBy::Futex, Fencing::Asymmetric).heavy();
        let has_packet = self.has_packet();
        if has_packet {
            cancel(&self.word);
        }
        !has_packet
    }

    /// Waits for a packet as the lane's own thread.
    fn wait_as_owner(&self) {
        loop {
            let mut sleepers = self.sleepers.lock().unwrap();
            sleepers.is_owner_asleep = false;
            if self.has_packet() {
                sleepers.is_over = true;
                // The sender would wake the other thread by the word of that thread's own lane.
                wake_all(&self.word);
                return;
            }
            if !self.arm() {
                continue;
            }
            sleepers.is_owner_asleep = true;
            drop(sleepers);
            sleep(&self.word, None);
        }
    }

    /// Sleeps for this lane as a thread of another lane, while no thread of this lane does.
    fn sleep_for_owner(&self) {
        let sleepers = self.sleepers.lock().unwrap();
        if sleepers.is_owner_asleep || sleepers.is_over || !self.arm() {
            return;
        }
        drop(sleepers);
        // A sleep on several words leaves them announced.
        let how = self.word.load(Ordering::Relaxed);
        if how != AWAKE {
            futex::wait(&self.word, how, None);
        }
        match self.sleepers.lock().unwrap().is_owner_asleep {
            true => wake_all(&self.word),
            false => cancel(&self.word),
        }
    }
}

#[test]
fn loom_who_sleeps_on_two_words_is_woken_by_either() {
    loom::model(|| {
        let lanes: Arc<[Lane; 2]> = Arc::default();
        let senders = [(0, Fencing::Asymmetric), (1, Fencing::Fences)].map(|(at, fencing)| {
            let lanes = lanes.clone();
            thread::spawn(move || lanes[at].publish(fencing))
        });
        for lane in &*lanes {
            announce(&lane.word, WakeBy::Futex, Fencing::Asymmetric).heavy();
        }
        let seen = [0, 1].map(|at: usize| lanes[at].has_packet());
        let woken = senders.map(|sender| sender.join().unwrap());
        assert!([0, 1].iter().all(|at| seen[*at] || woken[*at]), "overlooked: {seen:?}, {woken:?}");
    });
}

/// A sender's wake-up reaches one of the two threads, which may not be the one that the packet is for.
#[test]
fn loom_the_owner_of_a_word_that_another_thread_sleeps_on_is_woken() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let lane = Arc::new(Lane::default());
        let others: [fn(&Lane); 2] = [Lane::sleep_for_owner, |lane| _ = lane.publish(Fencing::Fences)];
        let others = others.map(|act| {
            let lane = lane.clone();
            thread::spawn(move || act(&lane))
        });
        lane.wait_as_owner();
        for other in others {
            other.join().unwrap();
        }
    });
}
