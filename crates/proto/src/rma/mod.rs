//! Remote memory access (RMA) that the owner's library serves, where the origin cannot map the memory.
//!
//! Owns how an RMA request, its data and its answer are put into messages, on three flows of the library; the owner's
//! [`RmaTarget`] serves it. Never moves a message itself: order, credit, pieces, several rails and their loss are those of any
//! message.
//!
//! ```text
//!   origin ── RMA request: what, where, sequence number (small data with it) ──▶ owner: checks region and range, then does it
//!          ── large data, straight into the region ──▶
//!          ◀── answer: what became of it, a value (small data with it) ──
//!          ◀── large data, straight out of the region ──
//! ```
//! The tag of an RMA request is its kind and sequence number; of its data and its answer, the sequence number.

mod pending;
mod queue;
mod range_set;
mod sequence;
mod target;

use canele_mem::buffer::RegionAddress;
use canele_rail::Corrupt;
use canele_sys::ids::{FlowId, Rank, RegionId, Tag};

pub use sequence::LateAnswer;
pub use target::{RmaMemory, RmaTarget, Tell};

use crate::matching::Want;
use crate::{Notice, Proto};

/// The flow of RMA requests.
pub const REQUESTS: FlowId = FlowId(5);
/// The flow of their large data.
pub const DATA: FlowId = FlowId(6);
/// The flow of answers, and of large data read.
pub const ANSWERS: FlowId = FlowId(7);

/// Bytes of an RMA request that its small data follows.
pub const HEAD: usize = 24;
/// Bytes of an RMA request without its data at most.
pub const MOST_HEAD: usize = 32;
/// Bytes of an answer without data.
pub const ANSWER: usize = 24;
/// Bits of a tag that are the sequence number.
const SEQUENCE_BITS: u32 = 28;
const SEQUENCE_MASK: u32 = (1 << SEQUENCE_BITS) - 1;

/// A request to the owner of memory that the origin cannot map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RmaRequest {
    /// Writes data. With a notice nothing is answered; a fence tells of what went wrong.
    Put {
        /// Where.
        place: RegionAddress,
        /// Bytes.
        len: u64,
        /// What the owner sees when they are there.
        notice: Option<u64>,
    },
    /// Reads data.
    Get {
        /// Where.
        place: RegionAddress,
        /// Bytes.
        len: u64,
    },
    /// Adds to a word; the value is what was there before.
    Add {
        /// The word.
        place: RegionAddress,
        /// How much.
        n: u64,
    },
    /// Replaces a word if it is as expected; the value is what was there before.
    Swap {
        /// The word.
        place: RegionAddress,
        /// What it must be.
        expected: u64,
        /// What it becomes.
        new: u64,
    },
    /// Is answered when all puts before it have been done.
    Fence,
    /// A question to the layer above; the value is its answer.
    Ask([u64; 3]),
    /// Data for the layer above, with what it is known by.
    Deposit {
        /// What it is.
        of: [u64; 2],
        /// Bytes.
        len: u64,
    },
}

/// Whether data travels with the RMA request or its answer, or is a message of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// With it, or there is none.
    Whole,
    /// Of its own.
    Apart,
}

/// Why an RMA request was not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// The region is not there.
    #[error("there is no such region: it was dropped, or never was")]
    NoRegion,
    /// The range is not in it.
    #[error("the range lies outside of its {0} bytes, or is no aligned word of them")]
    Outside(u64),
    /// Other data came than was announced.
    #[error("its data did not come as announced")]
    Broken,
}

/// The answer to an RMA request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The value, or which region refused what.
    pub result: Result<u64, (RegionId, Refusal)>,
}

impl RmaRequest {
    fn kind(&self, form: Form) -> u32 {
        match (self, form) {
            (Self::Put { notice: None, .. }, Form::Whole) => 1,
            (Self::Put { notice: None, .. }, Form::Apart) => 2,
            (Self::Put { notice: Some(_), .. }, Form::Whole) => 3,
            (Self::Put { notice: Some(_), .. }, Form::Apart) => 4,
            (Self::Get { .. }, Form::Whole) => 5,
            (Self::Get { .. }, Form::Apart) => 6,
            (Self::Add { .. }, _) => 7,
            (Self::Swap { .. }, _) => 8,
            (Self::Fence, _) => 9,
            (Self::Ask(_), _) => 10,
            (Self::Deposit { .. }, _) => 11,
        }
    }

