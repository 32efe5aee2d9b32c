//! Mailboxes (DECK): created with a name and a depth, found by name, posted to by many and retrieved from by many.
//!
//! A thin layer: a post is a tagged message on one flow, whose tag is the mailbox's number at its owner; the depth is
//! kept in a small region that posters reach one-sidedly (`slots`); a poster that sleeps because the box is full is woken
//! by an empty message on another flow. Messages of a rank to itself take the same way.
//!
//! Posters of other hosts ask the owner's library for a place (`table`), and what would lie in a region goes to the owner with
//! the post.
//!
//! ```text
//!   poster ── a place? ──▶ owner: takes one in the books ── taken ──▶ poster ── post ──▶
//!                                                        └─ full: noted, woken as any that sleeps
//! ```

mod context;
mod finding;
mod sender;
mod slots;
mod table;
mod waiting_posts;

use canele_sys::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant};

use canele_engine::{Engine, EngineView, Failure, FlowId, Matched, Status, Tag, Want};

use crate::job::deadline;
use crate::message::{Arrived, CELL, DESCRIPTION, Store};
use crate::{Error, Message, Rank, Region};
pub(crate) use context::MailboxContext;
pub use sender::{MailboxSender, PostError};
use slots::Slots;
use table::Deposited;
use waiting_posts::{Known, Post, Waiting, WaitingPosts};

/// Posts; the tag is the mailbox's number at its owner.
const POSTS: FlowId = FlowId(10);
/// Wake-ups from a mailbox's owner to posters; the tag is the same.
const WAKES: FlowId = FlowId(11);

/// A mailbox of this rank, shared by its threads. Dropping it closes it: what was not retrieved is lost, and posters
/// get [`Error::Closed`].
pub struct Mailbox {
    engine: Arc<Engine>,
    context: Arc<MailboxContext>,
    name: String,
    number: Tag,
    slots: Slots,
    /// Where the slots lie; given up last.
    region: Region,
    /// Messages that came, by sender.
    got: Arc<[AtomicU64]>,
    /// Messages that wait for what was deposited with them.
    waiting_posts: WaitingPosts,
    /// How many messages came that may wait for what was deposited with them.
    held: AtomicUsize,
    /// [`EngineView::count_gone`] when slots of ranks that are gone were last given back.
    settled: AtomicUsize,
    /// The number of deaths that retrievals have reported.
    reported_deaths: AtomicUsize,
}

/// What ends a wait of a retrieval.
enum RetrievalStep {
    /// A message came.
    Came(Post),
    /// One that waited is all here, or never will be.
    Ready(Waiting, Known),
    /// There are places again of a rank that is gone.
    Places,
}

/// What ends a wait inside the engine.
enum EngineStep {
    Came(Matched),
    Ready(Box<(Waiting, Known)>),
    Places,
}

impl Mailbox {
    /// Takes the next message out; waits for one.
    ///
    /// # Errors
    /// A rank died: every waiting retrieval is told once, naming it, and the next one works as before. The message's
    /// sender died before its data came. All other ranks have finished or died, nothing of theirs is left, and this thread
    /// is the only one of its rank ([`Failure::NoSenderLeft`]).
    #[inline]
    pub fn retrieve(&self) -> Result<Message, Error> {
        self.retrieve_until(None)
    }

