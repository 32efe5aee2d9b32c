//! The encoding of RMA requests as messages.
//!
//! Owns the encoding and its reader, which checks everything. The tag of an RMA request is its kind and
//! sequence number.

use canele_sys::ids::Tag;

use super::request::{
    ElementAccess, ElementAction, EncodedElements, Form, PutReport, RmaLockKind, RmaRequest, WindowAction,
};
use super::{ExposureKey, HEAD, MOST_HEAD, MemoryAddress, MemoryKey, SEQUENCE_BITS, SEQUENCE_MASK};

/// Bytes of the head of a put that carries its data and whose failure a flush reports.
const FLUSHED_HEAD: usize = 16;

impl ElementAccess {
    fn words(&self) -> ([u64; 6], usize) {
        let [key, offset] = place_words(self.place);
        let EncodedElements { layout_len, count, skip } =
            self.elements.unwrap_or(EncodedElements { layout_len: 0, count: 0, skip: 0 });
        let kind = self.action as u64
            | u64::from(self.elements.is_some()) << 8
            | u64::from(self.operation.0) << 16
            | u64::from(self.operation.1) << 32
            | u64::from(layout_len) << 48;
        ([key, offset, kind, self.len, count, skip], self.head_len() / 8)
    }

    fn head_len(&self) -> usize {
        if self.elements.is_some() { 48 } else { 32 }
    }

    fn read(word: impl Fn(usize) -> Option<u64>) -> Option<Self> {
        let kind = word(2)?;
        let elements = match kind >> 8 & 0xFF {
            0 => None,
            1 => Some(EncodedElements { layout_len: (kind >> 48) as u16, count: word(4)?, skip: word(5)? }),
            _ => return None,
        };
        Some(Self {
            action: *ElementAction::ALL.get((kind & 0xFF) as usize)?,
            place: read_place([word(0)?, word(1)?]),
            operation: ((kind >> 16) as u16, (kind >> 32) as u16),
            len: word(3)?,
            elements,
        })
    }
}

impl WindowAction {
    fn to_word(self) -> u64 {
        match self {
            Self::Lock(RmaLockKind::Shared) => 0,
            Self::Lock(RmaLockKind::Exclusive) => 1,
            Self::Unlock => 2,
            Self::Signal(which) => 3 | u64::from(which) << 8,
        }
    }

    fn read(word: u64) -> Option<Self> {
        Some(match word {
            0 => Self::Lock(RmaLockKind::Shared),
            1 => Self::Lock(RmaLockKind::Exclusive),
            2 => Self::Unlock,
            _ if word & 0xFF == 3 => Self::Signal(u8::try_from(word >> 8).ok()?),
            _ => return None,
        })
    }
}

/// Returns the exposure that a word names.
fn read_window(word: u64) -> Option<ExposureKey> {
    match MemoryKey::from_word(word) {
        MemoryKey::Exposure(key) => Some(key),
        MemoryKey::Region(_) => None,
    }
}

impl RmaRequest {
    fn kind(&self, form: Form) -> u32 {
        match (self, form) {
            (Self::Put { report: PutReport::Answer, .. }, Form::Whole) => 1,
            (Self::Put { report: PutReport::Answer, .. }, Form::Apart) => 2,
            (Self::Put { report: PutReport::Notice(_), .. }, Form::Whole) => 3,
            (Self::Put { report: PutReport::Notice(_), .. }, Form::Apart) => 4,
            (Self::Get { .. }, Form::Whole) => 5,
            (Self::Get { .. }, Form::Apart) => 6,
            (Self::Add { .. }, _) => 7,
            (Self::Swap { .. }, _) => 8,
            (Self::Fence | Self::Flush { .. }, _) => 9,
            (Self::Ask(_), _) => 10,
            (Self::Deposit { .. }, _) => 11,
            (Self::Put { report: PutReport::Flush, .. }, Form::Whole) => 12,
            (Self::Put { report: PutReport::Flush, .. }, Form::Apart) => 13,
            (Self::Access(_), _) => 14,
            (Self::Window { .. }, _) => 15,
        }
    }

