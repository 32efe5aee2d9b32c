//! The books of a mailbox: a small region of its owner that posting ranks access, so that the mailbox never
//! holds more messages than its depth.
//!
//! ```text
//!     0  posted      slots taken so far, by posting ranks; the top bit closes the mailbox
//!     8  depth, number: written once, before the mailbox is published
//!    64  retrieved   slots given back so far, by the owner
//!    72  sleepers    1 if a posting rank may sleep
//!   128  of rank 0:  slots it noted so far, 1 if it may sleep              one line per rank
//! ```
//! A slot is taken when `posted − retrieved` is less than the depth. A posting rank reads `retrieved` only
//! when its remembered value says that the mailbox is full. So a post and a retrieval mostly write lines that
//! no other rank has touched. A rank notes a slot in its own line before it takes the slot. So the owner can
//! find the slots of a dead rank, and there are never more slots taken than noted.

use std::sync::Arc;

use canele_engine::{RegionMemory, Tag};
use canele_sys::atomic::{AtomicU64, Ordering::*};

use crate::{Error, Rank};

const POSTED: usize = 0;
const DEPTH: usize = 8;
const NUMBER: usize = 16;
const RETRIEVED: usize = 64;
const SLEEPERS: usize = 72;
const RANKS: usize = 128;
const CLOSED: u64 = 1 << 63;

/// The books of one mailbox, as its owner or a posting rank sees them.
pub struct Slots {
    far: Arc<RegionMemory>,
    owner: Rank,
    depth: u64,
    /// The last value of `retrieved` that this rank has read; never more than the present value.
    seen: AtomicU64,
}

impl Slots {
    /// Returns the length of the books' region for this number of ranks, in bytes.
    pub fn bytes(ranks: u32) -> usize {
        RANKS + 64 * ranks as usize
    }

    /// Creates the books of a new mailbox.
    pub fn create(far: Arc<RegionMemory>, owner: Rank, depth: u64, number: Tag) -> Self {
        let slots = Self { far, owner, depth, seen: AtomicU64::new(0) };
        // Relaxed: the name is published later, through the launcher.
        slots.word(DEPTH).store(depth, Relaxed);
        slots.word(NUMBER).store(number.0.into(), Relaxed);
        slots
    }

    /// Returns the books of a found mailbox, and its number; none if the books are too short for this number
    /// of ranks.
    pub fn open(far: Arc<RegionMemory>, owner: Rank, ranks: u32) -> Option<(Self, Tag)> {
        let mut slots = Self { far, owner, depth: 0, seen: AtomicU64::new(0) };
        (slots.far.len() >= Self::bytes(ranks)).then_some(())?;
        slots.depth = slots.word(DEPTH).load(Relaxed);
        let number = Tag(slots.word(NUMBER).load(Relaxed) as u32);
        Some((slots, number))
    }

    /// Makes stand-in books for a mailbox on another host. They never have a free slot, so posting ranks ask
    /// the owner.
    pub fn absent(far: Arc<RegionMemory>, owner: Rank) -> Self {
        Self { far, owner, depth: 0, seen: AtomicU64::new(0) }
    }

    #[inline(always)]
    fn word(&self, offset: usize) -> &AtomicU64 {
        self.far.word(offset).expect("the region has a line for every rank")
    }

    /// Returns the most messages that the mailbox holds.
    pub fn depth(&self) -> u64 {
        self.depth
    }

    fn noted_by(&self, rank: Rank) -> &AtomicU64 {
        self.word(RANKS + 64 * rank.0 as usize)
    }

    fn sleeper(&self, rank: Rank) -> &AtomicU64 {
        self.word(RANKS + 64 * rank.0 as usize + 8)
    }

    /// Takes a slot for `me`, if there is one.
    #[inline(always)]
    pub fn try_take(&self, me: Rank) -> Result<bool, Error> {
        // A full mailbox is not noted: a waiting rank asks again and again, and must not make the owner's
        // count uncertain.
        let posted = self.word(POSTED).load(Relaxed);
        if posted & CLOSED == 0 && !self.has_room(posted) {
            return Ok(false);
        }
        // Relaxed: the next operation publishes it.
        self.noted_by(me).fetch_add(1, Relaxed);
        let more = |posted| (posted & CLOSED == 0 && self.has_room(posted)).then_some(posted + 1);
        // Release: a rank that sees the slot taken sees it noted (`doubtful`). All other data is published by
        // the message itself.
        match self.word(POSTED).fetch_update(Release, Relaxed, more) {
            Ok(_) => Ok(true),
            Err(posted) => self.not_taken(me, posted),
        }
    }

    #[cold]
    fn not_taken(&self, me: Rank, posted: u64) -> Result<bool, Error> {
        self.noted_by(me).fetch_sub(1, Relaxed);
        if posted & CLOSED != 0 { Err(Error::Closed(self.owner)) } else { Ok(false) }
    }

    /// Gives back a slot that `me` took for a message that could not be sent. The owner is gone or accepts no
    /// messages of `me`.
    #[cold]
    pub fn give_up(&self, me: Rank) {
        // This order, with Release, keeps taken slots noted. If another rank has died and the owner reads
        // between the two steps, the mailbox may later hold one message too many, rather than one too few.
        self.word(POSTED).fetch_sub(1, Relaxed);
        self.noted_by(me).fetch_sub(1, Release); // pairs with the acquire load in `left_by`
    }

    #[inline(always)]
    fn has_room(&self, posted: u64) -> bool {
        let room = |retrieved| posted.saturating_sub(retrieved) < self.depth;
        room(self.seen.load(Relaxed)) || {
            // SeqCst: after the mark of `may_sleep`, this rank sees the slot or the owner sees the mark.
            let retrieved = self.word(RETRIEVED).load(SeqCst);
            self.seen.fetch_max(retrieved, Relaxed);
            room(retrieved)
        }
    }

