//! The waiting threads of a rank: the progress owner, and the threads that wait for it (invariant I7). Tasks
//! of an executor wait, too.

use std::task::Waker;
use std::thread::Thread;

use canele_rail::Waker as Sleep;
use canele_sys::ids::RequestId;

/// A thread or task that waits while another thread makes progress.
enum Waiting {
    /// A thread, with its number. Several copies of this library may call one engine, and each copy's
    /// standard library has other identities for threads.
    Thread(Thread, u64),
    /// A thread that sleeps on another lane, with its number.
    OnOtherLane(Sleep, u64),
    /// A task, which never makes progress itself.
    Task(Waker),
}

impl Waiting {
    fn wake(&self) {
        match self {
            Waiting::Thread(thread, _) => thread.unpark(),
            Waiting::OnOtherLane(sleep, _) => sleep.wake(),
            Waiting::Task(waker) => waker.wake_by_ref(),
        }
    }
}

/// A thread or a task that waits.
struct Waiter {
    waiting: Waiting,
    /// The request, if it waits for that alone.
    request: Option<RequestId>,
}

/// All waiting threads and tasks.
pub(crate) struct Waiters {
    list: Vec<Waiter>,
    /// The count of ended operations when waiters were last woken. `None` after an event that is no end: a
    /// name, a region, a link.
    ended_before: Option<u64>,
    /// True while a thread makes progress for all threads.
    pub has_progress_owner: bool,
    /// True while that thread sleeps.
    pub is_owner_asleep: bool,
    /// The lane whose thread also sleeps for this one, if there is one.
    pub other_sleeper: Option<u8>,
}

impl Default for Waiters {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            ended_before: Some(0),
            has_progress_owner: false,
            is_owner_asleep: false,
            other_sleeper: None,
        }
    }
}

impl Waiters {
    /// Adds a thread, with its number, that is about to sleep; with a `request`, only its end need wake the
    /// thread.
    pub fn add(&mut self, thread: Thread, number: u64, request: Option<RequestId>) {
        self.list.push(Waiter { waiting: Waiting::Thread(thread, number), request });
    }

    /// Adds a thread that is about to sleep on another lane, as [`add`](Self::add) does.
    pub fn add_of_other_lane(&mut self, sleep: Sleep, number: u64, request: Option<RequestId>) {
        self.list.push(Waiter { waiting: Waiting::OnOtherLane(sleep, number), request });
    }

    /// Returns true while a thread sleeps until a packet comes on this lane.
    #[inline]
    pub fn has_sleeper(&self) -> bool {
        self.is_owner_asleep | self.other_sleeper.is_some()
    }

    /// Adds a task, in place of tasks that waited for the same `request` or that this one would wake.
    pub fn add_task(&mut self, waker: &Waker, request: Option<RequestId>) {
        self.list.retain(|waiter| match &waiter.waiting {
            Waiting::Thread(..) | Waiting::OnOtherLane(..) => true,
            Waiting::Task(other) => {
                waiter.request != request || (request.is_none() && !other.will_wake(waker))
            }
        });
        self.list.push(Waiter { waiting: Waiting::Task(waker.clone()), request });
    }

    /// Removes the thread with this number, which has woken up.
    pub fn remove(&mut self, number: u64) {
        self.list.retain(|waiter| match waiter.waiting {
            Waiting::Thread(_, other) | Waiting::OnOtherLane(_, other) => other != number,
            Waiting::Task(_) => true,
        });
    }

    /// Wakes one waiting thread, which then makes progress, unless another one does.
    pub fn hand_over_progress(&mut self) {
        let is_thread = |waiter: &Waiter| !matches!(waiter.waiting, Waiting::Task(_));
        if !self.has_progress_owner
            && let Some(next) = self.list.iter().rposition(is_thread)
        {
            self.list.remove(next).waiting.wake();
        }
    }

