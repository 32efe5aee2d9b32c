//! RMA requests of an origin, and the forms of their data.

use super::{ExposureKey, HEAD, MemoryAddress, MemoryKey};

/// A request to the owner of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RmaRequest {
    /// Writes contiguous data. A few bytes with a notice, into a region that is mapped here, go as a
    /// [`wire::Put`](crate::wire::Put) instead.
    Put {
        /// The place.
        place: MemoryAddress,
        /// Length in bytes.
        len: u64,
        /// The report of its end.
        report: PutReport,
    },
    /// Reads data.
    Get {
        /// The place.
        place: MemoryAddress,
        /// Length in bytes.
        len: u64,
    },
    /// Adds to a word; the value of the answer is the previous word.
    Add {
        /// The word.
        place: MemoryAddress,
        /// The number to add.
        n: u64,
    },
    /// Replaces a word if it is as expected; the value of the answer is the previous word.
    Swap {
        /// The word.
        place: MemoryAddress,
        /// The expected word.
        expected: u64,
        /// The new word.
        new: u64,
    },
    /// Reads, writes or changes elements. Their layout is encoded before the data.
    Access(ElementAccess),
    /// A request that is answered when all puts before it have been done.
    Fence,
    /// A request that is answered when all requests before it have been done. The answer reports failures in
    /// one exposure.
    Flush {
        /// The exposure.
        window: ExposureKey,
    },
    /// Locks, unlocks or signals an exposure.
    Window {
        /// The exposure.
        window: ExposureKey,
        /// The action.
        action: WindowAction,
    },
    /// A question to the layer above, whose answer is the value of the answer.
    Ask([u64; 3]),
    /// Data for the layer above, with its identifier.
    Deposit {
        /// The identifier.
        of: [u64; 2],
        /// Length in bytes.
        len: u64,
    },
}

/// The report of the end of a put.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PutReport {
    /// The owner answers it.
    Answer,
    /// The owner gets this notice. A fence reports failures to the origin.
    Notice(u64),
    /// The owner sends no answer. A flush reports failures to the origin.
    Flush,
}

/// The operation on elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ElementAction {
    /// The elements are written: a put of elements with gaps, which a layout describes. A put without gaps is
    /// [`RmaRequest::Put`].
    Put,
    /// The elements are read.
    Get,
    /// The elements are combined with data.
    Accumulate,
    /// The elements are read, and combined with data.
    GetAccumulate,
    /// One is read, and replaced if it is as expected: the data is the expected element, then the new one.
    CompareAndSwap,
}

/// A read, write or change of elements in exposed memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ElementAccess {
    /// The operation on them.
    pub action: ElementAction,
    /// The origin of the places of the elements.
    pub place: MemoryAddress,
    /// Operation and type, as the layer above numbers them.
    pub operation: (u16, u16),
    /// Packed bytes of the elements that are touched.
    pub len: u64,
    /// The encoded elements that the range belongs to; `None` for one stretch.
    pub elements: Option<EncodedElements>,
}

/// A range of the packed bytes of elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EncodedElements {
    /// Bytes of the encoded layout.
    pub layout_len: u16,
    /// The number of elements.
    pub count: u64,
    /// Packed bytes before the range.
    pub skip: u64,
}

/// A request for an exposure as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowAction {
    /// Asks for the lock. Later requests for the exposure, and answers to flushes, wait until it is granted.
    Lock(RmaLockKind),
    /// Releases the lock once all requests before it are done; answered as a flush.
    Unlock,
    /// Signals the owner once all requests before it are done; it gets no answer.
    Signal(u8),
}

/// The kind of a lock: it decides whether other ranks may hold the lock at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RmaLockKind {
    /// Other ranks may share it.
    Shared,
    /// One rank holds it.
    Exclusive,
}

/// The form of data: part of the RMA request or its answer, or a message of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Part of it; also if there is no data.
    Whole,
    /// A message of its own.
    Apart,
}

impl ElementAction {
    pub(super) const ALL: [Self; 5] =
        [Self::Put, Self::Get, Self::Accumulate, Self::GetAccumulate, Self::CompareAndSwap];

    /// Returns true if the answer has the packed bytes of the elements.
    pub fn reads(self) -> bool {
        matches!(self, Self::Get | Self::GetAccumulate | Self::CompareAndSwap)
    }
}

impl RmaRequest {
    /// Returns the form of its data if messages up to `eager` bytes go without a handshake.
    pub fn form(&self, eager: usize) -> Form {
        let small = |len: u64| len <= eager.saturating_sub(HEAD) as u64;
        match self {
            Self::Put { len, .. } | Self::Get { len, .. } if !small(*len) => Form::Apart,
            Self::Deposit { .. } => Form::Apart,
            _ => Form::Whole,
        }
    }

    /// Returns true if data goes to the owner.
    pub fn carries_data(&self) -> bool {
        matches!(self, Self::Put { .. } | Self::Access(_) | Self::Deposit { .. })
    }

    /// Returns true if the owner answers.
    pub fn is_answered(&self) -> bool {
        match self {
            Self::Put { report, .. } => *report == PutReport::Answer,
            Self::Deposit { .. } => false,
            Self::Access(access) => access.action.reads(),
            Self::Window { action, .. } => *action == WindowAction::Unlock,
            _ => true,
        }
    }

    /// Returns the memory that it accesses, if there is one.
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
