//! Mailboxes (DECK): created with a name and a depth, found by name, posted to by many and retrieved from by many.
//!
//! A thin layer: a post is a tagged message on one flow, whose tag is the mailbox's number at its owner; the depth is
//! kept in a small region that posters reach one-sidedly (`slots`); a poster that sleeps because the box is full is woken
//! by an empty message on another flow. Messages of a rank to itself take the same way.

mod office;
mod postbox;
mod slots;

use canele_sys::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant};

use canele_engine::{Engine, Failure, FlowId, Status, Tag, Want};
use canele_proto::Proto;

use crate::job::deadline;
use crate::message::{Arrived, CELL, Store};
use crate::{Endpoint, Error, Message, Rank, Region};
pub(crate) use office::Office;
pub use postbox::{PostError, Postbox};
use slots::Slots;

/// Posts; the tag is the mailbox's number at its owner.
const POSTS: FlowId = FlowId(2);
/// Wake-ups from a mailbox's owner to posters; the tag is the same.
const WAKES: FlowId = FlowId(3);

/// A mailbox of this rank, shared by its threads. Dropping it closes it: what was not retrieved is lost, and posters
/// get [`Error::Closed`].
pub struct Mailbox {
    engine: Arc<Engine>,
    office: Arc<Office>,
    name: String,
    number: Tag,
    slots: Slots,
    /// Where the slots lie; given up last.
    _region: Region,
    /// Messages that came, by sender.
    got: Vec<AtomicU64>,
    /// Of the deaths so far: whose slots were given back, and of how many a retrieval was told.
    settled: AtomicUsize,
    told: AtomicUsize,
}

impl Endpoint {
    /// Creates a mailbox with room for `depth` messages, which any rank finds by its name.
    ///
    /// ```
    /// # let job = canele::Job::start()?; let endpoint = job.endpoint();
    /// use std::time::Duration;
    /// use canele::{Message, PostError};
    /// let mailbox = endpoint.create_mailbox("orders", 1)?;
    /// let postbox = endpoint.find_mailbox("orders", Duration::from_secs(5))?;
    ///
    /// let mut message = Message::new();
    /// message.pack(&[7u64, 8]);
    /// postbox.post(message)?;
    /// let full = postbox.try_post(Message::new());
    /// assert!(matches!(full, Err(PostError::Full(_))));
    ///
    /// let mut message = mailbox.retrieve()?;
    /// assert_eq!(message.sender(), Some(job.rank()));
    /// let mut numbers = [0u64; 2];
    /// message.unpack(&mut numbers)?;
    /// assert_eq!(numbers, [7, 8]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The name is taken; a depth of 0; not enough memory.
    pub fn create_mailbox(&self, name: &str, depth: usize) -> Result<Mailbox, Error> {
        if depth == 0 {
            return Err(Error::Lengths { what: "messages in a mailbox", given: 0, needed: 1 });
        }
        let (name, number) = (format!("mailbox {name}"), self.office.number());
        let region = self.region(Slots::bytes(self.size()))?;
        let slots = Slots::create(region.region.far(), self.rank(), depth as u64, number);
        let deaths = self.engine.ask(|proto| proto.deaths().len())?;
        region.publish_as(&name)?;
        Ok(Mailbox {
            engine: self.engine.clone(),
            office: self.office.clone(),
            name,
            number,
            slots,
            _region: region,
            got: (0..self.size()).map(|_| AtomicU64::new(0)).collect(),
            settled: AtomicUsize::new(deaths),
            told: AtomicUsize::new(deaths),
        })
    }

    /// Finds a mailbox that any rank, this one too, has created or will create; waits for it at most `wait`.
    ///
    /// # Errors
    /// [`Error::Deadline`]; its owner has finished or died.
    pub fn find_mailbox(&self, name: &str, wait: Duration) -> Result<Postbox, Error> {
        let at = deadline(wait);
        let books = self.find_published(&format!("mailbox {name}"), at)?;
        let owner = books.owner();
        let (slots, number) = Slots::open(books.far, owner, self.size()).ok_or(Failure::RegionLost(owner))?;
        self.engine.connect(owner, at)?;
        Ok(Postbox { engine: self.engine.clone(), office: self.office.clone(), owner, number, slots })
    }
}

