//! Message objects (DECK): packed, posted, retrieved, unpacked.
//!
//! A message is its bytes, followed by a description of their types. A message of exactly 48 bytes has no
//! description and fills a cell. It travels as fast as the machine allows, and only its length is checked.
//!
//! ```text
//!   private   | bytes | types | n |          n ≤ 252: the types take n bytes, none for a message of bytes only
//!             | bytes | types | length | 253 |
//!   region    | region | its bytes | bytes of types | 254 |     the bytes themselves stay in the region
//!   bare      | 48 bytes |
//! ```
//! This module never posts; the mailboxes do.

pub(crate) mod pool;
mod store;
mod types;
mod wire;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use canele_engine::RegionMemory;

use crate::{Error, Plain, Rank};
use pool::{HEAD, Lease, pool};
pub(crate) use store::CELL;
pub(crate) use store::Store;
use types::Types;
pub(crate) use wire::{Arrived, DESCRIPTION, Sealed};

/// A message for a mailbox: items packed one after the other, to be unpacked in the same order.
///
/// ```
/// # fn main() -> Result<(), canele::Error> {
/// use canele::Message;
/// let mut message = Message::new();
/// message.pack_one(3u32);
/// message.pack(&[1.5f64, 2.5]);
/// assert_eq!(message.len(), 20);
///
/// let count: u32 = message.unpack_one()?;
/// let wrong = message.unpack_one::<u32>();
/// assert!(wrong.is_err(), "there are floating-point numbers next");
/// let mut values = [0.0f64; 2];
/// message.unpack(&mut values)?;
/// assert_eq!((count, values), (3, [1.5, 2.5]));
/// # Ok(()) }
/// ```
/// The types are checked when unpacking. Bytes (`u8`) can be unpacked as any type. So can a posted message of
/// exactly 48 bytes, because it fills a cell without room for its types.
///
/// Once a job has been started, a message longer than the tunable `message_region_bytes` lies in a region.
/// The rank that retrieves it reads it there: posting it copies nothing.
pub struct Message {
    data: Data,
    types: Types,
    /// Number of bytes unpacked so far.
    at: usize,
    sender: Option<Rank>,
}

enum Data {
    /// The bytes are in private memory.
    Private(Store),
    /// The bytes are in a region of this rank, with this length.
    Leased(Lease, usize),
    /// The bytes are in the region of the rank that posted the message.
    Retrieved(Retrieved),
}

/// A retrieved message in its sender's region, which the sender gets back when this value is dropped.
struct Retrieved {
    far: Arc<RegionMemory>,
    len: usize,
}

impl Drop for Retrieved {
    fn drop(&mut self) {
        pool::give_back(&self.far);
    }
}

impl Default for Message {
    fn default() -> Self {
        Self::new()
    }
}

impl Message {
    /// Makes an empty message.
    pub const fn new() -> Self {
        Self { data: Data::Private(Store::new()), types: Types::new(), at: 0, sender: None }
    }

    /// Makes an empty message for about `bytes` bytes, so that packing does not move them.
    pub fn with_capacity(bytes: usize) -> Self {
        let mut message = Self::new();
        if bytes > CELL {
            message.lease(bytes);
        }
        message
    }

    /// Returns the message's length in bytes.
    pub fn len(&self) -> usize {
        match &self.data {
            Data::Private(store) => store.len(),
            Data::Leased(_, len) => *len,
            Data::Retrieved(retrieved) => retrieved.len,
        }
    }

    /// Returns true if the message is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the rank that posted the message, once it was retrieved.
    pub fn sender(&self) -> Option<Rank> {
        self.sender
    }

    /// Appends items.
    #[inline]
    pub fn pack<T: Plain>(&mut self, items: &[T]) {
        self.push(bytemuck::cast_slice(items));
        self.types.push::<T>(items.len());
    }

    /// Appends one item.
    #[inline]
    pub fn pack_one<T: Plain>(&mut self, item: T) {
        self.pack(std::slice::from_ref(&item));
    }

