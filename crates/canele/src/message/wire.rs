//! The form of a message on the wire, and its decoding.

use std::sync::Arc;

use canele_engine::{Engine, Failure, RegionId, RegionMemory};

use super::pool::{HEAD, Pool};
use super::store::{CELL, Store};
use super::types::{PAD, Types};
use super::{Data, Message, Retrieved};
use crate::{Error, Rank};

/// The last byte of a message whose types take more bytes than one byte can count.
const LONG: u8 = 253;
/// The last byte of a message that lies in a region.
const IN_REGION: u8 = 254;
/// A generation that no region has. It means that the message was deposited with its receiver, under the
/// index as its number.
const DEPOSITED: u32 = 0;
/// The length of a description: the region's index and generation, the bytes of message and of types, the
/// last byte.
pub const DESCRIPTION: usize = 4 + 4 + 8 + 4 + 1;

/// A message ready to travel.
pub struct Sealed {
    message: Message,
    /// The description of the message's region, if the message lies in one.
    description: Option<[u8; DESCRIPTION]>,
    /// The message's length without the bytes that sealing added.
    len: usize,
}

impl Message {
    /// Makes a message of the bytes that fill a cell exactly.
    #[inline(always)]
    pub(crate) fn of_cell(sender: Rank, store: Store) -> Self {
        Message { data: Data::Private(store), types: Types::new(), at: 0, sender: Some(sender) }
    }

    /// Returns the message's bytes, if they travel unchanged and without types.
    #[inline(always)]
    pub(crate) fn bare(&self) -> Option<&[u8]> {
        match &self.data {
            Data::Private(store) if store.len() == CELL => Some(store.bytes()),
            _ => None,
        }
    }

    /// Prepares the message to travel, in a region if it is long.
    pub(crate) fn seal(mut self, pool: &Arc<Pool>) -> Result<Sealed, Error> {
        let len = self.len();
        let mut types = Store::new();
        if len != CELL {
            self.types.encode(|part| types.push(part));
        }
        let types = types.bytes();
        let in_region =
            matches!(self.data, Data::Leased(..)) || len + types.len() + 6 > pool.limit() && len > CELL;
        if !in_region {
            self.seal_private(types);
            return Ok(Sealed { message: self, description: None, len });
        }
        if !matches!(&self.data, Data::Leased(lease, _) if lease.room() >= len + types.len()) {
            self.move_to(pool.take(len + types.len())?);
        }
        let Data::Leased(lease, _) = &self.data else { unreachable!("it was moved into one") };
        super::write(lease, len, types);
        let id = lease.region().id();
        let mut description = [IN_REGION; DESCRIPTION];
        description[..4].copy_from_slice(&id.index.to_le_bytes());
        description[4..8].copy_from_slice(&id.generation.to_le_bytes());
        description[8..16].copy_from_slice(&(len as u64).to_le_bytes());
        description[16..20].copy_from_slice(&(types.len() as u32).to_le_bytes());
        Ok(Sealed { message: self, description: Some(description), len })
    }

    fn seal_private(&mut self, types: &[u8]) {
        if !matches!(self.data, Data::Private(_)) {
            let mut store = Store::new();
            store.push(&self.bytes());
            self.data = Data::Private(store);
        }
        let Data::Private(store) = &mut self.data else { unreachable!("just made so") };
        if store.len() == CELL {
            return;
        }
        // Only bare messages have the length of a cell.
        let padded = store.len() + types.len() + 1 == CELL;
        if padded {
            store.push(&[PAD]);
        }
        store.push(types);
        match types.len() + usize::from(padded) {
            n if n < LONG as usize => store.push(&[n as u8]),
            n => {
                store.push(&(n as u32).to_le_bytes());
                store.push(&[LONG]);
            }
        }
    }
}

impl Sealed {
    /// Returns the message's bytes, if they do not lie in a region.
    #[inline(always)]
    pub fn bytes(&self) -> Option<&[u8]> {
        match (&self.description, &self.message.data) {
            (None, Data::Private(store)) => Some(store.bytes()),
            _ => None,
        }
    }

    /// Returns the description of the message's region, if it lies in one.
    pub fn description(&self) -> Option<&[u8]> {
        self.description.as_ref().map(|bytes| &bytes[..])
    }

