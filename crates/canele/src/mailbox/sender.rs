//! The posting end of a mailbox.

use std::sync::Arc;
use std::time::{Duration, Instant};

use canele_engine::{Engine, EngineView, Tag, Want};
use canele_sys::atomic::Ordering::Relaxed;

use super::context::MailboxContext;
use super::slots::Slots;
use super::table::{FULL, GIVE_BACK, TAKE, TAKEN};
use super::{POSTS, WAKES};
use crate::job::deadline;
use crate::message::Sealed;
use crate::{Error, Message, Rank};

/// The posting end of a mailbox of any rank; shared by threads. Made by [`crate::Endpoint::find_mailbox`].
pub struct MailboxSender {
    pub(super) engine: Arc<Engine>,
    pub(super) context: Arc<MailboxContext>,
    pub(super) owner: Rank,
    pub(super) number: Tag,
    pub(super) slots: Slots,
    /// True if the owner runs on another host, so that the local books are a stand-in.
    pub(super) elsewhere: bool,
}

/// The error of a message that was not posted.
#[derive(Debug, thiserror::Error)]
pub enum PostError {
    /// The mailbox was full, immediately or until the deadline. The message is returned.
    #[error("the mailbox is full: a message must be retrieved first")]
    Full(Message),
    /// Another error.
    #[error(transparent)]
    Failed(#[from] Error),
}

impl MailboxSender {
    /// Returns the rank that owns the mailbox.
    pub fn owner(&self) -> Rank {
        self.owner
    }

    /// Posts a message; waits while the mailbox is full. For a mailbox of another host this takes at least
    /// one round trip, and the owner must be in a call that makes progress. A long message is copied, and
    /// leaves while this rank is in the library.
    ///
    /// # Errors
    /// Fails if the owner has closed the mailbox, finished or died, or if there is no memory for a long
    /// message.
    #[inline]
    pub fn post(&self, message: Message) -> Result<(), Error> {
        if let Some(bytes) = message.bare() {
            self.take_slot(None)?;
            return self.send_bytes(bytes, None);
        }
        let sealed = message.seal(&self.context.pool)?;
        self.take_slot(None)?;
        self.send(sealed, None)
    }

    #[inline(always)]
    fn take_slot(&self, deadline: Option<Instant>) -> Result<(), Error> {
        match self.slots.try_take(self.engine.rank())? {
            true => Ok(()),
            false => self.wait_for_slot(deadline),
        }
    }

    /// Posts a message if the mailbox is not full; an owner on another host is asked.
    ///
    /// # Errors
    /// Returns [`PostError::Full`] with the message, and the errors of [`MailboxSender::post`].
    #[allow(clippy::result_large_err)] // The message comes back as it is.
    pub fn try_post(&self, message: Message) -> Result<(), PostError> {
        let sealed = message.seal(&self.context.pool)?;
        match self.slots.try_take(self.engine.rank())? {
            true => Ok(self.send(sealed, Some(Instant::now()))?),
            false if self.elsewhere && self.ask_for_slot(false, None)? => {
                Ok(self.send(sealed, Some(Instant::now()))?)
            }
            false => Err(PostError::Full(sealed.open())),
        }
    }

    /// Posts a message; waits while the mailbox is full, but at most `wait`.
    ///
    /// # Errors
    /// Returns [`PostError::Full`] with the message, and the errors of [`MailboxSender::post`].
    #[allow(clippy::result_large_err)] // As above.
    pub fn post_deadline(&self, message: Message, wait: Duration) -> Result<(), PostError> {
        let sealed = message.seal(&self.context.pool)?;
        let at = deadline(wait);
        match self.take_slot(at) {
            Err(Error::Deadline(_)) => Err(PostError::Full(sealed.open())),
            taken => Ok(taken.and_then(|()| self.send(sealed, at))?),
        }
    }

