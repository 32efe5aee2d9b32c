//! Creates mailboxes, and finds those of other ranks by name.

use canele_sys::atomic::{AtomicU64, AtomicUsize};
use std::sync::Arc;
use std::time::{Duration, Instant};

use canele_engine::{Failure, Tag};

use super::slots::Slots;
use super::table::{FIND, FOUND};
use super::waiting_posts::WaitingPosts;
use super::{Mailbox, MailboxSender};
use crate::job::deadline;
use crate::{Endpoint, Error, RemoteRegion};

impl Endpoint {
    /// Creates a mailbox with room for `depth` messages, which ranks of all hosts find by its name.
    ///
    /// ```
    /// # let job = canele::Job::start()?; let endpoint = job.endpoint();
    /// use std::time::Duration;
    /// use canele::{Message, PostError};
    /// let mailbox = endpoint.create_mailbox("orders", 1)?;
    /// let sender = endpoint.find_mailbox("orders", Duration::from_secs(5))?;
    ///
    /// let mut message = Message::new();
    /// message.pack(&[7u64, 8]);
    /// sender.post(message)?;
    /// let full = sender.try_post(Message::new());
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
    /// Fails if the name is taken, the depth is 0, or there is not enough memory.
    pub fn create_mailbox(&self, name: &str, depth: usize) -> Result<Mailbox, Error> {
        if depth == 0 {
            return Err(Error::Lengths { what: "messages in a mailbox", given: 0, needed: 1 });
        }
        let (name, number) = (format!("mailbox {name}"), self.context.number());
        let region = self.region(Slots::bytes(self.size()))?;
        let far = region.region.far();
        let slots = Slots::create(far.clone(), self.rank(), depth as u64, number);
        let got: Arc<[AtomicU64]> = (0..self.size()).map(|_| AtomicU64::new(0)).collect();
        if let Some((for_others, number)) = Slots::open(far, self.rank(), self.size()) {
            self.context.table.add(number, region.region.id(), for_others, got.clone());
        }
        let deaths = self.engine.ask(|view| view.deaths().len())?;
        if let Err(error) = region.publish_as(&name) {
            self.context.table.remove(number);
            return Err(error);
        }
        Ok(Mailbox {
            engine: self.engine.clone(),
            context: self.context.clone(),
            name,
            number,
            slots,
            region,
            got,
            waiting_posts: WaitingPosts::default(),
            held: AtomicUsize::new(0),
            settled: AtomicUsize::new(0),
            reported_deaths: AtomicUsize::new(deaths),
        })
    }

    /// Finds a mailbox that any rank, including this one, has created or will create; waits at most `wait`.
    ///
    /// # Errors
    /// Fails with [`Error::Deadline`] if the time is over. Fails if the owner of the mailbox has finished or
    /// died.
    pub fn find_mailbox(&self, name: &str, wait: Duration) -> Result<MailboxSender, Error> {
        let at = deadline(wait);
        let books = self.find_published(&format!("mailbox {name}"), at)?;
        let (owner, elsewhere) = (books.owner(), !self.engine.maps_memory_of(books.owner()));
        let (slots, number) = match elsewhere {
            true => (self.context.absent_books(owner)?, self.ask_number(&books, at)?),
            false => Slots::open(books.far, owner, self.size()).ok_or(Failure::RegionLost(owner))?,
        };
        self.engine.connect(owner, at)?;
        let (engine, context) = (self.engine.clone(), self.context.clone());
        Ok(MailboxSender { engine, context, owner, number, slots, elsewhere })
    }

    /// Returns the number of a mailbox on another host.
    fn ask_number(&self, books: &RemoteRegion, at: Option<Instant>) -> Result<Tag, Error> {
        let question = [FIND, books.id.index.into(), books.id.generation.into()];
        let answer = self.engine.ask_owner(books.owner(), question, None, at)?;
        let number = answer.checked_sub(FOUND).and_then(|number| u32::try_from(number).ok());
        number.map(Tag).ok_or(Error::Closed(books.owner()))
    }
}
