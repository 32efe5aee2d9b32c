//! Exchange of window parts between hosts: an aggregator accesses a part for the members of all hosts.
//!
//! ```text
//!   write   carrier ──[ runs │ their bytes ]──▶ aggregator, which puts them into the memory of its host
//!   read    carrier ──[ runs ]──▶ aggregator
//!                   ◀──[ bytes before the end of the file │ the bytes of the runs ]──
//! ```
//! Each part has one carrier on every host except the aggregator's, and both ends know the sender. Messages
//! use collectives of all members, lengths first. So if one member learns of a death and gives up, the
//! collectives of all members end. Received lengths and runs are checked.

use std::ops::Range;

use canele_engine::collective::{Block, Uneven};

use super::runs::Runs;
use super::windows::{Span, Windows};
use crate::{Class, Error, Result};

/// Messages to other members, stored one after the other.
#[derive(Default)]
struct Outgoing {
    bytes: Vec<u8>,
    /// Destination and end offset of each message.
    list: Vec<(usize, usize)>,
}

impl Outgoing {
    /// Adds a message; `write` appends its bytes.
    fn add(&mut self, to: usize, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.list.push((to, self.bytes.len()));
    }

    fn lens(&self) -> impl Iterator<Item = usize> + '_ {
        let starts = [0].into_iter().chain(self.list.iter().map(|(_, end)| *end));
        self.list.iter().zip(starts).map(|((_, end), start)| end - start)
    }
}

/// Messages from other members, stored one after the other.
struct Incoming {
    bytes: Vec<u8>,
    ranges: Vec<Range<usize>>,
}

impl Incoming {
    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.ranges.iter().map(|range| &self.bytes[range.clone()])
    }
}