    /// Makes the next pass wake all waiters, because of an event that is not the end of an operation.
    pub fn wake_all_after_pass(&mut self) {
        self.ended_before = None;
    }

    /// Wakes all waiters.
    pub fn wake_all(&mut self) {
        self.list.drain(..).for_each(|waiter| waiter.waiting.wake());
    }

    /// Wakes the waiters whose request has ended, and those that wait for more than one, if more operations
    /// than before have ended.
    pub fn wake_ended(&mut self, ended: u64, is_done: impl Fn(RequestId) -> bool) {
        if self.ended_before == Some(ended) {
            return;
        }
        let all = self.ended_before.replace(ended).is_none();
        self.list.retain(|waiter| {
            let waits = !all && waiter.request.is_some_and(|request| !is_done(request));
            if !waits {
                waiter.waiting.wake();
            }
            waits
        });
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Two waiters for a request each, and one for any.
    fn three() -> (Waiters, [RequestId; 2]) {
        let requests = [0, 1].map(|index| RequestId { index, generation: 0 });
        let mut waiters = Waiters::default();
        for (number, request) in [(1, Some(requests[0])), (2, Some(requests[1])), (3, None)] {
            waiters.add(thread::current(), number, request);
        }
        (waiters, requests)
    }

    fn requests_of(waiters: &Waiters) -> Vec<Option<RequestId>> {
        waiters.list.iter().map(|waiter| waiter.request).collect()
    }

    #[test]
    fn an_end_wakes_who_waits_for_it_and_who_waits_for_anything() {
        let (mut waiters, [first, second]) = three();
        waiters.wake_ended(1, |request| request == first);
        assert_eq!(requests_of(&waiters), [Some(second)]);
    }

    #[test]
    fn a_task_waits_once_for_each_request_and_never_makes_progress() {
        let (mut waiters, [first, second]) = three();
        for request in [Some(first), Some(first), Some(second), None, None] {
            waiters.add_task(Waker::noop(), request);
        }
        assert_eq!(waiters.list.len(), 3 + 3);
        for threads in (0..3).rev() {
            waiters.hand_over_progress();
            assert_eq!(waiters.list.len(), 3 + threads);
        }
        waiters.hand_over_progress();
        assert_eq!(waiters.list.len(), 3, "no thread is left");
        waiters.wake_ended(1, |request| request == second);
        assert_eq!(requests_of(&waiters), [Some(first)]);
    }

    #[test]
    fn no_waiter_is_woken_twice_for_the_same_ends() {
        let (mut waiters, [first, second]) = three();
        waiters.wake_ended(0, |_| true);
        assert_eq!(waiters.list.len(), 3, "nothing has ended yet");
        waiters.wake_ended(1, |_| false);
        waiters.wake_ended(1, |_| true);
        assert_eq!(requests_of(&waiters), [Some(first), Some(second)]);
    }

    #[test]
    fn what_is_no_end_wakes_all_with_the_next_pass_and_only_that() {
        let (mut waiters, _) = three();
        waiters.wake_all_after_pass();
        waiters.wake_ended(0, |_| false);
        assert!(waiters.list.is_empty());
        waiters.add(thread::current(), 4, None);
        waiters.wake_ended(0, |_| false);
        assert_eq!(waiters.list.len(), 1);
    }

    #[test]
    fn progress_is_handed_over_only_when_no_thread_owns_it() {
        let (mut waiters, _) = three();
        waiters.has_progress_owner = true;
        waiters.hand_over_progress();
        assert_eq!(waiters.list.len(), 3);
        waiters.has_progress_owner = false;
        waiters.hand_over_progress();
        assert_eq!(waiters.list.len(), 2);
    }

    #[test]
    fn a_thread_that_woke_up_is_no_waiter() {
        let (mut waiters, [first, _]) = three();
        waiters.remove(2);
        assert_eq!(requests_of(&waiters), [Some(first), None]);
    }
}