    /// Returns the tag of its message.
    pub fn tag(&self, form: Form, sequence: u32) -> Tag {
        Tag(self.kind(form) << SEQUENCE_BITS | sequence)
    }

    /// Returns its message without data, and the length of this in bytes.
    pub fn head(&self, form: Form) -> ([u8; MOST_HEAD], usize) {
        let (words, count) = match *self {
            Self::Put { place, len, report: PutReport::Flush } => {
                let [key, offset] = place_words(place);
                ([key, offset, len, 0, 0, 0], if form == Form::Whole { 2 } else { 3 })
            }
            Self::Put { place, len, report } => {
                let [key, offset] = place_words(place);
                let notice = if let PutReport::Notice(id) = report { id } else { 0 };
                ([key, offset, notice, len, 0, 0], if form == Form::Whole { 3 } else { 4 })
            }
            Self::Get { place, len } => {
                let [key, offset] = place_words(place);
                ([key, offset, len, 0, 0, 0], 3)
            }
            Self::Add { place, n } => {
                let [key, offset] = place_words(place);
                ([key, offset, n, 0, 0, 0], 3)
            }
            Self::Swap { place, expected, new } => {
                let [key, offset] = place_words(place);
                ([key, offset, expected, new, 0, 0], 4)
            }
            Self::Fence => ([0; 6], 0),
            Self::Ask([a, b, c]) => ([a, b, c, 0, 0, 0], 3),
            Self::Deposit { of: [a, b], len } => ([a, b, len, 0, 0, 0], 3),
            Self::Access(access) => access.words(),
            Self::Flush { window } => ([window.0, 0, 0, 0, 0, 0], 1),
            Self::Window { window, action } => ([window.0, action.to_word(), 0, 0, 0, 0], 2),
        };
        let mut bytes = [0; MOST_HEAD];
        bytes.chunks_exact_mut(8).zip(words).for_each(|(to, word)| to.copy_from_slice(&word.to_le_bytes()));
        (bytes, 8 * count)
    }

    /// Decodes a message with this tag: the RMA request, the form of its data, its sequence number, and the
    /// data with it.
    pub fn read(tag: Tag, bytes: &[u8]) -> Option<(Self, Form, u32, &[u8])> {
        let word = |at: usize| Some(u64::from_le_bytes(bytes.get(8 * at..8 * at + 8)?.try_into().ok()?));
        let (kind, sequence) = (tag.0 >> SEQUENCE_BITS, tag.0 & SEQUENCE_MASK);
        let place = || Some(read_place([word(0)?, word(1)?]));
        let form = if matches!(kind, 2 | 4 | 6 | 11 | 13) { Form::Apart } else { Form::Whole };
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
                let id = word(2)?;
                let report = if kind > 2 { PutReport::Notice(id) } else { PutReport::Answer };
                Self::Put { place: place()?, len, report }
            }
            5 | 6 => Self::Get { place: place()?, len: word(2)? },
            7 => Self::Add { place: place()?, n: word(2)? },
            8 => Self::Swap { place: place()?, expected: word(2)?, new: word(3)? },
            9 if bytes.is_empty() => Self::Fence,
            9 => Self::Flush { window: read_window(word(0)?)? },
            10 => Self::Ask([word(0)?, word(1)?, word(2)?]),
            11 => Self::Deposit { of: [word(0)?, word(1)?], len: word(2)? },
            12 => {
                data = bytes.get(FLUSHED_HEAD..)?;
                Self::Put { place: place()?, len: data.len() as u64, report: PutReport::Flush }
            }
            13 => Self::Put { place: place()?, len: word(2)?, report: PutReport::Flush },
            14 => {
                let access = ElementAccess::read(word)?;
                data = bytes.get(access.head_len()..)?;
                Self::Access(access)
            }
            15 => Self::Window { window: read_window(word(0)?)?, action: WindowAction::read(word(1)?)? },
            _ => return None,
        };
        Some((rma_request, form, sequence, data))
    }
}

fn place_words(place: MemoryAddress) -> [u64; 2] {
    [place.key.to_word(), place.offset]
}

fn read_place([key, offset]: [u64; 2]) -> MemoryAddress {
    MemoryAddress { key: MemoryKey::from_word(key), offset }
}

