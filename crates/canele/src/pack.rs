//! Messages made of segments (NewMadeleine's pack and unpack). Each segment states until when its memory may
//! change, and from when it is needed. The library chooses the packets. Small segments travel together, also
//! with segments of other messages and flows. Large segments travel separately.
//!
//! A segment is matched like a separate message, in the order of packing. A receiver unpacks the same number
//! of segments of the same lengths in the same order. So a flow and tag carry either packed messages or plain
//! ones.
//!
//! ```
//! use canele::Tag;
//! # let job = canele::Job::start()?; let flow = job.world(); let me = job.rank();
//! let (page, mut length, mut got) = ([7u8; 3000], [0u32], [0u8; 3000]);
//! flow.scope(|scope| {
//!     let mut message = scope.pack(me, Tag(1));
//!     message.safer(&[page.len() as u32])?; // read now
//!     message.cheaper(&page)?; // read whenever it suits, until the scope ends
//!     message.end()?;
//!
//!     let mut message = scope.unpack(me, Tag(1));
//!     message.express(&mut length)?; // here on return
//!     assert_eq!(length, [3000]);
//!     message.cheaper(&mut got)?; // here when the scope ends
//!     Ok(())
//! })?;
//! assert_eq!(got, page);
//! # job.finish()
//! # .map_err(Into::<Box<dyn std::error::Error>>::into)?; Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::cell::Cell;

use crate::scope::Scope;
use crate::{Error, Plain, Rank, Source, Status, Tag};

/// A message being packed, made by [`Scope::pack`].
///
/// Segments leave as soon as possible. A [`Packer::later`] segment is read at the end of the message;
/// segments behind it wait for it.
#[must_use = "a message ends with `end`"]
pub struct Packer<'a, 'scope, 'env: 'scope> {
    scope: &'a Scope<'scope, 'env>,
    to: Rank,
    tag: Tag,
    /// The segments that leave at the end.
    waiting: Vec<Segment<'env>>,
}

enum Segment<'env> {
    Copied(Vec<u8>),
    Read(&'env [u8]),
    /// A function that reads the segment's memory, which may change until then.
    Later(Box<dyn Fn() -> Vec<u8> + 'env>),
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Begins a message of segments.
    pub fn pack(&self, to: Rank, tag: Tag) -> Packer<'_, 'scope, 'env> {
        Packer { scope: self, to, tag, waiting: Vec::new() }
    }

    /// Begins to unpack a message of segments. The segments come from one rank, because messages of different
    /// ranks may arrive in any order.
    pub fn unpack(&self, from: Rank, tag: Tag) -> Unpacker<'_, 'scope, 'env> {
        Unpacker { scope: self, from, tag }
    }
}

impl<'env> Packer<'_, '_, 'env> {
    /// Adds a segment that is read now: its memory may change at once.
    ///
    /// # Errors
    /// Fails if the rank does not exist, has finished or died, or if the job is over.
    pub fn safer<T: Plain>(&mut self, items: &[T]) -> Result<(), Error> {
        let bytes = bytemuck::cast_slice(items);
        if self.waiting.is_empty() {
            return self.scope.send_copy(self.to, self.tag, bytes).map(drop);
        }
        self.waiting.push(Segment::Copied(bytes.to_vec()));
        Ok(())
    }

    /// Adds a segment that the library reads at any time until the scope ends.
    ///
    /// # Errors
    /// Returns the errors of [`Packer::safer`].
    pub fn cheaper<T: Plain>(&mut self, items: &'env [T]) -> Result<(), Error> {
        if self.waiting.is_empty() {
            return self.scope.isend(self.to, self.tag, items).map(drop);
        }
        self.waiting.push(Segment::Read(bytemuck::cast_slice(items)));
        Ok(())
    }

    /// Adds a segment that is read at the end of the message, and may be filled until then.
    pub fn later<T: Plain>(&mut self, items: &'env [Cell<T>]) {
        let read = || items.iter().flat_map(|item| bytemuck::bytes_of(&item.get()).to_vec()).collect();
        self.waiting.push(Segment::Later(Box::new(read)));
    }

    /// Completes the message.
    ///
    /// # Errors
    /// Returns the errors of [`Packer::safer`].
    pub fn end(self) -> Result<(), Error> {
        for segment in self.waiting {
            match segment {
                Segment::Copied(bytes) => self.scope.send_copy(self.to, self.tag, &bytes)?,
                Segment::Later(read) => self.scope.send_copy(self.to, self.tag, &read())?,
                Segment::Read(bytes) => self.scope.isend(self.to, self.tag, bytes)?,
            };
        }
        Ok(())
    }
}

/// A message being unpacked, made by [`Scope::unpack`].
pub struct Unpacker<'a, 'scope, 'env: 'scope> {
    scope: &'a Scope<'scope, 'env>,
    from: Rank,
    tag: Tag,
}

impl<'env> Unpacker<'_, '_, 'env> {
    /// Receives the next segment, which is complete on return.
    ///
    /// # Errors
    /// Returns the errors of [`crate::Flow::recv`].
    pub fn express<T: Plain>(&mut self, items: &mut [T]) -> Result<Status, Error> {
        self.scope.flow().recv(Source::Is(self.from), self.tag, items)
    }

    /// Receives the next segment, which is complete when the scope ends.
    ///
    /// # Errors
    /// Fails if the rank does not exist or the job is over.
    pub fn cheaper<T: Plain>(&mut self, items: &'env mut [T]) -> Result<(), Error> {
        self.scope.irecv(Source::Is(self.from), self.tag, items).map(drop)
    }
}