    /// Returns the bytes with their types, for a receiver that cannot map the region. Also returns the
    /// description that names the deposit by this number.
    pub fn deposit(&self, number: u32) -> (Vec<u8>, Option<[u8; DESCRIPTION]>) {
        let Data::Leased(lease, len) = &self.message.data else { return (Vec::new(), None) };
        let types = self.description.and_then(|bytes| word(&bytes, 16)).unwrap_or(0) as usize;
        let mut bytes = vec![0; len + types];
        let window = lease.region().far();
        window.window(HEAD, bytes.len()).expect("room was made").read(0, &mut bytes);
        let mut description = self.description;
        if let Some(description) = &mut description {
            description[..4].copy_from_slice(&number.to_le_bytes());
            description[4..8].copy_from_slice(&DEPOSITED.to_le_bytes());
        }
        (bytes, description)
    }

    /// Returns the message as it was before sealing.
    pub fn open(mut self) -> Message {
        if let Data::Private(store) = &mut self.message.data {
            store.truncate(self.len);
        }
        self.message
    }

    /// Marks the message as posted to `to`. If it lies in a region, `to` must give that back.
    pub fn posted(self, engine: &Engine, to: Rank) -> Result<(), Error> {
        let Data::Leased(lease, len) = self.message.data else { return Ok(()) };
        lease.post(to);
        engine.count_posted(to, len, DESCRIPTION)
    }
}

/// A received message.
pub enum Arrived {
    /// A complete message.
    Whole(Message),
    /// A message in this region of its sender: see [`Described::reach`].
    Described(RegionId, Described),
}

/// A message in a region.
pub struct Described {
    sender: Rank,
    len: usize,
    types: usize,
}

impl Arrived {
    /// Decodes `bytes` of `sender` that do not fill a cell exactly; none if they are not a message.
    pub fn read(sender: Rank, mut store: Store) -> Option<Self> {
        let bytes = store.bytes();
        let (&last, rest) = bytes.split_last()?;
        let types = match last {
            IN_REGION => return Described::read(sender, rest),
            LONG => word(rest, rest.len().checked_sub(4)?)? as usize + 4,
            n => n as usize,
        };
        let len = rest.len().checked_sub(types)?;
        let encoded = &rest[len..if last == LONG { rest.len() - 4 } else { rest.len() }];
        let types = Types::decode(encoded, len)?;
        store.truncate(len);
        Some(Self::Whole(Message { data: Data::Private(store), types, at: 0, sender: Some(sender) }))
    }
}

impl Described {
    fn read(sender: Rank, from: &[u8]) -> Option<Arrived> {
        let region = RegionId { index: word(from, 0)?, generation: word(from, 4)? };
        let len = u64::from(word(from, 8)?) | u64::from(word(from, 12)?) << 32;
        let types = word(from, 16)? as usize;
        Some(Arrived::Described(region, Self { sender, len: usize::try_from(len).ok()?, types }))
    }

    /// Returns the number of the message's deposit, if it has one.
    pub fn deposited(&self, region: RegionId) -> Option<u32> {
        (region.generation == DEPOSITED).then_some(region.index)
    }

    /// Makes the message of these bytes.
    pub fn of(self, mut bytes: Vec<u8>) -> Result<Message, Error> {
        let Self { sender, len, types } = self;
        let whole = len.checked_add(types) == Some(bytes.len());
        let types = bytes.get(len..).filter(|_| whole).and_then(|encoded| Types::decode(encoded, len));
        let types = types.ok_or(Failure::RegionLost(sender))?;
        bytes.truncate(len);
        Ok(Message { data: Data::Private(Store::of(bytes)), types, at: 0, sender: Some(sender) })
    }

    /// Maps this region of the sender, counts the message, and returns it.
    pub fn reach(self, engine: &Engine, region: RegionId) -> Result<Message, Error> {
        let from = self.sender;
        let far = engine.reach_kept_region(from, region)?;
        let message = self.open(far).ok_or(Failure::RegionLost(from))?;
        engine.count_retrieved(from, message.len(), DESCRIPTION)?;
        Ok(message)
    }

    /// Returns the message in its region; none if the region does not contain it.
    fn open(self, far: Arc<RegionMemory>) -> Option<Message> {
        let Self { sender, len, types } = self;
        let window = far.window(HEAD.checked_add(len)?, types)?;
        let mut encoded = vec![0; types];
        window.read(0, &mut encoded);
        let types = Types::decode(&encoded, len)?;
        let data = Data::Retrieved(Retrieved { far, len });
        Some(Message { data, types, at: 0, sender: Some(sender) })
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests;
