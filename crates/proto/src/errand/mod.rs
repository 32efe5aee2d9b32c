//! Errands: what is done to the memory of a rank that cannot be mapped here, by that rank's own library.
//!
//! Owns how an errand, its data and its answer are put into messages, on three flows of the library; who runs one is the
//! [`Desk`] of the owner. Never moves a message itself: order, credit, pieces, several rails and their loss are those of any
//! message.
//!
//! ```text
//!   origin ── errand: what, where, ticket (small data with it) ──▶ owner: checks region and range, then does it
//!          ── large data, straight into the region ──▶
//!          ◀── answer: what became of it, a value (small data with it) ──
//!          ◀── large data, straight out of the region ──
//! ```
//! The tag of an errand is its kind and ticket; of its data and its answer, the ticket.

mod desk;
mod outbox;
mod queue;
mod tickets;

use canele_sys::buffer::Place;
use canele_sys::ids::{FlowId, Rank, RegionId, Tag};

pub use desk::{Desk, Estate, Tell};
pub use tickets::Late;

use crate::matching::Want;
use crate::{Notice, Proto};

/// Errands.
pub const ERRANDS: FlowId = FlowId(5);
/// Their large data.
pub const DATA: FlowId = FlowId(6);
/// What became of them, and large data read.
pub const ANSWERS: FlowId = FlowId(7);

/// Bytes of an errand that its small data follows.
pub const HEAD: usize = 24;
/// Bytes of an errand without its data at most.
pub const MOST_HEAD: usize = 32;
/// Bytes of an answer without data.
pub const ANSWER: usize = 24;
/// Bits of a tag that are the ticket.
const TICKET_BITS: u32 = 28;
const TICKET: u32 = (1 << TICKET_BITS) - 1;

/// What a rank that cannot map memory asks its owner to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Errand {
    /// Writes data. With a notice nothing is answered; a fence tells of what went wrong.
    Put {
        /// Where.
        place: Place,
        /// Bytes.
        len: u64,
        /// What the owner sees when they are there.
        notice: Option<u64>,
    },
    /// Reads data.
    Get {
        /// Where.
        place: Place,
        /// Bytes.
        len: u64,
    },
    /// Adds to a word; the value is what was there before.
    Add {
        /// The word.
        place: Place,
        /// How much.
        n: u64,
    },
    /// Replaces a word if it is as expected; the value is what was there before.
    Swap {
        /// The word.
        place: Place,
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

/// Whether data travels with the errand or its answer, or is a message of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// With it, or there is none.
    Whole,
    /// Of its own.
    Apart,
}

/// Why an errand was not done.
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

/// What became of an errand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The value, or which region refused what.
    pub result: Result<u64, (RegionId, Refusal)>,
}

impl Errand {
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
    pub fn late(&self, undo: Option<[u64; 3]>) -> Late {
        match self {
            Self::Fence => Late::Keep,
            _ => undo.map_or(Late::Ignore, Late::Undo),
        }
    }

    /// The tag of its message.
    pub fn tag(&self, form: Form, ticket: u32) -> Tag {
        Tag(self.kind(form) << TICKET_BITS | ticket)
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

    /// What a message with this tag asks for: the errand, how its data travels, its ticket, and the data with it.
    pub fn read(tag: Tag, bytes: &[u8]) -> Option<(Self, Form, u32, &[u8])> {
        let word = |at: usize| Some(u64::from_le_bytes(bytes.get(8 * at..8 * at + 8)?.try_into().ok()?));
        let (kind, ticket) = (tag.0 >> TICKET_BITS, tag.0 & TICKET);
        let place = || Some(read_place([word(0)?, word(1)?]));
        let form = if matches!(kind, 2 | 4 | 6 | 11) { Form::Apart } else { Form::Whole };
        let mut data = &[][..];
        let errand = match kind {
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
        Some((errand, form, ticket, data))
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
                [status, value, place_words(Place { region, offset: 0 })[0]]
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

fn place_words(place: Place) -> [u64; 2] {
    [u64::from(place.region.index) | u64::from(place.region.generation) << 32, place.offset]
}

fn read_place([region, offset]: [u64; 2]) -> Place {
    Place { region: RegionId { index: region as u32, generation: (region >> 32) as u32 }, offset }
}

impl Proto {
    /// How the data of an errand travels.
    pub fn form(&self, errand: &Errand) -> Form {
        errand.form(self.settings.eager_bytes)
    }

    /// Drops what has come of the answer to an errand that failed.
    pub fn forget_answer(&mut self, from: Rank, ticket: u32) {
        self.forget(ANSWERS, from, Some(ticket));
    }

    fn forget(&mut self, flow: FlowId, from: Rank, ticket: Option<u32>) {
        let want = Want { source: Some(from), tag: ticket.map(Tag) };
        while let Some(matched) = self.probe_matched(flow, want) {
            self.discard(matched);
        }
    }

    /// Shows a notice whose data is in its place.
    fn show_notice(&mut self, from: Rank, id: u64) {
        self.notices.push_back(Notice { from, id });
        self.ended += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGION: RegionId = RegionId { index: 5, generation: 9 };
    const PLACE: Place = Place { region: REGION, offset: 1 << 40 };

    #[test]
    fn errands_come_out_as_they_went_in() {
        let put = |len, notice| Errand::Put { place: PLACE, len, notice };
        for errand in [
            put(0, None),
            put(20, Some(u64::MAX)),
            put(5000, None),
            put(5000, Some(0)),
            Errand::Get { place: PLACE, len: 7 },
            Errand::Get { place: PLACE, len: 1 << 40 },
            Errand::Add { place: PLACE, n: 3 },
            Errand::Swap { place: PLACE, expected: 1, new: 2 },
            Errand::Fence,
            Errand::Ask([1, 2, 3]),
            Errand::Deposit { of: [4, 5], len: 6 },
        ] {
            let form = errand.form(4096);
            let (head, len) = errand.head(form);
            let mut message = head[..len].to_vec();
            let data = match errand {
                Errand::Put { len, .. } if form == Form::Whole => vec![7; len as usize],
                _ => Vec::new(),
            };
            message.extend(&data);
            let ticket = TICKET;
            let tag = errand.tag(form, ticket);
            assert_eq!(Errand::read(tag, &message), Some((errand, form, ticket, &data[..])));
            for cut in 0..len {
                assert_eq!(Errand::read(tag, &message[..cut]), None, "{errand:?} cut at {cut}");
            }
        }
        assert_eq!(Errand::read(Tag(12 << TICKET_BITS), &[0; 64]), None);
        assert_eq!(Errand::read(Tag(1), &[0; 64]), None);
    }

    #[test]
    fn a_small_put_fits_in_a_cell() {
        let errand = Errand::Put { place: PLACE, len: 24, notice: Some(1) };
        assert_eq!(errand.head(errand.form(4096)).1 + 24, canele_rail::MAX_INLINE);
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
