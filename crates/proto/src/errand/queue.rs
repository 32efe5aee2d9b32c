//! The errands of one origin, in their order.
//!
//! Owns them from their message to their end. Never looks at a region: the desk does.

use std::collections::VecDeque;

use canele_sys::buffer::{Owned, Place};
use canele_sys::ids::{RegionId, RequestId, Tag};

use super::{Errand, MOST_HEAD, Refusal};
use crate::{Matched, Proto};

/// The errands of one origin.
#[derive(Default)]
pub struct Queue {
    /// Messages for which there is no room yet.
    pub waiting: VecDeque<Matched>,
    /// Messages that are being received.
    pub coming: VecDeque<(RequestId, Tag, Owned<u8>)>,
    /// The next to be begun.
    pub next: Option<(Tag, Vec<u8>)>,
    /// Begun, in their order.
    pub begun: VecDeque<Begun>,
    /// One of them could not be: what is behind it is not done.
    pub corrupt: bool,
}

/// An errand that ends after all before it.
pub struct Begun {
    pub data: Data,
    pub region: RegionId,
    pub result: Result<(), Refusal>,
    pub then: Then,
}

/// Data of an errand, apart from it.
pub enum Data {
    /// There is none, or all of it is there.
    Here,
    /// It comes into a region: where, so many bytes.
    Landing(RequestId, Place, u64),
    /// It comes into memory of the library.
    Filling(RequestId, Owned<u8>),
    /// It came into memory of the library.
    Filled(Vec<u8>),
    /// It is to be thrown away.
    Unwanted(u32),
}

/// What follows once an errand is done.
pub enum Then {
    Answer(u32),
    Notice(u64),
    /// An answer that tells what went wrong since the last one.
    Report(u32),
    Deposit([u64; 2]),
}

impl Queue {
    /// Errands that are here.
    pub fn len(&self) -> usize {
        self.waiting.len() + self.taken()
    }

    /// Those that wait for nothing but what they need.
    pub fn taken(&self) -> usize {
        self.coming.len() + usize::from(self.next.is_some()) + self.begun.len()
    }

    /// Begins to receive what waits, until so many are under way.
    pub fn take_in(&mut self, proto: &mut Proto, most: usize) -> bool {
        let mut any = false;
        let longest = proto.settings.eager_bytes + MOST_HEAD;
        while self.taken() < most
            && let Some(matched) = self.waiting.pop_front()
        {
            any = true;
            // What is longer is none, and refused as such.
            let tag = matched.status.tag;
            let mut bytes = Owned::new(vec![0; matched.status.bytes.min(longest)]);
            let request = proto.submit_recv_matched(matched, bytes.lend_in());
            self.coming.push_back((request, tag, bytes));
        }
        any
    }

    /// Whether data still comes that goes where an errand looks.
    pub fn is_ahead_of(&self, errand: &Errand) -> bool {
        let (at, bytes) = match *errand {
            Errand::Put { place, len, .. } | Errand::Get { place, len } => (place, len),
            Errand::Add { place, .. } | Errand::Swap { place, .. } => (place, 8),
            Errand::Fence | Errand::Ask(_) | Errand::Deposit { .. } => return false,
        };
        self.begun.iter().any(|begun| match begun.data {
            Data::Landing(_, place, len) => {
                let before = |a: Place, len: u64, b: Place| a.offset.saturating_add(len) <= b.offset;
                place.region == at.region && !before(place, len, at) && !before(at, bytes, place)
            }
            _ => false,
        })
    }
}
