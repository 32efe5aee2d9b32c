//! Message objects (DECK): packed, posted, retrieved, unpacked.
//!
//! A message is its bytes, and behind them what they are. Nothing is added to a message of exactly 48 bytes, which fills
//! a cell: it travels as fast as the machine allows, and of its types only the length is checked.
//!
//! ```text
//!   private   | bytes | types | n |          n ≤ 252: the types take n bytes, none for a message of bytes alone
//!             | bytes | types | length | 253 |
//!   region    | region | its bytes | bytes of types | 254 |     the bytes themselves stay where they were packed
//!   bare      | 48 bytes |
//! ```
//! This module never posts: see the mailboxes.

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
/// The types are checked when unpacking. Bytes (`u8`) can be unpacked as anything; so can a message of exactly 48 bytes
/// that was posted, because it fills a cell without room for its types.
///
/// Once a job has been started, a message longer than the tunable `message_region_bytes` lies in a region, and is read
/// there by the rank that retrieves it: posting it copies nothing.
pub struct Message {
    data: Data,
    types: Types,
    /// Bytes unpacked so far.
    at: usize,
    sender: Option<Rank>,
}

enum Data {
    /// In private memory.
    Private(Store),
    /// In a region of this rank, so many bytes of it.
    Leased(Lease, usize),
    /// In the region of the rank that posted it.
    Retrieved(Retrieved),
}

/// Where a retrieved message lies, until it is dropped.
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
    /// A message without contents.
    pub const fn new() -> Self {
        Self { data: Data::Private(Store::new()), types: Types::new(), at: 0, sender: None }
    }

    /// A message without contents that will have about `bytes` bytes, so that packing moves nothing.
    pub fn with_capacity(bytes: usize) -> Self {
        let mut message = Self::new();
        if bytes > CELL {
            message.lease(bytes);
        }
        message
    }

    /// Its length in bytes.
    pub fn len(&self) -> usize {
        match &self.data {
            Data::Private(store) => store.len(),
            Data::Leased(_, len) => *len,
            Data::Retrieved(retrieved) => retrieved.len,
        }
    }

    /// Whether it has no contents.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Who posted it, once it was retrieved.
    pub fn sender(&self) -> Option<Rank> {
        self.sender
    }

    /// Adds items at its end.
    #[inline]
    pub fn pack<T: Plain>(&mut self, items: &[T]) {
        self.push(bytemuck::cast_slice(items));
        self.types.push::<T>(items.len());
    }

    /// Adds one item at its end.
    #[inline]
    pub fn pack_one<T: Plain>(&mut self, item: T) {
        self.pack(std::slice::from_ref(&item));
    }

    /// Takes the next items out, as many as `items` has room for. Runs of one type may be unpacked in other portions
    /// than they were packed in.
    ///
    /// # Errors
    /// [`Error::Unpack`] if the next items have another type or are fewer; nothing is taken then.
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

    /// Takes the next item out.
    ///
    /// # Errors
    /// As [`Message::unpack`].
    pub fn unpack_one<T: Plain>(&mut self) -> Result<T, Error> {
        let mut item = T::zeroed();
        self.unpack(std::slice::from_mut(&mut item))?;
        Ok(item)
    }

    /// All its bytes, unpacked or not; copied out if they lie in a region, which peers may write.
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

    /// Sees to it that `bytes` bytes have room where they belong: without a job, or without memory for a region, that is
    /// private memory, and posting will tell.
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

    /// Moves it into a region with room for `bytes` bytes, if it is to lie in one and that can be had.
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