    /// How its data travels where messages up to `eager` bytes go without a handshake.
    pub fn form(&self, eager: usize) -> Form {
        let small = |len: u64| len <= eager.saturating_sub(HEAD) as u64;
        match self {
            Self::Put { len, .. } | Self::Get { len, .. } if !small(*len) => Form::Apart,
            Self::Deposit { .. } => Form::Apart,
            _ => Form::Whole,
        }
    }

    /// Whether the owner answers.
    pub fn is_answered(&self) -> bool {
        !matches!(self, Self::Put { notice: Some(_), .. } | Self::Deposit { .. })
    }

    /// The region it is for, or one that there never is.
    pub fn region(&self) -> RegionId {
        match *self {
            Self::Put { place, .. }
            | Self::Get { place, .. }
            | Self::Add { place, .. }
            | Self::Swap { place, .. } => place.region,
            Self::Fence | Self::Ask(_) | Self::Deposit { .. } => RegionId { index: u32::MAX, generation: 0 },
        }
    }

    /// What is to be made of an answer that nobody waits for any more: that of a question may have to be undone.
    pub fn late(&self, undo: Option<[u64; 3]>) -> LateAnswer {
        match self {
            Self::Fence => LateAnswer::Keep,
            _ => undo.map_or(LateAnswer::Ignore, LateAnswer::Undo),
        }
    }

    /// The tag of its message.
    pub fn tag(&self, form: Form, sequence: u32) -> Tag {
        Tag(self.kind(form) << SEQUENCE_BITS | sequence)
    }

    /// Its message without data: so many of these bytes.
    pub fn head(&self, form: Form) -> ([u8; MOST_HEAD], usize) {
        let (words, count) = match *self {
            Self::Put { place, len, notice } => {
                let [region, offset] = place_words(place);
                ([region, offset, notice.unwrap_or(0), len], if form == Form::Whole { 3 } else { 4 })
            }
            Self::Get { place, len } => {
                let [region, offset] = place_words(place);
                ([region, offset, len, 0], 3)
            }
            Self::Add { place, n } => {
                let [region, offset] = place_words(place);
                ([region, offset, n, 0], 3)
            }
            Self::Swap { place, expected, new } => {
                let [region, offset] = place_words(place);
                ([region, offset, expected, new], 4)
            }
            Self::Fence => ([0; 4], 0),
            Self::Ask([a, b, c]) => ([a, b, c, 0], 3),
            Self::Deposit { of: [a, b], len } => ([a, b, len, 0], 3),
        };
        let mut bytes = [0; MOST_HEAD];
        bytes.chunks_exact_mut(8).zip(words).for_each(|(to, word)| to.copy_from_slice(&word.to_le_bytes()));
        (bytes, 8 * count)
    }

    /// What a message with this tag asks for: the RMA request, how its data travels, its sequence number, and the data with it.
    pub fn read(tag: Tag, bytes: &[u8]) -> Option<(Self, Form, u32, &[u8])> {
        let word = |at: usize| Some(u64::from_le_bytes(bytes.get(8 * at..8 * at + 8)?.try_into().ok()?));
        let (kind, sequence) = (tag.0 >> SEQUENCE_BITS, tag.0 & SEQUENCE_MASK);
        let place = || Some(read_place([word(0)?, word(1)?]));
        let form = if matches!(kind, 2 | 4 | 6 | 11) { Form::Apart } else { Form::Whole };
        let mut data = &[][..];
        let rma_request = match kind {
            1..=4 => {
                let len = match form {
                    Form::Whole => {
                        data = bytes.get(HEAD..)?;
                        data.len() as u64
                    }
                    Form::Apart => word(3)?,
                };
                let notice = (kind > 2).then_some(word(2)?);
                Self::Put { place: place()?, len, notice }
            }
            5 | 6 => Self::Get { place: place()?, len: word(2)? },
            7 => Self::Add { place: place()?, n: word(2)? },
            8 => Self::Swap { place: place()?, expected: word(2)?, new: word(3)? },
            9 => Self::Fence,
            10 => Self::Ask([word(0)?, word(1)?, word(2)?]),
            11 => Self::Deposit { of: [word(0)?, word(1)?], len: word(2)? },
            _ => return None,
        };
        Some((rma_request, form, sequence, data))
    }
}

impl Answer {
    /// Its bytes.
    pub fn to_bytes(self) -> [u8; ANSWER] {
        let words = match self.result {
            Ok(value) => [0, value, 0],
            Err((region, refusal)) => {
                let (status, value) = match refusal {
                    Refusal::NoRegion => (1, 0),
                    Refusal::Outside(bytes) => (2, bytes),
                    Refusal::Broken => (3, 0),
                };
                [status, value, place_words(RegionAddress { region, offset: 0 })[0]]
            }
        };
        let mut bytes = [0; ANSWER];
        bytes.chunks_exact_mut(8).zip(words).for_each(|(to, word)| to.copy_from_slice(&word.to_le_bytes()));
        bytes
    }

