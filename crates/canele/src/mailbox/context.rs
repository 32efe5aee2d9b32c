//! The state that the mailboxes of one rank share: their numbers, the regions of messages, and messages that
//! have not left yet.

use canele_sys::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use canele_engine::{Deposit, Engine, Envelope, FlowId, Mode, Pending, RegionMemory, Started, Tag};

use super::slots::Slots;
use super::table::MailboxTable;
use crate::message::pool::Pool;
use crate::{Error, Flow, Rank, Request};

/// The destination of a message: flow, receiver and tag.
pub type Destination = (FlowId, Rank, Tag);

/// The state that the mailboxes of one endpoint share.
pub struct MailboxContext {
    engine: Arc<Engine>,
    pub pool: Arc<Pool>,
    pub table: Arc<MailboxTable>,
    numbers: AtomicU32,
    /// Messages that have a slot but are still under way, because the rail had no room or there was no
    /// credit.
    leaving: Mutex<Vec<Request<u8>>>,
    /// The number of messages in `leaving`, so that a post checks it without the lock.
    count: AtomicUsize,
    /// The next number for data deposited with owners on other hosts.
    deposits: AtomicU32,
    /// Number of wake-ups that owners on other hosts have sent to this rank.
    pub woken: AtomicU64,
    /// The stand-in memory for the books of mailboxes on other hosts.
    absent: OnceLock<Arc<RegionMemory>>,
}

impl MailboxContext {
    pub fn new(engine: Arc<Engine>) -> Result<Self, Error> {
        let pool = Pool::start(engine.clone())?;
        let table = Arc::new(MailboxTable::default());
        engine.set_am_handler(table.clone())?;
        Ok(Self {
            engine,
            pool,
            table,
            numbers: AtomicU32::new(0),
            leaving: Mutex::default(),
            count: AtomicUsize::new(0),
            deposits: AtomicU32::new(0),
            woken: AtomicU64::new(0),
            absent: OnceLock::new(),
        })
    }

    /// Returns stand-in books for a mailbox on another host.
    pub fn absent_books(&self, owner: Rank) -> Result<Slots, Error> {
        let far = match self.absent.get() {
            Some(far) => far.clone(),
            None => {
                let far = Arc::new(RegionMemory::private(Slots::bytes(self.engine.size()))?);
                self.absent.get_or_init(|| far).clone()
            }
        };
        Ok(Slots::absent(far, owner))
    }

    /// Returns a number for a deposit.
    pub fn deposit_number(&self) -> u32 {
        self.deposits.fetch_add(1, Relaxed)
    }

    /// Deposits data for a mailbox on another host under a number. The data is sent while this rank is in the
    /// library, at the latest before it finishes.
    pub fn deposit(&self, to: Rank, mailbox: Tag, number: u32, data: Vec<u8>) -> Result<(), Error> {
        let of = [mailbox.0.into(), number.into()];
        let Deposit { head: (flow, tag, head), data: way } = self.engine.deposit(of, data.len())?;
        self.send((flow, to, tag), &head, Some(Instant::now()))?;
        self.leaves(Flow::new(self.engine.clone(), way.0).isend(to, way.1, data)?);
        Ok(())
    }

    fn leaves(&self, request: Request<u8>) {
        self.leaving().push(request);
        self.count.fetch_add(1, Relaxed);
    }

    /// Returns a number for a mailbox of this rank.
    pub fn number(&self) -> Tag {
        Tag(self.numbers.fetch_add(1, Relaxed))
    }

    fn leaving(&self) -> MutexGuard<'_, Vec<Request<u8>>> {
        self.leaving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message. Data that is not sent at the deadline is kept and sent later.
    #[inline(always)]
    pub fn send(
        &self,
        destination: Destination,
        bytes: &[u8],
        deadline: Option<Instant>,
    ) -> Result<(), Error> {
        if self.count.load(Relaxed) > 0 {
            self.reap();
        }
        let (flow, to, tag) = destination;
        match self
            .engine
            .post(Envelope { coalesce: true, ..Envelope::new(to, flow, tag) }, bytes)
            .map_err(|error| *error)?
        {
            Started::Done => Ok(()),
            Started::Posted(copy) => self.wait_for_copy(copy, deadline),
            Started::Busy => self.send_later(destination, bytes, deadline),
        }
    }

    /// Waits until a copied message is sent. After the deadline the copy is kept and sent later.
    #[cold]
    fn wait_for_copy(&self, copy: Pending, deadline: Option<Instant>) -> Result<(), Error> {
        match self.engine.wait(copy, deadline) {
            Err(Error::Deadline(_)) => Ok(()),
            ended => ended?.result.map(drop),
        }
    }

    #[cold]
    fn send_later(
        &self,
        (flow, to, tag): Destination,
        bytes: &[u8],
        deadline: Option<Instant>,
    ) -> Result<(), Error> {
        let flow = Flow::new(self.engine.clone(), flow);
        let mut request = flow.isend_lent(to, tag, Mode::Standard, bytes.to_vec())?;
        match request.block(deadline) {
            Err(Error::Deadline(_)) => {
                self.leaves(request);
                Ok(())
            }
            ended => ended.and_then(|()| request.take()).map(drop),
        }
    }

    /// Removes messages that were sent. If one failed, the mailbox's owner is dead, and the next post reports
    /// that.
    fn reap(&self) {
        let mut leaving = self.leaving();
        leaving.retain_mut(|request| !request.test().unwrap_or(false));
        self.count.store(leaving.len(), Relaxed);
    }

    /// Waits until all kept messages are sent. Messages for a dead rank are lost.
    pub fn flush(&self) -> Result<(), Error> {
        let leaving = std::mem::take(&mut *self.leaving());
        leaving.into_iter().try_for_each(|mut request| match request.block(None) {
            Err(Error::Failed(_)) => Ok(()),
            left => left,
        })
    }
}