    /// Takes the next message out, if there is one.
    ///
    /// # Errors
    /// As [`Mailbox::retrieve`].
    pub fn try_retrieve(&self) -> Result<Option<Message>, Error> {
        match self.retrieve_until(Some(Instant::now())) {
            Ok(message) => Ok(Some(message)),
            Err(Error::Deadline(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes the next message out; waits for one at most `wait`.
    ///
    /// # Errors
    /// [`Error::Deadline`]; else as [`Mailbox::retrieve`].
    pub fn retrieve_deadline(&self, wait: Duration) -> Result<Message, Error> {
        self.retrieve_until(deadline(wait))
    }

    #[inline(always)]
    fn retrieve_until(&self, deadline: Option<Instant>) -> Result<Message, Error> {
        let (mut bytes, mut held) = (Store::new(), false);
        if !self.waiting_posts.is_empty() {
            return self.retrieve_any(None, deadline);
        }
        let taken = |status: &Status| held = self.count(status);
        let from = match self.engine.try_recv_any(POSTS, self.number, &mut bytes, taken)? {
            Some(status) if !held => status.source,
            Some(Status { source: from, .. }) => {
                return self.retrieve_any(Some(Post { from, bytes, held }), deadline);
            }
            None => return self.retrieve_any(None, deadline),
        };
        if self.slots.has_sleepers() {
            self.wake()?;
        }
        if bytes.len() == CELL {
            Ok(Message::of_cell(from, bytes))
        } else {
            self.open(from, Arrived::read(from, bytes), None)
        }
    }

    /// The general path: whatever came, or comes until the deadline, and is all here.
    #[inline(never)]
    fn retrieve_any(&self, mut came: Option<Post>, deadline: Option<Instant>) -> Result<Message, Error> {
        let reported_deaths = self.reported_deaths.load(Relaxed);
        loop {
            let next = came
                .take()
                .map_or_else(|| self.wait(reported_deaths, deadline), |post| Ok(RetrievalStep::Came(post)));
            let (from, arrived, known) = match next? {
                RetrievalStep::Came(post) if post.held => {
                    self.waiting_posts.keep(post);
                    continue;
                }
                RetrievalStep::Places => {
                    self.wake_sleepers()?;
                    continue;
                }
                RetrievalStep::Came(post) => (post.from, post.read(), None),
                RetrievalStep::Ready(Waiting { from, arrived, held }, known) => {
                    self.release(held)?;
                    (from, arrived, known)
                }
            };
            self.wake_sleepers()?;
            return self.open(from, arrived, known);
        }
    }

    /// What came from `from`, as a message.
    #[inline(never)]
    fn open(&self, from: Rank, arrived: Option<Arrived>, known: Known) -> Result<Message, Error> {
        match arrived {
            Some(Arrived::Whole(message)) => Ok(message),
            Some(Arrived::Described(region, described)) => match (described.deposited(region), known) {
                (Some(_), Some(data)) => described.of(data?),
                // Only ranks of other hosts deposit.
                (Some(_), None) => Err(Failure::RegionLost(from).into()),
                (None, _) => described.reach(&self.engine, region),
            },
            None => {
                Err(Error::Unpack { asked: "a message".to_owned(), there: format!("no message of {from}") })
            }
        }
    }

    /// What a poster on another host deposited with its message: it may still be on its way.
    fn deposited(&self, from: Rank, number: u32) -> Known {
        match self.context.table.take(self.number, from, number) {
            Deposited::Here(data) => Some(Ok(data)),
            Deposited::Expected => None,
            Deposited::Lost => Some(Err(Failure::RegionLost(from).into())),
        }
    }

    /// Waits for a message, however long.
    fn wait(&self, reported_deaths: usize, deadline: Option<Instant>) -> Result<RetrievalStep, Error> {
        let want = Want { source: None, tag: Some(self.number) };
        let what = || format!("a message in the {}", self.name);
        let mut held = false;
        let matched = self.engine.wait_until_any_sender(deadline, what, |view| {
            if let Some(ready) = self.waiting_posts.take(|from, number| self.deposited(from, number)) {
                return Some(Ok(EngineStep::Ready(Box::new(ready))));
            }
            if let Some(matched) = view.probe_matched(POSTS, want) {
                held = self.count(&matched.status);
                return Some(Ok(EngineStep::Came(matched)));
            }
            if self.settle(view) && self.slots.has_sleepers() {
                return Some(Ok(EngineStep::Places));
            }
            // Now that the dead keep no place: what will not come any more.
            let lost = |from, number| {
                self.deposited(from, number)
                    .or_else(|| view.why_gone(from).map(|failure| Err(failure.into())))
            };
            if let Some(ready) = self.waiting_posts.take(lost) {
                return Some(Ok(EngineStep::Ready(Box::new(ready))));
            }
            let dead = *view.deaths().get(reported_deaths)?;
            self.reported_deaths.fetch_max(reported_deaths + 1, Relaxed);
            Some(Err(view.why_gone(dead).unwrap_or(Failure::PeerFailed(dead)).into()))
        });
        let matched = match matched? {
            EngineStep::Came(matched) => matched,
            EngineStep::Ready(ready) => {
                let (waiting, known) = *ready;
                return Ok(RetrievalStep::Ready(waiting, known));
            }
            EngineStep::Places => return Ok(RetrievalStep::Places),
        };
        let mut bytes = Store::zeroed(matched.status.bytes);
        match self.engine.recv_matched(matched, bytes.bytes_mut()) {
            Ok(Status { source: from, .. }) => Ok(RetrievalStep::Came(Post { from, bytes, held })),
            Err(error) => {
                if held {
                    self.release(true)?;
                }
                Err(error)
            }
        }
    }

    /// A message came; says whether its slot is held until it is known to be all here. Called before another thread can come
    /// into the engine, and so is `settle`.
    #[inline(always)]
    fn count(&self, status: &Status) -> bool {
        // Only one thread at a time is in the engine, so neither count needs an atomic addition.
        let got = &self.got[status.source.0 as usize];
        got.store(got.load(Relaxed) + 1, Relaxed);
        let held = (status.bytes == DESCRIPTION || !self.waiting_posts.is_empty())
            && self.engine.is_remote(status.source);
        if held {
            self.held.store(self.held.load(Relaxed) + 1, Relaxed);
        } else {
            self.slots.free(1);
        }
        held
    }

    /// A message is all here, or never will be: gives back its slot if that is still held.
    fn release(&self, held: bool) -> Result<(), Error> {
        self.engine.ask(|_| {
            self.held.store(self.held.load(Relaxed) - 1, Relaxed);
            self.slots.free(held.into());
        })
    }

    /// Gives back the slots of ranks that are gone, all of whose messages that came have been retrieved or wait; says whether
    /// there were any. A rank that finished leaves one if the answer to its question came after its deadline.
    fn settle(&self, view: &EngineView) -> bool {
        let gone_count = view.count_gone();
        if self.settled.load(Relaxed) == gone_count {
            return false;
        }
        let gone = |rank: &Rank| view.gone(*rank).is_some();
        let let_go = self.waiting_posts.let_go(|rank| gone(&rank));
        self.slots.free(let_go);
        // A rank may have ended between noting a slot and taking it. As long as that cannot be told from a living one that is about to
        // take a slot, so many are not given back: the box never holds more than it is deep.
        let doubtful = self.slots.doubtful(self.got.len() as u32);
        let mut to_keep = doubtful;
        let mut any = let_go > 0;
        for rank in (0..self.got.len() as u32).map(Rank).filter(gone) {
            let got = &self.got[rank.0 as usize];
            let left = self.slots.left_by(rank, got.load(Relaxed));
            let sure = left.saturating_sub(to_keep);
            to_keep -= left - sure;
            if sure > 0 {
                any = true;
                got.store(got.load(Relaxed) + sure, Relaxed);
                self.slots.free(sure);
            }
            // Only while no message is on its way from the engine to its deposit.
            if self.held.load(Relaxed) == 0 {
                self.context.table.forget(self.number, rank);
            }
        }
        if self.held.load(Relaxed) == 0 && to_keep == doubtful {
            self.settled.store(gone_count, Relaxed);
        }
        any
    }

    fn wake_sleepers(&self) -> Result<(), Error> {
        if self.slots.has_sleepers() { self.wake() } else { Ok(()) }
    }

    /// Wakes the posters that sleep because the box was full.
    #[cold]
    fn wake(&self) -> Result<(), Error> {
        self.slots.wake(self.got.len() as u32, |rank| {
            // At once or later, but never waiting for a poster; one that is gone need not be woken.
            match self.context.send((WAKES, rank, self.number), &[], Some(Instant::now())) {
                Err(Error::Failed(_)) => Ok(()),
                sent => sent,
            }
        })
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        self.context.table.remove(self.number);
        self.slots.close();
        // After the end of the job all of this is forgotten already.
        self.region.withdraw_names();
        // Data that was deposited for it is gone.
        while let Ok(Some(_)) | Err(Error::Failed(Failure::RegionLost(_))) = self.try_retrieve() {}
        let _ = self.wake();
    }
}
