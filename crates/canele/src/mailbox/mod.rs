//! Mailboxes (DECK). A mailbox is created with a name and a depth and found by its name. Many ranks post to
//! it, and many threads of its owner retrieve from it.
//!
//! A thin layer: a post is a tagged message on one flow, whose tag is the mailbox's number at its owner. The
//! depth is kept in a small region, the *books*, which posting ranks access one-sidedly (`slots`). An empty
//! message on another flow wakes a rank that sleeps because the mailbox is full. Messages of a rank to itself
//! take the same path.
//!
//! Ranks of other hosts ask the owner's library for a slot (`table`). Data that would lie in a region on one
//! host goes to the owner with the post; this is called a *deposit*.
//!
//! ```text
//!   poster ── a place? ──▶ owner: takes one in the books ── taken ──▶ poster ── post ──▶
//!                                                        └─ full: noted, woken like any sleeper
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

/// The flow of posts; the tag is the mailbox's number at its owner.
const POSTS: FlowId = FlowId(10);
/// The flow of wake-ups from a mailbox's owner to posting ranks; the tag is the mailbox's number.
const WAKES: FlowId = FlowId(11);

/// A mailbox of this rank, shared by its threads. Dropping it closes it: remaining messages are lost, and
/// ranks that post get [`Error::Closed`].
pub struct Mailbox {
    engine: Arc<Engine>,
    context: Arc<MailboxContext>,
    name: String,
    number: Tag,
    slots: Slots,
    /// The region of the slots; dropped last.
    region: Region,
    /// Number of messages received from each sender.
    got: Arc<[AtomicU64]>,
    /// Messages that wait for their deposits.
    waiting_posts: WaitingPosts,
    /// Number of received messages that may wait for their deposits.
    held: AtomicUsize,
    /// The value of [`EngineView::count_gone`] when slots of dead ranks were last given back.
    settled: AtomicUsize,
    /// The number of deaths that retrievals have reported.
    reported_deaths: AtomicUsize,
}

/// The event that ends a retrieval's wait.
enum RetrievalStep {
    /// A message has arrived.
    Came(Post),
    /// A waiting message is complete, or its data will never arrive.
    Ready(Waiting, Known),
    /// Slots of a dead rank are free again.
    Places,
}

/// The event that ends a wait inside the engine.
enum EngineStep {
    Came(Matched),
    Ready(Box<(Waiting, Known)>),
    Places,
}

impl Mailbox {
    /// Takes the next message; waits until there is one.
    ///
    /// # Errors
    /// Fails if a rank died: every waiting retrieval names the rank once, and later ones work again. Fails if
    /// the sender of the message died before its data arrived. Fails with [`Failure::NoSenderLeft`] if all
    /// other ranks have finished or died without further messages and this is the only thread of its rank.
    #[inline]
    pub fn retrieve(&self) -> Result<Message, Error> {
        self.retrieve_until(None)
    }

    /// Takes the next message, if there is one.
    ///
    /// # Errors
    /// Returns the errors of [`Mailbox::retrieve`].
    pub fn try_retrieve(&self) -> Result<Option<Message>, Error> {
        match self.retrieve_until(Some(Instant::now())) {
            Ok(message) => Ok(Some(message)),
            Err(Error::Deadline(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes the next message; waits at most `wait` for it.
    ///
    /// # Errors
    /// Fails as [`Mailbox::retrieve`] does, and with [`Error::Deadline`] if the time is over.
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

    /// Takes the next complete message, of any kind; waits for it until the deadline.
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

    /// Makes a message of data that arrived from rank `from`.
    #[inline(never)]
    fn open(&self, from: Rank, arrived: Option<Arrived>, known: Known) -> Result<Message, Error> {
        match arrived {
            Some(Arrived::Whole(message)) => Ok(message),
            Some(Arrived::Described(region, described)) => match (described.deposited(region), known) {
                (Some(_), Some(data)) => described.of(data?),
                // Only ranks of other hosts deposit data.
                (Some(_), None) => Err(Failure::RegionLost(from).into()),
                (None, _) => described.reach(&self.engine, region),
            },
            None => {
                Err(Error::Unpack { asked: "a message".to_owned(), there: format!("no message of {from}") })
            }
        }
    }

    /// Returns the deposit that a rank of another host sent with its message; it may still be under way.
    fn deposited(&self, from: Rank, number: u32) -> Known {
        match self.context.table.take(self.number, from, number) {
            Deposited::Here(data) => Some(Ok(data)),
            Deposited::Expected => None,
            Deposited::Lost => Some(Err(Failure::RegionLost(from).into())),
        }
    }

    /// Waits in the engine for a message of any length.
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
            // Dead ranks hold no slot by now, so this finds deposits that will not arrive any more.
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

    /// Counts a received message. Returns true if its slot is held until the message is known to be complete.
    /// This function and `settle` are called before another thread can enter the engine.
    #[inline(always)]
    fn count(&self, status: &Status) -> bool {
        // Only one thread at a time is in the engine, so neither counter needs an atomic addition.
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

    /// Gives back the slot of a message, if it is still held. The message is complete, or its data will never
    /// arrive.
    fn release(&self, held: bool) -> Result<(), Error> {
        self.engine.ask(|_| {
            self.held.store(self.held.load(Relaxed) - 1, Relaxed);
            self.slots.free(held.into());
        })
    }

    /// Gives back the slots of dead ranks once each received message of them was retrieved or is kept.
    /// Returns true if there were any. A finished rank leaves a slot behind if its request was answered after
    /// its deadline.
    fn settle(&self, view: &EngineView) -> bool {
        let gone_count = view.count_gone();
        if self.settled.load(Relaxed) == gone_count {
            return false;
        }
        let gone = |rank: &Rank| view.gone(*rank).is_some();
        let let_go = self.waiting_posts.let_go(|rank| gone(&rank));
        self.slots.free(let_go);
        // A rank may have ended after it noted a slot and before it took it. The owner cannot tell these from
        // slots that a living rank is about to take, so it does not free that many. So the mailbox never
        // holds more than its depth.
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
            // Deposits are forgotten only while no message that may refer to one is on its way from the
            // engine.
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

    /// Wakes the ranks that sleep because the mailbox was full.
    #[cold]
    fn wake(&self) -> Result<(), Error> {
        self.slots.wake(self.got.len() as u32, |rank| {
            // The wake-up is sent now or later, without waiting for the receiver; a dead rank needs none.
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
        // After the end of the job the launcher has removed the names already.
        self.region.withdraw_names();
        // Data deposited for this mailbox is lost.
        while let Ok(Some(_)) | Err(Error::Failed(Failure::RegionLost(_))) = self.try_retrieve() {}
        let _ = self.wake();
    }
}
