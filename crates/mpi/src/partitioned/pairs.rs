//! Matching of partitioned receives with senders: the notes of senders, and the receives that wait for one.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use canele_engine::{
    Buffer, Completion, Engine, Envelope, FlowId, FollowUp, Pending, Rank, Submit, Tag, Want,
};
use canele_mem::buffer::Owned;

use super::receiving::Inbound;
use super::{DATA_BITS, MOST_PARTS, NOTE, PartDivision};
use crate::{Class, Error, Result};

/// The pairs of a communicator.
#[derive(Clone, Default)]
pub(crate) struct PartitionedPairs(Arc<Mutex<PairTable>>);

#[derive(Default)]
struct PairTable {
    /// The next free tag for sends to each rank.
    next: HashMap<Rank, u32>,
    /// Notes without a receive, and receives without a note, by sender and the program's tag.
    notes: HashMap<(Rank, Tag), VecDeque<PartDivision>>,
    waiting: HashMap<(Rank, Tag), VecDeque<Arc<Inbound>>>,
    /// Senders whose next note is being received.
    listened: Vec<Rank>,
}

const NOTE_BYTES: usize = 24;

fn note(tag: Tag, division: PartDivision) -> [u8; NOTE_BYTES] {
    let mut bytes = [0; NOTE_BYTES];
    bytes[..4].copy_from_slice(&tag.0.to_le_bytes());
    bytes[4..8].copy_from_slice(&division.first.to_le_bytes());
    bytes[8..16].copy_from_slice(&(division.parts as u64).to_le_bytes());
    bytes[16..].copy_from_slice(&(division.bytes as u64).to_le_bytes());
    bytes
}

/// Decodes a note of `len` bytes; returns none if no sender writes such a note.
fn checked_note(bytes: &[u8], len: usize) -> Option<(Tag, PartDivision)> {
    let (tag, division) = read_note(bytes);
    (len == NOTE_BYTES && tag.0 <= DATA_BITS && division.first <= DATA_BITS && division.parts <= MOST_PARTS)
        .then_some((tag, division))
}

fn read_note(bytes: &[u8]) -> (Tag, PartDivision) {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
    let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes")) as usize;
    (Tag(word(0)), PartDivision { first: word(4), parts: long(8), bytes: long(16) })
}

impl PartitionedPairs {
    fn table(&self) -> MutexGuard<'_, PairTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allocates the tags of a send and sends the note to its receiver.
    pub(super) fn announce(
        &self,
        engine: &Engine,
        (to, flow, tag): (Rank, FlowId, Tag),
        (parts, bytes): (usize, usize),
    ) -> Result<PartDivision> {
        let mut table = self.table();
        let next = table.next.entry(to).or_default();
        let division = PartDivision { first: *next, parts, bytes };
        *next = next.wrapping_add(division.tags()) & DATA_BITS;
        drop(table);
        let mut memory = Owned::new(note(tag, division).to_vec());
        let buffer = memory.lend_out();
        engine.follow(Box::new(NoteSent(memory)), |submit| {
            submit.isend(Envelope::new(to, flow, NOTE), buffer)
        })?;
        Ok(division)
    }

    /// Finds the note for an initialised receive, now or when it arrives.
    pub(super) fn expect(
        &self,
        engine: &Engine,
        (from, flow, tag): (Rank, FlowId, Tag),
        inbound: &Arc<Inbound>,
    ) -> Result<()> {
        let mut table = self.table();
        if let Some(division) = table.notes.get_mut(&(from, tag)).and_then(VecDeque::pop_front) {
            drop(table);
            return Ok(engine.submit_with(|submit| inbound.pair(division, submit))?);
        }
        table.waiting.entry((from, tag)).or_default().push_back(inbound.clone());
        if table.listened.contains(&from) {
            return Ok(());
        }
        table.listened.push(from);
        drop(table);
        let mut memory = Owned::new(vec![0; NOTE_BYTES]);
        let (buffer, want) = (memory.lend_in(), Want { source: Some(from), tag: Some(NOTE) });
        let listener = Listener { pairs: self.clone(), from, flow, memory };
        Ok(engine.follow(Box::new(listener), |submit| submit.irecv(flow, want, buffer))?)
    }
}

impl PairTable {
    /// Returns true if receives wait for notes of a sender.
    fn waits_for(&self, from: Rank) -> bool {
        self.waiting.iter().any(|((sender, _), waiting)| *sender == from && !waiting.is_empty())
    }
}

