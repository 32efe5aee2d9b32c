//! RMA requests: what an origin asks for, and how its data travels.

use super::{ExposureKey, HEAD, MemoryAddress, MemoryKey};

/// A request to the owner of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RmaRequest {
    /// Writes data that lies one byte after the other. A few bytes with a notice, into a region that is mapped here, go as a
    /// [`wire::Put`](crate::wire::Put) instead.
    Put {
        /// Where.
        place: MemoryAddress,
        /// Bytes.
        len: u64,
        /// Who is told that they are there, or why not.
        report: PutReport,
    },
    /// Reads data.
    Get {
        /// Where.
        place: MemoryAddress,
        /// Bytes.
        len: u64,
    },
    /// Adds to a word; the value is what was there before.
    Add {
        /// The word.
        place: MemoryAddress,
        /// How much.
        n: u64,
    },
    /// Replaces a word if it is as expected; the value is what was there before.
    Swap {
        /// The word.
        place: MemoryAddress,
        /// What it must be.
        expected: u64,
        /// What it becomes.
        new: u64,
    },
    /// Reads, writes or changes elements. How they lie is encoded before the data.
    Access(ElementAccess),
    /// Is answered when all puts before it have been done.
    Fence,
    /// Is answered when all before it has been done; tells of what went wrong in one exposure.
    Flush {
        /// The exposure.
        window: ExposureKey,
    },
    /// Asks for, gives back, or tells something about an exposure.
    Window {
        /// The exposure.
        window: ExposureKey,
        /// What.
        action: WindowAction,
    },
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

/// How the end of a put is reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PutReport {
    /// The owner answers it.
    Answer,
    /// The owner sees this identifier. A fence tells the origin what went wrong.
    Notice(u64),
    /// The owner is silent. A flush tells the origin what went wrong.
    Flush,
}

/// What is done with elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ElementAction {
    /// They are written: a put of elements with gaps, which a layout describes. One without is [`RmaRequest::Put`].
    Put,
    /// They are read.
    Get,
    /// They are combined with data.
    Accumulate,
    /// They are read, and combined with data.
    GetAccumulate,
    /// One is read, and replaced if it is as expected: the data is what is expected, then the new one.
    CompareAndSwap,
}

/// A read, write or change of elements in exposed memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ElementAccess {
    /// What is done.
    pub action: ElementAction,
    /// From where the places of the elements are counted.
    pub place: MemoryAddress,
    /// Operation and type, as the layer above numbers them.
    pub operation: (u16, u16),
    /// Packed bytes of the elements that are touched.
    pub len: u64,
    /// Which of more elements these are, whose layout is encoded in so many bytes; otherwise they are one stretch.
    pub elements: Option<EncodedElements>,
}

/// A range of the packed bytes of elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EncodedElements {
    /// Bytes of the encoded layout.
    pub layout_len: u16,
    /// Elements.
    pub count: u64,
    /// Packed bytes before the range.
    pub skip: u64,
}

/// What concerns an exposure as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowAction {
    /// The lock is asked for. What is sent for the exposure behind that is done once it is granted, and a flush answered then.
    Lock(RmaLockKind),
    /// The lock is given back once all before is done; answered as a flush.
    Unlock,
    /// The owner is told something once all before is done; nothing is answered.
    Signal(u8),
}

/// Whether others may hold a lock at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RmaLockKind {
    /// Others that share it.
    Shared,
    /// None.
    Exclusive,
}

/// Whether data travels with the RMA request or its answer, or is a message of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// With it, or there is none.
    Whole,
    /// Of its own.
    Apart,
}

impl ElementAction {
    pub(super) const ALL: [Self; 5] =
        [Self::Put, Self::Get, Self::Accumulate, Self::GetAccumulate, Self::CompareAndSwap];

    /// Whether the answer has the packed bytes of the elements.
    pub fn reads(self) -> bool {
        matches!(self, Self::Get | Self::GetAccumulate | Self::CompareAndSwap)
    }
}

impl RmaRequest {
    /// How its data travels where messages up to `eager` bytes go without a handshake.
    pub fn form(&self, eager: usize) -> Form {
        let small = |len: u64| len <= eager.saturating_sub(HEAD) as u64;
        match self {
            Self::Put { len, .. } | Self::Get { len, .. } if !small(*len) => Form::Apart,
            Self::Deposit { .. } => Form::Apart,
            _ => Form::Whole,
        }
    }

    /// Whether data goes to the owner.
    pub fn carries_data(&self) -> bool {
        matches!(self, Self::Put { .. } | Self::Access(_) | Self::Deposit { .. })
    }

    /// Whether the owner answers.
    pub fn is_answered(&self) -> bool {
        match self {
            Self::Put { report, .. } => *report == PutReport::Answer,
            Self::Deposit { .. } => false,
            Self::Access(access) => access.action.reads(),
            Self::Window { action, .. } => *action == WindowAction::Unlock,
            _ => true,
        }
    }

    /// The memory that it is for, if it is for any.
    pub fn key(&self) -> Option<MemoryKey> {
        match *self {
            Self::Put { place, .. }
            | Self::Get { place, .. }
            | Self::Add { place, .. }
            | Self::Swap { place, .. }
            | Self::Access(ElementAccess { place, .. }) => Some(place.key),
            Self::Flush { window } | Self::Window { window, .. } => Some(window.into()),
            Self::Fence | Self::Ask(_) | Self::Deposit { .. } => None,
        }
    }
}
