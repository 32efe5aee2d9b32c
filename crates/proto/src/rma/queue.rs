//! The RMA requests of one origin, in their order.
//!
//! Owns them from their message to their end. Never accesses a region: the target does.

use std::collections::{BTreeMap, VecDeque};

use canele_mem::buffer::Owned;
use canele_sys::ids::{Rank, RequestId, Tag};

use super::range_set::RangeSet;
use super::{
    ElementAccess, ExposureKey, LEAST_PIECE, MOST_HEAD, MOST_LAYOUT, MemoryAddress, MemoryKey, Refusal,
    RmaRequest,
};
use crate::unexpected::KeptPayload;
use crate::{Matched, Proto};

/// The most bytes of RMA requests of one origin that are received before they are begun.
const MOST_BYTES: usize = 1 << 20;

/// The RMA requests of one origin.
#[derive(Default)]
pub struct OriginQueue {
    /// Messages for which there is no room yet.
    pub waiting: VecDeque<WaitingRequest>,
    /// Messages that are here, or being received.
    pub coming: VecDeque<(Tag, Coming)>,
    /// Bytes of these messages, and of those that wait for locks.
    pub coming_bytes: usize,
    /// The next request to be begun.
    pub next: Option<(Tag, KeptPayload)>,
    /// Requests that were begun, in their order.
    begun: VecDeque<Begun>,
    /// Requests for exposures whose lock the origin waits for, in their order.
    held: BTreeMap<ExposureKey, VecDeque<(Tag, KeptPayload)>>,
    /// The number of these requests.
    held_len: usize,
    /// The ranges of regions into which their data comes.
    receiving: RangeSet,
    /// True once the origin sent an invalid request: those behind it are not done.
    pub corrupt: bool,
}

/// A message for which there is no room yet.
pub enum WaitingRequest {
    Here(Tag, KeptPayload),
    /// A message whose receive is still to be posted.
    Matched(Matched),
}

/// A message for which there is room.
pub enum Coming {
    Here(KeptPayload),
    Receiving(RequestId, Owned<u8>),
}

/// An RMA request that ends after all before it.
pub struct Begun {
    pub data: Data,
    /// The memory of the request.
    pub key: Option<MemoryKey>,
    pub result: Result<(), Refusal>,
    pub then: Then,
}

/// Data of an RMA request that is a message of its own.
pub enum Data {
    /// There is no data, or all of it is there.
    Here,
    /// The data comes into a region: the place, and its length in bytes.
    Receiving(RequestId, MemoryAddress, u64),
    /// The data comes into memory of the library.
    Filling(RequestId, Owned<u8>),
    /// The data came into memory of the library.
    Filled(Vec<u8>),
    /// The data with this sequence number is to be dropped.
    Unwanted(u32),
}

/// The step that follows once an RMA request is done.
pub enum Then {
    Answer(u32),
    Notice(u64),
    /// None, but a refusal is remembered.
    Silence,
    /// An answer that reports the first refusal since the last one.
    Report(u32),
    /// An answer that reports the first refusal in one exposure.
    ReportOf(u32, ExposureKey),
    /// The release of the lock of an exposure, with such an answer.
    Unlock(u32, ExposureKey),
    /// The count of a signal.
    Signal(u8, ExposureKey),
    Deposit([u64; 2]),
}

impl OriginQueue {
    /// Returns the number of RMA requests that are here.
    pub fn len(&self) -> usize {
        self.waiting.len() + self.taken()
    }

    /// Returns the number of requests that were taken in.
    pub fn taken(&self) -> usize {
        self.coming.len() + usize::from(self.next.is_some()) + self.held_len + self.begun.len()
    }