    /// Sends a message for which a slot was taken.
    #[inline(always)]
    fn send(&self, sealed: Sealed, deadline: Option<Instant>) -> Result<(), Error> {
        match sealed.bytes() {
            Some(bytes) => self.send_bytes(bytes, deadline),
            None => self.send_region(sealed, deadline),
        }
    }

    /// Sends a message in a region, for which a slot was taken. An owner on another host gets all of its
    /// data.
    #[inline(never)]
    fn send_region(&self, sealed: Sealed, deadline: Option<Instant>) -> Result<(), Error> {
        if !self.elsewhere {
            self.send_bytes(sealed.description().unwrap_or_default(), deadline)?;
            return sealed.posted(&self.engine, self.owner);
        }
        let number = self.context.deposit_number();
        let (data, description) = sealed.deposit(number);
        self.context.deposit(self.owner, self.number, number, data)?;
        self.send_bytes(description.as_ref().map_or(&[][..], |bytes| &bytes[..]), deadline)
    }

    #[inline(always)]
    fn send_bytes(&self, bytes: &[u8], deadline: Option<Instant>) -> Result<(), Error> {
        let result = self.context.send((POSTS, self.owner, self.number), bytes, deadline);
        if let Err(Error::Failed(_)) = result
            && !self.elsewhere
        {
            self.slots.give_up(self.engine.rank()); // An owner that refuses this rank may accept others.
        }
        result
    }

    /// Waits for a slot in the engine, which sleeps after a while. The owner sends a wake-up when there may
    /// be a slot.
    #[cold]
    fn wait_for_slot(&self, deadline: Option<Instant>) -> Result<(), Error> {
        if self.elsewhere {
            return self.wait_for_answer(deadline);
        }
        let (me, owner) = (self.engine.rank(), self.owner);
        let what = || format!("room in a mailbox of {owner}");
        self.engine.wait_until(deadline, what, |view| {
            self.take_wakes(view);
            let mut taken = self.slots.try_take(me);
            if let Ok(false) = taken {
                self.slots.may_sleep(me);
                taken = self.slots.try_take(me);
            }
            match taken {
                Ok(true) => Some(Ok(())),
                Ok(false) => view.why_gone(owner).map(|failure| Err(failure.into())),
                Err(error) => Some(Err(error)),
            }
        })
    }

    /// Returns true if the owner has woken this rank.
    fn take_wakes(&self, view: &mut EngineView) -> bool {
        let wakes = Want { source: Some(self.owner), tag: Some(self.number) };
        let mut any = false;
        while let Some(wake) = view.probe_matched(WAKES, wakes) {
            view.discard(wake);
            any = true;
        }
        any
    }

    /// Waits for a slot of a mailbox on another host: asks the owner, and asks again after each wake-up.
    fn wait_for_answer(&self, deadline: Option<Instant>) -> Result<(), Error> {
        let (owner, woken) = (self.owner, &self.context.woken);
        loop {
            let before = woken.load(Relaxed);
            if self.ask_for_slot(true, deadline)? {
                return Ok(());
            }
            let what = || format!("room in a mailbox of {owner}");
            // A wake-up counts for all threads of this rank, whichever thread takes it.
            self.engine.wait_until(deadline, what, |view| {
                if self.take_wakes(view) {
                    woken.fetch_add(1, Relaxed);
                }
                match woken.load(Relaxed) == before {
                    true => view.why_gone(owner).map(|failure| Err(failure.into())),
                    false => Some(Ok(())),
                }
            })?;
        }
    }

    /// Asks the owner for a slot. If there is none and this rank `matters`, the owner wakes it when there may
    /// be one.
    fn ask_for_slot(&self, matters: bool, deadline: Option<Instant>) -> Result<bool, Error> {
        let number = self.number.0.into();
        let (question, undo) = ([TAKE, number, matters.into()], [GIVE_BACK, number, 0]);
        match self.engine.ask_owner(self.owner, question, Some(undo), deadline)? {
            TAKEN => Ok(true),
            FULL => Ok(false),
            _ => Err(Error::Closed(self.owner)),
        }
    }
}