    /// Takes the next items, as many as `items` has room for. Runs of one type may be unpacked in other
    /// portions than they were packed in.
    ///
    /// # Errors
    /// Fails with [`Error::Unpack`] if the next items have another type or are fewer. Then nothing is taken.
    #[inline]
    pub fn unpack<T: Plain>(&mut self, items: &mut [T]) -> Result<(), Error> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(items);
        let left = self.len() - self.at;
        if bytes.len() > left {
            let asked = format!("{} bytes", bytes.len());
            return Err(Error::Unpack { asked, there: format!("{left} bytes more") });
        }
        self.types.take::<T>(bytes.len() / size_of::<T>().max(1))?;
        self.read(self.at, bytes);
        self.at += bytes.len();
        Ok(())
    }

    /// Takes the next item.
    ///
    /// # Errors
    /// Returns the errors of [`Message::unpack`].
    pub fn unpack_one<T: Plain>(&mut self) -> Result<T, Error> {
        let mut item = T::zeroed();
        self.unpack(std::slice::from_mut(&mut item))?;
        Ok(item)
    }

    /// Returns all bytes of the message, unpacked or not. If they lie in a region, which peers may write,
    /// they are copied.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        match &self.data {
            Data::Private(store) => Cow::Borrowed(store.bytes()),
            _ => {
                let mut bytes = vec![0; self.len()];
                self.read(0, &mut bytes);
                Cow::Owned(bytes)
            }
        }
    }

    #[inline]
    fn read(&self, at: usize, into: &mut [u8]) {
        let far = match &self.data {
            Data::Private(store) => return store::copy(&store.bytes()[at..at + into.len()], into),
            Data::Leased(lease, _) => lease.region().far(),
            Data::Retrieved(retrieved) => retrieved.far.clone(),
        };
        let window = far.window(HEAD + at, into.len());
        window.expect("the length was checked when it was packed or retrieved").read(0, into);
    }

    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        let end = self.len() + bytes.len();
        if end > CELL {
            self.make_room(end);
        }
        match &mut self.data {
            Data::Private(store) => store.push(bytes),
            Data::Leased(lease, len) => {
                write(lease, *len, bytes);
                *len = end;
            }
            Data::Retrieved(_) => unreachable!("room was made"),
        }
    }

    /// Makes room for `bytes` bytes. Without a job, or without memory for a region, the room is private
    /// memory, and posting reports it.
    #[inline(never)]
    fn make_room(&mut self, bytes: usize) {
        let leased = match &self.data {
            Data::Leased(lease, _) => bytes <= lease.room() || self.lease(bytes.max(2 * lease.room())),
            _ => self.lease(bytes),
        };
        if !leased && !matches!(self.data, Data::Private(_)) {
            let mut store = Store::new();
            store.push(&self.bytes());
            self.data = Data::Private(store);
        }
    }

    /// Moves the message into a region with room for `bytes` bytes, if its length requires one and there is
    /// memory.
    #[inline(never)]
    fn lease(&mut self, bytes: usize) -> bool {
        let pool = pool().filter(|pool| bytes > pool.limit());
        let Some(lease) = pool.and_then(|pool| pool.take(bytes).ok()) else { return false };
        self.move_to(lease);
        true
    }

    fn move_to(&mut self, lease: Lease) {
        let len = self.len();
        if len > 0 {
            write(&lease, 0, &self.bytes());
        }
        self.data = Data::Leased(lease, len);
    }
}

/// Writes message bytes into a region that has room for them.
fn write(lease: &Lease, at: usize, bytes: &[u8]) {
    let far = lease.region().far();
    far.window(HEAD + at, bytes.len()).expect("room was made").write(0, bytes);
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match &self.data {
            Data::Private(_) => "private",
            Data::Leased(..) => "own region",
            Data::Retrieved(_) => "region of its poster",
        };
        f.debug_struct("Message").field("len", &self.len()).field("in", &place).finish_non_exhaustive()
    }
}