/// A note that is being sent.
struct NoteSent(Owned<u8>);

impl FollowUp for NoteSent {
    fn ended(&mut self, ended: Completion, _submit: &mut Submit<'_>) -> Option<Pending> {
        if let Buffer::Out(buffer) = ended.buffer {
            self.0.take_back_out(buffer);
        }
        None
    }
}

/// Receives the notes of a sender, one after the other, while receives wait for them.
struct Listener {
    pairs: PartitionedPairs,
    from: Rank,
    flow: FlowId,
    memory: Owned<u8>,
}

impl FollowUp for Listener {
    fn ended(&mut self, ended: Completion, submit: &mut Submit<'_>) -> Option<Pending> {
        if let Buffer::In(buffer) = ended.buffer {
            self.memory.take_back_in(buffer);
        }
        let mut table = self.pairs.table();
        let wrong = || {
            Error::new(Class::Internal, format!("{} sent a note about partitions that cannot be", self.from))
        };
        let note = ended.result.map_err(Box::<Error>::from);
        let note = note.and_then(|of| checked_note(self.memory.bytes(), of.bytes).ok_or_else(wrong));
        match note {
            Ok((tag, division)) => {
                let key = (self.from, tag);
                match table.waiting.get_mut(&key).and_then(VecDeque::pop_front) {
                    Some(inbound) => inbound.pair(division, submit),
                    None => table.notes.entry(key).or_default().push_back(division),
                }
            }
            // No further note will arrive.
            Err(error) => {
                for ((sender, _), waiting) in &mut table.waiting {
                    if *sender == self.from {
                        waiting.drain(..).for_each(|inbound| inbound.fail(error.clone()));
                    }
                }
            }
        }
        if !table.waits_for(self.from) {
            table.listened.retain(|sender| *sender != self.from);
            return None;
        }
        let want = Want { source: Some(self.from), tag: Some(NOTE) };
        Some(submit.irecv(self.flow, want, self.memory.lend_in()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let division = PartDivision { first: DATA_BITS, parts: 1 << 40, bytes: (1 << 33) + 1 };
        assert_eq!(read_note(&note(Tag(7), division)), (Tag(7), division));
    }

    #[test]
    fn a_note_that_no_sender_writes_is_refused() {
        let right = PartDivision { first: DATA_BITS, parts: MOST_PARTS, bytes: 1 };
        let read = |tag, division, len| checked_note(&note(tag, division), len);
        assert_eq!(read(Tag(DATA_BITS), right, NOTE_BYTES), Some((Tag(DATA_BITS), right)));
        assert_eq!(read(Tag(7), right, NOTE_BYTES - 1), None);
        assert_eq!(read(Tag(DATA_BITS + 1), right, NOTE_BYTES), None);
        assert_eq!(read(Tag(7), PartDivision { first: DATA_BITS + 1, ..right }, NOTE_BYTES), None);
        assert_eq!(read(Tag(7), PartDivision { parts: MOST_PARTS + 1, ..right }, NOTE_BYTES), None);
    }

    #[test]
    fn tags_of_partitions_stay_among_their_own() {
        let division = PartDivision { first: DATA_BITS - 1, parts: 4, bytes: 8 };
        let tags: Vec<u32> = (0..4).map(|part| division.tag(part).0).collect();
        assert_eq!(tags, [0xbfff_fffe, 0xbfff_ffff, 0x8000_0000, 0x8000_0001]);
    }

    #[test]
    fn small_partitions_travel_in_groups_of_neighbours() {
        let small = PartDivision { first: 5, parts: 1000, bytes: 8 };
        assert_eq!((small.group_len(), small.groups(), small.group(1)), (512, 2, 512..1000));
        assert_eq!((small.group_tag(1), small.tags()), (small.tag(1001), 1002));
        for alone in [PartDivision { bytes: 513, ..small }, PartDivision { bytes: 0, ..small }] {
            assert_eq!((alone.group_len(), alone.group(3), alone.tags()), (1, 3..4, 1000));
            assert_eq!(alone.group_tag(3), alone.tag(3));
        }
        let few = PartDivision { parts: 3, bytes: 512, ..small };
        assert_eq!((few.groups(), few.group(0), few.tags()), (1, 0..3, 4));
    }
}