    /// Marks that `me` will sleep until there may be a slot. It must check once more afterwards.
    pub fn may_sleep(&self, me: Rank) {
        // SeqCst for all of them, and in `free` and `wake`: there is one order. In it the owner's slot
        // precedes our next check, or our marks precede the owner's check.
        if self.sleeper(me).load(SeqCst) == 0 || self.word(SLEEPERS).load(SeqCst) == 0 {
            self.sleeper(me).store(1, SeqCst);
            self.word(SLEEPERS).store(1, SeqCst);
        }
    }

    /// Gives slots back, as the owner. Called only from within the engine, where one thread is at a time.
    #[inline(always)]
    pub fn free(&self, slots: u64) {
        let retrieved = self.word(RETRIEVED);
        retrieved.store(retrieved.load(Relaxed) + slots, SeqCst);
    }

    /// Returns true if a poster may sleep.
    #[inline(always)]
    pub fn has_sleepers(&self) -> bool {
        self.word(SLEEPERS).load(SeqCst) != 0
    }

    /// Calls `wake` for every rank that may have a sleeping thread, until a call fails.
    pub fn wake(&self, ranks: u32, wake: impl FnMut(Rank) -> Result<(), Error>) -> Result<(), Error> {
        self.word(SLEEPERS).store(0, SeqCst);
        (0..ranks).map(Rank).filter(|rank| self.sleeper(*rank).swap(0, SeqCst) != 0).try_for_each(wake)
    }

    /// Returns how many slots `rank` has noted beyond its `got` received messages. These are the slots that
    /// it left when it ended.
    pub fn left_by(&self, rank: Rank, got: u64) -> u64 {
        self.noted_by(rank).load(Acquire).saturating_sub(got)
    }

    /// Returns the greatest number of slots that are noted and not taken. Their ranks are between the two
    /// steps, or ended between them.
    pub fn doubtful(&self, ranks: u32) -> u64 {
        // This order matters: slots that are taken here are noted before the other loads (pairs with the
        // release in `try_take`).
        let taken = self.word(POSTED).load(Acquire) & !CLOSED;
        let noted = (0..ranks).map(|rank| self.noted_by(Rank(rank)).load(Acquire)).sum::<u64>();
        noted.saturating_sub(taken)
    }

    /// Closes the mailbox for posts.
    pub fn close(&self) {
        self.word(POSTED).fetch_or(CLOSED, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(engine: &canele_engine::Engine, depth: u64) -> Slots {
        Slots::create(engine.create_region(Slots::bytes(3)).unwrap().far(), Rank(0), depth, Tag(7))
    }

    #[test]
    fn there_are_as_many_slots_as_the_box_is_deep() {
        let engine = canele_engine::Engine::start().unwrap();
        let slots = slots(&engine, 2);
        let (a, b) = (Rank(1), Rank(2));
        assert!(slots.try_take(a).unwrap() && slots.try_take(b).unwrap());
        assert!(!slots.try_take(a).unwrap());
        slots.free(1);
        assert!(slots.try_take(a).unwrap());
        assert!(!slots.try_take(b).unwrap());
        assert_eq!((slots.left_by(a, 1), slots.left_by(b, 1)), (1, 0));
        slots.give_up(b);
        assert_eq!(slots.left_by(b, 0), 0);
        assert!(slots.try_take(a).unwrap());
        slots.close();
        assert!(matches!(slots.try_take(b), Err(Error::Closed(Rank(0)))));
    }

    #[test]
    fn a_slot_that_was_noted_and_never_taken_is_doubtful() {
        let engine = canele_engine::Engine::start().unwrap();
        let slots = slots(&engine, 2);
        let (a, b) = (Rank(1), Rank(2));
        assert!(slots.try_take(a).unwrap() && slots.try_take(b).unwrap() && !slots.try_take(a).unwrap());
        assert_eq!(slots.doubtful(3), 0);
        slots.noted_by(b).fetch_add(1, Relaxed);
        assert_eq!((slots.left_by(b, 0), slots.doubtful(3)), (2, 1));
        slots.give_up(a);
        slots.close();
        assert!(slots.try_take(a).is_err());
        assert_eq!((slots.left_by(a, 0), slots.doubtful(3)), (0, 1));
    }

    #[test]
    fn a_rank_that_finds_the_books_reads_the_depth_and_the_number_in_them() {
        let engine = canele_engine::Engine::start().unwrap();
        let slots = slots(&engine, 1);
        let (found, number) = Slots::open(slots.far.clone(), Rank(0), 3).unwrap();
        assert_eq!(number, Tag(7));
        assert!(found.try_take(Rank(1)).unwrap() && !found.try_take(Rank(2)).unwrap());
        assert!(Slots::open(slots.far, Rank(0), 1 << 20).is_none());
    }

    #[test]
    fn every_rank_that_may_sleep_is_woken_once() {
        let engine = canele_engine::Engine::start().unwrap();
        let slots = slots(&engine, 1);
        assert!(!slots.has_sleepers());
        slots.may_sleep(Rank(2));
        slots.may_sleep(Rank(0));
        assert!(slots.has_sleepers());
        let mut woken = Vec::new();
        let wake = |rank: Rank| {
            woken.push(rank.0);
            Ok(())
        };
        slots.wake(3, wake).unwrap();
        assert_eq!(woken, [0, 2]);
        assert!(!slots.has_sleepers());
        slots.wake(3, |rank| panic!("{rank} sleeps no more")).unwrap();
    }
}
