//! A model of the watch over lanes: while a thread sleeps, packets of a lane without a thread are received,
//! whatever the order in which waits end.
//!
//! The watch and its marks are the real ones. `canele_sys` models the words and descriptors of a sleep; here
//! a condition variable stands for them.

use loom::sync::atomic::{AtomicBool, Ordering::Relaxed};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

use super::watch::{Role, Watch};

/// The lane that no thread uses.
const IDLE: usize = 2;

/// The state that words and descriptors show.
#[derive(Default)]
struct Sleeps {
    has_packet: [bool; 3],
    /// True once a thread has received the packet of the idle lane.
    is_received: bool,
    is_asleep: [bool; 2],
    is_woken: [bool; 2],
    is_over: [bool; 2],
    /// The number of changes so far.
    changes: u32,
}

/// The condition under which a wait ends.
type Condition = fn(&Sleeps) -> bool;

/// A rank whose lanes 0 and 1 have a thread each.
#[derive(Default)]
struct Rank {
    watch: Mutex<Watch>,
    watches: [AtomicBool; 2],
    sleeps: Mutex<Sleeps>,
    changed: Condvar,
}

impl Rank {
    fn change(&self, change: impl FnOnce(&mut Sleeps)) {
        let mut sleeps = self.sleeps.lock().unwrap();
        change(&mut sleeps);
        sleeps.changes += 1;
        drop(sleeps);
        self.changed.notify_all();
    }

    /// Receives the packet of the idle lane, and wakes the thread of lane 1, which waits for that.
    fn look_at_idle_lane(&self) {
        self.change(|sleeps| {
            if sleeps.has_packet[IDLE] && !sleeps.is_received {
                (sleeps.is_received, sleeps.is_woken[1]) = (true, true);
            }
        });
    }

    /// Changes the watch as `Engine::change_watch` does.
    fn change_watch(&self, change: impl FnOnce(&mut Watch) -> Option<u8>) {
        let watcher = change(&mut self.watch.lock().unwrap());
        if let Some(watcher) = watcher {
            self.change(|sleeps| sleeps.is_woken[usize::from(watcher)] = true);
        }
    }

    /// Waits as the thread of a lane, until `is_ready`.
    fn wait(&self, lane: u8, is_ready: Condition) {
        while !is_ready(&self.sleeps.lock().unwrap()) {
            self.sleep(lane, is_ready);
        }
        let at = usize::from(lane);
        self.change(|sleeps| sleeps.is_over[at] = true);
        if self.watches[at].load(Relaxed) {
            self.change_watch(|watch| {
                self.watches[at].store(false, Relaxed);
                let next = watch.leave(lane)?;
                self.watches[usize::from(next)].store(true, Relaxed);
                Some(next)
            });
        }
    }

    /// Sleeps once, as `Engine::sleep` does.
    fn sleep(&self, lane: u8, is_ready: Condition) {
        let at = usize::from(lane);
        self.change(|sleeps| (sleeps.is_asleep[at], sleeps.is_woken[at]) = (true, false));
        let role = {
            let mut watch = self.watch.lock().unwrap();
            let role = watch.begin(lane);
            self.watches[at].store(role != Role::Sleeper, Relaxed);
            role
        };
        // A short sleep ends by itself. In the model it ends with the next change: the other thread, which is awake, makes one.
        let mut short_after = None;
        if let Role::Watcher(changes) = role {
            self.look_at_idle_lane();
            let (is_quiet, before) = {
                let sleeps = self.sleeps.lock().unwrap();
                (sleeps.is_asleep[1 - at] || sleeps.is_over[1 - at], sleeps.changes)
            };
            if !(is_quiet && self.watch.lock().unwrap().sleep_for_good(changes)) {
                short_after = Some(before);
            }
        }
        let mut sleeps = self.sleeps.lock().unwrap();
        let looks_at_idle =
            |sleeps: &Sleeps| role != Role::Sleeper && sleeps.has_packet[IDLE] && !sleeps.is_received;
        let is_short_over = |sleeps: &Sleeps| short_after.is_some_and(|before| sleeps.changes != before);
        while !(sleeps.is_woken[at] || is_ready(&sleeps) || looks_at_idle(&sleeps) || is_short_over(&sleeps))
        {
            sleeps = self.changed.wait(sleeps).unwrap();
        }
        drop(sleeps);
        if role != Role::Sleeper {
            self.look_at_idle_lane();
        }
        self.change(|sleeps| sleeps.is_asleep[at] = false);
        self.change_watch(|watch| watch.end(lane));
    }
}

#[test]
fn loom_a_packet_of_a_lane_without_a_thread_is_received_while_any_thread_sleeps() {
    for order in [[0, IDLE], [IDLE, 0]] {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(move || {
            let rank = Arc::new(Rank::default());
            let waits: [(u8, Condition); 2] =
                [(0, |sleeps| sleeps.has_packet[0]), (1, |sleeps| sleeps.is_received)];
            let threads = waits.map(|(lane, is_ready)| {
                let rank = rank.clone();
                thread::spawn(move || rank.wait(lane, is_ready))
            });
            for lane in order {
                rank.change(|sleeps| sleeps.has_packet[lane] = true);
            }
            for thread in threads {
                thread.join().unwrap();
            }
        });
    }
}