    /// Read from them. What no owner says counts as broken.
    pub fn read(bytes: &[u8; ANSWER]) -> Self {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|n| bytes[8 * at + n]));
        let refusal = match word(0) {
            0 => return Self { result: Ok(word(1)) },
            1 => Refusal::NoRegion,
            2 => Refusal::Outside(word(1)),
            _ => Refusal::Broken,
        };
        Self { result: Err((read_place([word(2), 0]).region, refusal)) }
    }
}

fn place_words(place: RegionAddress) -> [u64; 2] {
    [u64::from(place.region.index) | u64::from(place.region.generation) << 32, place.offset]
}

fn read_place([region, offset]: [u64; 2]) -> RegionAddress {
    RegionAddress { region: RegionId { index: region as u32, generation: (region >> 32) as u32 }, offset }
}

impl Proto {
    /// How the data of an RMA request travels.
    pub fn form(&self, rma_request: &RmaRequest) -> Form {
        rma_request.form(self.settings.eager_bytes)
    }

    /// Drops what has come of the answer to an RMA request that failed.
    pub fn forget_answer(&mut self, from: Rank, sequence: u32) {
        self.forget(ANSWERS, from, Some(sequence));
    }

    fn forget(&mut self, flow: FlowId, from: Rank, sequence: Option<u32>) {
        let want = Want { source: Some(from), tag: sequence.map(Tag) };
        while let Some(matched) = self.probe_matched(flow, want) {
            self.discard(matched);
        }
    }

    /// Shows a notice whose data is in its place.
    fn show_notice(&mut self, from: Rank, id: u64) -> Result<(), Corrupt> {
        self.ended += 1;
        self.keep_notice(Notice { from, id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGION: RegionId = RegionId { index: 5, generation: 9 };
    const PLACE: RegionAddress = RegionAddress { region: REGION, offset: 1 << 40 };

    #[test]
    fn rma_requests_come_out_as_they_went_in() {
        let put = |len, notice| RmaRequest::Put { place: PLACE, len, notice };
        for rma_request in [
            put(0, None),
            put(20, Some(u64::MAX)),
            put(5000, None),
            put(5000, Some(0)),
            RmaRequest::Get { place: PLACE, len: 7 },
            RmaRequest::Get { place: PLACE, len: 1 << 40 },
            RmaRequest::Add { place: PLACE, n: 3 },
            RmaRequest::Swap { place: PLACE, expected: 1, new: 2 },
            RmaRequest::Fence,
            RmaRequest::Ask([1, 2, 3]),
            RmaRequest::Deposit { of: [4, 5], len: 6 },
        ] {
            let form = rma_request.form(4096);
            let (head, len) = rma_request.head(form);
            let mut message = head[..len].to_vec();
            let data = match rma_request {
                RmaRequest::Put { len, .. } if form == Form::Whole => vec![7; len as usize],
                _ => Vec::new(),
            };
            message.extend(&data);
            let sequence = SEQUENCE_MASK;
            let tag = rma_request.tag(form, sequence);
            assert_eq!(RmaRequest::read(tag, &message), Some((rma_request, form, sequence, &data[..])));
            for cut in 0..len {
                assert_eq!(RmaRequest::read(tag, &message[..cut]), None, "{rma_request:?} cut at {cut}");
            }
        }
        assert_eq!(RmaRequest::read(Tag(12 << SEQUENCE_BITS), &[0; 64]), None);
        assert_eq!(RmaRequest::read(Tag(1), &[0; 64]), None);
    }

    #[test]
    fn a_small_put_fits_in_a_cell() {
        let rma_request = RmaRequest::Put { place: PLACE, len: 24, notice: Some(1) };
        assert_eq!(rma_request.head(rma_request.form(4096)).1 + 24, canele_rail::MAX_INLINE);
    }

    #[test]
    fn answers_come_out_as_they_went_in() {
        let refused = |refusal| Err((REGION, refusal));
        for result in [
            Ok(u64::MAX),
            refused(Refusal::NoRegion),
            refused(Refusal::Outside(77)),
            refused(Refusal::Broken),
        ] {
            let answer = Answer { result };
            assert_eq!(Answer::read(&answer.to_bytes()), answer);
        }
    }
}