impl Windows<'_> {
    /// Sends written data of a window to the hosts of its aggregators.
    pub fn ship_writes(&self, half: usize, span: Span) -> Result<()> {
        let mut out = Outgoing::default();
        for (part, aggregator) in self.carried_parts(span).map(|(_, part, aggregator)| (part, aggregator)) {
            let runs = self.exchange.runs(half, part, span.start);
            out.add(aggregator, |message| {
                runs.encode(message);
                self.exchange.append(half, part, span.start, &runs, message);
            });
            self.exchange.clear(half, part, span.start);
        }
        let from: Vec<_> = self.parts_from_others(span).collect();
        let incoming = self.exchange_messages(&out, from.iter().map(|(_, _, carrier)| *carrier))?;
        let mut sound = Ok(());
        for ((_, part, carrier), message) in from.iter().zip(incoming.iter()) {
            let stored = Runs::decode(message, part.len())
                .is_some_and(|(runs, bytes)| self.exchange.store(half, *part, span.start, &runs, bytes));
            sound = sound.and(check(stored, *carrier));
        }
        sound
    }

    /// Fetches the marked bytes of a window from the aggregators of other hosts, which have read their parts.
    pub fn ship_reads(&self, half: usize, span: Span) -> Result<()> {
        let (mut out, mut wanted) = (Outgoing::default(), Vec::new());
        for (number, part, aggregator) in self.carried_parts(span) {
            let runs = self.exchange.runs(half, part, span.start);
            out.add(aggregator, |message| runs.encode(message));
            wanted.push((number, part, aggregator, runs));
        }
        if let Some((_, part)) = self.own_part(span) {
            // Members of this host read from the part itself.
            self.exchange.clear(half, part, span.start);
        }
        let from: Vec<_> = self.parts_from_others(span).collect();
        let incoming = self.exchange_messages(&out, from.iter().map(|(_, _, carrier)| *carrier))?;
        let (mut sound, mut out) = (Ok(()), Outgoing::default());
        for ((number, part, carrier), message) in from.iter().zip(incoming.iter()) {
            let runs = Runs::decode(message, part.len()).map(|(runs, _)| runs);
            sound = sound.and(check(runs.is_some(), *carrier));
            out.add(*carrier, |answer| {
                answer.extend((self.exchange.filled(half, *number) as u64).to_le_bytes());
                self.exchange.append(half, *part, span.start, &runs.unwrap_or_default(), answer);
            });
        }
        let incoming =
            self.exchange_messages(&out, wanted.iter().map(|(_, _, aggregator, _)| *aggregator))?;
        for ((number, part, aggregator, runs), message) in wanted.iter().zip(incoming.iter()) {
            let stored = message.split_first_chunk::<8>().is_some_and(|(filled, bytes)| {
                self.exchange.set_filled(half, *number, u64::from_le_bytes(*filled) as usize);
                self.exchange.store(half, *part, span.start, runs, bytes)
            });
            self.exchange.clear(half, *part, span.start);
            sound = sound.and(check(stored, *aggregator));
        }
        sound
    }

    /// Returns the parts of a window that this member carries, with number and aggregator.
    fn carried_parts(&self, span: Span) -> impl Iterator<Item = (usize, Span, usize)> + '_ {
        let (hosts, me) = (&self.file.hosts, self.file.comm.rank());
        let own = hosts.host_of(me);
        self.aggregators.iter().enumerate().filter_map(move |(number, aggregator)| {
            let elsewhere = hosts.host_of(*aggregator) != own && hosts.carrier(own, number) == me;
            elsewhere.then(|| Some((number, self.part(span, number)?, *aggregator))).flatten()
        })
    }

    /// Returns the part of a window that this member accesses, once for each carrier of another host.
    fn parts_from_others(&self, span: Span) -> impl Iterator<Item = (usize, Span, usize)> + '_ {
        let hosts = &self.file.hosts;
        let own = hosts.host_of(self.file.comm.rank());
        let part = self.own_part(span);
        part.into_iter().flat_map(move |(number, part)| {
            let others = (0..hosts.count()).filter(move |host| *host != own);
            others.map(move |host| (number, part, hosts.carrier(host, number)))
        })
    }

    /// Sends messages and receives one message from each member in `from`; collective.
    fn exchange_messages(&self, out: &Outgoing, from: impl Iterator<Item = usize>) -> Result<Incoming> {
        let from: Vec<u32> = from.map(|rank| rank as u32).collect();
        let to: Vec<u32> = out.list.iter().map(|(to, _)| *to as u32).collect();
        let lens: Vec<u64> = out.lens().map(|len| len as u64).collect();
        let mut theirs = vec![0u64; from.len()];
        self.exchange_blocks(
            (&to, &vec![size_of::<u64>(); to.len()], bytemuck::cast_slice(&lens)),
            (&from, &vec![size_of::<u64>(); from.len()], bytemuck::cast_slice_mut(&mut theirs)),
        )?;
        // A message has at most the bytes of a part and twenty bytes for each run.
        let most = 32 * self.exchange.window_bytes() as u64;
        let wrong = theirs.iter().zip(&from).find(|(len, _)| **len > most);
        wrong.map_or(Ok(()), |(_, from)| check(false, *from as usize))?;
        let theirs: Vec<usize> = theirs.into_iter().map(|len| len as usize).collect();
        let mut bytes = vec![0; theirs.iter().sum()];
        let lens: Vec<usize> = out.lens().collect();
        self.exchange_blocks((&to, &lens, &out.bytes), (&from, &theirs, &mut bytes))?;
        let ranges = blocks(&theirs).map(|block| block.at..block.at + block.len).collect();
        Ok(Incoming { bytes, ranges })
    }

    fn exchange_blocks(
        &self,
        (to, lens, input): (&[u32], &[usize], &[u8]),
        (from, theirs, output): (&[u32], &[usize], &mut [u8]),
    ) -> Result<()> {
        let comm = &self.file.comm;
        let sends: Vec<_> = to.iter().copied().zip(blocks(lens)).collect();
        let receives: Vec<_> = from.iter().copied().zip(blocks(theirs)).collect();
        let exchange = Uneven::Exchange { sends: &sends, receives: &receives };
        Ok(comm.engine().collective(comm.collectives(), exchange, None, input, output)?)
    }
}

/// Returns contiguous blocks of these lengths.
fn blocks(lens: &[usize]) -> impl Iterator<Item = Block> + '_ {
    lens.iter().scan(0, |at, len| {
        let block = Block { at: *at, len: *len };
        *at += len;
        Some(block)
    })
}

/// Fails unless a message of another member is valid.
fn check(sound: bool, from: usize) -> Result<()> {
    if sound {
        return Ok(());
    }
    let text = format!("rank {from} of the file has sent data that do not fit the window of the file");
    Err(Error::new(Class::Internal, text))
}
