//! Buffered sends (MPI 5.0, §3.6): the message is copied into attached memory and sent from there.

mod under_way;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use canele_engine::{Buffer, Engine, FlowId, Mode, Pending, Started};

use under_way::UnderWay;

use super::Target;
use crate::buffered::{Piece, Pool};
use crate::comm::Comm;
use crate::data::Data;
use crate::{Class, Error, Result, fail};

/// The attached memory of a communicator, a session or the process, for buffered sends.
#[derive(Default)]
pub struct Attachment(Mutex<Option<Attached>>);

impl fmt::Debug for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_attached() { "Attachment (memory)" } else { "Attachment (none)" })
    }
}

struct Attached {
    pool: Pool,
    under_way: UnderWay<Pending, Piece>,
}

/// Number of messages under way that each buffered send queries.
const ASKED_PER_SEND: usize = 4;

impl Attachment {
    fn get(&self) -> MutexGuard<'_, Option<Attached>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Attaches memory.
    ///
    /// # Errors
    /// Fails if memory is attached already.
    pub fn attach(&self, pool: Pool) -> Result<()> {
        let mut attached = self.get();
        if attached.is_some() {
            fail!(Buffer, "a buffer is attached already: detach it first");
        }
        *attached = Some(Attached { pool, under_way: UnderWay::new() });
        Ok(())
    }

    /// Returns true if memory is attached.
    pub fn is_attached(&self) -> bool {
        self.get().is_some()
    }

    /// Waits until all messages have left, and detaches the memory. Returns address and length; none if the
    /// library allocates the memory.
    ///
    /// # Errors
    /// Fails if the job is over.
    pub fn detach(&self, engine: &Engine) -> Result<Option<Option<(*mut u8, usize)>>> {
        loop {
            self.flush(engine)?;
            let mut attached = self.get();
            // A send of another thread may have begun since the flush and use the memory.
            if let Some(attached) = attached.take_if(|attached| attached.pool.is_unused()) {
                return Ok(Some(attached.pool.memory()));
            }
            if attached.is_none() {
                return Ok(None);
            }
        }
    }

    /// Waits until all messages have left.
    ///
    /// # Errors
    /// Fails if the job is over.
    pub fn flush(&self, engine: &Engine) -> Result<()> {
        while !self.is_flushed(engine)? {
            if let Some(first) = self.first_under_way() {
                // Another thread may take the completion; `is_flushed` takes the others.
                engine.await_end(first)?;
            }
        }
        Ok(())
    }

    /// Returns the first message that is not known to have left.
    pub fn first_under_way(&self) -> Option<Pending> {
        self.get().as_ref()?.under_way.first()
    }

    /// Frees the memory of a message that has left.
    pub fn give_back(&self, pending: Pending, buffer: Buffer) {
        if let Some(attached) = &mut *self.get() {
            attached.give_back(pending, buffer);
        }
    }

    /// Returns true if all messages have left, according to the engine's reports so far.
    ///
    /// # Errors
    /// Fails in a forked child.
    pub fn is_flushed(&self, engine: &Engine) -> Result<bool> {
        match &mut *self.get() {
            Some(attached) => attached.is_flushed(engine),
            None => Ok(true),
        }
    }

    fn send(&self, (engine, flow): (&Arc<Engine>, FlowId), to: Target, data: Data<'_>) -> Result<()> {
        let len = data.bytes()?;
        let mut attached = self.get();
        let Some(attached) = &mut *attached else {
            fail!(
                Buffer,
                "no buffer is attached for a buffered send of {len} bytes: call MPI_Buffer_attach first"
            );
        };
        attached.ask_some(engine, ASKED_PER_SEND)?;
        let mut piece = attached.pool.reserve(len);
        if piece.is_none() {
            // Messages that have left without being queried may free room.
            attached.ask_some(engine, attached.under_way.len())?;
            piece = attached.pool.reserve(len);
        }
        let Some(mut piece) = piece else {
            fail!(
                Buffer,
                "the attached buffer has no room for a message of {len} bytes: attach a larger one"
            );
        };
        data.of.pack(&data.raw, data.count, 0, piece.bytes());
        match engine.isend(to.rank, flow, to.tag, Mode::Standard, piece.lend()) {
            Ok(pending) => attached.under_way.push(pending, piece),
            Err(refused) => {
                piece.take_back(refused.1);
                attached.pool.release(piece);
                return Err(refused.0.into());
            }
        }
        Ok(())
    }
}

impl Attached {
    fn give_back(&mut self, pending: Pending, buffer: Buffer) {
        if let Some(piece) = self.under_way.remove(pending) {
            release(&mut self.pool, piece, buffer);
        }
    }

    /// Queries at most `most` messages, and releases the memory of those that have left.
    fn ask_some(&mut self, engine: &Engine, most: usize) -> Result<()> {
        let Self { pool, under_way } = self;
        Ok(engine.completions(|completions| {
            under_way.ask_some(
                most,
                |pending| completions.take(pending),
                |piece, ended| release(pool, piece, ended.buffer),
            );
        })?)
    }

    /// Releases messages up to the first one that has not left; returns true if none is left.
    fn is_flushed(&mut self, engine: &Engine) -> Result<bool> {
        let Self { pool, under_way } = self;
        Ok(engine.completions(|completions| {
            under_way.ask_front(
                |pending| completions.take(pending),
                |piece, ended| release(pool, piece, ended.buffer),
            )
        })?)
    }
}

/// Returns the piece of a message that has left to the pool.
fn release(pool: &mut Pool, mut piece: Piece, buffer: Buffer) {
    if let Buffer::Out(buffer) = buffer {
        piece.take_back(buffer);
    }
    pool.release(piece);
}

impl Comm {
    /// Sends by a copy in attached memory: that of the communicator, else of its session, else of the
    /// process.
    ///
    /// # Errors
    /// Fails if no memory is attached or it has no room.
    pub fn bsend(self: &Arc<Self>, to: Target, data: Data<'_>) -> Result<()> {
        // A message that can leave at once needs no copy.
        if let Started::Done | Started::Posted(_) = self.post(to, Mode::Standard, data)? {
            return Ok(());
        }
        let nearer = [Some(self.attachment()), self.group().session().map(|session| &session.attachment)];
        let attached = nearer.into_iter().flatten().find(|attachment| attachment.is_attached());
        attached
            .unwrap_or_else(|| self.process_attachment())
            .send(self.flow_of(to.tag), to, data)
            .map_err(|error| Error::new(Class::Buffer, error.text))
    }
}