impl Mailbox {
    /// Takes the next message out; waits for one.
    ///
    /// # Errors
    /// A rank died: every waiting retrieval is told once, naming it, and the next one works as before. The message's
    /// sender died before its data came. All other ranks have finished or died, nothing of theirs is left, and this thread
    /// is the only one of its rank ([`Failure::NobodyLeft`]).
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
        let mut bytes = Store::new();
        let came = self.engine.look_any(POSTS, self.number, &mut bytes, |from| self.count(from))?;
        let (from, bytes) = match came {
            Some(status) => (status.source, bytes),
            None => self.wait(deadline)?,
        };
        if self.slots.has_sleepers() {
            self.wake()?;
        }
        if bytes.len() == CELL { Ok(Message::of_cell(from, bytes)) } else { self.open(from, bytes) }
    }

    /// What came from `from` and is more than a bare cell, as a message.
    #[inline(never)]
    fn open(&self, from: Rank, bytes: Store) -> Result<Message, Error> {
        match Arrived::read(from, bytes) {
            Some(Arrived::Whole(message)) => Ok(message),
            Some(Arrived::Described(region, described)) => described.reach(&self.engine, region),
            None => {
                Err(Error::Unpack { asked: "a message".to_owned(), there: format!("no message of {from}") })
            }
        }
    }

    /// The general path: waits for a message, however long.
    #[inline(never)]
    fn wait(&self, deadline: Option<Instant>) -> Result<(Rank, Store), Error> {
        let want = Want { source: None, tag: Some(self.number) };
        let told = self.told.load(Relaxed);
        let what = || format!("a message in the {}", self.name);
        let matched = self.engine.wait_until_anybody(deadline, what, |proto| {
            if let Some(matched) = proto.probe_matched(POSTS, want) {
                self.count(matched.status.source);
                return Some(Ok(matched));
            }
            self.settle(proto);
            let dead = *proto.deaths().get(told)?;
            self.told.fetch_max(told + 1, Relaxed);
            Some(Err(proto.why_gone(dead).unwrap_or(Failure::PeerFailed(dead)).into()))
        });
        if matched.is_err() && self.slots.has_sleepers() {
            self.wake()?; // What the dead had taken was given back.
        }
        let matched = matched?;
        let mut store = Store::zeroed(matched.status.bytes);
        let Status { source, .. } = self.engine.recv_matched(matched, store.bytes_mut())?;
        Ok((source, store))
    }

    /// A message of `from` came. Called before another thread can come into the engine, and so is `settle`.
    #[inline(always)]
    fn count(&self, from: Rank) {
        // Only one thread at a time is in the engine, so neither count needs an atomic addition.
        let got = &self.got[from.0 as usize];
        got.store(got.load(Relaxed) + 1, Relaxed);
        self.slots.free(1);
    }

    /// Gives back the slots of ranks that died; all of their messages that came have been retrieved.
    fn settle(&self, proto: &Proto) {
        let deaths = proto.deaths();
        for dead in &deaths[self.settled.swap(deaths.len(), Relaxed).min(deaths.len())..] {
            let got = self.got[dead.0 as usize].load(Relaxed);
            self.slots.free(self.slots.left_by(*dead, got));
        }
    }

    /// Wakes the posters that sleep because the box was full.
    #[cold]
    fn wake(&self) -> Result<(), Error> {
        self.slots.wake(self.got.len() as u32, |rank| {
            // At once or later, but never waiting for a poster; one that is gone need not be woken.
            match self.office.send((WAKES, rank, self.number), &[], Some(Instant::now())) {
                Err(Error::Failed(_)) => Ok(()),
                sent => sent,
            }
        })
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        self.slots.close();
        // After the end of the job all of this is forgotten already.
        let _ = self.engine.withdraw(&self.name);
        while let Ok(Some(_)) = self.try_retrieve() {}
        let _ = self.wake();
    }
}
