//! Buffered sends (MPI 5.0, §3.6): the message is copied into memory that the program has attached, and leaves from there.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use canele_engine::{Buffer, Engine, FlowId, Mode, Pending, Started};

use super::Target;
use crate::buffered::{Piece, Pool};
use crate::comm::Comm;
use crate::data::Data;
use crate::{Class, Error, Result, fail};

/// Where buffered sends of a communicator, a session or the process find their memory.
#[derive(Default)]
pub struct Attachment(Mutex<Option<Attached>>);

impl fmt::Debug for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_attached() { "Attachment (memory)" } else { "Attachment (none)" })
    }
}

struct Attached {
    pool: Pool,
    under_way: Vec<(Pending, Piece)>,
}

impl Attachment {
    fn get(&self) -> MutexGuard<'_, Option<Attached>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Attaches memory.
    ///
    /// # Errors
    /// There is some already.
    pub fn attach(&self, pool: Pool) -> Result<()> {
        let mut attached = self.get();
        if attached.is_some() {
            fail!(Buffer, "a buffer is attached already: detach it first");
        }
        *attached = Some(Attached { pool, under_way: Vec::new() });
        Ok(())
    }

    /// Whether there is memory.
    pub fn is_attached(&self) -> bool {
        self.get().is_some()
    }

    /// Waits until all messages have left, and gives the memory back: address and bytes, none if the library found it.
    ///
    /// # Errors
    /// The job is over.
    pub fn detach(&self, engine: &Engine) -> Result<Option<Option<(*mut u8, usize)>>> {
        self.flush(engine)?;
        Ok(self.get().take().map(|attached| attached.pool.memory()))
    }

    /// Waits until all messages have left.
    ///
    /// # Errors
    /// The job is over.
    pub fn flush(&self, engine: &Engine) -> Result<()> {
        while !self.is_flushed(engine)? {
            let waits: Vec<Pending> = match &*self.get() {
                Some(attached) => attached.under_way.iter().map(|(pending, _)| *pending).collect(),
                None => return Ok(()),
            };
            if let Some(first) = waits.first() {
                let ended = engine.wait(*first, None)?;
                self.give_back(*first, ended.buffer);
            }
        }
        Ok(())
    }

    /// A message that has not left, as far as is known.
    pub fn first_under_way(&self) -> Option<Pending> {
        self.get().as_ref()?.under_way.first().map(|(pending, _)| *pending)
    }

    /// A message has left: its memory is free.
    pub fn give_back(&self, pending: Pending, buffer: Buffer) {
        if let Some(attached) = &mut *self.get() {
            attached.give_back(pending, buffer);
        }
    }

    /// Whether all messages have left, of those that the engine has told of.
    ///
    /// # Errors
    /// In a forked child.
    pub fn is_flushed(&self, engine: &Engine) -> Result<bool> {
        match &mut *self.get() {
            Some(attached) => {
                attached.sweep(engine)?;
                Ok(attached.under_way.is_empty())
            }
            None => Ok(true),
        }
    }

    fn send(&self, engine: &Engine, flow: FlowId, to: Target, data: Data<'_>) -> Result<()> {
        let len = data.bytes()?;
        let mut attached = self.get();
        let Some(attached) = &mut *attached else {
            fail!(
                Buffer,
                "no buffer is attached for a buffered send of {len} bytes: call MPI_Buffer_attach first"
            );
        };
        attached.sweep(engine)?;
        let Some(mut piece) = attached.pool.reserve(len) else {
            fail!(
                Buffer,
                "the attached buffer has no room for a message of {len} bytes: attach a larger one"
            );
        };
        data.of.pack(&data.raw, data.count, 0, piece.bytes());
        match engine.isend(to.rank, flow, to.tag, Mode::Standard, piece.lend()) {
            Ok(pending) => attached.under_way.push((pending, piece)),
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
        if let Some(at) = self.under_way.iter().position(|(p, _)| *p == pending) {
            let (_, mut piece) = self.under_way.swap_remove(at);
            if let Buffer::Out(buffer) = buffer {
                piece.take_back(buffer);
            }
            self.pool.release(piece);
        }
    }

    /// Takes back what has left.
    fn sweep(&mut self, engine: &Engine) -> Result<()> {
        let under_way = &self.under_way;
        let ended = engine.completions(|completions| {
            under_way
                .iter()
                .filter_map(|(pending, _)| Some((*pending, completions.take(*pending)?)))
                .collect::<Vec<_>>()
        })?;
        for (pending, ended) in ended {
            self.give_back(pending, ended.buffer);
        }
        Ok(())
    }
}

impl Comm {
    /// Sends by a copy: from the communicator's own attached memory, else from that of the session it is derived from, else
    /// from the process's.
    ///
    /// # Errors
    /// There is no memory, or no room in it.
    pub fn bsend(self: &Arc<Self>, to: Target, data: Data<'_>) -> Result<()> {
        // What can go at once needs no copy.
        if let Started::Done | Started::Posted(_) = self.post(to, Mode::Standard, data, true)? {
            return Ok(());
        }
        let nearer = [Some(self.attachment()), self.group().session().map(|session| &session.attachment)];
        let attached = nearer.into_iter().flatten().find(|attachment| attachment.is_attached());
        attached
            .unwrap_or_else(|| self.process_attachment())
            .send(self.engine(), self.flow, to, data)
            .map_err(|error| Error::new(Class::Buffer, error.text))
    }
}
