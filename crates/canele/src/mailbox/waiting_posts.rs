//! Posts of other hosts that wait: messages that arrived before their deposits, and later messages of the
//! same ranks. The messages of each rank keep their order, and hold their slots in the mailbox until they are
//! retrieved.
//!
//! Owns the order. Never checks for arrivals: its callers do.

use canele_sys::atomic::{AtomicUsize, Ordering::Relaxed};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::message::{Arrived, CELL, Store};
use crate::{Error, Message, Rank};

/// A message that has arrived.
pub struct Post {
    pub from: Rank,
    pub bytes: Store,
    /// True if the post's slot is not given back yet.
    pub held: bool,
}

impl Post {
    /// Decodes the post; none if it is not a message.
    pub fn read(self) -> Option<Arrived> {
        let Self { from, bytes, .. } = self;
        match bytes.len() {
            CELL => Some(Arrived::Whole(Message::of_cell(from, bytes))),
            _ => Arrived::read(from, bytes),
        }
    }
}

/// A message that waits for its deposit.
pub struct Waiting {
    pub from: Rank,
    pub arrived: Option<Arrived>,
    /// True if the post's slot is not given back yet.
    pub held: bool,
}

/// The result of a deposit, once it is known.
pub type Known = Option<Result<Vec<u8>, Error>>;

/// The posts of one mailbox that wait for their deposits.
#[derive(Default)]
pub struct WaitingPosts {
    queue: Mutex<VecDeque<Waiting>>,
    /// The number of waiting posts, so that a retrieval checks it without the lock.
    count: AtomicUsize,
}

impl WaitingPosts {
    fn queue(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.count.load(Relaxed) == 0
    }

    /// Keeps a message until its deposit and all earlier messages of its rank have arrived.
    pub fn keep(&self, post: Post) {
        let mut queue = self.queue();
        queue.push_back(Waiting { from: post.from, held: post.held, arrived: post.read() });
        self.count.store(queue.len(), Relaxed);
    }

    /// Marks the slots of messages of dead ranks as given back, and returns their number.
    pub fn let_go(&self, gone: impl Fn(Rank) -> bool) -> u64 {
        let mut queue = self.queue();
        let held = queue.iter_mut().filter(|waiting| waiting.held && gone(waiting.from));
        held.map(|waiting| waiting.held = false).count() as u64
    }

    /// Takes the first message that is complete, or whose data will never arrive. `know` returns the state of
    /// a deposit.
    pub fn take(&self, mut know: impl FnMut(Rank, u32) -> Known) -> Option<(Waiting, Known)> {
        if self.is_empty() {
            return None;
        }
        let mut queue = self.queue();
        let mut blocked = Vec::new();
        for at in 0..queue.len() {
            let Waiting { from, arrived, .. } = &queue[at];
            if blocked.contains(from) {
                continue;
            }
            let number = match arrived {
                Some(Arrived::Described(region, described)) => described.deposited(*region),
                _ => None,
            };
            let known = number.and_then(|number| know(*from, number));
            if number.is_some() && known.is_none() {
                blocked.push(*from);
                continue;
            }
            let waiting = queue.remove(at)?;
            self.count.store(queue.len(), Relaxed);
            return Some((waiting, known));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes the post of rank `from` that names a deposit; a whole message if the number is 0.
    fn post(from: u32, number: u32) -> Post {
        let mut bytes = Store::new();
        if number == 0 {
            bytes.push(&[0; CELL]);
        } else {
            bytes.push(&number.to_le_bytes());
            bytes.push(&[[0; 16].as_slice(), &[254]].concat());
        }
        Post { from: Rank(from), bytes, held: true }
    }

    #[test]
    fn whatever_is_here_comes_first_but_each_poster_s_in_order() {
        let waiting = WaitingPosts::default();
        assert!(waiting.take(|_, _| panic!("nothing is here")).is_none());
        [post(1, 5), post(1, 0), post(2, 6), post(3, 0)].into_iter().for_each(|post| waiting.keep(post));
        let take = |here: &[u32]| {
            let known = |_, number| here.contains(&number).then(|| Ok(vec![number as u8]));
            waiting.take(known).map(|(waiting, known)| (waiting.from.0, known.map(|data| data.unwrap()[0])))
        };
        assert_eq!(take(&[]), Some((3, None)));
        assert_eq!((waiting.let_go(|from| from == Rank(1)), waiting.let_go(|from| from == Rank(1))), (2, 0));
        assert_eq!(take(&[]), None);
        assert_eq!(take(&[6]), Some((2, Some(6))));
        assert_eq!(take(&[]), None);
        assert_eq!(take(&[5]), Some((1, Some(5))));
        assert!(!waiting.is_empty());
        assert_eq!(take(&[]), Some((1, None)));
        assert!(waiting.is_empty());
    }

    #[test]
    fn a_lost_post_blocks_no_other_and_garbage_ends() {
        let waiting = WaitingPosts::default();
        waiting.keep(post(1, 5));
        waiting.keep(Post { from: Rank(1), bytes: Store::new(), held: true });
        let lost = waiting.take(|_, _| Some(Err(Error::Closed(Rank(1)))));
        assert!(matches!(lost, Some((Waiting { from: Rank(1), .. }, Some(Err(_))))));
        assert!(matches!(waiting.take(|_, _| None), Some((Waiting { arrived: None, .. }, None))));
    }
}