    /// Takes in waiting messages, until `most` are under way.
    pub fn take_in(&mut self, proto: &mut Proto, from: Rank, most: usize) -> bool {
        let mut any = false;
        let longest = proto.settings.eager_bytes.max(2 * LEAST_PIECE) + MOST_HEAD + MOST_LAYOUT;
        while self.taken() < most
            && self.coming_bytes < MOST_BYTES
            && let Some(waiting) = self.waiting.pop_front()
        {
            any = true;
            match waiting {
                WaitingRequest::Here(tag, payload) => {
                    proto.release_request(from, &payload);
                    self.coming_bytes += payload.len();
                    self.coming.push_back((tag, Coming::Here(payload)));
                }
                WaitingRequest::Matched(matched) => {
                    // A longer message is no request, and is refused as such.
                    let tag = matched.status.tag;
                    let mut bytes = Owned::new(vec![0; matched.status.bytes.min(longest)]);
                    self.coming_bytes += bytes.bytes().len();
                    let request = proto.submit_recv_matched(matched, bytes.lend_in());
                    self.coming.push_back((tag, Coming::Receiving(request, bytes)));
                }
            }
        }
        any
    }

    /// Keeps a request until the origin has the lock of its exposure.
    pub fn hold(&mut self, window: ExposureKey, tag: Tag, bytes: KeptPayload) {
        self.held_len += 1;
        self.coming_bytes += bytes.len();
        self.held.entry(window).or_default().push_back((tag, bytes));
    }

    /// Keeps a request again that was taken.
    pub fn hold_again(&mut self, window: ExposureKey, tag: Tag, bytes: KeptPayload) {
        self.held_len += 1;
        self.coming_bytes += bytes.len();
        self.held.entry(window).or_default().push_front((tag, bytes));
    }

    /// Returns true if a request is kept for the lock of an exposure.
    pub fn holds(&self, window: ExposureKey) -> bool {
        self.held_len > 0 && self.held.contains_key(&window)
    }

    /// Returns true if a request is kept for a lock.
    pub fn holds_any(&self) -> bool {
        self.held_len > 0
    }

    /// Returns the exposures for whose locks requests are kept.
    pub fn held_windows(&self) -> Vec<ExposureKey> {
        self.held.keys().copied().collect()
    }

    /// Takes the oldest request that is kept for the lock of an exposure.
    pub fn take_held(&mut self, window: ExposureKey) -> Option<(Tag, KeptPayload)> {
        let list = self.held.get_mut(&window)?;
        let (tag, bytes) = list.pop_front()?;
        if list.is_empty() {
            self.held.remove(&window);
        }
        self.held_len -= 1;
        self.coming_bytes -= bytes.len();
        Some((tag, bytes))
    }

    /// Drops the requests that are kept for locks.
    pub fn drop_held(&mut self) {
        self.coming_bytes -= self.held.values().flatten().map(|(_, bytes)| bytes.len()).sum::<usize>();
        self.held.clear();
        self.held_len = 0;
    }

    /// Adds a request that was begun.
    pub fn begin(&mut self, begun: Begun) {
        if let Data::Receiving(_, place, len) = begun.data {
            self.receiving.insert(place, len);
        }
        self.begun.push_back(begun);
    }

    /// Returns the oldest request that was begun.
    pub fn oldest(&mut self) -> Option<&mut Begun> {
        self.begun.front_mut()
    }

    /// Removes the oldest request that was begun.
    pub fn take_oldest(&mut self) -> Option<Begun> {
        let begun = self.begun.pop_front()?;
        if let Data::Receiving(_, place, len) = begun.data {
            self.receiving.remove(place, len);
        }
        Some(begun)
    }

    /// Returns true if data still comes into memory that an RMA request accesses.
    pub fn is_ahead_of(&self, rma_request: &RmaRequest) -> bool {
        let (at, bytes) = match *rma_request {
            RmaRequest::Put { place, len, .. } | RmaRequest::Get { place, len } => (place, len),
            // Elements may lie anywhere in their exposure.
            RmaRequest::Access(ElementAccess { place, elements: Some(_), .. }) => {
                (MemoryAddress { offset: 0, ..place }, u64::MAX)
            }
            RmaRequest::Access(ElementAccess { place, len, .. }) => (place, len),
            RmaRequest::Add { place, .. } | RmaRequest::Swap { place, .. } => (place, 8),
            RmaRequest::Fence
            | RmaRequest::Flush { .. }
            | RmaRequest::Window { .. }
            | RmaRequest::Ask(_)
            | RmaRequest::Deposit { .. } => return false,
        };
        self.receiving.overlap(at, bytes)
    }
}