#[cfg(test)]
mod tests {
    use canele_sys::ids::RegionId;

    use super::*;

    const REGION: MemoryKey = MemoryKey::Region(RegionId { index: 5, generation: 9 });
    const PLACE: MemoryAddress = MemoryAddress { key: REGION, offset: 1 << 40 };
    const WINDOW: ExposureKey = ExposureKey(9 << 32 | 1 << 31 | 5);

    #[test]
    fn rma_requests_come_out_as_they_went_in() {
        let put = |len, report| RmaRequest::Put { place: PLACE, len, report };
        let window = |action| RmaRequest::Window { window: WINDOW, action };
        let access = |action, elements| {
            let operation = (7, u16::MAX);
            RmaRequest::Access(ElementAccess { action, place: PLACE, operation, len: 1 << 50, elements })
        };
        for rma_request in [
            put(0, PutReport::Answer),
            put(20, PutReport::Notice(u64::MAX)),
            put(5000, PutReport::Answer),
            put(5000, PutReport::Notice(0)),
            put(8, PutReport::Flush),
            put(5000, PutReport::Flush),
            RmaRequest::Get { place: PLACE, len: 7 },
            RmaRequest::Get { place: MemoryAddress { key: WINDOW.into(), ..PLACE }, len: 7 },
            RmaRequest::Get { place: PLACE, len: 1 << 40 },
            RmaRequest::Add { place: PLACE, n: 3 },
            RmaRequest::Swap { place: PLACE, expected: 1, new: 2 },
            access(ElementAction::Put, None),
            access(ElementAction::CompareAndSwap, None),
            access(
                ElementAction::GetAccumulate,
                Some(EncodedElements { layout_len: 9, count: 1 << 40, skip: u64::MAX }),
            ),
            RmaRequest::Fence,
            RmaRequest::Flush { window: WINDOW },
            window(WindowAction::Lock(RmaLockKind::Shared)),
            window(WindowAction::Lock(RmaLockKind::Exclusive)),
            window(WindowAction::Unlock),
            window(WindowAction::Signal(255)),
            RmaRequest::Ask([1, 2, 3]),
            RmaRequest::Deposit { of: [4, 5], len: 6 },
        ] {
            let form = rma_request.form(4096);
            let (head, len) = rma_request.head(form);
            let mut message = head[..len].to_vec();
            let data = match rma_request {
                RmaRequest::Put { len, .. } if form == Form::Whole => vec![7; len as usize],
                RmaRequest::Access(_) => vec![1; 12],
                _ => Vec::new(),
            };
            message.extend(&data);
            let sequence = SEQUENCE_MASK;
            let tag = rma_request.tag(form, sequence);
            assert_eq!(RmaRequest::read(tag, &message), Some((rma_request, form, sequence, &data[..])));
            // A flush without its window is a fence.
            for cut in usize::from(matches!(rma_request, RmaRequest::Flush { .. }))..len {
                assert_eq!(RmaRequest::read(tag, &message[..cut]), None, "{rma_request:?} cut at {cut}");
            }
        }
        let mut no_action = [0; 64];
        no_action[16] = 5;
        assert_eq!(RmaRequest::read(Tag(14 << SEQUENCE_BITS), &no_action), None);
        assert_eq!(RmaRequest::read(Tag(15 << SEQUENCE_BITS), &[4; 64]), None);
        assert_eq!(RmaRequest::read(Tag(1), &[0; 64]), None);
    }

    #[test]
    fn a_small_put_fits_in_a_cell() {
        let rma_request = RmaRequest::Put { place: PLACE, len: 24, report: PutReport::Notice(1) };
        assert_eq!(rma_request.head(rma_request.form(4096)).1 + 24, canele_rail::MAX_INLINE);
        // So does the change of a word of 8 bytes, with the expected and the new word.
        let action = ElementAction::CompareAndSwap;
        let access = ElementAccess { action, place: PLACE, operation: (0, 0), len: 8, elements: None };
        assert_eq!(RmaRequest::Access(access).head(Form::Whole).1 + 16, canele_rail::MAX_INLINE);
    }
}
